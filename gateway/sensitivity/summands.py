"""The values that a sum adds, the rows that count for it, and the bounds that they must have.

INVARIANT: where an expression of a plan computes, its operands have ranges. `check_operands` looks at every
expression of every node, wherever it stands.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from gateway.errors import Code, Unbounded
from gateway.functions.range_arithmetic import Bounds, Range
from gateway.functions.table import function_of
from gateway.functions.text import LENGTHS, LONGEST_LENGTH
from gateway.plan.fields import BOOLEAN, TIMES, is_number
from gateway.plan.node import Node, walk_nodes
from gateway.plan.scalars import Call, Ref, Scalar, Shift, scalar_origins, walk_scalar
from gateway.ranges.expressions import bounds_of, timestamp_bounds
from gateway.ranges.lattice import Lattice
from gateway.ranges.relations import inner_columns
from gateway.sensitivity.formulas import Linear
from gateway.sensitivity.measurement import DistanceOrigin, Rows, Total


@dataclass(frozen=True, slots=True)
class Summand:
    """A value that is summed: where, within which ends, and on which lattice."""

    value: Scalar
    where: Scalar | None
    range: Range
    lattice: Lattice

    @property
    def counted(self) -> Rows:
        """The rows that its count counts."""
        return count_rows((self.value,), self.where)

    def total(self, origin: DistanceOrigin) -> Total:
        return Total(self.value, self.lattice, origin, self.where)


@dataclass(frozen=True, slots=True)
class Distance:
    """The origin from which a sum is measured: the sum is `origin * count + away`."""

    origin: Fraction
    away: Linear


def count_rows(arguments: tuple[Scalar, ...], where: Scalar | None) -> Rows:
    """COUNT(x) counts the rows where x is there: all of them where it always is."""
    return Rows(tuple(one for one in arguments if one.nullable), where)


def where_not_null(value: Scalar, where: Scalar | None) -> Scalar:
    """The rows of `where` in which the value is not NULL."""
    present = Call("is not null", (value,), BOOLEAN, nullable=False)
    return present if where is None else Call("and", (where, present), BOOLEAN)


def check_operands(plan: Node) -> None:
    """Refuse a plan that computes with what nothing bounds."""
    for node in walk_nodes(plan):
        if not any(_operands(one) for scalar in node.scalars for one in walk_scalar(scalar)):
            continue
        # not narrowed: a database may compute before it filters
        columns = inner_columns(node, narrowed=False)
        for scalar in node.scalars:
            _check(scalar, columns)


def no_bound(what: Scalar, columns: Mapping[str, Bounds], where: str) -> Unbounded:
    """The refusal for an expression that should have a range and has none."""
    culprit = _culprit(what, columns)
    if culprit is None:
        return Unbounded(
            Code.NO_BOUND,
            f"an expression in {where} has no bounds",
            "clamp its divisor or its result with GREATEST and LEAST",
        )
    names = ", ".join(f"`{one}`" for one in sorted(map(str, culprit.field.origins)))
    shown = names or f"`{culprit.field.id}`"
    return Unbounded(
        Code.NO_BOUND,
        f"{shown} in {where} has no declared bounds",
        f"declare `domain: {{between: [...]}}` for {shown},"
        " or clamp it: GREATEST(LEAST(column, 100), 0)",
    )


def require_known_lengths(
    value: Scalar, found: Range, columns: Mapping[str, Bounds], where: str
) -> None:
    """Refuse a value that a text makes large of which nobody says how long it is: all would be noise."""
    if found.high - found.low < LONGEST_LENGTH:
        return
    for one in walk_scalar(value):
        if not isinstance(one, Call) or one.function not in LENGTHS:
            continue
        own = bounds_of(one, columns).range
        if own is not None and own.high >= LONGEST_LENGTH:
            names = ", ".join(f"`{each}`" for each in sorted(map(str, scalar_origins(one))))
            raise Unbounded(
                Code.NO_BOUND,
                f"`{one.function}` of {names or 'a text'} in {where} has no bounds, since no length of its values is declared",
                f"clamp it, as in LEAST({one.function}(…), 200), or declare `max_length` or `domain: {{in: [...]}}` for the column",
            )


def _check(scalar: Scalar, columns: Mapping[str, Bounds]) -> None:
    for one in walk_scalar(scalar):
        for operand in _operands(one):
            if timestamp_bounds(operand, columns).range is None:
                name = one.function if isinstance(one, Call) else "+"
                raise no_bound(operand, columns, f"`{name}`")


def _operands(scalar: Scalar) -> tuple[Scalar, ...]:
    """The numbers and times that an operation computes with."""
    if isinstance(scalar, Shift):
        return (scalar.moved,)
    if isinstance(scalar, Call) and function_of(scalar).computes:
        return tuple(one for one in scalar.parts if _has_range(one))
    return ()


def _has_range(scalar: Scalar) -> bool:
    return is_number(scalar.type) or scalar.type.family in TIMES


def _culprit(what: Scalar, columns: Mapping[str, Bounds]) -> Ref | None:
    """The first column that nothing bounds."""
    for one in walk_scalar(what):
        if isinstance(one, Ref) and bounds_of(one, columns).range is None:
            return one
    return None
