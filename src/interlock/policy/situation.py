"""The situation of a call: everything beside the tool that a ruling may depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from interlock.canonical import Json
from interlock.domain.action import Rationale, Versions


def no_facts() -> dict[str, int | float | bool]:
    """The facts of the first call of all."""
    counts = ("repeated", "calls", "actions", "count_1h", "count_24h")
    return {**dict.fromkeys(counts, 0), "novel": True, "cost_24h": 0.0}


@dataclass(frozen=True, slots=True)
class Situation:
    """What a ruling may depend on beside the tool itself.

    `arguments` is the typed encoding by name. `agent` is the agent's name, `versions` its versions and the environment
    in which it runs, `run` the id of the run, `workflow` what the run is of, `principal` whose run it is (`user:ana`).
    `facts` are counts and sums that were read before the ruling, by name; `slices` the declared slices of the
    arguments.
    """

    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    rationale: Rationale = field(default_factory=Rationale)
    agent: str = ""
    versions: Versions = field(default_factory=Versions)
    run: str = ""
    workflow: str = ""
    principal: str = ""
    facts: Mapping[str, int | float | bool] = field(default_factory=dict[str, "int | float | bool"])
    slices: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def environment(self) -> str:
        """Where the agent runs: `prod`, `test` and so on."""
        return self.versions.environment
