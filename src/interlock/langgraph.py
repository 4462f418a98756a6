"""LangGraph: `from interlock.langgraph import InterlockMiddleware`. Needs the extra `langgraph`."""

from interlock.adapters.langgraph.intercept import InterlockMiddleware
from interlock.adapters.langgraph.resume import register

__all__ = ["InterlockMiddleware", "register"]
