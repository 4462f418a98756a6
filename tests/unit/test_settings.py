"""Settings that cannot be kept are refused when they are read."""

from datetime import timedelta
from typing import Any

import pytest

from interlock import Interlock, settings
from interlock.domain.errors import SettingsError


@pytest.mark.parametrize("given", ["1e400", "1e12", "inf", "nan", "-1", "0", "1e-9", "soon"])
def test_a_lease_that_no_process_could_keep_is_refused(given: str) -> None:
    with pytest.raises(SettingsError, match="bad_setting") as error:
        settings.load("memory://", environ={"INTERLOCK_LEASE": given})
    assert "INTERLOCK_LEASE=30" in error.value.mend


@pytest.mark.parametrize("given", [0, -1, "1e-9s", timedelta(days=40_000), timedelta.max])
def test_the_lease_of_an_interlock_is_held_to_the_same(given: Any) -> None:
    with pytest.raises(SettingsError, match="bad_setting"):
        Interlock("memory://", lease=given)


def test_a_long_lease_is_fine() -> None:
    assert settings.load("memory://", environ={"INTERLOCK_LEASE": "86400"}).lease_s == 86_400


@pytest.mark.parametrize(
    "environ", [{"INTERLOCK_URL": "sqlite:///~nobody.has.this.name/x.db"}, {"INTERLOCK_POLICY": "~nobody.has.this/p"}]
)
def test_a_home_folder_that_nobody_has_is_a_line_and_not_a_traceback(environ: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="has no home folder"):
        settings.load(environ={"INTERLOCK_URL": "memory://", **environ})
