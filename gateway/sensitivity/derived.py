"""Ranges of what is computed from all rows of one unit: they are enforced, not only true."""

from collections.abc import Mapping
from fractions import Fraction

from gateway.plan.aggregates import Measure, WindowCall
from gateway.plan.labels import Label, Protected
from gateway.plan.scalars import Scalar
from gateway.sensitivity.bounds import Bounds, Range, bounds, of_range
from gateway.sensitivity.expressions import bounds_of


def derived_range(function: str, argument: Range | None, rows: int | None) -> Range | None:
    """The range of an aggregate or window function over at most `rows` rows of a unit.

    COUNT is from 0 to R, SUM from R·min(low, 0) to R·max(high, 0), the others among the values.
    """
    found = derived(function, None if argument is None else of_range(argument), rows)
    return None if found is None else found.range


def derived(  # noqa: PLR0911 - one answer for each function
    function: str, argument: Bounds | None, rows: int | None
) -> Bounds | None:
    match function:
        case "count":
            return None if rows is None else bounds(0, rows, 1)
        case "row_number":
            return None if rows is None else bounds(1, max(rows, 1), 1)
        case "sum":
            inner = None if argument is None else argument.range
            if inner is None or rows is None:
                return None
            zero = Fraction(0)
            return bounds(rows * min(inner.low, zero), rows * max(inner.high, zero), inner.step)
        case "avg":
            return None if argument is None else Bounds(argument.low, argument.high)
        case "min" | "max" | "lag" | "lead":
            return argument
        case _:
            return None


def of_measure(
    measure: Measure | WindowCall, label: Label, columns: Mapping[str, Bounds]
) -> Bounds | None:
    rows = label.rows if isinstance(label, Protected) else None
    argument = _first(measure.arguments, columns)
    return derived(measure.function, argument, rows)


def _first(arguments: tuple[Scalar, ...], columns: Mapping[str, Bounds]) -> Bounds | None:
    return bounds_of(arguments[0], columns) if arguments else None
