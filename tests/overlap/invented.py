"""Grounds made by hand over a few axes, and releases about them."""

from collections.abc import Sequence
from fractions import Fraction

from gateway.catalog.tables import ColumnRef
from gateway.errors import OverlapRefused
from gateway.overlap.auditor import Concerned, History, Past, audit
from gateway.policy.policy import Auditing, Unread
from gateway.regions.axis import FIRST, LAST, Axis, Kind
from gateway.regions.cells import Cells, Names, Steps
from gateway.regions.region import EVERYTHING, Region, along
from gateway.regions.scope import Ground, GroupKey

RULES = Auditing(10, 1, (), Unread.REFUSE)
SPREAD = Fraction(800)


def steps(name: str, low: int, high: int, *, nullable: bool = True) -> Axis:
    column = ColumnRef("t", name)
    return Axis(
        f"t.{name}", Kind.STEPS, low, high, high - low + 1, nullable, True, True, column
    )  # fmt: skip


def named(name: str, *names: str, readable: bool = True) -> Axis:
    size = len(names) or None
    column = ColumnRef("t", name)
    return Axis(
        f"t.{name}", Kind.NAMES, None, None, size, False, readable, True, column,
        frozenset(names) or None,
    )  # fmt: skip


YEAR = steps("year", 1900, 1999)
DAY = steps("day", 0, 29_999)
SIDE = named("side", "north", "east", "south", "west")
NAME = named("name")


def ranges(*given: tuple[int, int]) -> Steps:
    return Steps(given)


def names(*given: str) -> Names:
    return Names(frozenset(given))


def where(*parts: tuple[Axis, Cells]) -> Region:
    region = EVERYTHING
    for axis, cells in parts:
        region = region.meet(along(axis, cells))
    return region


def ground(region: Region, *keys: GroupKey, unreadable: tuple[str, ...] = ()) -> Ground:
    return Ground("t", frozenset({"t"}), region, keys, unreadable)


def by(axis: Axis, *cells: Cells, text: str | None = None) -> GroupKey:
    """A listed key."""
    return GroupKey(text or f"key({axis.name})", axis, tuple(range(len(cells))), cells)


def by_tens(axis: Axis, low: int, high: int, step: int = 10, text: str | None = None) -> GroupKey:
    """A key of steps, the first and the last open as those of declared domains are."""
    cells = [
        Steps(((FIRST if one == low else one, LAST if one + step > high else one + step - 1),))
        for one in range(low, high + 1, step)
    ]
    return by(axis, *cells, text=text)


def past(
    number: int,
    about: Region,
    *keys: GroupKey,
    counts: Sequence[int] | None = None,
    spread: Fraction = SPREAD,
    variance: Fraction | None = None,
    whole: bool = True,
) -> Past:
    """Counted as exactly as it is seen, unless something else is said."""
    told = None if counts is None else tuple(counts)
    noise = spread if variance is None else variance
    return Past(f"q{number}.r1.1", f"q{number}", ground(about, *keys), told, spread, noise, whole)


def refusal(
    about: Region | Ground, told: Sequence[Past], rules: Auditing = RULES
) -> OverlapRefused | None:
    """What the auditor says of a new question beside these."""
    asked = about if isinstance(about, Ground) else ground(about)
    try:
        audit([Concerned(asked, SPREAD)], History(told), rules)
    except OverlapRefused as refused:
        return refused
    return None
