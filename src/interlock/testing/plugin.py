"""The pytest plug-in: the fixture `interlock`, and what was left waiting in the text of a failed test.

It is there as soon as the package is installed; `pytest_plugins = ["interlock.testing.plugin"]` names it where entry
points are turned off. It imports nothing of ours before a test asks for the fixture.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from interlock.testing.rehearsal import Rehearsal

OPEN_CARDS = "interlock_open_cards"
"""The setting: `report` (what waits is told where a test fails) or `fail` (a test that leaves it waiting fails)."""

_CONTRACTS = ("adapter_contract", "gate_contract", "gate_asking_contract", "store_contract", "store_rows_contract")
_MADE = pytest.StashKey["Rehearsal"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the setting."""
    parser.addini(
        OPEN_CARDS,
        "what becomes of a test that ends with a waiting run or an open card: report (where it fails) or fail",
        default="report",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Check the setting; let the asserts of the contract suites say what they compared."""
    given = config.getini(OPEN_CARDS)
    if given not in ("report", "fail"):
        raise pytest.UsageError(f"{OPEN_CARDS} = {given!r} is unknown; use report or fail")
    names = [f"interlock.testing.{name}" for name in _CONTRACTS]
    pytest.register_assert_rewrite(*(name for name in names if name not in sys.modules))


@pytest.fixture
def interlock_options() -> dict[str, Any]:
    """Keywords for the `Rehearsal` of the fixture `interlock`: override it in a `conftest.py`, a class or a module.

    For example `{"agent": "billing", "profile": "earned"}`.
    """
    return {}


@pytest.fixture
def interlock(request: pytest.FixtureRequest, interlock_options: dict[str, Any]) -> Generator[Rehearsal]:
    """A `Rehearsal`: an `Interlock` (`.il`) in memory, a clock that obeys, a reviewer with a script, assertions."""
    from interlock.testing.rehearsal import Rehearsal

    with Rehearsal(**interlock_options) as made:
        request.node.stash[_MADE] = made
        yield made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """After the test itself, while its store is still there, look what waits."""
    report = yield
    made = item.stash.get(_MADE, None)
    if made is None or call.when != "call":
        return report
    try:
        left = made.leftovers()
    except Exception as error:  # noqa: BLE001 - the test may have closed its own store: then there is nothing to see
        left = [] if getattr(error, "code", "") == "store_closed" else [f"what waits cannot be told: {error}"]
    if not left:
        return report
    text = "\n".join(left)
    if report.passed and item.config.getini(OPEN_CARDS) == "fail":
        report.outcome = "failed"
        report.longrepr = f"expected: nothing waits at the end of the test ({OPEN_CARDS} = fail)\n{text}"
    else:
        report.sections.append(("Interlock: what waits at the end of the test", text))
    return report
