"""What the model knew when it made a call: the messages so far, in a form that can be kept."""

from __future__ import annotations

import json
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage

from interlock.domain.conversation import Conversation, go_on
from interlock.domain.hiding import secrets_of, veiled_tree
from interlock.schema import Json

LONGEST_BLOCK = 50_000
"""Characters of one message that are kept; of what is longer (an image, say) its length is."""

LONGEST_WORD = 40
"""Characters of a parameter that is a word."""

MOST_THREADS = 256
"""Conversations of which it is remembered how far they are kept."""

PARAMETERS = (
    "temperature", "top_p", "top_k", "max_tokens", "max_output_tokens", "max_completion_tokens", "seed",
    "presence_penalty", "frequency_penalty", "reasoning_effort",
)  # fmt: skip
"""What is kept of how a model was asked. Nothing else is: headers and keys stand among what it is configured with."""


class Known:
    """How far each conversation is kept already, so that a call costs what is new in it and no more.

    `sensitive` answers which arguments of a tool are: their values are not kept, wherever in a message they stand.
    """

    def __init__(self, sensitive: Callable[[str], Sequence[str]] = lambda _: ()) -> None:
        self._sensitive = sensitive
        self._lock = threading.Lock()
        self._heads: OrderedDict[str, tuple[tuple[str, ...], str]] = OrderedDict()
        self._asked: OrderedDict[str, Mapping[str, Json]] = OrderedDict()

    def spoke(self, message: AIMessage, model: object, settings: Mapping[str, Any]) -> None:
        """Remember how the model was asked that made these calls."""
        found = parameters_of(model, settings)
        with self._lock:
            for call in message.tool_calls if found else ():
                self._asked[call["id"] or ""] = found
                self._asked.move_to_end(call["id"] or "")
            while len(self._asked) > MOST_THREADS:
                self._asked.popitem(last=False)

    def conversation(self, thread: str, messages: Sequence[AnyMessage]) -> Conversation:
        """The conversation up to the last thing that the model said, with what is not known to be kept."""
        end = max((n for n, each in enumerate(messages) if isinstance(each, AIMessage)), default=-1) + 1
        said = messages[:end]
        if not said:
            return Conversation()
        ids = tuple(each.id or "" for each in said)
        with self._lock:
            before, head = self._heads.get(thread, ((), ""))
        new = said
        if before and "" not in ids and ids[: len(before)] == before:
            new = said[len(before) :]
        else:
            head = ""
        last = cast("AIMessage", said[-1])
        with self._lock:
            asked = self._asked.get(last.tool_calls[-1]["id"] or "") if last.tool_calls else None
        found = go_on(head, list(self._kept(said, new)), _model_of(last), asked or {})
        with self._lock:
            self._heads[thread] = (ids, found.head)
            self._heads.move_to_end(thread)
            while len(self._heads) > MOST_THREADS:
                self._heads.popitem(last=False)
        return found

    def _kept(self, said: Sequence[AnyMessage], new: Sequence[AnyMessage]) -> Iterator[Json]:
        secrets = frozenset(secret for each in _calls(said) for secret in self._secrets(each))
        for message in new:
            kept = _kept(message)
            yield veiled_tree(kept, secrets) if secrets else kept

    def _secrets(self, call: Mapping[str, Any]) -> frozenset[str]:
        paths = self._sensitive(call["name"])
        return secrets_of(json.loads(json.dumps(call["args"], default=str)), paths) if paths else frozenset()

    def forget(self, thread: str) -> None:
        """What was given last may not have been kept: say it all again the next time."""
        with self._lock:
            self._heads.pop(thread, None)


def _calls(messages: Sequence[AnyMessage]) -> Iterator[Mapping[str, Any]]:
    for each in messages:
        if isinstance(each, AIMessage):
            yield from cast("list[Mapping[str, Any]]", each.tool_calls)


def _model_of(message: BaseMessage) -> str:
    told = cast("dict[str, Any]", message.response_metadata)
    return str(told.get("model_name") or told.get("model") or "")


def parameters_of(model: object, settings: Mapping[str, Any]) -> dict[str, Json]:
    """With which parameters a model is asked: those of this call, else its own. Only numbers and short words."""
    found: dict[str, Json] = {}
    for name in PARAMETERS:
        value = settings.get(name, getattr(model, name, None))
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
            found[name] = value
        if isinstance(value, str) and 0 < len(value) <= LONGEST_WORD:
            found[name] = value
    return found


def _kept(message: AnyMessage) -> Any:
    kept: dict[str, Any] = {"role": message.type, "content": _content(message.content)}
    if message.name:
        kept["name"] = message.name
    if isinstance(message, AIMessage) and message.tool_calls:
        kept["calls"] = [
            {"name": each["name"], "id": each["id"], "args": _plain(each["args"])} for each in message.tool_calls
        ]
    if isinstance(message, ToolMessage):
        kept["answers"] = message.tool_call_id
        if message.status != "success":
            kept["status"] = message.status
    return kept


def _content(content: Any) -> Any:
    if isinstance(content, str):
        return content if len(content) <= LONGEST_BLOCK else content[:LONGEST_BLOCK] + f" [{len(content):,} characters]"
    return _plain(content)


def _plain(value: Any) -> Any:
    """A value as text of JSON: what is kept here is evidence to read, and is never executed."""
    text = json.dumps(value, default=str, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= LONGEST_BLOCK else text[:LONGEST_BLOCK] + f" [{len(text):,} characters]"
