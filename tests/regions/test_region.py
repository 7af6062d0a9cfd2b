"""The algebra of regions, against sets of single cells."""

from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from regions.ward import has
from samples import draws

from gateway.regions.axis import FIRST, LAST, AxisKind, RegionAxis
from gateway.regions.cells import (
    AxisMismatch,
    Cells,
    NameCells,
    StepCells,
    all_cells,
    cell_count,
    clip_cells,
    contains,
    intersection,
    is_empty,
    merge_ranges,
    minus,
    union,
)
from gateway.regions.region import (
    EVERYTHING,
    MOST_BOXES,
    NOTHING,
    Box,
    Region,
    TooLarge,
    region_along,
)

YEAR = RegionAxis(
    "year", AxisKind.STEPS, 0, 5, 6, nullable=True, readable=True, quasi=False, column=None
)
COST = RegionAxis(
    "cost",
    AxisKind.STEPS,
    None,
    None,
    None,
    nullable=False,
    readable=True,
    quasi=False,
    column=None,
)
SEX = RegionAxis(
    "sex",
    AxisKind.NAMES,
    None,
    None,
    2,
    nullable=True,
    readable=True,
    quasi=False,
    column=None,
    names=frozenset({"f", "m"}),
)
NAME = RegionAxis(
    "name", AxisKind.NAMES, None, None, None, nullable=False, readable=True, quasi=True, column=None
)
AXES = (YEAR, COST, SEX, NAME)
_NAMED = ("alice", "bob", "carol")
PLACES: dict[str, list[int | str | None]] = {
    # with a place beyond each end, where a domain says that nothing is there it counts as the end
    "year": [*range(6), None],
    "cost": [FIRST, *range(-2, 5), LAST],
    "sex": ["f", "m", None],
    "name": ["f", *_NAMED, "dave"],
}
ROWS = [dict(zip(PLACES, one, strict=True)) for one in product(*PLACES.values())]

_RANGES = st.lists(
    st.tuples(st.integers(-1, 3), st.integers(0, 1)).map(lambda one: (one[0], sum(one))), max_size=3
)


def _cells(axis: RegionAxis) -> st.SearchStrategy[Cells]:
    if axis.kind is AxisKind.STEPS:
        return st.builds(
            lambda ranges, null: clip_cells(StepCells(merge_ranges(ranges), null), axis),
            _RANGES,
            st.booleans(),
        )
    return st.builds(
        lambda values, rest, null: clip_cells(NameCells(frozenset(values), rest, null), axis),
        st.sets(st.sampled_from((*_NAMED, "f") if axis is NAME else ("f", "m", "x"))),
        st.booleans(),
        st.booleans(),
    )


def _boxes() -> st.SearchStrategy[Region]:
    chosen = st.lists(st.sampled_from(AXES), unique_by=lambda one: one.name, max_size=3)

    def box(axes: list[RegionAxis]) -> st.SearchStrategy[Region]:
        parts = st.tuples(*(_cells(one) for one in axes))
        return parts.map(lambda given: _box(axes, given))

    return chosen.flatmap(box)


def _box(axes: list[RegionAxis], given: tuple[Cells, ...]) -> Region:
    made = EVERYTHING
    for axis, cells in zip(axes, given, strict=True):
        made = made.meet(region_along(axis, cells))
    return made


def _joined(boxes: list[Region]) -> Region:
    made = NOTHING
    for one in boxes:
        made = made.join(one)
    return made


REGIONS = st.lists(_boxes(), max_size=4).map(_joined)


def _rows(region: Region) -> frozenset[int]:
    return frozenset(place for place, row in enumerate(ROWS) if has(region, row))


@settings(max_examples=draws(300), deadline=None)
@given(REGIONS, REGIONS)
def test_region_algebra_is_that_of_sets_of_rows(one: Region, other: Region) -> None:
    """Meet, join and without are what they are called, row by row."""
    mine, theirs = _rows(one), _rows(other)
    assert _rows(one.meet(other)) == mine & theirs
    assert _rows(one.join(other)) == mine | theirs
    assert _rows(one.without(other)) == mine - theirs
    assert one.covers(other) is (theirs <= mine)


@settings(max_examples=draws(300), deadline=None)
@given(REGIONS, REGIONS)
def test_region_is_written_in_one_way_when_its_rows_are_the_same(
    one: Region, other: Region
) -> None:
    """Regions are equal exactly when their rows are, and so says `same`."""
    alike = _rows(one) == _rows(other)
    assert (one == other) is alike
    assert one.same(other) is alike


@settings(max_examples=draws(300), deadline=None)
@given(REGIONS, REGIONS, REGIONS)
def test_region_does_not_depend_on_the_way_it_was_made(
    one: Region, other: Region, third: Region
) -> None:
    """Laws of sets hold as equalities of what is written."""
    assert one.meet(other) == other.meet(one)
    assert one.join(other) == other.join(one)
    assert one.join(other.join(third)) == one.join(other).join(third)
    assert one.meet(other.join(third)) == one.meet(other).join(one.meet(third))
    assert one.without(other) == one.meet(EVERYTHING.without(other))
    assert EVERYTHING.without(EVERYTHING.without(one)) == one
    assert one.without(other).join(one.meet(other)) == one
    assert one.meet(one) == one.join(one) == one
    assert one.without(one) == NOTHING


@settings(max_examples=draws(200), deadline=None)
@given(REGIONS)
def test_boxes_of_a_region_are_disjoint_and_name_only_what_they_need(region: Region) -> None:
    """No row is in two boxes, no part is empty or everything, and the axes are those of the boxes."""
    for row in ROWS:
        inside = [
            box
            for box in region.boxes
            if all(contains(cells, row[name]) for name, cells in box.parts)
        ]
        assert len(inside) <= 1
    named = {name for box in region.boxes for name, _ in box.parts}
    assert [one.name for one in region.axes] == sorted(named)
    for box in region.boxes:
        assert [name for name, _ in box.parts] == sorted(name for name, _ in box.parts)
        for name, cells in box.parts:
            assert not is_empty(cells)
            assert cells != all_cells(region.axis(name))
            assert cells == clip_cells(cells, region.axis(name))


@pytest.mark.parametrize("axis", AXES, ids=lambda one: one.name)
def test_cells_are_sets_of_places(axis: RegionAxis) -> None:
    """Intersection, union and difference along one axis are those of its places."""

    @settings(max_examples=draws(200), deadline=None)
    @given(_cells(axis), _cells(axis))
    def checked(one: Cells, other: Cells) -> None:
        places = PLACES[axis.name]
        mine = {place for place in places if contains(one, place)}
        theirs = {place for place in places if contains(other, place)}
        for made, expected in (
            (intersection(one, other), mine & theirs),
            (union(one, other), mine | theirs),
            (minus(one, other), mine - theirs),
        ):
            assert {place for place in places if contains(made, place)} == expected
            assert clip_cells(made, axis) == made
        assert is_empty(minus(one, one))

    checked()


@pytest.mark.parametrize(
    ("axis", "cells", "expected"),
    [
        (YEAR, StepCells(((FIRST, 2),)), 3),
        (YEAR, StepCells(((FIRST, 2),), null=True), 4),
        (YEAR, StepCells(((1, 1), (4, LAST))), 3),
        (COST, StepCells(((3, 7),)), 5),
        (COST, StepCells(((3, LAST),)), None),
        (SEX, NameCells(frozenset({"f"}), rest=True), 1),
        (SEX, NameCells(frozenset({"f", "x"})), 1),
        (NAME, NameCells(frozenset({"alice", "bob"})), 2),
        (NAME, NameCells(frozenset({"alice"}), rest=True), None),
    ],
)
def test_size_counts_declared_values(axis: RegionAxis, cells: Cells, expected: int | None) -> None:
    """Sizes are clipped to the domain, and None where it has no end."""
    assert cell_count(cells, axis) == expected


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        (((100, 100),), 1),
        (((101, 104),), 1),  # between two declared values
        (((100, 109),), 2),
        (((100, 110),), 3),
        (((FIRST, LAST),), 25),
        (((101, 104), (106, 109)), 2),
    ],
)
def test_size_counts_by_the_stride_of_what_is_declared(
    ranges: tuple[tuple[int, int], ...], expected: int
) -> None:
    """Cells between two declared values are one, never four."""
    axis = RegionAxis(
        "height",
        AxisKind.STEPS,
        100,
        220,
        25,
        nullable=False,
        readable=True,
        quasi=False,
        column=None,
        stride=5,
    )
    assert cell_count(StepCells(ranges), axis) == expected


def test_region_is_refused_when_it_would_be_too_many_boxes() -> None:
    """A checkerboard has no few boxes, and nobody is made to compare them."""
    one, two = (
        RegionAxis(
            name,
            AxisKind.STEPS,
            0,
            999,
            1000,
            nullable=False,
            readable=True,
            quasi=False,
            column=None,
        )
        for name in ("a", "b")
    )

    def squares(count: int) -> Iterator[Region]:
        for place in range(count):
            cells = StepCells(((2 * place, 2 * place),))
            yield region_along(one, cells).meet(region_along(two, cells))

    assert len(_joined(list(squares(MOST_BOXES))).boxes) == MOST_BOXES
    with pytest.raises(TooLarge):
        _joined(list(squares(MOST_BOXES + 1)))


def test_region_survives_a_domain_that_was_moved() -> None:
    """Cells are absolute: a region over the old domain is compared with one over the new."""
    wider = RegionAxis(
        "year", AxisKind.STEPS, -5, 9, 15, nullable=True, readable=True, quasi=False, column=None
    )
    old, new = region_along(YEAR, StepCells(((2, 3),))), region_along(wider, StepCells(((2, 3),)))
    assert old.same(new)
    assert new.covers(old)
    assert new.without(old) == NOTHING
    # what was the end stood for everything beyond it
    first, later = (
        region_along(YEAR, StepCells(((0, 3),))),
        region_along(wider, StepCells(((0, 3),))),
    )
    assert not first.same(later)
    assert not later.same(first)
    assert first.covers(later)
    assert not later.covers(first)


def test_numbers_and_names_are_never_compared() -> None:
    """A column that had another type once is nothing to compare with."""
    renamed = RegionAxis(
        "year",
        AxisKind.NAMES,
        None,
        None,
        None,
        nullable=True,
        readable=True,
        quasi=False,
        column=None,
    )
    mine, theirs = (
        region_along(YEAR, StepCells(((2, 3),))),
        region_along(renamed, NameCells(frozenset({"2"}))),
    )
    with pytest.raises(TooLarge):
        mine.meet(theirs)
    with pytest.raises(TooLarge):
        mine.join(theirs)
    with pytest.raises(AxisMismatch):
        union(StepCells(((2, 3),)), NameCells(frozenset({"2"})))


def test_brute_force_sees_a_wrong_region() -> None:
    """The comparison with single rows tells a region from one that is off by a cell: it can fail."""
    right = region_along(YEAR, StepCells(((1, 3),))).meet(
        region_along(SEX, NameCells(frozenset({"f"})))
    )
    wrong = region_along(YEAR, StepCells(((1, 4),))).meet(
        region_along(SEX, NameCells(frozenset({"f"})))
    )
    overlapping = Region(
        (YEAR,), (Box((("year", StepCells(((1, 3),))),)), Box((("year", StepCells(((3, 4),))),)))
    )
    assert _rows(right) != _rows(wrong)
    assert _rows(overlapping) == _rows(region_along(YEAR, StepCells(((1, 4),))))
    assert overlapping != region_along(YEAR, StepCells(((1, 4),)))
