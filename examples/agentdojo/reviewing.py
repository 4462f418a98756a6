"""The reviewer: approves exactly the calls by which the user's task is solved, each once, and rejects everything else.

It stands for a person who knows what they asked for. After a crash it looks into the world's ledger, as a person would
look at the bank's page, and says whether a call that is in doubt has happened.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from dojo import Plan, suite
from world import World

from interlock import Interlock
from interlock.schema import tree_to_plain
from interlock.testing import Answer, ScriptedReviewer, approve, found_done, reject, run_again

NO = "This is not part of what I asked for."


class Reviewer(ScriptedReviewer):
    """Decides by the plan of one case."""

    def __init__(self, il: Interlock, plan: Plan, world: World) -> None:
        super().__init__(il, {"*": self.say})
        self.plan = plan
        self.world = world
        self.asked, self.reconciled, self.again = 0, 0, 0
        self._left = Counter(self.named(each.tool, each.args) for each in plan.calls if each.whose == "user")

    def say(self, view: Any) -> Answer:
        """What is said to one card."""
        call = self.named(view.about.action.tool, tree_to_plain(view.about.current.arguments))
        if view.card.kind == "reconcile":
            return self._look(call)
        self.asked += 1
        if self._left[call] > 0:
            self._left[call] -= 1
            return approve()
        return reject(NO)

    def _look(self, call: str) -> Answer:
        there = [each for each in self.world.look().effects if self.named(each.tool, each.args) == call]
        self.reconciled += 1
        if there:
            return found_done(there[-1].result)
        self.again += 1
        return run_again()

    def named(self, tool: str, args: Any) -> str:
        """A call as text, whatever form its arguments have: as AgentDojo's own schema of the tool reads them."""
        schema = next(each.parameters for each in suite(self.world.case.suite).tools if each.name == tool)
        return tool + json.dumps(schema.model_validate(args).model_dump(mode="json"), sort_keys=True)
