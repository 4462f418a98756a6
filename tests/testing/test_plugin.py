"""The pytest plug-in, as a project that has the package installed meets it: in a pytest of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import interlock

TEAM = Path(__file__).with_name("team")
SOURCE = Path(interlock.__file__).parents[1]

AGENT = """
from interlock.testing import approve


def build(il):
    @il.tool("irreversible")
    def send_email(to: str) -> str:
        return "sent"

    @il.workflow
    def agent(to: str) -> str:
        return send_email(to)

    return agent

"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with the entry points of the package, as its installation leaves them."""
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    points = project["entry-points"]["pytest11"]
    folder = tmp_path / "site" / "interlock_entry_points-0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: interlock-entry-points\nVersion: 0\n")
    lines = "".join(f"{name} = {target}\n" for name, target in points.items())
    (folder / "entry_points.txt").write_text(f"[pytest11]\n{lines}")
    return folder.parent


def run_pytest(here: Path, *arguments: str, paths: tuple[Path, ...] = ()) -> tuple[int, str]:
    """Run pytest in `here` with no other plug-in and no settings of ours; its exit code and output."""
    measured = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_PROCESS_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", *arguments],
        cwd=here,
        env={
            **measured,
            "PATH": os.defpath,
            "HOME": str(here),
            "PYTHONPATH": os.pathsep.join(map(str, (*paths, SOURCE))),
            "PYTHONDONTWRITEBYTECODE": "1",
            "COLUMNS": "200",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def write(folder: Path, tests: str, ini: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "pytest.ini").write_text(f"[pytest]\n{ini}")
    (folder / "test_agent.py").write_text(AGENT + tests)
    return folder


def test_the_tests_of_a_team_pass_through_the_entry_point_alone(tmp_path: Path, installed: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "pytest.ini").write_text("[pytest]\n")
    (project / "test_refunds.py").write_text((TEAM / "test_refunds.py").read_text(encoding="utf-8"))
    code, said = run_pytest(project, paths=(installed,))
    assert (code, "10 passed" in said) == (0, True), said


def test_the_entry_point_and_a_conftest_that_names_the_plug_in_agree(tmp_path: Path, installed: Path) -> None:
    project = write(tmp_path / "project", "def test(interlock): build(interlock.il)\n")
    (project / "conftest.py").write_text('pytest_plugins = ["interlock.testing.plugin"]\n')
    assert run_pytest(project, paths=(installed,))[0] == 0
    assert run_pytest(project, "-p", "interlock.testing.plugin", paths=(installed,))[0] == 0
    assert run_pytest(project)[0] == 0


def test_the_start_of_pytest_imports_nothing_heavy(tmp_path: Path, installed: Path) -> None:
    heavy = "pydantic", "sqlalchemy", "orjson", "click", "interlock.compose", "interlock.domain", "interlock.stores"
    tests = f"import sys\n\n\ndef test():\n    assert not [name for name in {heavy!r} if name in sys.modules]\n"
    project = write(tmp_path / "project", "")
    (project / "test_agent.py").write_text(tests)
    # LangChain's tracing brings a plug-in of its own, which imports what it likes.
    code, said = run_pytest(project, "-p", "no:langsmith_plugin", paths=(installed,))
    assert code == 0, said


def test_a_failed_test_tells_what_waits(tmp_path: Path, installed: Path) -> None:
    project = write(
        tmp_path / "project",
        'def test(interlock):\n    build(interlock.il).start("bob@x.example", key="monday")\n    assert 1 == 2\n',
    )
    code, said = run_pytest(project, paths=(installed,))
    assert code == 1
    assert "Interlock: what waits at the end of the test" in said
    assert "run 'monday' of agent: waiting" in said
    assert "1. send_email(to='bob@x.example')  waits for a person (card " in said


def test_a_failed_assertion_says_what_was_expected_and_what_is_there(tmp_path: Path, installed: Path) -> None:
    project = write(
        tmp_path / "project",
        "def test(interlock):\n"
        '    run = build(interlock.il).start("bob@x.example", key="monday")\n'
        '    interlock.assert_pauses(run, tool="send_email", to="ap@x.example")\n',
    )
    _, said = run_pytest(project, paths=(installed,))
    assert "expected: run 'monday' waits for a person to decide send_email(to='ap@x.example')" in said
    assert "1. send_email(to='bob@x.example')  waits for a person (card " in said
    assert "assertions.py" not in said  # the place in the test is shown, not ours


def test_a_passed_test_that_leaves_a_card_open_fails_only_where_that_is_wanted(tmp_path: Path, installed: Path) -> None:
    tests = 'def test(interlock):\n    build(interlock.il).start("bob", key="monday")\n'
    assert run_pytest(write(tmp_path / "project", tests), paths=(installed,))[0] == 0
    project = write(tmp_path / "project", tests, "interlock_open_cards = fail\n")
    code, said = run_pytest(project, paths=(installed,))
    assert code == 1
    assert "expected: nothing waits at the end of the test" in said
    assert "send_email(to='bob')  waits for a person" in said


def test_a_setting_that_is_none_is_one_line(tmp_path: Path, installed: Path) -> None:
    project = write(tmp_path / "project", "", "interlock_open_cards = always\n")
    code, said = run_pytest(project, paths=(installed,))
    assert code == 4
    assert "interlock_open_cards = 'always' is unknown; use report or fail" in said


def test_options_of_the_fixture_can_be_overridden(tmp_path: Path, installed: Path) -> None:
    project = write(
        tmp_path / "project",
        "def test(interlock):\n"
        '    run = build(interlock.il).start("bob")\n'
        "    interlock.assert_asked_nobody(run)\n"
        '    interlock.assert_finished(run, "sent")\n',
    )
    (project / "conftest.py").write_text(
        "import pytest\n\n\n@pytest.fixture\ndef interlock_options():\n    return {'profile': 'record'}\n"
    )
    code, said = run_pytest(project, paths=(installed,))
    assert code == 0, said
