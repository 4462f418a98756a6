"""The JSON API: who may ask what, what is refused before it counts, and that pages can do nothing that it cannot."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from inbox_server import LONG, Served, serving

from interlock import Desk, Interlock, Refused
from interlock.client.transport import Transport
from interlock.domain.credential import CredentialKind
from interlock.domain.errors import DecisionError, SettingsError, StoreError
from interlock.domain.interrupt import Ending
from interlock.wire.operations import AGENTS, OPERATIONS, REVIEWERS


class Keys:
    """Clients of a server: an agent's, a reviewer's, and others."""

    def __init__(self, served: Served) -> None:
        self.served = served
        issue = served.kernel.issue
        self.agent = issue(CredentialKind.AGENT_KEY, "billing", by="operator:test", authn="key").token
        self.other = issue(CredentialKind.AGENT_KEY, "support", by="operator:test", authn="key").token
        self.reviewer = issue(CredentialKind.REVIEWER_KEY, "ana", by="operator:test", authn="key").token
        self.login = issue(CredentialKind.LOGIN, "ana", by="operator:test").token

    def ask(self, token: str | None, method: str, path: str, **more: Any) -> httpx.Response:
        headers = {"authorization": f"Bearer {token}"} if token is not None else {}
        client = self.served.client()
        return client.request(method, path, headers={**headers, **more.pop("headers", {})}, **more)


@pytest.fixture
def keys(served: Served) -> Keys:
    return Keys(served)


def address(path: str) -> str:
    return re.sub(r"{\w+}", "01a231ae-1033-74f4-aafb-1287e9dc1ffb", path)


def test_nobody_is_answered_without_a_key(keys: Keys) -> None:
    for operation in OPERATIONS:
        for token in (None, "ilk_x", keys.login, "ilk_" + "0" * 32 + "_" + "a" * 43):
            answer = keys.ask(token, operation.method, address(operation.path), json={})
            assert answer.status_code in (401, 403), operation
            problem = answer.json()
            assert problem["code"] in ("not_authenticated", "not_allowed")
            assert answer.headers["content-type"] == "application/problem+json"


def test_an_agents_key_decides_nothing_and_looks_over_nobodys_shoulder(keys: Keys) -> None:
    card = keys.served.shop.card(keys.served.shop.refunding.start("88-1204"))
    for operation in REVIEWERS:
        path = operation.path.replace("{interrupt}", card)
        answer = keys.ask(keys.agent, operation.method, address(path), json={})
        assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed"), operation
    for operation in AGENTS:
        answer = keys.ask(keys.reviewer, operation.method, address(operation.path), json={})
        assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed"), operation
    view = keys.served.kernel.card(card)
    assert view is not None
    assert view.card.open


def test_an_agents_key_reaches_no_run_or_action_of_another_agent(keys: Keys) -> None:
    run = keys.served.shop.refunding.start("88-1204")
    view = keys.served.kernel.card(keys.served.shop.card(run))
    assert view is not None
    paths = [
        f"/v1/agent/runs/{run.id}",
        f"/v1/agent/runs/{run.id}/key",
        f"/v1/agent/runs/{run.id}/interrupts",
        f"/v1/agent/actions/{view.about.action.id}",
        f"/v1/agent/actions/{view.about.action.id}/arguments",
        "/v1/agent/unended?agent=billing&thread=t",
    ]
    for path in paths:
        answer = keys.ask(keys.other, "GET", path)
        assert (answer.status_code, answer.json()["code"]) == (403, "other_agent"), path
        assert "88-1204" not in answer.text


def test_a_cookie_is_no_key(served: Served) -> None:
    person = served.person()
    assert person.get("/v1/interrupts").status_code == 401


def test_a_view_holds_nothing_that_is_hidden_and_a_reveal_is_on_record(keys: Keys) -> None:
    card = keys.served.shop.card(keys.served.shop.charging.start("4111 1111 1111 1111"))
    run = keys.served.kernel.runs()[0].id
    for path in (f"/v1/interrupts/{card}", "/v1/interrupts", f"/v1/runs/{run}/story"):
        answer = keys.ask(keys.reviewer, "GET", path)
        assert answer.status_code == 200
        assert "charge" in answer.text
        assert "4111 1111" not in answer.text.replace(json.dumps(keys.served.kernel.run(run).input.decode())[1:-1], "")  # type: ignore[union-attr]
    digest = keys.ask(keys.reviewer, "GET", f"/v1/interrupts/{card}").json()["card"]["digest"]
    body = {"digest": digest, "paths": ["number"]}
    shown = keys.ask(keys.reviewer, "POST", f"/v1/interrupts/{card}/reveal", json=body)
    assert shown.json() == {"number": "4111 1111 1111 1111"}
    events = keys.ask(keys.reviewer, "GET", f"/v1/audit/events?run={run}").json()
    assert events[-1]["event"]["type"] == "ValueRevealed"


def test_a_decision_over_http_runs_what_was_shown_once(keys: Keys) -> None:
    card = keys.served.shop.card(keys.served.shop.refunding.start("88-1204"))
    digest = keys.ask(keys.reviewer, "GET", f"/v1/interrupts/{card}").json()["card"]["digest"]
    saying = {"saying": {"verdict": "approve", "digest": digest, "note": "fine"}}
    answers = [keys.ask(keys.reviewer, "POST", f"/v1/interrupts/{card}/decision", json=saying) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert [answer.json()["replayed"] for answer in answers] == [False, True, True]
    other = {"saying": {"verdict": "reject", "digest": digest}}
    refused = keys.ask(keys.reviewer, "POST", f"/v1/interrupts/{card}/decision", json=other)
    assert (refused.status_code, refused.json()["code"], refused.json()["by"]) == (409, "already_decided", "ana")
    keys.served.shop.il.worker().run_until_idle()
    assert len(keys.served.shop.sent) == 1


def test_what_is_folded_cannot_be_skipped_over_http_either(keys: Keys) -> None:
    card = keys.served.shop.card(keys.served.shop.mail.start("ap@newco.example", body=LONG))
    digest = keys.ask(keys.reviewer, "GET", f"/v1/interrupts/{card}").json()["card"]["digest"]
    shown = {"channel": "mine", "opened": ["body"]}
    saying = {"saying": {"verdict": "approve", "digest": digest, "shown": shown}}
    refused = keys.ask(keys.reviewer, "POST", f"/v1/interrupts/{card}/decision", json=saying)
    assert (refused.status_code, refused.json()["code"]) == (422, "not_shown")
    body = {"digest": digest, "parts": ["body"]}
    assert keys.ask(keys.reviewer, "POST", f"/v1/interrupts/{card}/open", json=body).json() == ["body"]
    assert keys.ask(keys.reviewer, "POST", f"/v1/interrupts/{card}/decision", json=saying).status_code == 200


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "body"),
        (b"null", "is no object"),
        (b"[]", "is no object"),
        (b'{"saying": 1}', "saying"),
        (b'{"saying": {"verdict": "approve"}}', "digest"),
        (b'{"saying": {"verdict": "yes", "digest": "x"}}', "verdict"),
        (b'{"saying": {"verdict": "approve", "digest": "x", "zzz": 1}}', "zzz"),
        (b'{"saying": {"verdict": "approve", "digest": "x"}, "more": 1}', "more"),
        (b'{"saying": {"verdict": "approve", "digest": "x"}, "saying": {}}', "twice"),
        (b'{"saying": {"verdict": "approve", "digest": "x", "result": NaN}}', "NaN"),
        (b'{"saying": {"verdict": "approve", "digest": "\\ud800"}}', "surrogate"),
        (b"\xff\xfe", "UTF-8"),
        (b'{"saying": ' + b"[" * 2000 + b"]" * 2000 + b"}", "deep"),
    ],
)
def test_a_malformed_decision_consumes_nothing(keys: Keys, body: bytes, words: str) -> None:
    card = keys.served.shop.card(keys.served.shop.refunding.start("88-1204"))
    headers = {"content-type": "application/json"}
    answer = keys.ask(keys.reviewer, "POST", f"/v1/interrupts/{card}/decision", content=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_request")
    assert words in answer.json()["detail"]
    view = keys.served.kernel.card(card)
    assert view is not None
    assert view.card.open


@pytest.mark.parametrize("digest", ["", "x", "sha-256:" + "A" * 43])
def test_a_stale_or_foreign_digest_consumes_nothing(keys: Keys, digest: str) -> None:
    card = keys.served.shop.card(keys.served.shop.refunding.start("88-1204"))
    saying = {"saying": {"verdict": "approve", "digest": digest}}
    answer = keys.ask(keys.reviewer, "POST", f"/v1/interrupts/{card}/decision", json=saying)
    assert (answer.status_code, answer.json()["code"]) == (409, "digest_mismatch")
    view = keys.served.kernel.card(card)
    assert view is not None
    assert view.card.open


def test_an_idempotency_key_gives_the_same_answer_to_the_same_body_only(keys: Keys) -> None:
    headers = {"idempotency-key": "k1"}
    body = {"scope": "agent", "name": "x", "reason": "one"}
    first = keys.ask(keys.reviewer, "POST", "/v1/freezes", json=body, headers=headers)
    again = keys.ask(keys.reviewer, "POST", "/v1/freezes", json=body, headers=headers)
    assert (first.status_code, first.json()) == (200, again.json())
    other = keys.ask(keys.reviewer, "POST", "/v1/freezes", json={**body, "reason": "two"}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    elsewhere = keys.ask(
        keys.reviewer, "POST", "/v1/freezes/release", json={"scope": "agent", "name": "x"}, headers=headers
    )
    assert elsewhere.status_code == 200


def test_bodies_are_bounded_and_have_to_be_json(keys: Keys) -> None:
    long = keys.ask(keys.reviewer, "POST", "/v1/freezes", json={"reason": "x" * (1024 * 1024)})
    assert (long.status_code, long.json()["code"]) == (413, "too_long")
    form = keys.ask(keys.reviewer, "POST", "/v1/freezes", data={"scope": "all"})
    assert (form.status_code, form.json()["code"]) == (415, "wrong_type")


def test_looking_at_the_api_changes_nothing(keys: Keys) -> None:
    card = keys.served.shop.card(keys.served.shop.refunding.start("88-1204"))
    for operation in OPERATIONS:
        path = address(operation.path.replace("{interrupt}", card))
        for method in ("GET", "HEAD"):
            for token in (keys.reviewer, keys.agent):
                keys.ask(token, method, path)
    view = keys.served.kernel.card(card)
    assert view is not None
    assert view.card.open


def test_a_key_that_ended_is_dead_at_once(keys: Keys) -> None:
    assert keys.ask(keys.reviewer, "POST", "/v1/session/end", json={}).json() is True
    assert keys.ask(keys.reviewer, "GET", "/v1/interrupts").status_code == 401


def test_the_description_names_every_operation(keys: Keys) -> None:
    described = keys.ask(None, "GET", "/v1/openapi.json").json()
    assert {(path, method) for path, each in described["paths"].items() for method in each} == {
        (each.path, each.method.lower()) for each in OPERATIONS
    }


TWINS = {
    "/signin": None,  # a program has a key instead
    "/signout": "sign_out",
    "/i/{ref}/open": "open_parts",
    "/i/{ref}/reveal": "reveal",
    "/i/{ref}/decide": "decide",
    "/i/{ref}/modify": "decide",
    "/i/{ref}/undo": "revoke",
    "/batch": "decide_together",
    "/runs/{run:path}/cancel": "cancel",
    "/runs/{run:path}/retry": "retry",
    "/runs/{run:path}/rollback": "rollback",
    "/freeze": "freeze",
    "/release": "release",
}
"""Every form of the pages, and the operation of the API that does the same."""


def test_every_form_has_a_twin_in_the_api(served: Served) -> None:
    from interlock.server.inbox import screens
    from interlock.server.inbox.frame.site import Site
    from interlock.server.security import Border

    routes = screens.routes(Site(served.kernel, Border.at(served.url)))
    forms = {route.path for route in routes if "POST" in (getattr(route, "methods", None) or ())}  # type: ignore[attr-defined]
    assert forms == set(TWINS)
    assert {twin for twin in TWINS.values() if twin} <= {each.name for each in REVIEWERS}


# -- the clients ----------------------------------------------------------------------------------------


@pytest.fixture
def remote(keys: Keys) -> Iterator[Interlock]:
    with Interlock(keys.served.url, agent="billing", credential=keys.agent) as il:
        yield il


def test_an_agent_elsewhere_pauses_is_decided_and_goes_on(keys: Keys, remote: Interlock) -> None:
    sent: list[str] = []

    @remote.tool("irreversible")
    def send(to: str, body: str) -> str:
        sent.append(to)
        return f"sent to {to}"

    @remote.tool("read_only")
    def look(what: str) -> int:
        return len(what)

    def job() -> str:
        return send("bob", "x" * look("abc"))

    with remote.run("job-3") as run:
        job()
    assert run.status == "waiting"
    assert run.url.startswith(f"{keys.served.url}/i/")
    with Desk(keys.served.url, keys.reviewer) as desk:
        (view,) = desk.open()
        assert view.about.current.arguments == {"to": "bob", "body": "xxx"}
        desk.approve(view.card.id, digest=view.card.digest, note="go")
    for _ in range(2):
        with remote.run("job-3") as run:
            assert job() == "sent to bob"
    assert (run.status, sent) == ("finished", ["bob"])


def test_a_refusal_reaches_the_agent_elsewhere_with_its_words(keys: Keys, remote: Interlock) -> None:
    @remote.tool("irreversible")
    def send(to: str) -> str:
        raise AssertionError

    with remote.run("job-1") as run:
        send("bob")
    assert run.status == "waiting"
    with Desk(keys.served.url, keys.reviewer) as desk:
        (view,) = desk.open()
        desk.reject(view.card.id, digest=view.card.digest, note="Not bob.")
        assert desk.card(view.card.id).card.ending is Ending.REJECTED
    with remote.run("job-1"):
        with pytest.raises(Refused) as refused:
            send("bob")
        assert refused.value.words == "Not bob."


def test_where_the_server_is_away_nothing_runs_and_the_error_says_so(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        key = Keys(served).agent
        url = served.url
    transport = Transport(url, key, patience=0.3)
    with pytest.raises(StoreError) as away:
        transport.call(next(each for each in AGENTS if each.name == "run"), run="x")
    transport.close()
    assert away.value.code == "server_away"
    assert "\n" not in str(away.value)


def test_a_request_waits_for_a_server_that_comes_back(tmp_path: Path) -> None:
    import socket

    with serving(tmp_path) as served:
        key = Keys(served).reviewer
        port = int(served.url.rpartition(":")[2])
    url = f"http://127.0.0.1:{port}"
    found: list[int] = []

    def ask() -> None:
        with Desk(url, key) as desk:
            found.append(desk.count_open())

    thread = threading.Thread(target=ask)
    thread.start()
    from interlock.compose import open_kernel, web_server

    kernel, _ = open_kernel(f"sqlite:///{tmp_path / 'interlock.db'}")
    listener = socket.create_server(("127.0.0.1", port), backlog=16)
    server = web_server(kernel, url)
    running = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    running.start()
    thread.join()
    server.should_exit = True
    running.join()
    listener.close()
    kernel.close()
    assert found == [0]


def test_a_key_is_never_sent_in_the_open_nor_left_out() -> None:
    with pytest.raises(SettingsError) as plain:
        Desk("http://inbox.example.com", "ilk_x")
    assert plain.value.code == "public_without_tls"
    with pytest.raises(SettingsError) as missing:
        Desk("https://inbox.example.com")
    assert missing.value.code == "credential_missing"


def test_what_needs_the_store_says_where_it_is(keys: Keys, remote: Interlock) -> None:
    with pytest.raises(SettingsError) as here:
        remote.worker()
    assert here.value.code == "no_kernel_here"


def test_code_inside_a_run_opens_no_desk_over_http(keys: Keys, remote: Interlock) -> None:
    with remote.run("job-2"), pytest.raises(DecisionError) as refused:
        Desk(keys.served.url, keys.reviewer)
    assert refused.value.code == "not_allowed"
