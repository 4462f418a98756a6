"""One call of a guarded tool, under way in a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interlock.adapters.guard.frames import Frame
from interlock.adapters.guard.intercept import Prepared
from interlock.adapters.guard.places import Named, Pass
from interlock.adapters.guard.tool import Tool
from interlock.adapters.langgraph.places import Spot
from interlock.adapters.langgraph.tools import GuardedTool, ToolCall
from interlock.domain.action import Rationale


@dataclass(frozen=True, slots=True)
class Doing:
    """One call under way: where, by whom, with what."""

    tool: GuardedTool
    body: Tool
    call: ToolCall
    values: Mapping[str, Any]
    spot: Spot
    pass_: Pass
    frame: Frame
    named: Named | None
    said: Rationale
    own_pass: bool

    @property
    def key(self) -> str:
        """What names the call among those under way."""
        return f"{self.spot.path}/{self.named.ref}" if self.named is not None else ""


@dataclass(frozen=True, slots=True)
class Proposed:
    """What came of proposing a call: `doing` where its tool may run now, else the model's `answer`."""

    doing: Doing | None = None
    prepared: Prepared | None = None
    answer: Any = None
