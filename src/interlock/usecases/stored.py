"""What is stored, if it still is what was put there: of a revision, what was shown and decided."""

from __future__ import annotations

from typing import cast

from interlock.canonical import Json, blob_digest, document_digest, parse
from interlock.domain.action import Action
from interlock.domain.errors import CallError, StoreError
from interlock.ports.store import Rows


def stored_arguments(rows: Rows, action: Action) -> Json:
    """The arguments of the action's current revision, typed encoding.

    Raises `StoreError` `store_inconsistent` where the stored document is not the one of the digest: somebody, or
    something, changed it behind the store's back.
    """
    revision = rows.revision(action.id, action.revision)
    if revision is None or document_digest(revision.document) != action.digest:
        raise StoreError(
            "store_inconsistent",
            f"what is stored of {action.tool} ({action.id}) is not the one that was decided, so it is not used",
            "Restore the store from a backup, or cancel the run.",
        )
    return cast("dict[str, Json]", parse(revision.document))["arguments"]


def stored_blob(rows: Rows, digest: str) -> bytes:
    """A value that is kept apart from its document; raises `CallError` where it is missing or damaged."""
    data = rows.blob(digest)
    if data is None or blob_digest(data) != digest:
        raise CallError(
            "blob_missing", f"the stored value {digest} is missing or damaged", "Restore the store from a backup."
        )
    return data
