"""What the contract of adapters is made of: a plan for an agent, tools that note their effects, a store cut off."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Call:
    """One call that the agent makes: a tool by its name, and its only argument."""

    tool: str
    to: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What the agent does: turns one after another, the calls of a turn at once.

    With `swallows` its code catches whatever a call raises, a pause included, and goes on to the next turn.
    """

    turns: tuple[tuple[Call, ...], ...]
    swallows: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """What the agent was told of one call: every word (result, refusal, the reviewer's note), and a refusal's kind."""

    text: str
    refused: str = ""


class ToolsUnderTest:
    """Tools that note in `effects` what they really did, as `send bob`; every one takes `to` and returns that text.

    `look` reads only, `note` is reversible, `send` is irreversible, `job` is a composite that calls `send`. Guard
    `functions` (or `async_functions`) with `keywords[name]`, and say in `inside` how a tool calls a guarded one.
    """

    keywords: Mapping[str, Mapping[str, Any]] = MappingProxyType(
        {
            "look": {"reversibility": "read_only"},
            "note": {"reversibility": "reversible"},
            "send": {"reversibility": "irreversible"},
            "job": {"reversibility": "irreversible", "composite": True},
        }
    )

    def __init__(self) -> None:
        self.effects: list[str] = []
        self.after_an_effect: Callable[[], None] = lambda: None
        self.inside: Callable[[str, str], Any] = _nobody

    @property
    def functions(self) -> dict[str, Callable[[str], str]]:
        """The tools by name."""

        def look(to: str) -> str:
            """Look something up."""
            return f"look {to}"

        def note(to: str) -> str:
            """Note something."""
            return self._did(f"note {to}")

        def send(to: str) -> str:
            """Send something that cannot be taken back."""
            return self._did(f"send {to}")

        def job(to: str) -> str:
            """Do a job that sends something."""
            return str(self.inside("send", to))

        return {"look": look, "note": note, "send": send, "job": job}

    @property
    def async_functions(self) -> dict[str, Callable[[str], Awaitable[str]]]:
        """The same tools, asynchronous."""

        async def look(to: str) -> str:
            """Look something up."""
            return f"look {to}"

        async def note(to: str) -> str:
            """Note something."""
            return self._did(f"note {to}")

        async def send(to: str) -> str:
            """Send something that cannot be taken back."""
            return self._did(f"send {to}")

        async def job(to: str) -> str:
            """Do a job that sends something."""
            return str(await self.inside("send", to))

        return {"look": look, "note": note, "send": send, "job": job}

    def _did(self, effect: str) -> str:
        self.effects.append(effect)
        self.after_an_effect()
        return effect


def _nobody(tool: str, to: str) -> str:
    raise LookupError(f"say in tools.inside how a tool calls {tool}({to!r})")
