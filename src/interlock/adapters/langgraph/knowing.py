"""What the model knew when it made a call: the messages so far, in a form that can be kept."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage

from interlock.domain.conversation import Conversation, go_on

LONGEST_BLOCK = 50_000
"""Characters of one message that are kept; of what is longer (an image, say) its length is."""

MOST_THREADS = 256
"""Conversations of which it is remembered how far they are kept."""


class Known:
    """How far each conversation is kept already, so that a call costs what is new in it and no more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._heads: OrderedDict[str, tuple[tuple[str, ...], str]] = OrderedDict()

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
        found = go_on(head, [_kept(each) for each in new], _model_of(said[-1]))
        with self._lock:
            self._heads[thread] = (ids, found.head)
            self._heads.move_to_end(thread)
            while len(self._heads) > MOST_THREADS:
                self._heads.popitem(last=False)
        return found

    def forget(self, thread: str) -> None:
        """What was given last may not have been kept: say it all again the next time."""
        with self._lock:
            self._heads.pop(thread, None)


def _model_of(message: BaseMessage) -> str:
    told = cast("dict[str, Any]", message.response_metadata)
    return str(told.get("model_name") or told.get("model") or "")


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
