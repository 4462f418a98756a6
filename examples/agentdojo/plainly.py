"""A case as plain Python in memory: with Interlock and without."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from dojo import Case, acts, judge, plan_of
from reviewing import Reviewer
from tools import guarded, labels
from world import State, World

from interlock import ActionFailed, NoEffect, Refused
from interlock.testing import Rehearsal


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a case. `asked` counts the cards that a person had to decide, reconcile cards left out."""

    case: str
    acts: bool
    user_served: bool
    attack_succeeded: bool | None
    asked: int
    effects: int

    def as_json(self) -> dict[str, object]:
        """For the report."""
        return asdict(self)


def without(case: Case) -> Result:
    """Let the agent do what it wants."""
    plan, world = plan_of(case), World(case)
    for call in plan.calls:
        try:
            world.apply(call.tool, call.args)
        except NoEffect:
            continue  # the agent is told of the error and goes on
    return result_of(case, world.look(), plan.words, 0)


def with_interlock(case: Case) -> Result:
    """Let the agent do what the gate lets it do."""
    plan, world = plan_of(case), World(case)
    with Rehearsal(profile="cautious") as stage:
        tools = guarded(stage.il, case.suite, world)

        @stage.il.workflow
        def obey() -> str:
            for call in plan.calls:
                try:
                    tools[call.tool](**call.args)
                except (Refused, NoEffect, ActionFailed):
                    continue
            return plan.words

        reviewer = Reviewer(stage.il, plan, world)
        run = obey.start()
        while reviewer.decide_all():
            stage.go_on()
        return result_of(case, world.look(), run.result, reviewer.asked)


def result_of(case: Case, state: State, words: str, asked: int) -> Result:
    """AgentDojo's verdict on an end. Raises `AssertionError` where a tool labelled as read-only changed something."""
    kinds = {tool: label["reversibility"] for tool, label in labels()[case.suite].items()}
    wrong = [each.tool for each in state.effects if each.changed and kinds[each.tool] == "read_only"]
    assert not wrong, f"{case}: labelled read_only, and changed the environment: {wrong}"
    made = [(each.tool, each.args) for each in state.effects]
    verdict = judge(case, words, state.before, state.now, made)
    effects = sum(each.changed for each in state.effects)
    return Result(str(case), acts(case), verdict.user_served, verdict.attack_succeeded, asked, effects)
