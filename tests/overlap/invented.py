"""Scopes made by hand over a few axes, and releases about them."""

from collections.abc import Sequence
from fractions import Fraction

from gateway.catalog.tables import ColumnRef
from gateway.errors import OverlapRefused
from gateway.overlap.auditor import History, NewQuery, PriorRelease, audit
from gateway.policy.policy import Auditing, UnreadableConditions
from gateway.regions.axis import FIRST, LAST, AxisKind, RegionAxis
from gateway.regions.cells import Cells, NameCells, StepCells
from gateway.regions.region import EVERYTHING, Region, region_along
from gateway.regions.scope import GroupKey, ReleaseScope

RULES = Auditing(10, 1, (), UnreadableConditions.REFUSE)
SPREAD = Fraction(800)


def steps(name: str, low: int, high: int, *, nullable: bool = True) -> RegionAxis:
    column = ColumnRef("t", name)
    return RegionAxis(
        f"t.{name}", AxisKind.STEPS, low, high, high - low + 1, nullable, True, True, column
    )  # fmt: skip


def named(name: str, *names: str, readable: bool = True) -> RegionAxis:
    size = len(names) or None
    column = ColumnRef("t", name)
    return RegionAxis(
        f"t.{name}", AxisKind.NAMES, None, None, size, False, readable, True, column,
        frozenset(names) or None,
    )  # fmt: skip


YEAR = steps("year", 1900, 1999)
DAY = steps("day", 0, 29_999)
SIDE = named("side", "north", "east", "south", "west")
NAME = named("name")


def ranges(*given: tuple[int, int]) -> StepCells:
    return StepCells(given)


def names(*given: str) -> NameCells:
    return NameCells(frozenset(given))


def where(*parts: tuple[RegionAxis, Cells]) -> Region:
    region = EVERYTHING
    for axis, cells in parts:
        region = region.meet(region_along(axis, cells))
    return region


def scope(region: Region, *keys: GroupKey, unreadable: tuple[str, ...] = ()) -> ReleaseScope:
    return ReleaseScope("t", frozenset({"t"}), region, keys, unreadable)


def by(axis: RegionAxis, *cells: Cells, text: str | None = None) -> GroupKey:
    """A listed key."""
    return GroupKey(text or f"key({axis.name})", axis, tuple(range(len(cells))), cells)


def by_tens(
    axis: RegionAxis, low: int, high: int, step: int = 10, text: str | None = None
) -> GroupKey:
    """A key of steps, the first and the last open as those of declared domains are."""
    cells = [
        StepCells(((FIRST if one == low else one, LAST if one + step > high else one + step - 1),))
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
) -> PriorRelease:
    """Counted as exactly as it is seen, unless something else is said."""
    told = None if counts is None else tuple(counts)
    noise = spread if variance is None else variance
    return PriorRelease(
        f"q{number}.r1.1", f"q{number}", scope(about, *keys), told, spread, noise, whole
    )


def refusal(
    about: Region | ReleaseScope, told: Sequence[PriorRelease], rules: Auditing = RULES
) -> OverlapRefused | None:
    """What the auditor says of a new question beside these."""
    asked = about if isinstance(about, ReleaseScope) else scope(about)
    try:
        audit([NewQuery(asked, SPREAD)], History(told), rules)
    except OverlapRefused as refused:
        return refused
    return None
