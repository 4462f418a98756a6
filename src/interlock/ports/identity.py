"""Who is it? Turns a credential into a principal."""

from __future__ import annotations

from typing import Protocol

from interlock.domain.reviewers import Principal


class Identity(Protocol):
    """Authenticates people. Raises `DecisionError` `not_authenticated` for anything it does not know."""

    def authenticate(self, credential: str) -> Principal: ...
