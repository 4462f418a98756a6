"""What things are: frozen dataclasses and one state machine. No clock, no I/O, no async."""
