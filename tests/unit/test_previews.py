"""Previews to choose from: what they say, also of hostile input, and that a dry run changes nothing."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from interlock import previews
from interlock.domain.action import Preview, PreviewText
from interlock.testing import Rehearsal


def test_a_letter_shows_its_head_and_its_body_as_it_stands() -> None:
    said = previews.email(
        "a@x.example", "Hi", "Line\n\nLine", cc=["b@x.example", "c@x.example"], attachments=[("i.pdf", b"%PDF")]
    )
    assert said.kind == "email"
    assert said.split("\n")[:3] == ["To: a@x.example", "Cc: b@x.example, c@x.example", "Subject: Hi"]
    assert "Attached: i.pdf, 4 bytes, application/pdf, sha256 " in said
    assert said.endswith("\n\nLine\n\nLine")


def test_a_head_cannot_be_made_longer_by_what_stands_in_it() -> None:
    said = previews.email("a@x.example\nBcc: evil@x.example", "Hi\n\nforged body")
    assert said.split("\n\n")[0] == "To: a@x.example Bcc: evil@x.example\nSubject: Hi forged body"


def test_a_change_of_text_is_counted_and_shows_what_stands_around_it() -> None:
    before = "\n".join(f"line {number}" for number in range(20))
    said = previews.text_diff(before, before.replace("line 10", "line ten\nand more"))
    assert said.kind == "diff"
    lines = said.split("\n")
    assert lines[0] == "2 lines added, 1 gone"
    assert "-line 10" in lines
    assert "+line ten" in lines
    assert " line 9" in lines
    assert " line 2" not in lines


def test_a_change_of_data_names_each_path() -> None:
    before = {"a": 1, "b": [1, 2], "gone": None, "same": "x"}
    said = previews.json_diff(before, {"a": 1.0, "b": [1, 3, 4], "same": "x", "new": {"deep": True}})
    assert said.split("\n") == [
        "5 values changed",
        "@@ a", "-1", "+1.0",
        "@@ b[1]", "-2", "+3",
        "@@ b[2]", "+4",
        "@@ gone", "-null",
        "@@ new", '+{"deep": true}',
    ]  # fmt: skip
    assert previews.json_diff(1, 2).split("\n")[1] == "@@ (all of it)"


def test_a_statement_shows_its_parameters_rows_and_how_many() -> None:
    said = previews.sql("DELETE FROM t WHERE a = ?", (7,), ("a", "b"), [(7, None), (7, "x\ty\nz")], total=214)
    assert said.kind == "sql"
    assert said == "DELETE FROM t WHERE a = ?\n1 = 7\n\n214 rows\na\tb\n7\tNULL\n7\tx y z"
    many = previews.sql("S", rows=((number,) for number in range(1000)))
    assert "more than 20 rows" in many
    assert many.count("\n") == 23


def test_a_dry_run_shows_what_it_touches_and_leaves_it_as_it_was(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        connection.execute("CREATE TABLE t (a INTEGER, b TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(number, f"row {number}") for number in range(5)])
        connection.commit()
        said = previews.dry_run(connection, "DELETE FROM t WHERE a > ? RETURNING a, b", (2,))
        assert said.endswith("2 rows\na\tb\n3\trow 3\n4\trow 4")
        assert "3 rows" in previews.dry_run(connection, "UPDATE t SET b = 'x' WHERE a < :most", {"most": 3})
        with pytest.raises(sqlite3.OperationalError):
            previews.dry_run(connection, "DELETE FROM nothing")
        assert connection.execute("SELECT count(*), max(b) FROM t").fetchone() == (5, "row 4")


def test_a_request_does_not_show_what_authorises_it() -> None:
    said = previews.http("post", "https://x.example/pay", {"Authorization": "Bearer s3cret", "X-Id": "7"}, {"sum": 12})
    assert said.split("\n") == [
        "POST https://x.example/pay",
        "Authorization: (not shown)",
        "X-Id: 7",
        "",
        "{",
        '  "sum": 12',
        "}",
    ]
    assert previews.http("GET", "https://x.example").kind == "http"
    assert "\n\n(2 bytes, sha256 " in previews.http("PUT", "u", body=b"\xff\x00")
    assert previews.http("PUT", "u", body=b"text").endswith("text")


def test_files_are_named_measured_and_peeked_into(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    (tmp_path / "b.bin").write_bytes(bytes(range(256)))
    said = previews.files([tmp_path / "a.txt", tmp_path / "b.bin", tmp_path / "none", ("c.txt", "ä".encode() * 500)])
    lines = said.split("\n")
    assert lines[0] == "4 files"
    assert lines[1].startswith("a.txt, 8 bytes, text/plain, sha256 ")
    assert lines[2:4] == ["  one", "  two"]
    assert lines[4].startswith("b.bin, 256 bytes")
    assert lines[5].endswith("none, cannot be read")
    assert lines[7].startswith("  ää")


def test_long_changes_are_cut_and_say_so() -> None:
    said = previews.text_diff("", "\n".join(map(str, range(2_000))))
    assert said.split("\n")[0] == "2,000 lines added, 0 gone"
    assert said.endswith("more lines)")


def test_the_kind_of_a_preview_is_kept_and_old_ones_have_none() -> None:
    preview = Preview("x", kind="diff")
    assert Preview.kept(preview.facts()) == preview
    assert Preview.kept({"preview": "x"}) == Preview("x")
    assert PreviewText("x").kind == ""


def test_a_tool_takes_a_preview_whose_parameters_fit_as_it_is(stage: Rehearsal) -> None:
    @stage.il.tool("irreversible", preview=previews.email)
    def send(to: str, subject: str, body: str, copies: int = 1) -> str:
        raise AssertionError

    with stage.il.run("job"):
        send("a@x.example", "Hi", "Hello.")
    (view,) = stage.il.kernel.inbox()
    assert view.preview == Preview("To: a@x.example\nSubject: Hi\n\nHello.", kind="email")
