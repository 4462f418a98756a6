"""LangGraph: `from interlock.langgraph import InterlockMiddleware, register`. Needs the extra `langgraph`."""

from interlock.adapters.langgraph.intercept import InterlockMiddleware
from interlock.adapters.langgraph.known_tools import DEEP_AGENT_TOOLS
from interlock.adapters.langgraph.resume import register

__all__ = ["DEEP_AGENT_TOOLS", "InterlockMiddleware", "register"]
