"""Claims work and calls the kernel; no logic of its own."""

from interlock.worker.loop import Worker

__all__ = ["Worker"]
