"""LangGraph: `from interlock.langgraph import InterlockMiddleware, register`. Needs the extra `langgraph`."""

from interlock.adapters.langgraph.drop_in import HumanInTheLoopMiddleware
from interlock.adapters.langgraph.intercept import InterlockMiddleware
from interlock.adapters.langgraph.known_tools import DEEP_AGENT_TOOLS
from interlock.adapters.langgraph.resume import register

__all__ = ["DEEP_AGENT_TOOLS", "HumanInTheLoopMiddleware", "InterlockMiddleware", "register"]
