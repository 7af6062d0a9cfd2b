"""Which rows few persons have: by few values, and by a small share of the values of several columns."""

from dataclasses import replace

from laws import for_each
from overlap.invented import DAY, NAME, SIDE, YEAR, names, ranges, steps, where

from gateway.regions.cells import StepCells
from gateway.regions.region import Region
from gateway.regions.relation import is_of_few_values, is_small

COST = steps("cost", 0, 499_999)
ID = replace(DAY, name="t.id", low=None, high=None, size=None)
STAY = replace(ID, name="t.stay", between=("t.a", "t.b"))
CORNER = where((DAY, ranges((0, 999))), (YEAR, ranges((1901, 1904))), (COST, ranges((0, 49_999))))


@for_each("small", [
    where((COST, ranges((5, 5)))),
    where((COST, ranges((5, 104)))),
    where((COST, ranges((5, 5), (70, 70), (900, 900), (4_000, 4_000)))),
    where((DAY, ranges((100, 102)))),
    where((ID, ranges((1, 9)))),
    where((STAY, ranges((1, 3)))),
    where((NAME, names("a", "b"))),
    CORNER,
    CORNER.join(where((SIDE, names("north")))),
])  # fmt: skip
def test_rows_are_of_few_persons_when_their_values_are_few_of_very_many(small: Region) -> None:
    """A few of 500,000 amounts, some identifiers, or the corner of wide conditions."""
    assert is_small(small)


@for_each("wide", [
    where((COST, ranges((0, 4_999)))),
    where((DAY, ranges((100, 106)))),
    where((ID, ranges((1, 10)))),
    where((STAY, ranges((1, 7)))),
    where((ID, StepCells(((5, 2**62),)))),
    where((DAY, ranges((0, 999))), (COST, ranges((0, 49_999)))),
    where((replace(SIDE, quasi=False), names("north"))),
    where((DAY, StepCells((), null=True))),
])  # fmt: skip
def test_rows_are_of_many_persons_when_nothing_shows_that_they_are_few(wide: Region) -> None:
    """A week, amounts up to a bound, two wide conditions, NULL."""
    assert not is_small(wide)


def test_corner_is_no_single_value() -> None:
    """Where all rows are of few persons anyway, only single values count."""
    assert not is_of_few_values(CORNER)
    assert is_of_few_values(where((COST, ranges((5, 5)))))
