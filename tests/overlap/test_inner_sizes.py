"""What counted rows within a residual say: they may clear it, and luck, NULL and other rows may not."""

from dataclasses import replace
from fractions import Fraction

import pytest
from overlap.invented import (
    DAY,
    RULES,
    SIDE,
    SPREAD,
    by,
    by_tens,
    names,
    past,
    ranges,
    refusal,
    scope,
    where,
)

from gateway.errors import Code
from gateway.overlap.auditor import PriorRelease
from gateway.regions.cells import StepCells
from gateway.regions.region import EVERYTHING
from gateway.regions.scope import GroupKey

SURE = Fraction(1)
TWO = replace(RULES, narrow_cells=2)
SINCE_100 = where((DAY, StepCells(((100, 29_999),))))
SINCE_102 = where((DAY, StepCells(((102, 29_999),))))
ALL_BUT_100 = where((DAY, StepCells(((0, 99), (101, 29_999)))))


def _days(first: int, last: int) -> GroupKey:
    cells = tuple(ranges((one, one)) for one in range(first, last + 1))
    return by(DAY, *cells, text="t.day")


def _table(number: int, first: int, last: int, counts: list[int]) -> PriorRelease:
    window = where((DAY, ranges((first, last))))
    return past(number, window, _days(first, last), counts=counts, spread=SURE, whole=False)


def test_rest_beside_a_large_part_is_still_isolated() -> None:
    """Who counts one of two days and takes both off sees the other day, which nothing shows to be large."""
    counted = past(2, where((DAY, ranges((100, 100)))), counts=[400])
    assert refusal(SINCE_102, [past(1, SINCE_100), counted], TWO) is not None


def test_groups_within_a_residual_clear_it_when_its_ends_cut_groups() -> None:
    """A window whose ends lie within hours moves by whole hours too."""
    tens = by_tens(DAY, 0, 29_999)
    cheap = Fraction(10_000)  # no sum of its groups is a difference by itself
    table = past(1, EVERYTHING, tens, counts=[4_000] * 3_000, spread=cheap)
    poor = past(1, EVERYTHING, tens, counts=[4] * 3_000, spread=cheap)
    wide = replace(RULES, narrow_cells=25)
    told = past(2, where((DAY, StepCells(((105, 29_999),)))))
    asked = where((DAY, StepCells(((127, 29_999),))))
    assert refusal(asked, [table, told], wide) is None
    assert refusal(asked, [poor, told], wide) is not None


def test_count_of_a_cell_or_null_does_not_clear_the_cell() -> None:
    """A column that is mostly NULL makes no day large."""
    told = past(1, EVERYTHING)
    asked = where((DAY, StepCells(((0, 99), (101, 29_999)), null=True)))
    with_null = past(2, where((DAY, StepCells(((100, 100),), null=True))), counts=[5_000])
    assert refusal(asked, [told, with_null]) is not None
    without = past(2, where((DAY, ranges((100, 100)))), counts=[5_000])
    assert refusal(asked, [told, without]) is None


def test_difference_of_two_counts_that_holds_null_does_not_clear_a_cell() -> None:
    """All without some days: the rest has these days, and everybody without a day."""
    rest = where((DAY, StepCells(((0, 99), (101, 29_999)))))
    dear = [past(1, EVERYTHING, counts=[20_000], spread=SURE), past(2, rest, counts=[9_000])]
    assert refusal(ALL_BUT_100, dear[:1]) is not None
    assert (
        refusal(where((DAY, StepCells(((101, 29_999),)))), [*dear, past(3, SINCE_100)]) is not None
    )


@pytest.mark.parametrize(("each", "clears"), [(8, False), (400, True)])
def test_units_that_are_in_several_groups_count_once(each: int, clears: bool) -> None:  # noqa: FBT001
    """The same eight persons on two days are eight, however many rows they have."""
    told = past(1, SINCE_100)
    table = _table(2, 100, 101, [each] * 2)
    assert (refusal(SINCE_102, [told, table], TWO) is None) is clears


def test_mean_of_all_draws_decides_and_no_lucky_draw() -> None:
    """Thirty tables show a day more exactly than one; a day that is small is not cleared by the luckiest of thirty."""

    def tables(counts: list[int]) -> list[PriorRelease]:
        return [
            past(
                2 + at,
                where((DAY, ranges((100 - at, 130)))),
                _days(100 - at, 130),
                counts=[one] * (31 + at),
            )
            for at, one in enumerate(counts)
        ]

    told = past(1, SINCE_100)
    asked = where((DAY, StepCells(((101, 29_999),))))
    assert refusal(asked, [told, *tables([80])]) is not None
    assert refusal(asked, [told, *tables([80] * 30)]) is None
    assert refusal(asked, [told, *tables([1] * 29 + [400])]) is not None


@pytest.mark.parametrize(
    ("first", "spread", "chosen", "clears"),
    [
        (100, SPREAD, False, True),
        (100, 2 * SPREAD, False, False),  # a cheaper table shows a person less exactly
        (100, SPREAD, True, False),  # the query chose the boundary of the day
        (99, SPREAD, False, False),  # the table has the day beside another one
    ],
)
def test_three_deviations_clear_a_day_that_a_table_shows_as_exactly(
    first: int,
    spread: Fraction,
    chosen: bool,  # noqa: FBT001
    clears: bool,  # noqa: FBT001
) -> None:
    """The day can be asked for in a table, whatever its size is, so a difference reveals no more. Six are needed otherwise."""
    days = [ranges((first, 100)), *(ranges((one, one)) for one in range(101, 131))]
    text = "(t.day < 101)" if chosen else "t.day"
    deviation = float(spread) ** 0.5
    for times, enough in ((2.9, False), (5.9, clears)):
        count = round(10 + times * deviation)
        about = where((DAY, ranges((first, 130))))
        key = by(DAY, *days, text=text)
        table = past(2, about, key, counts=[count] * 31, spread=spread, whole=False)
        asked = where((DAY, StepCells(((101, 29_999),))))
        assert (refusal(asked, [past(1, SINCE_100), table]) is None) is enough


def test_three_deviations_of_a_count_by_itself_clear_nothing() -> None:
    """A condition chose these rows, and no table."""
    told = past(1, SINCE_100)
    asked = where((DAY, StepCells(((101, 29_999),))))
    day = where((DAY, ranges((100, 100))))
    for count, clears in ((150, False), (190, True)):
        counted = past(2, day, counts=[count], whole=False)
        assert (refusal(asked, [told, counted]) is None) is clears
        cut = past(
            2, day, by(DAY, ranges((100, 109)), text="ten(t.day)"), counts=[count], whole=False
        )
        assert (refusal(asked, [told, cut]) is None) is clears


@pytest.mark.parametrize(("groups", "clears"), [(4, True), (100, False)])
def test_day_of_many_groups_is_cleared_by_more_people(groups: int, clears: bool) -> None:  # noqa: FBT001
    """Tables with equal groups differ in each of these, so the day is to be large enough for each on average."""
    cells = tuple(names(f"side {one}") for one in range(groups))
    axis = replace(SIDE, names=frozenset(f"side {one}" for one in range(groups)), size=groups)
    sides = by(axis, *cells)
    told = [
        past(1, SINCE_100, sides),
        past(2, where((DAY, ranges((100, 100)))), counts=[400], spread=SURE),
    ]
    asked = scope(where((DAY, StepCells(((101, 29_999),)))), sides)
    found = refusal(asked, told)
    assert (found is None) is clears
    assert refusal(scope(asked.region), told) is None, "one number of all groups"


def test_groups_that_are_found_in_the_data_count_as_many() -> None:
    """Nobody knows how many there are, so a day of forty people clears no table of them."""
    found = GroupKey("t.name", None, None, None)
    day = where((DAY, ranges((100, 100))))
    for count, clears in ((400, False), (4_000, True)):
        told = [past(1, SINCE_100, found), past(2, day, counts=[count], spread=SURE)]
        asked = scope(where((DAY, StepCells(((101, 29_999),)))), found)
        assert (refusal(asked, told) is None) is clears


def test_table_of_days_shows_a_new_day_openly() -> None:
    """The day that a table has more is one of its groups, and no difference; days that it leaves out are."""
    told = past(1, where((DAY, ranges((100, 105)))), spread=SURE)
    later = where((DAY, ranges((100, 106))))
    assert refusal(later, [told]) is not None
    assert refusal(scope(later, _days(100, 106)), [told]) is None
    assert refusal(scope(where((DAY, ranges((101, 105)))), _days(101, 105)), [told]) is not None


def test_boundary_that_the_query_chose_is_shown_by_no_table() -> None:
    """`GROUP BY day >= 130` asks for that day as WHERE does."""
    chosen = by(DAY, StepCells(((100, 129),)), ranges((130, 130)), text="(t.day >= 130)")
    found = refusal(
        scope(where((DAY, ranges((100, 130)))), chosen), [past(1, where((DAY, ranges((100, 129)))))]
    )
    assert found is not None
    assert found.code is Code.DIFFERENCING
