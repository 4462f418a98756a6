"""`interlock worker`: loads an application, does what is due, stops when told."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from interlock.cli import main

APP = """
import time
from pathlib import Path
from interlock import Interlock

il = Interlock()
here = Path(__file__).parent

@il.tool("irreversible")
def send(to: str) -> str:
    (here / "started").write_text(to)
    while (here / "hold").exists():
        time.sleep(0.02)
    (here / "sent").write_text(to)
    return "sent"

@il.workflow
def mail(to: str) -> str:
    return send(to)

other = 7

if __name__ == "__main__":
    mail.start("ana", key="m")
"""
RUN = [sys.executable, "-c", "from interlock.cli import main; main()"]


@pytest.fixture
def app(tmp_path: Path) -> Path:
    (tmp_path / "shopapp.py").write_text(APP)
    return tmp_path


def cli(app: Path, *args: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "INTERLOCK_URL": f"sqlite:///{app}/il.db"}
    return subprocess.run([*RUN, *args], cwd=app, env=env, capture_output=True, text=True, check=False, timeout=60)


def approved(app: Path) -> None:
    """A mail that was started by the script itself, and approved."""
    env = {**os.environ, "INTERLOCK_URL": f"sqlite:///{app}/il.db"}
    subprocess.run([sys.executable, "shopapp.py"], cwd=app, env=env, check=True, timeout=60, capture_output=True)
    card = json.loads(cli(app, "inbox", "--json").stdout)["cards"][0]
    assert cli(app, "approve", card["fingerprint"], "--yes").returncode == 0


def test_a_run_that_a_script_started_is_finished_by_a_worker_that_imports_it(app: Path) -> None:
    approved(app)
    done = cli(app, "worker", "shopapp:il", "--once")
    assert done.returncode == 0, done.stderr
    assert "1 workflow: mail" in done.stdout
    assert [line.split("  ", 1)[1] for line in done.stdout.splitlines()[2:4]] == [
        "mail  m  goes on",
        "mail  m  finished: “sent”",
    ]
    assert "Idle; 1 piece of work done." in done.stdout
    assert (app / "sent").read_text() == "ana"


def test_the_passes_of_a_worker_as_json(app: Path) -> None:
    approved(app)
    (line,) = cli(app, "worker", "shopapp:il", "--once", "--json").stdout.splitlines()
    assert json.loads(line)["run"]["state"] == "finished"


def start(app: Path) -> "subprocess.Popen[str]":
    env = {**os.environ, "INTERLOCK_URL": f"sqlite:///{app}/il.db"}
    return subprocess.Popen(
        [*RUN, "worker", "shopapp:il"], cwd=app, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def wait_for(path: Path, process: "subprocess.Popen[str]") -> None:
    import time

    end = time.monotonic() + 30
    while not path.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    assert path.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_lets_it_finish_what_is_under_way(app: Path, number: int) -> None:
    approved(app)
    (app / "hold").touch()
    with start(app) as process:
        wait_for(app / "started", process)
        process.send_signal(number)
        assert process.stderr is not None
        assert "finishing what is under way" in process.stderr.readline()
        (app / "hold").unlink()
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert "finished" in out
    assert "Stopped." in out
    assert (app / "sent").exists()


def test_the_second_signal_breaks_it_off_and_what_ran_is_in_doubt(app: Path) -> None:
    approved(app)
    (app / "hold").touch()
    with start(app) as process:
        wait_for(app / "started", process)
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    assert "broken off" in err
    assert "Traceback" not in err
    card = json.loads(cli(app, "inbox", "--json").stdout)["cards"][0]
    assert card["band"] == "in_doubt"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("shopapp", "usage"),
        ("nothing_here:il", "no_module"),
        ("shopapp:nothing", "no_object"),
        ("shopapp:other", "not_interlock"),
        ("broken:il", "import_failed"),
        ("leaving:il", "import_failed"),
    ],
)
def test_what_is_no_interlock_is_one_line(app: Path, name: str, code: str) -> None:
    (app / "broken.py").write_text("1 / 0\n")
    (app / "leaving.py").write_text("import sys\nsys.exit(0)\n")
    done = cli(app, "worker", name)
    assert done.returncode == 2
    assert f"[{code}]" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_url_that_the_module_does_not_follow_is_refused(app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (app / "fixed.py").write_text(f"from interlock import Interlock\nil = Interlock('sqlite:///{app}/own.db')\n")
    done = cli(app, "worker", "fixed:il", "--once", "--url", f"sqlite:///{app}/other.db")
    assert done.returncode == 2
    assert "[other_store]" in done.stderr


def test_the_worker_in_this_process_says_what_it_knows(shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import types

    module = types.ModuleType("in_memory_app")
    module.__dict__["il"] = shop.il
    monkeypatch.setitem(sys.modules, "in_memory_app", module)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        done = CliRunner().invoke(main, ["worker", "in_memory_app:il", "--once"])
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert done.exit_code == 0, done.output
    assert "Idle; nothing was due." in done.output


def test_a_worker_tells_of_a_pause_a_failure_and_an_undoing(shop: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from interlock.cli import work
    from interlock.cli.frame import Global

    state = Global()
    undoing: list[Any] = []
    loop = shop.il.worker(
        on_start=lambda run: work._say(run, "goes on"),
        on_pass=lambda run: work._tell(shop.il, run, state),
        on_rollback=undoing.append,
    )

    def said() -> list[str]:
        loop.run_until_idle()
        return [line.split("  ", 1)[1] for line in capsys.readouterr().out.splitlines()]

    shop.refunding.submit("88-1204", key="refund-1")
    fingerprint = shop.waiting("refund-1") if said() else ""
    shop.cli("approve", fingerprint, "--yes")
    assert said() == ["refunding  refund-1  goes on", "refunding  refund-1  finished: “refunded”"]
    shop.cli("rollback", shop.json("show", "refund-1")["actions"][0]["id"], "--yes")
    said()
    work._undone(shop.il, undoing[0])
    assert capsys.readouterr().out.rstrip().endswith('refund-1  rolled back: Refund 480.00, order "88-1204"')
    shop.mail.submit("ap@x.example", key="mail-1")
    assert said()[-1] == f"mail  mail-1  waits for a person: 1 card, {shop.waiting('mail-1')}"
    shop.cli("reject", shop.waiting("mail-1"), "--note", "no")
    assert said()[-1].startswith("mail  mail-1  failed: Refused")
