"""How often the SQL of an expression names each of its operands.

An engine's expressions are total because guards stand around what they guard, and a guard names its operand again; an
engine may compute it each time. Takes an expression with the ranges of columns, gives one number for each part.

INVARIANT: at least as often as `gateway/engines/sql` names a part in either dialect;
`tests/engines/test_copies.py` counts. Nothing is assumed of what an engine computes once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from gateway.catalog.types import Family, Kind
from gateway.functions.copy_counts import NARROWED, conversion_of
from gateway.functions.table import function_of
from gateway.plan.scalars import Call, Case, Cast, Scalar, Shift
from gateway.ranges.expressions import grain_of
from gateway.ranges.relations import Range, range_of


@dataclass(frozen=True, slots=True)
class _Known:
    """The ranges of expressions over columns whose ranges are given."""

    columns: Mapping[str, Range]

    def range(self, scalar: Scalar) -> Range | None:
        return range_of(scalar, self.columns)

    def grain(self, scalar: Scalar) -> Fraction | None:
        return grain_of(scalar)


def operand_copies(scalar: Scalar, ranges: Mapping[str, Range]) -> tuple[int, ...]:
    """How often each part is named."""
    match scalar:
        case Call():
            return function_of(scalar).copies(scalar, _Known(ranges))
        case Cast():
            return (_of_cast(scalar),)
        case Shift():
            return (4,)
        case Case():
            return (conversion_of(scalar.results),) * len(scalar.parts)
        case _:
            return (1,) * len(scalar.parts)


def needs_ranges(scalar: Scalar) -> bool:
    """Whether it depends on ranges how often the parts are named."""
    return isinstance(scalar, Call) and function_of(scalar).computes


def _of_cast(cast: Cast) -> int:
    of, to = cast.what.type.family, cast.type.family
    single = 3 if cast.type.kind is Kind.REAL else 1
    if of is Family.TEXT:
        if to is Family.WHOLE:
            return 2 * NARROWED
        return 1 if to is Family.TEXT else 3 if to is Family.DATE else 2 * single
    if of is Family.WHOLE and to is Family.WHOLE:
        return NARROWED
    return single * (3 if of is Family.EXACT and to is Family.FLOAT else 1)
