"""Values that are one string in the encoding: how each is written and read, exactly.

Every `read` is strict: a kind accepts only the one string that its `write` would make, so a value has one encoding and
therefore one digest.

Times are ISO 8601. A zone with an IANA key is kept in the form of RFC 9557 and the offset is checked when it is read
(`2026-06-01T10:00:00+02:00[Europe/Berlin]`): if the rules of the zone changed in between, the value is refused, not
moved. A fixed offset keeps its offset and not its private name. `fold=1` is kept as the suffix `[_fold=1]`. Durations
are days, hours, minutes and seconds, exact to the microsecond, with one sign in front.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from pathlib import Path, PurePath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from interlock.schema.errors import not_storable
from interlock.schema.tags import MAX_SAFE_INT, check_text

_MOMENT = re.compile(r"([^\[\]]+)(?:\[([^\[\]=]+)\])?(\[_fold=1\])?")
_DURATION = re.compile(r"(-?)P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{6}))?S)?)?")


@dataclass(frozen=True, slots=True)
class Kind:
    """One scalar kind: its tag, its exact Python type, and how its string is written and read.

    `write` raises SchemaError for a value that cannot be kept; `read` raises ValueError, ArithmeticError or
    SchemaError for a string that is not of this kind.
    """

    tag: str
    type: type[object]
    name: str
    # Any: each kind knows its own type, and the callers compare `type(value)` with it before they write.
    write: Callable[[Any], str]
    read: Callable[[str], object]


def _write_int(value: int) -> str:
    try:
        return str(value)
    except ValueError:
        raise not_storable("an integer of more than 4300 digits is not stored") from None


def _read_int(text: str) -> int:
    value = int(text)
    if -MAX_SAFE_INT <= value <= MAX_SAFE_INT:
        raise ValueError("an integer of this size is written without a tag")
    return value


def _write_float(value: float) -> str:
    if not math.isfinite(value):
        raise not_storable("NaN and infinities are not stored")
    return repr(value)


def _write_decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise not_storable("NaN and infinities are not stored")
    return str(value)


def _write_bytes(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode("ascii")


def _read_bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _write_path(value: PurePath) -> str:
    text = str(value)
    check_text(text)
    return text


def path_kind(cls: type[PurePath]) -> Kind:
    """Make the kind of `cls`, a class of `pathlib`; a `Path` is written as the concrete class of this platform."""
    return Kind("path", type(cls()), cls.__name__, _write_path, cls)


def is_fixed_offset(zone: tzinfo | None) -> bool:
    """Tell whether a zone is nothing but an offset: `datetime.timezone`, or the class that Pydantic makes of one."""
    kind = type(zone)
    return kind is timezone or (kind.__name__ == "TzInfo" and kind.__module__.startswith("pydantic_core"))


def _write_moment(value: datetime | time) -> str:
    zone = value.tzinfo
    offset = value.utcoffset()
    if offset is not None and offset.microseconds:
        # `fromisoformat` reads some of these wrong.
        raise not_storable("an offset from UTC with a fraction of a second cannot be kept")
    suffix = "[_fold=1]" if value.fold else ""
    if zone is not None and not is_fixed_offset(zone):
        if type(zone) is not ZoneInfo:
            raise not_storable(
                f"a time zone of the class {type(zone).__name__} cannot be kept; use zoneinfo.ZoneInfo or an offset"
            )
        key: str | None = zone.key
        if not key or "[" in key or "]" in key or "=" in key:
            raise not_storable("a ZoneInfo without an IANA key cannot be kept")
        suffix = f"[{key}]{suffix}"
    return value.isoformat() + suffix


def _split_moment(text: str) -> tuple[str, ZoneInfo | None, int]:
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError("not a time in ISO 8601")
    iso, key, fold = match.groups()
    try:
        zone = ZoneInfo(key) if key else None
    except (KeyError, OSError):
        raise ValueError(f"the time zone {key[:60]} is not known here") from None
    return iso, zone, 1 if fold else 0


def _read_datetime(text: str) -> datetime:
    iso, zone, fold = _split_moment(text)
    stored = datetime.fromisoformat(iso)
    if zone is None:
        return stored.replace(fold=fold)
    value = stored.replace(tzinfo=zone, fold=fold)
    if value.utcoffset() != stored.utcoffset():
        raise ValueError(f"the rules of the time zone {zone.key} give another offset now")
    return value


def _read_time(text: str) -> time:
    iso, zone, fold = _split_moment(text)
    stored = time.fromisoformat(iso)
    return stored.replace(fold=fold) if zone is None else stored.replace(tzinfo=zone, fold=fold)


def _write_duration(value: timedelta) -> str:
    # Integers only: abs(timedelta.min) overflows and total_seconds() rounds.
    total = (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
    seconds, micros = divmod(abs(total), 1_000_000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    clock = (f"{hour}H" if hour else "") + (f"{minute}M" if minute else "")
    if micros:
        clock += f"{second}.{micros:06d}S"
    elif second or not total:
        clock += f"{second}S"
    return ("-" if total < 0 else "") + "P" + (f"{days}D" if days else "") + (f"T{clock}" if clock else "")


def _read_duration(text: str) -> timedelta:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError("not a duration in ISO 8601")
    sign, *digits = match.groups()
    days, hours, minutes, seconds, micros = (int(part or 0) for part in digits)
    total = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000 + micros
    return timedelta(microseconds=-total if sign else total)


BIG_INT = Kind("int", int, "int", _write_int, _read_int)
FLOAT = Kind("float", float, "float", _write_float, float)
PATH = path_kind(Path)

SCALARS = (
    FLOAT,
    Kind("decimal", Decimal, "Decimal", _write_decimal, Decimal),
    Kind("datetime", datetime, "datetime", _write_moment, _read_datetime),
    Kind("date", date, "date", date.isoformat, date.fromisoformat),
    Kind("time", time, "time", _write_moment, _read_time),
    Kind("timedelta", timedelta, "timedelta", _write_duration, _read_duration),
    Kind("bytes", bytes, "bytes", _write_bytes, _read_bytes),
    Kind("uuid", UUID, "UUID", str, UUID),
)
