"""What a part of a release is about: which rows, cut how.

INVARIANT: grounds follow from plans and policies alone; nothing of the data is ever in one. Grounds that are equal are
about the same rows, cut in the same groups.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from gateway.catalog.values import Value, value_json, value_of_json
from gateway.json_form import Json, read_mapping, read_sequence, read_string
from gateway.plan.aggregates import Aggregate, Measure
from gateway.plan.node import Node
from gateway.plan.relations import StagedRows
from gateway.plan.scalars import Scalar, column_ids
from gateway.plan.sql_text import scalar_sql
from gateway.regions.axis import RegionAxis, axis_json, axis_of_json
from gateway.regions.cells import Cells, cells_json, cells_of_json
from gateway.regions.conditional_aggregates import regions_of
from gateway.regions.declarations import declarations
from gateway.regions.joined_tables import joined_tables
from gateway.regions.key_cells import key_axis, values_at
from gateway.regions.region import Region, region_json, region_of_json
from gateway.regions.resolved_plan import ResolvedPlan, resolve_plan
from gateway.sensitivity.analysis import EnumeratedGroups

__all__ = [
    "GroupKey",
    "ReleaseScope",
    "aggregate_scopes",
    "declarations",
    "normal_text",
    "scope_json",
    "scope_of",
    "scope_of_json",
]


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
    """`shape` is the normal text of what is read besides the region: only grounds of equal shape are compared.

    `tables` are the protected ones, `unreadable` the conditions that nobody understands, for messages. `through` are the
    tables that all rows have passed, as `passing.passed` says: only what has just been read has them.
    """

    shape: str
    tables: frozenset[str]
    region: Region
    keys: tuple[GroupKey, ...]
    unreadable: tuple[str, ...]
    through: frozenset[str] = field(default=frozenset(), compare=False)


def scope_of(
    plan: Aggregate,
    listed: EnumeratedGroups | None,
    constants: Mapping[str, str],
    known: Mapping[str, StagedRows] | None = None,
) -> ReleaseScope:
    """What the release is about. `plan` has one grouping set, row rules are filters in it, moments are folded.

    `constants` says of each staged constant what tells its content, `known` has the values of those that are there.
    """
    followed = resolve_plan(plan.child, constants, known)
    keys = []
    for place, (_, one) in enumerate(plan.keys):
        made = followed.resolved(one)
        values = None if listed is None else values_at(listed, place)
        axis, cells = key_axis(made, values, followed.bases)
        keys.append(GroupKey(scalar_sql(made), axis, values, cells))
    return ReleaseScope(
        followed.shape,
        followed.tables,
        followed.region,
        tuple(keys),
        _unreadable(followed.region),
        joined_tables(plan),
    )


def aggregate_scopes(
    plan: Aggregate,
    ground: ReleaseScope,
    constants: Mapping[str, str],
    known: Mapping[str, StagedRows] | None = None,
) -> tuple[ReleaseScope, ...]:
    """What those of its aggregates are about that look at other rows; each region once.

    And the rows of persons, and those that an outer join meets.
    """
    followed = resolve_plan(plan.child, constants, known)
    measures = [measure for _, measure in plan.measures]
    read = followed.lineage.made_of(
        each
        for one in measures
        for part in one.scalars
        for each in column_ids(followed.resolved(part))
    )
    made = followed.lineage.measures
    by_person = [made[one] for one in made.keys() & read if one not in followed.lineage.window_rows]
    about: list[tuple[ResolvedPlan, list[Measure]]] = [(followed, measures)]
    about += ((one, measures) for one in followed.met)
    about += ((one, [total]) for one, total in followed.windows(read))
    found: list[ReleaseScope] = []
    for place, (one, told) in enumerate(about):
        own = ground if not place else _of_relation(ground, one)
        found += [own, *_beside(own, told, one)] if place else _beside(own, told, one)
        rows = one.rows
        if rows is not None:
            # who has sums of what was computed for each person has learned of their rows
            whole = _of_relation(ground, rows)
            found += [whole, *_beside(whole, by_person, rows)]
    return tuple(dict.fromkeys(found))


def _of_relation(ground: ReleaseScope, rows: ResolvedPlan) -> ReleaseScope:
    region = rows.region
    return replace(ground, shape=rows.shape, region=region, unreadable=_unreadable(region))


def _beside(
    ground: ReleaseScope, measures: Iterable[Measure], followed: ResolvedPlan
) -> tuple[ReleaseScope, ...]:
    found: list[Region] = []
    for measure in measures:
        for region in regions_of(measure, followed):
            if region != ground.region and region not in found:
                found.append(region)
    return tuple(replace(ground, region=one, unreadable=_unreadable(one)) for one in found)


def _unreadable(region: Region) -> tuple[str, ...]:
    return tuple(one.name for one in region.axes if not one.readable)


def normal_text(plan: Node, scalar: Scalar, constants: Mapping[str, str]) -> str:
    """An expression over the fields of a relation, without aliases: equal for equal meaning as far as is easy."""
    return scalar_sql(resolve_plan(plan, constants).resolved(scalar))


def scope_json(ground: ReleaseScope) -> Json:
    """For the state."""
    keys = [
        {
            "text": one.text,
            "axis": None if one.axis is None else axis_json(one.axis),
            "values": None if one.values is None else [value_json(each) for each in one.values],
            "cells": None if one.cells is None else [cells_json(each) for each in one.cells],
        }
        for one in ground.keys
    ]
    return {
        "shape": ground.shape,
        "tables": sorted(ground.tables),
        "region": region_json(ground.region),
        "keys": keys,
        "unreadable": list(ground.unreadable),
    }


def scope_of_json(said: Json) -> ReleaseScope:
    """What was written by `scope_json`."""
    given = read_mapping(said)
    keys = [
        GroupKey(
            read_string(one["text"]),
            None if one["axis"] is None else axis_of_json(one["axis"]),
            None
            if one["values"] is None
            else tuple(map(value_of_json, read_sequence(one["values"]))),
            None
            if one["cells"] is None
            else tuple(map(cells_of_json, read_sequence(one["cells"]))),
        )
        for one in map(read_mapping, read_sequence(given["keys"]))
    ]
    return ReleaseScope(
        read_string(given["shape"]),
        frozenset(map(read_string, read_sequence(given["tables"]))),
        region_of_json(given["region"]),
        tuple(keys),
        tuple(map(read_string, read_sequence(given["unreadable"]))),
    )
