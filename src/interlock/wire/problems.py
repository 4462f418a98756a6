"""Errors as problem details (RFC 9457), and back as the very same errors."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from interlock.domain import errors
from interlock.domain.errors import InterlockError

STATUS = {
    "bad_request": 422,
    "bad_decision": 422,
    "bad_edit": 422,
    "bad_result": 422,
    "bad_scope": 422,
    "bad_verdict": 422,
    "bad_holder": 422,
    "note_missing": 422,
    "reason_missing": 422,
    "not_shown": 422,
    "no_such_field": 422,
    "not_hidden": 422,
    "idempotency_mismatch": 422,
    "not_authenticated": 401,
    "not_allowed": 403,
    "other_agent": 403,
    "unknown_interrupt": 404,
    "unknown_action": 404,
    "unknown_run": 404,
    "unknown_credential": 404,
    "blob_missing": 404,
    "no_such_operation": 404,
    "too_long": 413,
    "wrong_type": 415,
    "too_many": 429,
}
_KINDS = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, InterlockError)
}
MEDIA_TYPE = "application/problem+json"


def status_of(error: InterlockError) -> int:
    """The HTTP status of an error: by its code, else by its kind."""
    if error.code in STATUS:
        return STATUS[error.code]
    return 503 if isinstance(error, errors.StoreError) else 409


def problem_of(error: InterlockError) -> dict[str, Any]:
    """An error as problem details. `code` and `mend` are ours, `error` and `args` make the same error again."""
    said: dict[str, Any] = {
        "type": "about:blank",
        "title": error.code.replace("_", " "),
        "status": status_of(error),
        "detail": error.message,
        "code": error.code,
        "mend": error.mend,
        "error": type(error).__name__,
        "args": [each if isinstance(each, int) else None if each is None else str(each) for each in error.args],
    }
    if isinstance(error, errors.DecisionError):
        said |= {"by": error.by, "at": error.at.isoformat() if error.at is not None else None}
    return said


def error_of(problem: dict[str, Any]) -> InterlockError:
    """The error that a problem tells of; what tells of none is a `StoreError` `server_confused`."""
    kind = _KINDS.get(str(problem.get("error", "")), InterlockError)
    args = problem.get("args")
    try:
        error = kind(*cast("list[Any]", args)) if isinstance(args, list) and args else None
    except TypeError:
        error = None
    if error is None or not isinstance(problem.get("code"), str):
        detail = str(problem.get("detail", "it said nothing that could be read"))[:300]
        return errors.StoreError("server_confused", f"the server refused: {detail}", "See its log.")
    if isinstance(error, errors.DecisionError):
        error.by = problem.get("by")
        at = problem.get("at")
        error.at = datetime.fromisoformat(at) if isinstance(at, str) else None
    return error
