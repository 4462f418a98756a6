"""The four steps of a gated action through the real kernel, for `floor.py --cycle kernel_cycle:factory`.

Documents, digests, ruling, state machine and all; what a run and its worker add (entering and leaving a pass) is
apart, as the goal says.
"""

from collections.abc import Callable, Sequence
from typing import Any

from interlock import Interlock
from interlock.domain.action import ActionRequest, arguments_bytes, call_key
from interlock.domain.commands import Outcome, OutcomeKind
from interlock.domain.decision import Verdict
from interlock.domain.ids import RunId
from interlock.domain.reviewers import Principal, PrincipalKind
from interlock.stores.sqlite import SqliteStore

ANA = Principal(PrincipalKind.REVIEWER, "ana", authn="local")


def send_email(to: str, subject: str, body: str) -> str:
    """Send an e-mail."""
    return f"{to}: {subject}, {body}"


def factory(store: SqliteStore) -> Callable[[int], Sequence[Callable[[], object]]]:
    il = Interlock("memory://", store=store)
    kernel = il.kernel
    il.guard(send_email, reversibility="irreversible", reach="outward")
    tool = il.guards.tools["send_email"]
    grant = kernel.enter(RunId("bench"), agent="billing").result()

    def prepare(number: int) -> Sequence[Callable[[], object]]:
        arguments: Any = {"to": f"ap{number}@newco.example", "subject": "Overdue invoice", "body": "Dear all, " * 30}
        key = call_key(grant.run_key, "", "send_email", tool.spec.target, arguments_bytes(arguments), 0, None)
        request = ActionRequest(
            grant.run.id, grant.run.pass_no, kernel.process, tool.spec, arguments, key, "", number
        )  # fmt: skip
        held: list[Any] = []

        def propose() -> None:
            held.append(kernel.propose(request).result())

        def decide() -> None:
            card = held[0].interrupt
            kernel.decide(card.id, card.digest, Verdict.APPROVE, ANA).result()

        def claim() -> None:
            held.append(kernel.claim(request, held[0].action.id).result())

        def settle() -> None:
            outcome = Outcome(OutcomeKind.DONE, arguments_bytes("sent"))
            kernel.settle(held[0].action.id, kernel.process, held[1].claim.fence, outcome).result()

        return (propose, decide, claim, settle)

    return prepare
