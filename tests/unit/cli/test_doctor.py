"""`interlock doctor`: each finding is ok, warn or fail, with its mend."""

import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from interlock.cli import main


def findings(shop: Any, code: int = 0) -> dict[str, dict[str, Any]]:
    answer = shop.json("doctor", code=code)
    assert answer["ok"] is (code == 0)
    assert all(set(each) == {"level", "name", "words", "mend"} for each in answer["findings"])
    assert all(each["mend"] for each in answer["findings"] if each["level"] != "ok")
    return {each["name"]: each for each in answer["findings"]}


def store_of(shop: Any) -> Path:
    return Path(shop.url.removeprefix("sqlite:///"))


def test_a_sound_store_is_ok(shop: Any) -> None:
    shop.held_mail()
    found = findings(shop)
    for name in ("versions", "disk", "folder", "store file", "store", "you", "clock", "processes", "inbox", "in doubt"):
        assert found[name]["level"] == "ok", found[name]
    assert "schema" in found["store"]["words"]
    assert "journal wal" in found["store"]["words"]
    assert "1 open card" in found["inbox"]["words"]


def test_no_store_yet_is_a_warning_and_none_is_made(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["doctor", "--url", f"sqlite:///{tmp_path}/none/il.db"])
    assert done.exit_code == 0
    assert "warn  store" in done.output
    assert not (tmp_path / "none").exists()


def test_a_secret_that_others_can_read_fails_with_the_command_that_mends_it(shop: Any) -> None:
    shop.held_mail()
    secret = store_of(shop).parent / "reviewer-secret"
    secret.chmod(0o644)
    found = findings(shop, code=1)["secret"]
    assert found["level"] == "fail"
    assert found["mend"] == f"chmod 600 {secret}"


def test_a_folder_that_others_can_write_fails(shop: Any) -> None:
    shop.held_mail()
    store_of(shop).parent.chmod(0o777)
    assert findings(shop, code=1)["folder"]["level"] == "fail"


@pytest.mark.parametrize("free", [10 << 20, 500 << 20])
def test_little_room_on_the_disk_is_said(shop: Any, monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    import shutil

    shop.held_mail()
    real = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: real._replace(free=free))
    level = "fail" if free < 100 << 20 else "warn"
    assert findings(shop, code=int(level == "fail"))["disk"]["level"] == level


def test_a_file_that_is_no_store_fails_without_a_traceback(tmp_path: Path) -> None:
    path = tmp_path / "il.db"
    path.write_text("no database at all, but long enough to be looked at as one" * 100)
    done = CliRunner().invoke(main, ["doctor", "--url", f"sqlite:///{path}"])
    assert done.exit_code == 1
    assert "fail  store" in done.output
    assert "Traceback" not in done.output


def test_what_is_in_doubt_frozen_or_stuck_is_named(shop: Any) -> None:
    fingerprint = shop.doubtful()
    shop.cli("freeze", "agent", "billing", "--reason", "audit")
    found = findings(shop)
    assert fingerprint in found["in doubt"]["mend"]
    assert "audit" in found["frozen"]["words"]
    assert found["frozen"]["mend"].endswith("release agent billing")


def test_work_that_was_given_up_fails(shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from interlock.usecases import engine_work

    monkeypatch.setattr(engine_work, "MAX_ATTEMPTS", 1)
    shop.cli("approve", shop.held_mail(), "--yes")

    def breaks(run: object) -> object:
        raise OSError("the machinery broke")

    shop.il.resume = breaks
    shop.work()
    found = findings(shop, code=1)
    assert "the machinery broke" in found["given up"]["words"]
    assert "retry mail-1" in found["given up"]["mend"]
    assert found["stuck run"]["level"] == "warn"


def test_processes_that_died_without_a_word_are_named(shop: Any) -> None:
    import subprocess
    import sys

    code = f"from interlock import Interlock\nimport os\nil = Interlock({shop.url!r})\nil.kernel.process\nos._exit(1)\n"
    subprocess.run([sys.executable, "-c", code], check=False, env=dict(os.environ))
    assert "died without a word" in findings(shop)["lost"]["words"]


def test_the_lines_have_words_and_mends(shop: Any) -> None:
    shop.held_mail()
    text = shop.cli("doctor").output
    assert "ok    store" in text
    assert "solo mode" in text
