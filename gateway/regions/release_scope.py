"""One scope: its rows and its keys, and the scopes of its rows with other conditions and of single aggregates."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from gateway.catalog.values import Value
from gateway.plan.aggregates import Measure
from gateway.regions.axis import RegionAxis
from gateway.regions.cells import Cells
from gateway.regions.conditional_aggregates import regions_of
from gateway.regions.region import Region, TooLarge
from gateway.regions.resolved_plan import ResolvedPlan
from gateway.regions.time_differences import dependent_axes

MOST_SCOPES: Final = 512
"""More scopes of one answer are one opaque scope."""


@dataclass(frozen=True, slots=True)
class GroupKey:
    """`text` is the normal text of the key, `axis` the one axis it is a function of.

    `values` are its listed values in the order of the enumeration, None where groups are found in the data; `cells` are
    for each value the cells of the axis that have it.
    """

    text: str
    axis: RegionAxis | None
    values: tuple[Value | None, ...] | None
    cells: tuple[Cells, ...] | None


@dataclass(frozen=True, slots=True)
class ReleaseScope:
    """`shape` is the normal text of the joined tables: only scopes of equal shape are compared.

    `tables` are the protected ones, `unreadable` the opaque conditions, for messages. `through` are the tables that all rows
    were joined with (`joined_tables`); scopes that come from the state do not have them. `any_numbers`: these are the
    rows behind an answer whatever the numbers of their persons are, of which the answer is about some. `of_groups`: these
    are persons in the place of their groups, with conditions on the numbers of these. `row_reading`: of which kind it is,
    if its conditions on numbers of persons are written as conditions on rows (`row_readings.py`). `as_if_of` is the scope of
    which this is what it would be if nobody had what it leaves out; scopes that come from the state do not have it.
    """

    shape: str
    tables: frozenset[str]
    region: Region
    keys: tuple[GroupKey, ...]
    unreadable: tuple[str, ...]
    through: frozenset[str] = field(default=frozenset(), compare=False)
    any_numbers: bool = False
    of_groups: bool = False
    row_reading: str = ""
    as_if_of: "ReleaseScope | None" = field(default=None, compare=False)

    @property
    def numbers(self) -> frozenset[str]:
        """The axes of its conditions on values that were computed from the rows of a person."""
        return frozenset(one.name for one in self.region.axes if one.of_person)


def unreadable_of(region: Region, keys: Iterable[GroupKey]) -> tuple[str, ...]:
    """The opaque conditions of a region and of keys, for messages."""
    opaque = tuple(one.name for one in region.axes if not one.readable)
    grouped = (one.axis for one in keys if one.axis is not None)
    return opaque + dependent_axes(region, grouped)


def of_region(scope: ReleaseScope, region: Region) -> ReleaseScope:
    """The same keys over these rows."""
    return replace(scope, region=region, unreadable=unreadable_of(region, scope.keys))


def of_relation(scope: ReleaseScope, rows: ResolvedPlan) -> ReleaseScope:
    """The same keys over the rows of a relation."""
    return of_region(replace(scope, shape=rows.shape), rows.region)


def beside(
    scope: ReleaseScope, measures: Iterable[Measure], followed: ResolvedPlan
) -> tuple[ReleaseScope, ...]:
    """The rows that these aggregates select, where these are not all of the scope."""
    found: dict[Region, None] = {}
    for measure in measures:
        for region in regions_of(measure, followed):
            if region != scope.region:
                found[region] = None
        if len(found) > MOST_SCOPES:
            raise TooLarge
    return tuple(of_region(scope, one) for one in found)
