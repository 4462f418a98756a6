"""Plain Python: functions, methods, threads and asyncio tasks, without any framework."""

from interlock.adapters.plain.surface import PlainAdapter

__all__ = ["PlainAdapter"]
