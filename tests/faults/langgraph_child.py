"""Carries out single cases of the crash matrix through LangGraph, each in a process of its own that may be killed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
os.environ["LANGSMITH_TRACING"] = "false"

from crash_child import serve
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_scenario import MAKERS, GraphSession

from interlock.compose import Interlock
from interlock.langgraph import register


def warm_up() -> None:
    """Have everything imported that is imported late, so that no child has to."""
    for make in MAKERS.values():
        il = Interlock("memory://")
        register(il, make(il, lambda tool, to: f"{tool} {to}", InMemorySaver(), []), name="warm")


if __name__ == "__main__":
    warm_up()
    serve(GraphSession)
