"""LangGraph: `from interlock.langgraph import InterlockMiddleware`. Needs the extra `langgraph`."""

from interlock.adapters.langgraph.intercept import InterlockMiddleware

__all__ = ["InterlockMiddleware"]
