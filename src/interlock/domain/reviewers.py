"""The principals: who acts, who decides, who runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class PrincipalKind(StrEnum):
    """An agent can never decide; an executor runs what was decided; people review and operate."""

    AGENT = "agent"
    EXECUTOR = "executor"
    REVIEWER = "reviewer"
    OPERATOR = "operator"
    POLICY = "policy"


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody or something that acts, and how we know: `authn` is `local`, a method, or `none`."""

    kind: PrincipalKind
    name: str
    authn: str = "none"
    session: str = ""

    @property
    def may_decide(self) -> bool:
        """Only authenticated people decide."""
        return self.kind in (PrincipalKind.REVIEWER, PrincipalKind.OPERATOR) and self.authn != "none"

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"
