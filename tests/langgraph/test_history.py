"""What a call's name says of the conversation it stands in: the calls that this run may have, and no more."""

import threading
from types import SimpleNamespace
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from interlock.adapters.guard.places import Pass
from interlock.adapters.langgraph.knowing import Known
from interlock.adapters.langgraph.places import Spot, named_call
from interlock.domain.action import PastCall
from interlock.domain.ids import CallKey


class Keyed:
    """A pass, as far as names need it; it counts the keys that are made."""

    def __init__(self, *known: str, gone: bool = False) -> None:
        self.run_id = "r"
        self.lock = threading.RLock()
        self.grant = SimpleNamespace(run_key=b"k" * 32)
        self.seen: set[str] = set()
        self.made = 0
        self.known = {key: PastCall(CallKey(key), "", 1, "send", gone=gone) for key in map(self.key, known)}

    def key(self, ref: str) -> CallKey:
        return Pass.key_of(cast("Any", self), "", "send", ref)

    def key_of(self, path: str, tool: str, ref: str) -> CallKey:
        self.made += 1
        return Pass.key_of(cast("Any", self), path, tool, ref)


def call(message: str, *ids: str) -> AIMessage:
    return AIMessage("", id=message, tool_calls=[{"name": "send", "args": {}, "id": one} for one in ids])


def history(pass_: Any, *messages: AnyMessage) -> set[str]:
    spot = Spot("t", "tools", "task", lambda _, __: list(messages), True, {})
    named, _ = named_call(pass_, spot, "send", "new", 0, acts=True, known=Known())
    assert named is not None
    return set(named.history)


EARLIER = [HumanMessage("go", id="h1"), call("a1", "c1"), HumanMessage("again", id="h2")]


def test_calls_of_earlier_runs_are_not_named() -> None:
    pass_ = Keyed()
    assert history(pass_, *EARLIER, call("a2", "new")) == {pass_.key("a2/new")}
    assert pass_.made == 1


def test_a_call_of_this_run_is_found_behind_newer_messages() -> None:
    pass_ = Keyed("a2/c2")
    assert pass_.key("a2/c2") in history(pass_, *EARLIER, call("a2", "c2"), call("a3", "c3"), call("a4", "new"))
    assert pass_.made == 3


def test_siblings_in_the_newest_message_are_all_named() -> None:
    pass_ = Keyed("a2/c2")
    found = history(pass_, call("a2", "c2", "new", "c4"))
    assert found == {pass_.key("a2/c2"), pass_.key("a2/new"), pass_.key("a2/c4")}


def test_a_call_that_the_conversation_lost_is_looked_for_to_its_beginning() -> None:
    pass_ = Keyed("lost/c9")
    found = history(pass_, *EARLIER, call("a2", "new"))
    assert pass_.key("lost/c9") not in found
    assert pass_.made == 2


def test_a_call_that_was_withdrawn_is_not_looked_for() -> None:
    pass_ = Keyed("lost/c9", gone=True)
    history(pass_, *EARLIER, call("a2", "new"))
    assert pass_.made == 1
