"""The local person: whoever can read the session secret beside the store is the reviewer.

This keeps honest programs apart (an agent's code holds no credential); it is no wall against code
that runs as the same user and reads the file. Run agents as another user, or wait for a remote
executor, where that matters.
"""

from __future__ import annotations

import getpass
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

from interlock.domain.errors import DecisionError, StoreError
from interlock.domain.reviewers import Principal, PrincipalKind


class LocalIdentity:
    """Knows one secret. Authenticates its holder as the reviewer `name` with `authn = local`."""

    def __init__(self, secret: str, name: str | None = None) -> None:
        self._secret = secret
        self._name = name or user_name()

    def authenticate(self, credential: str) -> Principal:
        """The reviewer, for the right secret; raises `DecisionError` `not_authenticated` for any other."""
        if not credential or not hmac.compare_digest(credential.encode(), self._secret.encode()):
            raise DecisionError(
                "not_authenticated",
                "this credential is not the local session secret",
                "Run as the user who owns the store.",
            )
        return Principal(PrincipalKind.REVIEWER, self._name, authn="local")


def session_secret(path: Path) -> str:
    """The secret kept in `path` (mode 0600), made if it is not there; two processes at once agree on one."""
    for _ in range(2):
        try:
            found = path.read_text(encoding="ascii").strip()
            if found:
                return found
            raise StoreError("secret_empty", f"{path} is empty", "Remove it; a new one is made.")
        except FileNotFoundError:
            _make(path)
        except PermissionError as error:
            raise DecisionError(
                "not_authenticated", f"{path} cannot be read by this user", "Decide as the user who owns the store."
            ) from error
        except OSError as error:
            raise StoreError("secret_unreadable", f"{path} cannot be read: {error.strerror}") from error
    raise StoreError("secret_unreadable", f"{path} cannot be made")


def _make(path: Path) -> None:
    """Write a complete secret under another name first: a half-written one must never be read."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
        with suppress(FileExistsError):  # another process was first; then theirs counts
            os.link(draft, path)
    except OSError as error:
        raise StoreError(
            "secret_unwritable",
            f"{path} cannot be written: {error.strerror}",
            "Make the folder writable, or set INTERLOCK_URL.",
        ) from error
    finally:
        draft.unlink(missing_ok=True)


def user_name() -> str:
    """The name of the operating system's user, or `local` where it has none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "local"
