"""Explains rulings: on actions that are recorded, and on calls that are only thought of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import cast

from interlock.canonical import Json
from interlock.domain.action import Rationale, Versions
from interlock.domain.errors import DecisionError
from interlock.domain.ruling import CHECK_DENIES, CHECK_HOLDS, Ruling
from interlock.domain.tool import InterruptPolicy, ToolSpec
from interlock.kernel import documents
from interlock.kernel.kernel import Kernel
from interlock.kernel.rulings import Call
from interlock.kernel.views import ActionView
from interlock.policy import Explanation, PolicySet, Situation, explain, no_facts, slices


def explain_recorded(kernel: Kernel, about: ActionView, policy: PolicySet | None) -> Explanation:
    """How a policy rules on a recorded action with the arguments it has now; None: the policy it was ruled under.

    Facts are counted as they stand now; what the team's checks said is what they said then.
    Raises `DecisionError` where that policy is not in the store.
    """
    digest = about.action.ruling.policy_digest
    policy = policy or kernel.rulings.policy_by(digest)
    if policy is None:
        raise DecisionError(
            "policy_unknown", f"the policy {digest} is not in this store", "Name a policy file with --policy."
        )
    run = kernel.run(about.action.run)
    arguments = cast("Json", dict(about.current.arguments))
    effect = partial(documents.effect_of, kernel.store.namespace_key, about.tool.name, about.tool.target)
    said = Rationale(confidence=_claimed(about.facts))
    call = Call(about.tool, run, lambda: arguments, effect, said, about.action.id)
    return _with_checks(kernel.rulings.explanation(policy, call), about.action.ruling)


def explain_given(
    policy: PolicySet,
    spec: ToolSpec,
    arguments: Mapping[str, Json],
    *,
    agent: str = "agent",
    environment: str = "",
    principal: str = "",
    confidence: float | None = None,
) -> Explanation:
    """How a policy rules on a call that nobody has made; `arguments` are typed encoding. Facts are of a first call."""
    situation = Situation(
        arguments=arguments,
        rationale=Rationale(confidence=confidence),
        agent=agent,
        versions=Versions(environment=environment),
        principal=principal,
        facts=no_facts(),
    )
    return explain(policy, spec, replace(situation, slices=slices(policy, spec, situation)))


def _with_checks(found: Explanation, recorded: Ruling) -> Explanation:
    """The explanation with what checks of the team's own said of the action, as its ruling keeps it."""
    for reason in recorded.reasons:
        if reason.code in CHECK_HOLDS or reason.code == CHECK_DENIES:
            asks = InterruptPolicy.DENY if reason.code == CHECK_DENIES else InterruptPolicy.HARD_STOP
            won = "a check of the team's own" if asks.rank > found.ruling.policy.rank else found.won
            found = replace(found, ruling=found.ruling.stricter(asks, reason), won=won)
    return found


def _claimed(facts: Mapping[str, Json]) -> float | None:
    kept = facts.get("confidence")
    return float(str(kept["v"])) if isinstance(kept, dict) else None
