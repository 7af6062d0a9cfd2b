"""Regions as if nobody had the rows that a query asks the absence of."""

from dataclasses import replace

from laws import for_each
from overlap.invented import NAME, SIDE, names, where

from gateway.regions.absent_partners import without_absent_partners
from gateway.regions.axis import RegionAxis, is_of_partner, partner_axis
from gateway.regions.cells import NameCells
from gateway.regions.join_partners import ALONE
from gateway.regions.region import EVERYTHING, NOTHING, Region, region_along

_ONE = partner_axis("exists (a)", quasi=False, few=False)
_OTHER = partner_axis("exists (b)", quasi=False, few=False)
_UNLISTED = replace(NAME, quasi=False)
_OTHERS = NameCells(frozenset({"nobody"}), rest=True)
_NORTH = where((SIDE, names("north")))
_SOUTH = where((SIDE, names("south")))


def _without(axis: RegionAxis) -> Region:
    return region_along(axis, ALONE)


def _with(axis: RegionAxis) -> Region:
    return region_along(axis, names("true"))


def _found(region: Region) -> list[Region]:
    return list(without_absent_partners(region, is_of_partner))


@for_each(
    ("region", "expected"),
    [
        (_without(_ONE), [EVERYTHING]),
        (_without(_ONE).meet(_NORTH), [_NORTH]),
        (_without(_ONE).meet(_without(_OTHER)).meet(_NORTH), [_NORTH]),
        (_without(_ONE).meet(_with(_OTHER)).meet(_NORTH), [_with(_OTHER).meet(_NORTH)]),
        (_without(_ONE).join(_NORTH), [EVERYTHING]),
        (where((_UNLISTED, _OTHERS)), [EVERYTHING]),
        (where((_UNLISTED, _OTHERS)).meet(_NORTH), [_NORTH]),
        (where((_UNLISTED, _OTHERS)).meet(_without(_ONE)).meet(_NORTH), [_NORTH]),
    ],
)
def test_absence_of_a_partner_is_no_condition_where_nobody_has_one(
    region: Region, expected: list[Region]
) -> None:
    """The other conditions stay, and so does the existence of another partner."""
    assert _found(region) == expected


def test_boxes_that_ask_for_the_partner_are_kept_first_and_then_left_out() -> None:
    """Where nobody has a partner, persons who have one are nobody."""
    region = _without(_ONE).meet(_NORTH).join(_with(_ONE).meet(_SOUTH))
    kept, alone = _found(region)
    assert kept == _NORTH.join(_with(_ONE).meet(_SOUTH))
    assert alone == _NORTH


@for_each(
    "region",
    [
        EVERYTHING,
        NOTHING,
        _NORTH,
        _with(_ONE),
        where((_UNLISTED, names("a"))),
        where((NAME, _OTHERS)),
        where((SIDE, names("north", "east", "south"))),
    ],
)
def test_regions_that_ask_for_no_absence_have_no_other_form(region: Region) -> None:
    """The control: what is asked of rows, or of partners that are there, may be true of many; names of a person are narrow."""
    assert _found(region) == []
