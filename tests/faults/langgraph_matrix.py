"""The crash matrix through LangGraph: every store call, every checkpoint write, every tool body, entry and exit.

    python tests/faults/langgraph_matrix.py [--full] [--json] [--every K] [--only TEXT] [--keep]

As in `crash_matrix.py`, whose machinery this is: each scenario is first played, and each of its calls is then a case,
in which something is raised or the process is killed. Then workers, the application and a reviewer go on.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from crash_matrix import Plan, main

FORMS = ("agent", "toolnode", "subgraph", "functional")
SCENARIOS = tuple(
    f"{form} {durability} {who}"
    for form in FORMS
    for durability in ("sync", "async", "exit")
    for who in ("worker", "application")
)
SHORT_EVERY = 60


def again(scenario: str, tool: str) -> bool:
    """Whether what follows a death in a tool is played with faults of its own."""
    return scenario in ("agent sync worker", "toolnode sync application") and tool == "send a"


def fails(scenario: str, role: str) -> bool:
    """Whether a role is not the same as in another scenario: workers and reviewers know no durability."""
    return scenario.endswith(" sync worker") or role in ("start", "go_on")


PLAN = Plan("langgraph_child.py", SCENARIOS, ("raise", "kill"), again, fails, exact=False)

if __name__ == "__main__":
    sys.exit(main(PLAN, SHORT_EVERY, __doc__))
