"""What a part of a release is about: which rows, cut how.

INVARIANT: grounds follow from plans and policies alone; nothing of the data is ever in one. Grounds that are equal are
about the same rows, cut in the same groups.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from gateway.catalog.values import Value, value_json, value_of_json
from gateway.engines.staged_rows import StagedRows
from gateway.json_form import Json, mapping, sequence, string
from gateway.plan.aggregates import Measure
from gateway.plan.grouping import Aggregate
from gateway.plan.node import Node
from gateway.plan.scalars import Scalar, column_ids
from gateway.plan.sql_text import text
from gateway.regions.axis import Axis, axis_json, axis_of_json
from gateway.regions.cells import Cells, cells_json, cells_of_json
from gateway.regions.conditional_aggregates import regions_of
from gateway.regions.declarations import declarations
from gateway.regions.joined_tables import passed
from gateway.regions.key_cells import cut_by, values_at
from gateway.regions.region import Region, region_json, region_of_json
from gateway.regions.resolved_plan import Followed, follow
from gateway.sensitivity.analysis import Enumerated

__all__ = [
    "Ground",
    "GroupKey",
    "asides_of",
    "declarations",
    "ground_json",
    "ground_of",
    "ground_of_json",
    "normal_text",
]


@dataclass(frozen=True, slots=True)
class GroupKey:
    """`text` is the normal text of the key, `axis` the one axis it is a function of.

    `values` are its listed values in the order of the enumeration, None where groups are found in the data; `cells` are
    for each value the cells of the axis that have it.
    """

    text: str
    axis: Axis | None
    values: tuple[Value | None, ...] | None
    cells: tuple[Cells, ...] | None


@dataclass(frozen=True, slots=True)
class Ground:
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


def ground_of(
    plan: Aggregate,
    listed: Enumerated | None,
    constants: Mapping[str, str],
    known: Mapping[str, StagedRows] | None = None,
) -> Ground:
    """What the release is about. `plan` has one grouping set, row rules are filters in it, moments are folded.

    `constants` says of each staged constant what tells its content, `known` has the values of those that are there.
    """
    followed = follow(plan.child, constants, known)
    keys = []
    for place, (_, one) in enumerate(plan.keys):
        made = followed.resolved(one)
        values = None if listed is None else values_at(listed, place)
        axis, cells = cut_by(made, values, followed.bases)
        keys.append(GroupKey(text(made), axis, values, cells))
    return Ground(
        followed.shape,
        followed.tables,
        followed.region,
        tuple(keys),
        _unreadable(followed.region),
        passed(plan),
    )


def asides_of(
    plan: Aggregate,
    ground: Ground,
    constants: Mapping[str, str],
    known: Mapping[str, StagedRows] | None = None,
) -> tuple[Ground, ...]:
    """What those of its aggregates are about that look at other rows; each region once.

    And the rows of persons, and those that an outer join meets.
    """
    followed = follow(plan.child, constants, known)
    measures = [measure for _, measure in plan.measures]
    read = followed.lineage.made_of(
        each
        for one in measures
        for part in one.scalars
        for each in column_ids(followed.resolved(part))
    )
    made = followed.lineage.measures
    by_person = [made[one] for one in made.keys() & read if one not in followed.lineage.window_rows]
    about: list[tuple[Followed, list[Measure]]] = [(followed, measures)]
    about += ((one, measures) for one in followed.met)
    about += ((one, [total]) for one, total in followed.windows(read))
    found: list[Ground] = []
    for place, (one, told) in enumerate(about):
        own = ground if not place else _of_relation(ground, one)
        found += [own, *_beside(own, told, one)] if place else _beside(own, told, one)
        rows = one.rows
        if rows is not None:
            # who has sums of what was computed for each person has learned of their rows
            whole = _of_relation(ground, rows)
            found += [whole, *_beside(whole, by_person, rows)]
    return tuple(dict.fromkeys(found))


def _of_relation(ground: Ground, rows: Followed) -> Ground:
    region = rows.region
    return replace(ground, shape=rows.shape, region=region, unreadable=_unreadable(region))


def _beside(ground: Ground, measures: Iterable[Measure], followed: Followed) -> tuple[Ground, ...]:
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
    return text(follow(plan, constants).resolved(scalar))


def ground_json(ground: Ground) -> Json:
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


def ground_of_json(said: Json) -> Ground:
    """What was written by `ground_json`."""
    given = mapping(said)
    keys = [
        GroupKey(
            string(one["text"]),
            None if one["axis"] is None else axis_of_json(one["axis"]),
            None if one["values"] is None else tuple(map(value_of_json, sequence(one["values"]))),
            None if one["cells"] is None else tuple(map(cells_of_json, sequence(one["cells"]))),
        )
        for one in map(mapping, sequence(given["keys"]))
    ]
    return Ground(
        string(given["shape"]),
        frozenset(map(string, sequence(given["tables"]))),
        region_of_json(given["region"]),
        tuple(keys),
        tuple(map(string, sequence(given["unreadable"]))),
    )
