"""The value of an expression, exactly: for functions that give the same in every source and here.

INVARIANT: what is not known to be the same everywhere is `NotComputed`, never a guess. NULL is None.
"""

from datetime import datetime

from gateway.catalog.types import ColumnType, Family, Kind
from gateway.functions.exact_values import Known, NotComputed, as_type, as_type_of, timestamp
from gateway.functions.function import Nulls
from gateway.functions.table import function_of
from gateway.plan.scalars import Call, Case, Cast, Literal, Scalar


def evaluate_at(scalar: Scalar, atom: Scalar | None, given: Known) -> Known:
    """The value where `atom` has the value `given`."""
    if atom is not None and scalar == atom:
        return as_type(given, scalar.type)
    match scalar:
        case Literal(value, kind):
            return as_type(value, kind)
        case Case():
            for when, then in scalar.branches:
                if evaluate_at(when, atom, given) is True:
                    return as_type(
                        as_type_of(evaluate_at(then, atom, given), then, scalar), scalar.type
                    )
            return as_type(
                as_type_of(evaluate_at(scalar.otherwise, atom, given), scalar.otherwise, scalar),
                scalar.type,
            )
        case Cast(what, kind):
            return _cast(evaluate_at(what, atom, given), what.type, kind)
        case Call():
            return _call(scalar, atom, given)
        case _:
            raise NotComputed


def _cast(  # noqa: PLR0911 - one answer for each pair of types
    value: Known, of: ColumnType, to: ColumnType
) -> Known:
    if value is None:
        return None
    match of.family, to.family:
        case (Family.WHOLE, Family.WHOLE | Family.EXACT) if to.precision is None:
            return as_type(value, to)
        case (Family.EXACT, Family.EXACT) if to.precision is None:
            return value
        case (Family.BOOLEAN, Family.WHOLE):
            return int(value is True)
        case (Family.DATE, Family.TIMESTAMP) if to.kind is Kind.TIMESTAMP:
            return timestamp(value)
        case (Family.TIMESTAMP, Family.DATE) if isinstance(value, datetime):
            return value.date()
        case (Family.TEXT, Family.TEXT) if to.length is None:
            return value
        case _:
            raise NotComputed


def _call(call: Call, atom: Scalar | None, given: Known) -> Known:
    function = function_of(call)
    values = [evaluate_at(one, atom, given) for one in call.parts]
    if function.nulls is Nulls.STRICT and None in values:
        return None
    if function.evaluate is None:
        raise NotComputed
    return function.evaluate(call, values)
