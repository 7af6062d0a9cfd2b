"""What few cells are: single values together, neighbours that nobody counted, values without a size."""

from dataclasses import replace

import pytest
from laws import for_each
from overlap.invented import (
    DAY,
    NAME,
    RULES,
    SIDE,
    YEAR,
    names,
    past,
    ranges,
    refusal,
    steps,
    where,
)

from gateway.overlap.few_cells import FewCells, has_few_cells
from gateway.regions.axis import LAST
from gateway.regions.cells import StepCells, merge_ranges
from gateway.regions.region import EVERYTHING, Region


@pytest.mark.parametrize("name", ["a", "z"])
def test_boxes_count_on_those_axes_that_give_the_fewest_cells_together(name: str) -> None:
    """One day of one number or of one side is one day, whatever the columns are called; one more day is wide."""
    other = steps(name, 0, 9_999)
    either = where((other, ranges((7, 7)))).join(where((SIDE, names("north"))))
    for last, narrow in ((100, True), (102, False)):
        rest = either.meet(where((DAY, StepCells(((0, 99), (last + 1, 29_999))))))
        told = refusal(rest, [past(1, either)])
        assert (told is not None) is narrow


def test_counting_of_many_boxes_ends() -> None:
    """What leaves more choices than are looked at is narrow; a box without a narrow axis is wide at once."""
    other = steps("z", 0, 9_999)
    axes = {one.name: one for one in (DAY, other)}
    boxes = [
        {DAY.name: ranges((10 * at, 10 * at)), other.name: ranges((7 * at, 7 * at))}
        for at in range(1_200)
    ]
    limits = {
        most: FewCells(replace(RULES, min_units=1, narrow_cells=most)) for most in (1, 3, 30, 1_200)
    }
    assert not has_few_cells(boxes, [{}], axes, limits[1])
    assert not has_few_cells(boxes, [{}], axes, limits[3])
    assert has_few_cells(boxes, [{}], axes, limits[1_200])
    assert has_few_cells(boxes[:40], [{}], axes, limits[30])  # 2³⁰ choices
    wide = {DAY.name: ranges((0, 40)), other.name: ranges((0, 40))}
    assert not has_few_cells([*boxes[:40], wide], [{}], axes, limits[30])


def _days_less(*days: int) -> Region:
    return EVERYTHING.without(where((DAY, ranges(*((one, one) for one in days)))))


def test_residual_is_not_narrow_when_it_has_more_cells_than_the_policy_says() -> None:
    """`narrow_cells` is the limit of neighbours that were counted, and is counted."""
    two_less, everybody = _days_less(100, 101), past(1, EVERYTHING, counts=[10_000_000])
    assert refusal(two_less, [everybody]) is None
    assert refusal(two_less, [everybody], replace(RULES, narrow_cells=2)) is not None


def test_neighbours_that_nobody_counted_are_narrow_when_few_of_very_many_people_had_them() -> None:
    """Two of 30,000 days are those of 7 in 100,000 people, three those of 10."""
    assert refusal(_days_less(100, 101), [past(1, EVERYTHING)]) is not None
    assert refusal(_days_less(100, 101, 102), [past(1, EVERYTHING)]) is None
    years = where((YEAR, ranges((1900, 1997))))
    assert refusal(years, [past(1, EVERYTHING)]) is None


def test_nothing_but_the_cells_of_the_policy_counts_when_sizes_are_switched_off() -> None:
    """`min_units: 1` switches off what is said of people, and `narrow_cells: 0` what is said of cells."""
    sizes_off = FewCells(replace(RULES, min_units=1))
    off = FewCells(replace(RULES, narrow_cells=0))
    assert (sizes_off.most, sizes_off.on(ID), sizes_off.on(DAY)) == (1, 1, 1)
    assert sizes_off.parts(ranges((100, 101)), DAY) > 1
    assert (off.most, off.on(ID), off.on(DAY)) == (0, 0, 0)
    assert off.parts(ranges((100, 100)), DAY) > 0


@pytest.mark.parametrize("counts", [None, [10_000_000]])
def test_single_values_are_narrow_together_when_they_are_fewer_than_the_smallest_group(
    counts: list[int] | None,
) -> None:
    """Whoever leaves one person out may leave out eight values that nobody has; nine at most, however many were counted."""
    told = [past(1, EVERYTHING, counts=counts)]
    assert refusal(_days_less(*range(100, 1_000, 100)), told) is not None
    assert refusal(_days_less(*range(100, 1_100, 100)), told) is None
    off = replace(RULES, narrow_cells=0)
    assert refusal(_days_less(100), [past(1, EVERYTHING)], off) is None


ID = replace(DAY, name="t.id", low=None, high=None, size=None)


def test_values_of_an_axis_without_a_size_are_narrow_when_they_are_neighbours() -> None:
    """Nobody knows whether nine identifiers in a row have nine persons, or one."""
    told = [past(1, EVERYTHING, counts=[10_000_000])]
    for last, narrow in ((108, True), (109, False)):
        left_out = EVERYTHING.without(where((ID, ranges((100, last)))))
        assert (refusal(left_out, told) is not None) is narrow
        apart = replace(ID, between=("t.a", "t.b"))
        left_out = EVERYTHING.without(where((apart, ranges((100, last)))))
        assert refusal(left_out, told) is None


@for_each(
    "beside",
    [ranges((-9_000, -1)), ranges((2**30, LAST)), ranges(*((-at, -at) for at in range(2, 400, 2)))],
)
def test_run_of_an_axis_without_a_size_is_narrow_beside_any_others(beside: StepCells) -> None:
    """Nobody may have them: the person in the short run is left out alone, in pairs and between three answers."""
    cells = StepCells(merge_ranges((*beside.ranges, (681, 681))))
    left_out = where((ID, cells))
    assert refusal(EVERYTHING.without(left_out), [past(1, EVERYTHING)]) is not None
    halves = [
        EVERYTHING.without(left_out).meet(where((SIDE, one)))
        for one in (names("north"), names("east", "south", "west"))
    ]
    told = [past(number, one) for number, one in enumerate(halves, 1)]
    assert refusal(EVERYTHING, told) is not None


def test_listed_names_are_narrow_however_many_they_are() -> None:
    """A hundred names of nobody hide no name; all other names are many."""
    made = names(*(f"nobody {at}" for at in range(100)), "somebody")
    told = [past(1, EVERYTHING, counts=[10_000_000])]
    assert refusal(EVERYTHING.without(where((NAME, made))), told) is not None
    assert refusal(where((NAME, made)), told) is None


def test_values_without_a_size_hide_no_narrow_share() -> None:
    """Eleven years of a thousand are the people of a share, whoever else may be left out beside them."""
    years = replace(DAY, name="t.years", high=99_999, size=100_000)
    some, nobody = where((years, ranges((100, 110)))), where((ID, ranges((7, 7))))
    for people, narrow in ((10_000, True), (1_000_000, False)):
        told = [past(1, EVERYTHING, counts=[people])]
        assert (refusal(EVERYTHING.without(some), told) is not None) is narrow
        assert (refusal(EVERYTHING.without(some.join(nobody)), told) is not None) is narrow
    many = where((ID, ranges((0, 999))))
    told = [past(1, EVERYTHING, counts=[10_000])]
    assert refusal(EVERYTHING.without(some.join(many)), told) is None


def test_three_values_that_two_wide_conditions_divide_are_those_three() -> None:
    """Each condition on a further column makes the residual smaller: `narrow_cells: 3` refuses three amounts of any of them."""
    rules = replace(RULES, narrow_cells=3)
    everybody = past(1, EVERYTHING, counts=[10_000_000])
    either = where((YEAR, ranges((1961, 1990)))).join(where((SIDE, names("north", "east"))))
    for last, narrow in ((102, True), (103, False)):
        left_out = EVERYTHING.without(where((DAY, ranges((100, last)))).meet(either))
        assert (refusal(left_out, [everybody], rules) is not None) is narrow


def test_more_cells_are_never_fewer_narrow_parts() -> None:
    """On every kind of axis, counted or not: whoever adds cells to what is wide leaves it wide."""
    kinds = (DAY, YEAR, ID, replace(ID, between=("t.a", "t.b")))
    for few in (FewCells(replace(RULES, narrow_cells=least), counted=counted)
                for least in (1, 3, 30) for counted in (True, False)):  # fmt: skip
        for axis in kinds:
            for step in (1, 2, 7):
                sets = [
                    ranges(*((1900 + step * at,) * 2 for at in range(many)))
                    for many in range(1, 14)
                ]
                found = [few.parts(StepCells(merge_ranges(one.ranges)), axis) for one in sets]
                assert found == sorted(found)
                assert found[0] == 1 or few.rules.narrow_cells > 1
