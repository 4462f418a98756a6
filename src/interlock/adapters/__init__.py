"""Agent frameworks, each in a folder of its own; all they see of us is the gate and the runtime."""
