"""One aggregate function over rows, as a value."""

from dataclasses import dataclass, replace

from gateway.catalog.tables import ColumnRef
from gateway.catalog.types import ColumnType
from gateway.plan.fields import Tie
from gateway.plan.node import is_unit
from gateway.plan.scalars import Change, Ref, Scalar, scalar_origins
from gateway.plan.sql_text import scalar_sql
from gateway.plan.types import is_number

_HANDING_ON = frozenset({"min", "max", "percentile_disc", "mode", "dp_top"})
_FREQUENT = frozenset({"mode", "dp_top"})
_PERCENTILES = frozenset({"percentile_cont", "percentile_disc"})


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
