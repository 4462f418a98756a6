"""Who is at the page: a session cookie, checked against the store on every request, and the token of its forms."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from interlock.domain.credential import CredentialKind
from interlock.domain.errors import DecisionError
from interlock.domain.reviewers import Principal, PrincipalKind
from interlock.kernel.desk import ReviewDesk

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from interlock.kernel import Kernel
    from interlock.server.forms import Form
    from interlock.server.security import Border

CSRF = "csrf"
"""The field of every form that decides something."""


@dataclass(frozen=True, slots=True)
class Session:
    """A person who is signed in: `id` names the session in the ledger, `token` is the cookie's secret."""

    id: str
    person: Principal
    token: str

    @property
    def csrf(self) -> str:
        """What a form of this session carries; nobody without the cookie can make it."""
        made = hmac.new(self.token.encode(), b"interlock-form/v1", sha256).digest()
        return urlsafe_b64encode(made).rstrip(b"=").decode()

    def sent(self, form: Form) -> None:
        """Raise `DecisionError` `wrong_form` unless the form is one of this session."""
        if not hmac.compare_digest(form.one(CSRF).encode(), self.csrf.encode()):
            raise DecisionError(
                "wrong_form", "this form belongs to another session", "Open the page again and send it from there."
            )

    def desk(self, kernel: Kernel) -> ReviewDesk:
        """The desk of this person."""
        return ReviewDesk(kernel, self.person, channel="web")


def cookie_name(border: Border) -> str:
    """The session cookie's name. `__Host-` binds it to the host and to TLS; on loopback there is no TLS, and cookies
    know no ports: there the port is part of the name.
    """
    port = urlsplit(border.origin).port
    return "__Host-interlock" if border.secure else f"interlock-{port or 80}"


def session_of(request: Request, kernel: Kernel, border: Border) -> Session | None:
    """The session of a request, or None. A session that was ended is none from the next request on."""
    token = request.cookies.get(cookie_name(border), "")
    if not token:
        return None
    try:
        found = kernel.authenticate(token, (CredentialKind.SESSION,))
    except DecisionError:
        return None
    person = Principal(PrincipalKind.REVIEWER, found.holder, authn=found.authn, session=str(found.id))
    return Session(str(found.id), person, token)


def keep(response: Response, border: Border, token: str) -> None:
    """Set the session cookie: for this browser session only, out of reach of scripts and of other sites."""
    response.set_cookie(cookie_name(border), token, path="/", secure=border.secure, httponly=True, samesite="strict")


def forget(response: Response, border: Border) -> None:
    """Take the session cookie away."""
    response.delete_cookie(cookie_name(border), path="/", secure=border.secure, httponly=True, samesite="strict")
