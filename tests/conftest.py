"""Profiles for hypothesis, and the switch that turns a skipped test into a failure."""

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from interlock.testing import Rehearsal

pytest_plugins = ["interlock.testing.plugin"]  # as users may; the entry point of the installed package is the same

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

NO_SKIPS = os.environ.get("INTERLOCK_NO_SKIPS") == "1"


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Makes a skip a failure; an expected failure, which pytest reports as skipped too, stays what it is."""
    if NO_SKIPS and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"INTERLOCK_NO_SKIPS=1: this test must run here, but it was skipped ({reason})"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    report = yield
    _refuse_skip(report)
    return report


@pytest.fixture
def stage() -> "Iterator[Rehearsal]":
    """An Interlock in memory with a clock and a reviewer."""
    from interlock.testing import Rehearsal

    with Rehearsal() as made:
        yield made


@pytest.fixture(params=["memory", "sqlite"])
def both(request: pytest.FixtureRequest, tmp_path: Path) -> "Iterator[Rehearsal]":
    """The same twice: in memory and on SQLite."""
    from interlock.testing import Rehearsal

    with Rehearsal(tmp_path if request.param == "sqlite" else None) as made:
        yield made
