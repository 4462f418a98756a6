"""What a guarded call does, whatever framework makes it: the flow, its checks and hooks, the tools."""
