"""Tools that come with agent libraries, declared so that nobody is asked about a list of files."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

DEEP_AGENT_TOOLS: Mapping[str, Any] = MappingProxyType(
    {
        # They look, and change nothing.
        "ls": "read_only",
        "read_file": "read_only",
        "glob": "read_only",
        "grep": "read_only",
        "check_async_task": "read_only",
        "list_async_tasks": "read_only",
        # A list of the agent's own, kept in its state.
        "write_todos": "reversible",
        # By default these files live in the agent's state. Declare them anew where the backend is a real disk.
        "write_file": "reversible",
        "edit_file": "reversible",
        "delete": "compensable",
        # A sub-agent pauses inside for what it does itself.
        "task": {"reversibility": "reversible", "composite": True},
        "start_async_task": {"reversibility": "compensable", "reach": "delegates"},
        "update_async_task": {"reversibility": "compensable", "reach": "delegates"},
        "cancel_async_task": "compensable",
        # A shell can do anything.
        "execute": "irreversible",
    }
)
"""Of deepagents, as keywords for the `tools=` of `InterlockMiddleware`: `tools={**DEEP_AGENT_TOOLS, "send": …}`."""
