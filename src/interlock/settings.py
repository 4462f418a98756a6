"""Settings: the only place that reads the environment.

| variable | meaning | default |
|---|---|---|
| `INTERLOCK_URL` | `sqlite:///a.db`, `sqlite:////var/a.db`, `memory://`, or a server: `https://…` | a file |
| `INTERLOCK_CREDENTIAL` | the key that a server asks for | none |
| `INTERLOCK_PROFILE` | `record`, `phase1`, `cautious` or `earned` | `cautious` |
| `INTERLOCK_POLICY` | a policy file | none: the profile alone |
| `INTERLOCK_LEASE` | seconds an executor may be silent before its claims are in doubt | 30 |
| `INTERLOCK_EXPENSIVE_FROM` | the cost from which a call is asked about | 100 |
| `INTERLOCK_ENVIRONMENT` | recorded with every action: `prod`, `test`, … | empty |
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path

from interlock.domain.errors import SettingsError

MEMORY = "memory://"
SHORTEST_LEASE_S = 0.001
LONGEST_LEASE_S = 36_500 * 86_400.0
"""A process beats its heart three times a lease: clocks can neither count less nor add up more."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is configured. `url` is normalised: `memory://`, `sqlite:////absolute/path` or the address of a server."""

    url: str
    profile: str = "cautious"
    lease_s: float = 30.0
    expensive_from: Decimal = Decimal(100)
    environment: str = ""
    policy: Path | None = None
    credential: str = field(default="", repr=False)

    @property
    def path(self) -> Path | None:
        """The file of an SQLite store, None for a store in memory or a server's."""
        return Path(self.url.removeprefix("sqlite:///")) if self.url.startswith("sqlite:///") else None

    @property
    def remote(self) -> bool:
        """Whether the store is a server's."""
        return self.url.startswith(("http://", "https://"))


def load(
    url: str | None = None,
    profile: str | None = None,
    environ: Mapping[str, str] | None = None,
    policy: str | os.PathLike[str] | None = None,
) -> Settings:
    """Settings from arguments first, the environment second, defaults last; raises `SettingsError`."""
    env = os.environ if environ is None else environ
    file = policy or env.get("INTERLOCK_POLICY")
    return Settings(
        url=_url(url or env.get("INTERLOCK_URL") or _default_url()),
        profile=profile or env.get("INTERLOCK_PROFILE") or "cautious",
        lease_s=lease(float(_number(env, "INTERLOCK_LEASE", "30"))),
        expensive_from=_number(env, "INTERLOCK_EXPENSIVE_FROM", "100"),
        environment=env.get("INTERLOCK_ENVIRONMENT", ""),
        policy=_file(file) if file else None,
        credential=env.get("INTERLOCK_CREDENTIAL", ""),
    )


def _default_url() -> str:
    from platformdirs import user_data_path

    return "sqlite:///" + str(user_data_path("interlock") / "interlock.db")


def _url(given: str) -> str:
    if given == MEMORY:
        return given
    if given.startswith("sqlite:///") and len(given) > len("sqlite:///"):
        return "sqlite:///" + str(_file(given.removeprefix("sqlite:///")))
    scheme = given.partition(":")[0]
    if scheme in ("https", "http"):
        return given.rstrip("/")
    if scheme in ("postgresql", "postgres"):
        raise SettingsError(
            "store_unknown", f"this version has no {scheme} store yet", "Use sqlite:///path/to/file.db."
        )
    raise SettingsError(
        "store_unknown",
        f"{given!r} is no store",
        "Use sqlite:///path/to/file.db, memory://, or the https:// address of a server.",
    )


def _file(given: str | os.PathLike[str]) -> Path:
    try:
        return Path(given).expanduser().absolute()
    except RuntimeError:  # nobody has that name
        raise SettingsError("bad_setting", f"{os.fspath(given)} has no home folder", "Write the whole path.") from None


def lease(seconds: float) -> float:
    """A lease in seconds, if an executor can keep it; raises `SettingsError` otherwise."""
    if not SHORTEST_LEASE_S <= seconds <= LONGEST_LEASE_S:
        raise SettingsError(
            "bad_setting",
            f"a lease of {seconds:g} s cannot be kept",
            f"Use {SHORTEST_LEASE_S:g} seconds to 36500 days, for example INTERLOCK_LEASE=30.",
        )
    return seconds


def _number(env: Mapping[str, str], name: str, default: str) -> Decimal:
    given = env.get(name) or default
    try:
        number = Decimal(given)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or number <= 0:
        raise SettingsError("bad_setting", f"{name}={given!r} is no positive number", f"For example {name}={default}.")
    return number
