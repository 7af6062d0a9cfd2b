"""Days, months and years of the calendar PostgreSQL counts by, for years a Python date cannot hold too.

Days are counted from 1970-01-01; the year before year 1 is year 0. The calendar repeats itself every 400 years, so
Python's own counts within them. numpy's dates say the same and take 7 times as long for one.
"""

from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

DAY: Final = 86_400_000_000
"""In microseconds."""

_EPOCH: Final = date(1970, 1, 1)
_EPOCH_MOMENT: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIXED: Final = {
    "week": 7 * DAY,
    "day": DAY,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
}
_YEARS: Final = 400
_DAYS: Final = 146_097
_BEFORE: Final = _EPOCH.toordinal() - 1
"""From the first day of year 1 to 1970-01-01."""


class Civil(NamedTuple):
    """A day of the calendar."""

    year: int
    month: int
    day: int


def days_of(value: date) -> int:
    return (value - _EPOCH).days


def microseconds_of(value: datetime) -> int:
    moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    since = moment - _EPOCH_MOMENT
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def civil_date(days: int) -> Civil:
    cycles, within = divmod(days + _BEFORE, _DAYS)
    day = date.fromordinal(within + 1)
    return Civil(day.year + cycles * _YEARS, day.month, day.day)


def days_from(of: Civil) -> int:
    cycles, year = divmod(of.year - 1, _YEARS)
    return date(year + 1, of.month, of.day).toordinal() - 1 - _BEFORE + cycles * _DAYS


def days_in_month(year: int, month: int) -> int:
    following = Civil(year + month // 12, month % 12 + 1, 1)
    return days_from(following) - days_from(Civil(year, month, 1))


def months_later(days: int, months: int) -> int:
    """The same day of another month, or that month's last."""
    year, month, day = civil_date(days)
    years, place = divmod(month - 1 + months, 12)
    day = min(day, days_in_month(year + years, place + 1))
    return days_from(Civil(year + years, place + 1, day))


def months_between(earlier: int, later: int) -> int:
    """Whole months from one moment to one that is not before it; both in microseconds."""
    first, last = civil_date(earlier // DAY), civil_date(later // DAY)
    months = (last.year - first.year) * 12 + last.month - first.month
    return months - ((last.day, later % DAY) < (first.day, earlier % DAY))


def weekday(days: int) -> int:
    """0 for Monday."""
    return (days + 3) % 7


def iso_year(days: int) -> int:
    """The year of the Thursday of the same week."""
    return civil_date(days - weekday(days) + 3).year


def period_start(part: str, days: int) -> int:
    """The first day of the year, quarter, month or week."""
    year, month, _ = civil_date(days)
    match part:
        case "year":
            return days_from(Civil(year, 1, 1))
        case "quarter":
            return days_from(Civil(year, (month - 1) // 3 * 3 + 1, 1))
        case "month":
            return days_from(Civil(year, month, 1))
        case "week":
            return days - weekday(days)
        case _:
            return days


def period_starts(part: str, first: int, last: int, most: int) -> list[int] | None:
    """The beginnings of all periods from one to another, in microseconds; None when they are too many."""
    length = _FIXED.get(part)
    if length is not None:
        return None if (last - first) // length >= most else list(range(first, last + 1, length))
    months = {"month": 1, "quarter": 3, "year": 12}.get(part)
    if months is None or (last - first) // (28 * DAY) >= most:
        return None
    found, day = [], first // DAY
    while day * DAY <= last:
        found.append(day * DAY)
        day = months_later(day, months)
    return found


def moment_at(microseconds: int) -> datetime:
    """The timestamp without a zone."""
    return (_EPOCH_MOMENT + timedelta(microseconds=microseconds)).replace(tzinfo=None)


def instant_at(microseconds: int) -> datetime:
    """The moment, in UTC."""
    return _EPOCH_MOMENT + timedelta(microseconds=microseconds)
