"""Stopping everything, an agent, a tool or a run."""
