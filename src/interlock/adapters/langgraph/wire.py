# pyright: reportMissingTypeStubs=false
"""LangChain's approval middleware on the wire: what its pauses hold, and how their answers are read.

Its own form, with the ids of our cards beside it: batched (one pause for all calls of a message) and per call. An
answer is read as a whole before anything comes of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, cast

from langchain.agents.middleware import human_in_the_loop as theirs
from langchain_core.tools import BaseTool
from langgraph.types import Interrupt
from pydantic import BaseModel, Discriminator, TypeAdapter, WithJsonSchema, create_model

from interlock.adapters.langgraph.borders import GATE, KIND
from interlock.domain.errors import DecisionError
from interlock.domain.interrupt import Interrupt as Card

DECISIONS = ("approve", "edit", "reject", "respond")
"""What can be said to a call, in LangChain's words."""

ON_CARD: Mapping[str, str] = {"approve": "approve", "edit": "modify", "reject": "reject", "respond": "respond"}
"""The same in the words of a card."""

AGAIN = "Nothing was decided; correct it and send it again."


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that has a card, as it is shown: `args` are the card's, `given` the names that the model gave."""

    tool: str
    call_id: str
    args: Mapping[str, Any]
    given: frozenset[str]
    description: str
    allowed: tuple[str, ...]
    card: Card
    url: str

    def ids(self) -> dict[str, Any]:
        """What names the card: a decision is about this interrupt with this digest."""
        return {"interrupt": self.card.id, "digest": self.card.digest, "run": self.card.run, "url": self.url}


@dataclass(frozen=True, slots=True)
class Said:
    """One decision as it came in, well formed: the reviewer's words, and new arguments with an edit."""

    kind: str
    message: str = ""
    args: Mapping[str, Any] | None = None


# -- what is shown ----------------------------------------------------------------------------------------


def approval(asked: Asked, id: str, schema: Mapping[str, Any]) -> Interrupt:
    """The pause of one call."""
    value = {
        "type": "tool_approval",
        "tool_call_id": asked.call_id,
        "name": asked.tool,
        "args": dict(asked.args),
        "description": asked.description,
        **asked.ids(),
        GATE: KIND,
    }
    return Interrupt(value=value, id=id, response_schema=dict(schema))


def batch(place: str, asked: Sequence[Asked]) -> Interrupt:
    """One pause for several calls; its id is made of exactly these cards."""
    requests = [
        {"name": each.tool, "args": dict(each.args), "description": each.description, **each.ids()} for each in asked
    ]
    configs = [{"action_name": each.tool, "allowed_decisions": list(each.allowed)} for each in asked]
    value = {"action_requests": requests, "review_configs": configs, GATE: KIND}
    return Interrupt(value=value, id=batch_id(place, [each.card for each in asked]))


def batch_id(place: str, cards: Sequence[Card]) -> str:
    """32 hexadecimal digits: the first tell the place (a message, a call), the rest the cards and their digests."""
    return place_of(place) + _hex("|".join(f"{card.id}={card.digest}" for card in cards), 24)


def place_of(place: str) -> str:
    """How the ids of all batches at a place begin: by that an answer to an older one is known."""
    return _hex(place, 8)


def _hex(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:digits]


def response_schema(allowed: Sequence[str], name: str, tool: BaseTool | None) -> Mapping[str, Any]:
    """The JSON schema of an answer to one call, as LangChain gives it; an edit names this tool and fits its schema."""
    kinds: dict[str, Any] = {
        "approve": theirs.ApproveDecision,
        "reject": theirs.RejectDecision,
        "respond": theirs.RespondDecision,
    }
    if "edit" in allowed:
        schema = tool.tool_call_schema if tool is not None else None
        if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
            plain = schema if isinstance(schema, dict) else {"type": "object"}
            schema = cast("Any", Annotated[dict[str, Any], WithJsonSchema(plain)])
        make: Any = create_model
        action = make("EditedAction", name=(cast("Any", Literal)[name], ...), args=(schema, ...))
        kinds["edit"] = make("EditDecision", type=(Literal["edit"], ...), edited_action=(action, ...))
    members = tuple(kinds[each] for each in dict.fromkeys(allowed))
    whole: Any = members[0] if len(members) == 1 else Annotated[cast("Any", Union)[members], Discriminator("type")]
    return TypeAdapter(whole).json_schema()


# -- what is answered -------------------------------------------------------------------------------------


def read_batch(answer: Any, asked: Sequence[Asked]) -> list[Said]:
    """The decisions of an answer to a batch, in its order. Raises `DecisionError` for the first that is none."""
    found = cast("dict[str, Any]", answer).get("decisions") if isinstance(answer, Mapping) else None
    if not isinstance(found, (list, tuple)):
        raise _bad(
            f"it is {_kind(cast('object', answer))}, not an object with a list of decisions", '{"decisions": [...]}'
        )
    decisions = cast("Sequence[Any]", found)
    if len(decisions) != len(asked):
        raise _bad(
            f"it has {len(decisions)} decisions, and {len(asked)} calls wait", "one decision for each call, in order"
        )
    return [read(each, one) for each, one in zip(decisions, asked, strict=True)]


def read(answer: Any, asked: Asked) -> Said:
    """The decision about one call. Raises `DecisionError` for what is none, or not among those that it takes."""
    wanted = " or ".join(f'{{"type": "{each}"}}' for each in asked.allowed)
    if not isinstance(answer, Mapping):
        raise _bad(f"the decision about {asked.tool} is {_kind(answer)}, not an object", wanted)
    given = cast("Mapping[Any, Any]", answer)
    kind = given.get("type")
    if not isinstance(kind, str) or kind not in DECISIONS:
        raise _bad(f"the decision about {asked.tool} has the type {kind!r:.60}", wanted)
    if kind not in asked.allowed:
        raise DecisionError("not_offered", f"{asked.tool} does not take {kind}, only {', '.join(asked.allowed)}", AGAIN)
    message = given.get("message")
    if message is not None and not isinstance(message, str):
        raise _bad(f"the message about {asked.tool} is {_kind(message)}, not text", '"message": "…"')
    if kind == "respond" and message is None:
        raise _bad(f"{asked.tool} is to be answered without a message", '{"type": "respond", "message": "…"}')
    if kind != "edit":
        if "edited_action" in given:
            raise _bad(f"the decision about {asked.tool} is {kind} and brings an edit, too", '"type": "edit"')
        return Said(kind, message or "")
    return Said(kind, message or "", _edit(given.get("edited_action"), asked))


def _edit(edited: Any, asked: Asked) -> Mapping[str, Any]:
    wanted = f'"edited_action": {{"name": "{asked.tool}", "args": {{...}}}}'
    if not isinstance(edited, Mapping):
        raise _bad(f"the edit of {asked.tool} brings no edited_action", wanted)
    action = cast("Mapping[str, Any]", edited)
    name, args = action.get("name"), action.get("args")
    if name != asked.tool:
        raise _bad(f"the edit of {asked.tool} names {name!r:.60}, and an edit cannot change the tool", wanted)
    if not isinstance(args, Mapping):
        raise _bad(f"the edit of {asked.tool} has {_kind(args)} for args", wanted)
    changed = cast("Mapping[str, Any]", args)
    left_out = sorted(each for each in asked.given if each in asked.args and each not in changed)
    if left_out:
        # Here they would stay as they are, and in LangChain they would be gone: whoever edits says which.
        raise DecisionError("bad_edit", f"the edit of {asked.tool} leaves out {', '.join(left_out)}", AGAIN)
    return changed


def _bad(what: str, wanted: str) -> DecisionError:
    return DecisionError("bad_answer", f"the answer does not fit: {what}", f"Nothing was decided; send {wanted}.")


def _kind(value: object) -> str:
    return "nothing" if value is None else f"of type {type(value).__name__}"
