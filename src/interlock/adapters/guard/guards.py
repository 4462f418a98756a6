"""What one `Interlock` guards: its tools, its declarations, what resumes its runs. Every adapter adds to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, cast

from interlock.adapters.guard.intercept import Interceptor
from interlock.adapters.guard.stand_ins import StandIns
from interlock.adapters.guard.tool import SCHEMA_KEYS, Keywords, Tool, check_keywords
from interlock.domain.action import Versions
from interlock.domain.errors import SettingsError
from interlock.domain.run import Run
from interlock.domain.tool import ToolSpec
from interlock.ports.gate import Gate
from interlock.ports.runtime import Runtime


class Resumable(Protocol):
    """Something whose runs a worker can go on with, known by name."""

    def resume(self, run: Run) -> Run:
        """Go on with a run in this thread until it ends or pauses."""
        ...


Kind = Callable[[Any, Mapping[str, Any]], Any]
"""Guards a tool of a framework's own kind, with keywords as `il.guard` takes them; None for any other object."""


class Guards:
    """The guarded tools of one `Interlock`, and who answers for them.

    `check` looks at a declaration as a whole and raises `SettingsError`. `owner` is whose runs these are.
    """

    def __init__(
        self,
        gate: Gate,
        runtime: Runtime,
        *,
        agent: str,
        versions: Versions,
        owner: str,
        check: Callable[[ToolSpec], None],
    ) -> None:
        self.gate = gate
        self.runtime = runtime
        self.agent = agent
        self.versions = versions
        self.owner = owner
        self.interceptor = Interceptor(gate, runtime)
        self.tools: dict[str, Tool] = {}
        self.stand_ins = StandIns()
        self.declared: dict[str, Keywords] = {}
        self.resumable: dict[str, Resumable] = {}
        self.kinds: list[Kind] = []
        self._check = check

    def declare(self, declarations: Iterable[Mapping[str, Any]]) -> None:
        """Keep declarations by name, for tools that are guarded later."""
        taken: Any = declarations
        if isinstance(taken, (Mapping, str, bytes)) or not isinstance(taken, Iterable):
            raise SettingsError(
                "bad_declaration",
                "il.declare takes a list of dicts",
                'For example il.declare([{"name": "send_email", "reversibility": "irreversible"}]).',
            )
        for each in declarations:
            name = each.get("name") if isinstance(cast("object", each), Mapping) else None
            if not isinstance(name, str) or not name:
                raise SettingsError("bad_declaration", f"a declaration has no name: {each!r}"[:200], "Name the tool.")
            if name in self.tools:
                raise SettingsError(
                    "declared_late", f"{name} is guarded already", "Declare tools before you guard them."
                )
            self.declared[name] = check_keywords(name, each, SCHEMA_KEYS)

    def keywords(self, name: str, given: Mapping[str, Any]) -> Keywords:
        """What is said of a tool where it is guarded, with what was declared of it; the two must not differ."""
        declared = self.declared.get(name, {})
        clash = sorted(key for key in declared.keys() & given.keys() if key != "name" and declared[key] != given[key])
        if clash:
            raise SettingsError(
                "declared_twice",
                f"{name}: {clash[0]} is declared as {declared[clash[0]]!r} and as {given[clash[0]]!r}",
                "Say it once.",
            )
        return check_keywords(name, {**declared, **given, "name": name})

    def take(self, tool: Tool) -> Tool:
        """Add a tool, if its declaration holds together and no other tool has its name."""
        self._check(tool.spec)
        other = self.tools.get(tool.spec.name)
        if other is not None and other.spec.target != tool.spec.target:
            raise SettingsError(
                "tool_twice",
                f"there is another tool {tool.spec.name} already ({other.spec.target.partition(':')[2]})",
                "Give one of them another name=.",
            )
        self.tools[tool.spec.name] = tool
        return tool

    def of_a_framework(self, tool: object, keywords: Mapping[str, Any]) -> Any:
        """The guarded form of a framework's tool; None where no adapter knows it."""
        return next((made for kind in self.kinds if (made := kind(tool, keywords)) is not None), None)

    def resumes(self, name: str, what: Resumable) -> None:
        """Have runs of this name resumed by `what`."""
        if name in self.resumable:
            raise SettingsError(
                "workflow_twice", f"there is a workflow {name} already", "Give one of them another name=."
            )
        self.resumable[name] = what

    def resume(self, run: Run) -> Run:
        """Go on with a run; raises `SettingsError` where nothing here resumes it."""
        what = self.resumable.get(run.workflow)
        if what is None:
            raise SettingsError(
                "unknown_workflow",
                f"no workflow {run.workflow} is known here",
                "Start the worker with the module that defines it.",
            )
        return what.resume(run)
