"""Who gets in, and what is refused before anything of it is read."""

import re
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from inbox_server import Person, Served, serving

from interlock.domain.credential import CredentialKind
from interlock.server.limits import Limits, Rate

PAGES = ["/", "/runs", "/ledger", "/policy", "/freeze", "/done", "/news", "/batch", "/ledger/1", "/ledger/export"]


def test_nobody_sees_a_page_without_signing_in(served: Served) -> None:
    card = served.shop.card(served.shop.refunding.start("88-1204"))
    client = served.client()
    for path in [*PAGES, f"/i/{card}", f"/i/{card}/exact", f"/i/{card}/state", f"/i/{card}/modify", "/runs/x"]:
        answer = client.get(path)
        assert answer.status_code == 303, path
        assert answer.headers["location"].startswith("/signin"), path
        assert "88-1204" not in answer.text
    assert client.get("/live").status_code == 403


def test_opening_the_link_uses_nothing_up_and_the_button_does_once(served: Served) -> None:
    link = served.link()
    client = served.client()
    for _ in range(20):  # scanners, previews, prefetchers
        assert client.get(link).status_code == 200
        assert client.head(link).status_code == 200
    assert not client.cookies
    token = link.partition("token=")[2]
    own = {"origin": served.url}
    first = client.post("/signin", data={"token": token}, headers=own)
    assert (first.status_code, first.headers["location"]) == (303, "/")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    again = served.client().post("/signin", data={"token": token}, headers=own)
    assert again.status_code == 401
    assert "of no use any more" in again.text


def test_a_whole_link_can_be_pasted(served: Served) -> None:
    answer = served.client().post("/signin", data={"token": served.link()}, headers={"origin": served.url})
    assert answer.status_code == 303


@pytest.mark.parametrize(
    "token",
    ["", "x", "ilk_", "ilk_" + "0" * 32 + "_" + "a" * 43, "ilk_" + "z" * 32 + "_" + "a" * 43, "\u202e", "a" * 9999],
)
def test_what_is_no_token_lets_nobody_in(served: Served, token: str) -> None:
    answer = served.client().post("/signin", data={"token": token}, headers={"origin": served.url})
    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("onward", "where"),
    [
        ("/runs", "/runs"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("/\\evil.example", "/"),
        ("/\r\nset-cookie: x=1", "/"),
        ("javascript:alert(1)", "/"),
    ],
)
def test_signing_in_leads_to_this_server_only(served: Served, onward: str, where: str) -> None:
    token = served.link().partition("token=")[2]
    answer = served.client().post("/signin", data={"token": token, "next": onward}, headers={"origin": served.url})
    assert answer.headers["location"] == where


def test_a_key_of_an_agent_opens_no_page(served: Served) -> None:
    client = served.client()
    for kind in (CredentialKind.AGENT_KEY, CredentialKind.REVIEWER_KEY, CredentialKind.LOGIN):
        made = served.kernel.issue(kind, "billing", by="operator:test")
        client.cookies.set(f"interlock-{served.url.rpartition(':')[2]}", made.token)
        assert client.get("/").status_code == 303
        client.cookies.clear()


def test_a_session_that_ended_is_dead_at_once_in_every_tab(served: Served) -> None:
    person = served.person()
    card = served.shop.card(served.shop.refunding.start("88-1204"))
    fields = person.fields(f"/i/{card}")
    (session,) = served.kernel.credentials(CredentialKind.SESSION)
    served.kernel.end_credential(session.id, "operator:test")
    assert person.get("/").status_code == 303
    answer = person.post(f"/i/{card}/decide", **{**fields, "verb": "approve"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/signin")
    view = served.kernel.card(card)
    assert view is not None
    assert view.card.open


def test_signing_out_ends_the_session_on_the_server(served: Served) -> None:
    person = served.person()
    cookies = httpx.Cookies(person.http.cookies)
    assert "Signed out" in person.post("/signout").text
    other = served.client()
    other.cookies = cookies
    assert other.get("/").status_code == 303


def test_a_session_ends_by_itself_after_its_time(served: Served) -> None:
    made = served.kernel.issue(CredentialKind.SESSION, "ana", by="operator:test", lasts=timedelta(microseconds=1))
    client = served.client()
    client.cookies.set(f"interlock-{served.url.rpartition(':')[2]}", made.token)
    assert client.get("/").status_code == 303


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "SELF", "sec-fetch-site": "cross-site"},
    ],
)
def test_a_form_from_elsewhere_decides_nothing(served: Served, headers: dict[str, str]) -> None:
    person = served.person()
    card = served.shop.card(served.shop.refunding.start("88-1204"))
    data = {**person.fields(f"/i/{card}"), "verb": "approve"}
    sent = {name: served.url if value == "SELF" else value for name, value in headers.items()}
    answer = person.http.post(f"/i/{card}/decide", data=data, headers=sent)
    assert answer.status_code == 403
    assert "wrong_origin" in answer.text
    view = served.kernel.card(card)
    assert view is not None
    assert view.card.open


@pytest.mark.parametrize("csrf", [None, "x", "A" * 43])
def test_a_form_without_its_sessions_token_decides_nothing(served: Served, csrf: str | None) -> None:
    person = served.person()
    card = served.shop.card(served.shop.refunding.start("88-1204"))
    fields = {name: value for name, value in person.fields(f"/i/{card}").items() if name != "csrf"}
    answer = person.post(f"/i/{card}/decide", csrf=csrf, **{**fields, "verb": "approve"})
    assert answer.status_code == 403
    assert "belongs to another session" in answer.text


def test_a_form_of_another_session_decides_nothing(served: Served) -> None:
    person, other = served.person(), served.person()
    card = served.shop.card(served.shop.refunding.start("88-1204"))
    answer = person.post(f"/i/{card}/decide", **{**other.fields(f"/i/{card}"), "verb": "approve"})
    assert answer.status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example", ""])
def test_another_host_is_not_answered(served: Served, host: str) -> None:
    assert served.client().get("/signin", headers={"host": host}).status_code == 421


def test_forms_are_bounded_and_must_say_how_long_they_are(served: Served) -> None:
    client = served.client()
    own = {"origin": served.url, "content-type": "application/x-www-form-urlencoded"}
    assert client.post("/signin", content=b"a" * (1024 * 1024 + 1), headers=own).status_code == 413
    assert client.post("/signin", content=iter([b"token=", b"x"]), headers=own).status_code == 411


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"token": "x"}', "application/json"),
        (b"token=x", "text/plain"),
        (b"token=x&token=y", "application/x-www-form-urlencoded"),
        (b"token=%ff", "application/x-www-form-urlencoded"),
        ("token=\u00e9".encode("latin-1"), "application/x-www-form-urlencoded"),
        (b"&".join([b"a=1"] * 3000), "application/x-www-form-urlencoded"),
        (b"token", "application/x-www-form-urlencoded"),
    ],
)
def test_what_is_no_form_is_refused_in_one_line(served: Served, body: bytes, kind: str) -> None:
    answer = served.client().post("/signin", content=body, headers={"origin": served.url, "content-type": kind})
    assert answer.status_code == 401
    assert 'role="alert"' in answer.text


def test_every_answer_carries_the_same_strict_headers(served: Served, person: Person) -> None:
    css = re.findall(r'href="(/static/[^"]+)"', person.get("/").text)
    for path in ["/", "/nothing", "/signin", "/healthz", "/readyz", *css]:
        headers = person.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'"), path
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
    assert person.get("/").headers["cache-control"] == "no-store"
    assert "immutable" in person.get(css[0]).headers["cache-control"]


def test_no_page_holds_inline_scripts_styles_or_handlers(served: Served, person: Person) -> None:
    card = served.shop.card(served.shop.refunding.start("88-1204"))
    for path in ["/", "/runs", "/ledger", "/policy", "/freeze", "/done", f"/i/{card}", f"/i/{card}/modify", "/signin"]:
        text = person.get(path).text
        assert not re.search(r"<script(?![^>]*\bsrc=)", text), path
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", text), path
        assert not re.search(r'(src|href)="(https?:)?//', text), path


def test_looking_changes_nothing_however_often(served: Served, person: Person) -> None:
    card = served.shop.card(served.shop.mail.start("ap@newco.example", body="x" * 900))
    before = served.kernel.card(card)
    paths = [*PAGES, f"/i/{card}", f"/i/{card}/decide", f"/i/{card}/open", f"/i/{card}/undo", f"/i/{card}/reveal"]
    for path in paths:
        for method in ("GET", "HEAD"):
            for query in ("", "?verb=approve&note=x", "?part=body"):
                assert person.http.request(method, path + query).status_code < 500
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert person.http.request(method, f"/i/{card}/decide").status_code in (403, 405)
    after = served.kernel.card(card)
    assert before is not None
    assert after is not None
    assert (before.card, before.about) == (after.card, after.about)


def test_too_many_attempts_to_sign_in_have_to_wait(tmp_path: Path) -> None:
    with serving(tmp_path, limits=Limits(rates=(Rate(3, 1), Rate(100, 100), Rate(100, 100)))) as served:
        client = served.client()
        codes = [
            client.post("/signin", data={"token": "x"}, headers={"origin": served.url}).status_code for _ in range(5)
        ]
        assert codes == [401, 401, 401, 429, 429]
        assert client.get("/signin").status_code == 200


def test_health_and_readiness_need_nobody_signed_in(served: Served) -> None:
    client = served.client()
    assert client.get("/healthz").text == "ok\n"
    assert client.get("/readyz").json() == {"ready": True}


def test_a_page_that_breaks_says_so_and_tells_nothing(served: Served, person: Person) -> None:
    assert person.get("/i/nothing").status_code == 404
    assert person.get("/runs/nothing").status_code == 404
    assert person.get("/ledger/999999").status_code == 404
    assert person.get("/nothing").status_code == 404
    assert person.get("/?after=nothing").status_code == 200
    assert person.get("/news?since=nothing").status_code == 204
    assert person.get("/batch?card=nothing").status_code == 400
