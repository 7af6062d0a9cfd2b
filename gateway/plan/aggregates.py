"""Aggregate functions over rows, and the nodes that group: within persons, and over them. The second is where noise
is added.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from gateway.catalog.tables import ColumnRef
from gateway.catalog.types import ColumnType
from gateway.errors import Code, Unbounded
from gateway.plan.fields import (
    INTEGER,
    Field,
    Label,
    Protected,
    ReleasedLabel,
    Tie,
    column_id,
    is_number,
)
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
from gateway.plan.scalars import Change, Ref, Scalar, scalar_origins
from gateway.plan.sql_text import scalar_sql

_HANDING_ON = frozenset({"min", "max", "percentile_disc", "mode", "dp_top"})
_FREQUENT = frozenset({"mode", "dp_top"})
_PERCENTILES = frozenset({"percentile_cont", "percentile_disc"})


ORDERED: Final = frozenset({"row_number", "sample_number", "lag", "lead"})
"""Window functions whose results always depend on the order of rows."""


@dataclass(frozen=True, slots=True)
class Measure:
    """`function` over `arguments` of the rows where `where` is true.

    `fraction` belongs to percentile_cont and percentile_disc, and says of dp_top which place it is; `distinct`
    belongs to count alone. `low` and `high` say of a percentile whether that end of its interval is asked for.
    """

    function: str
    arguments: tuple[Scalar, ...]
    type: ColumnType
    distinct: bool = False
    where: Scalar | None = None
    fraction: Scalar | None = None
    descending: bool = False
    low: bool = False
    high: bool = False

    @property
    def counts_units(self) -> bool:
        """Whether it counts persons: that needs the table alone, not the use of a column."""
        if self.function != "count" or len(self.arguments) != 1:
            return False
        argument = self.arguments[0]
        return isinstance(argument, Ref) and argument.field.tie is not Tie.NONE

    @property
    def hands_on(self) -> bool:
        """Whether its result is one of the values themselves, or between two of them."""
        return self.function in _HANDING_ON

    @property
    def bounded_aside(self) -> bool:
        """Whether the ends of its interval are chosen by themselves, where they are asked for."""
        return self.function in _PERCENTILES

    @property
    def is_chosen(self) -> bool:
        """Whether no noise is added to it: it is one of the values that there can be."""
        return self.function in _HANDING_ON | _PERCENTILES

    @property
    def has_interval(self) -> bool:
        """Whether it is a number of which can be said from where to where it is."""
        return is_number(self.type) and self.function not in _FREQUENT

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        """The expressions over rows that it reads; `fraction` is a constant."""
        return self.arguments if self.where is None else (*self.arguments, self.where)

    def map_scalars(self, change: Change) -> "Measure":
        """The aggregate with `change` of each of these."""
        return replace(
            self,
            arguments=tuple(map(change, self.arguments)),
            where=None if self.where is None else change(self.where),
        )

    @property
    def origins(self) -> frozenset[ColumnRef]:
        """The source columns its value tells of."""
        return scalar_origins(*self.scalars)

    def __str__(self) -> str:
        inner = ", ".join(scalar_sql(one) for one in self.arguments) or (
            "*" if self.function == "count" else ""
        )
        shown = f"{self.function}({'distinct ' if self.distinct else ''}{inner})"
        if self.fraction is not None or self.function == "mode":
            at = "" if self.fraction is None else scalar_sql(self.fraction)
            down = " desc" if self.descending else ""
            shown = f"{self.function}({at}) within group (order by {inner}{down})"
        ends = [name for name, asked in (("low", self.low), ("high", self.high)) if asked]
        if self.where is not None:
            shown = f"{shown} filter (where {scalar_sql(self.where)})"
        return f"{shown} with its {' and '.join(ends)} end" if ends else shown


@dataclass(frozen=True, slots=True)
class WindowCall:
    """A window function within the rows of one unit.

    INVARIANT: its result depends on the unit's rows alone; `order` is completed by all columns of the
    input before it runs, so ties do not depend on anything else.
    """

    function: str
    arguments: tuple[Scalar, ...]
    partition: tuple[Scalar, ...]
    order: tuple[tuple[Scalar, bool], ...]
    frame: tuple[str, str] | None
    type: ColumnType

    @property
    def depends_on_order(self) -> bool:
        """Whether the order of rows matters, so that all columns of the input break ties."""
        return self.function in ORDERED or bool(self.order) or self.frame is not None

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        """The expressions that it reads."""
        return (*self.arguments, *self.partition, *(one for one, _ in self.order))

    def map_scalars(self, change: Change) -> "WindowCall":
        """The window function with `change` of each of these."""
        return replace(
            self,
            arguments=tuple(map(change, self.arguments)),
            partition=tuple(map(change, self.partition)),
            order=tuple((change(one), down) for one, down in self.order),
        )

    @property
    def origins(self) -> frozenset[ColumnRef]:
        # the unit itself is no use: the rows of the window are those of one unit anyway
        parted = (one for one in self.partition if not is_unit(one))
        return scalar_origins(*self.arguments, *parted, *(one for one, _ in self.order))

    def __str__(self) -> str:
        inner = ", ".join(scalar_sql(one) for one in self.arguments) or (
            "*" if self.function == "count" else ""
        )
        over = "partition by " + ", ".join(scalar_sql(one) for one in self.partition)
        if self.order:
            keys = ", ".join(
                scalar_sql(one) + (" desc" if down else "") for one, down in self.order
            )
            over += f" order by {keys}"
        if self.frame is not None:
            over += f" rows between {self.frame[0]} and {self.frame[1]}"
        return f"{self.function}({inner}) over ({over})"


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
        object.__setattr__(
            self,
            "label",
            replace(label, rows=1, groups=1, values=1, expected=None) if alone else label,
        )

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
        if label.usual_rows is None:
            raise Unbounded(
                Code.FAN_OUT,
                "a protected row can match any number of other rows",
                "join on columns that are unique in the other table, or aggregate that table first",
            )
        chosen = next((one for _, one in self.measures if one.is_chosen), None)
        if label.rows is None and chosen is not None:
            raise Unbounded(
                Code.FAN_OUT,
                f"`{chosen.function}` chooses a value, and a protected row can match several rows of the other table",
                "join on columns that are unique in the other table, or use counts, sums and averages",
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
