"""Nodes that group: within persons, and over them. The second is where noise is added."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import ClassVar

from gateway.errors import Code, Unbounded
from gateway.plan.aggregates import Measure
from gateway.plan.fields import Field, Tie, column_id
from gateway.plan.labels import Label, Protected, ReleasedLabel
from gateway.plan.node import (
    NO_CLAIMS,
    BrokenPlan,
    Claims,
    Node,
    OverOne,
    is_unit,
    make_field,
    plan_size,
    require_columns,
    with_own_ids,
)
from gateway.plan.scalars import Ref, Scalar
from gateway.plan.types import INTEGER


@dataclass(frozen=True)
class PerUnit(OverOne):
    """GROUP BY or DISTINCT with the unit among the keys: one or more rows of each person, of that
    person's rows alone.
    """

    child: Node
    alias: str
    keys: tuple[tuple[str, Scalar], ...]
    measures: tuple[tuple[str, Measure], ...]
    claims: ClassVar[Claims] = NO_CLAIMS
    fields: tuple[Field, ...] = field(init=False)
    size: int = field(init=False, compare=False)
    label: Label = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", plan_size(self.below))
        require_columns(self)
        label = self.child.label
        if not isinstance(label, Protected) or not any(is_unit(key) for _, key in self.keys):
            raise BrokenPlan("a grouping by unit without the unit")
        alone = all(is_unit(key) for _, key in self.keys)
        keyed = [make_field(column_id(self.alias, name), key) for name, key in self.keys]
        measured = [
            Field(
                column_id(self.alias, name),
                one.type,
                nullable=one.function != "count",
                origins=one.origins if not one.counts_units else frozenset(),
            )
            for name, one in self.measures
        ]
        object.__setattr__(self, "fields", with_own_ids((*keyed, *measured)))
        object.__setattr__(self, "label", replace(label, rows=1) if alone else label)

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        return _scalars(self.keys, self.measures)


@dataclass(frozen=True)
class Aggregate(OverOne):
    """Where noise is added and the ledger is charged: what comes out is Released.

    `sets` are the grouping sets as places of keys; one set with all keys is a plain GROUP BY. Of several sets the
    rows come one set after the other, and the columns between keys and measures, `g1`, `g2`, …, tell them apart:
    1 where the key is not among those of the row's set.
    """

    child: Node
    keys: tuple[tuple[str, Scalar], ...]
    measures: tuple[tuple[str, Measure], ...]
    sets: tuple[tuple[int, ...], ...]
    fields: tuple[Field, ...] = field(init=False)
    size: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", plan_size(self.below))
        require_columns(self)
        label = self.child.label
        if not isinstance(label, Protected):
            raise BrokenPlan("a release of rows without persons")
        if any(isinstance(key, Ref) and key.field.tie is not Tie.NONE for _, key in self.keys):
            raise BrokenPlan("a release with the unit among its keys")
        if label.rows is None:
            raise Unbounded(
                Code.FAN_OUT,
                "a protected row can match any number of other rows",
                "join on columns that are unique in the other table, or aggregate that table first",
            )
        partial = any(len(one) < len(self.keys) for one in self.sets)
        fields = (
            *(
                Field(name, key.type, key.domain, nullable=key.nullable or partial)
                for name, key in self.keys
            ),
            *(Field(name, INTEGER, nullable=False) for name in self.marks),
            *(Field(name, one.type) for name, one in self.measures),
        )
        object.__setattr__(self, "fields", fields)

    @property
    def marks(self) -> tuple[str, ...]:
        """The columns that tell whether a key is among those of the row's set; none where all of them are."""
        count = len(self.keys) if len(self.sets) > 1 else 0
        return tuple(f"g{place + 1}" for place in range(count))

    @property
    def label(self) -> Label:
        return ReleasedLabel()

    @property
    def claims(self) -> Claims:
        if len(set(self.sets)) < len(self.sets):
            return NO_CLAIMS
        return frozenset({frozenset((*(name for name, _ in self.keys), *self.marks))})

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        return _scalars(self.keys, self.measures)


def can_be_bounded(plan: Aggregate, places: Collection[int]) -> bool:
    """Whether what is computed from these aggregates has an interval: one of numbers, of what is chosen each by itself."""
    measures = [plan.measures[place][1] for place in places]
    if len(measures) > 1 and any(one.is_chosen for one in measures):
        return False
    return all(one.has_interval for one in measures)


def with_limits(plan: Aggregate, places: Collection[int], ends: Collection[str]) -> Aggregate:
    """The release with the ends, `l` or `h`, of the intervals of these aggregates, where they have to be chosen."""
    measures = tuple(
        (name, replace(one, low=one.low or "l" in ends, high=one.high or "h" in ends))
        if place in places and one.bounded_aside
        else (name, one)
        for place, (name, one) in enumerate(plan.measures)
    )
    return replace(plan, measures=measures)


def _scalars(
    keys: tuple[tuple[str, Scalar], ...], measures: tuple[tuple[str, Measure], ...]
) -> tuple[Scalar, ...]:
    return (
        *(key for _, key in keys),
        *(scalar for _, measure in measures for scalar in measure.scalars),
    )
