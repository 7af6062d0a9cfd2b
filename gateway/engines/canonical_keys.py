"""Keys of groups: equal values are one key, and a key comes back as a value of the catalog."""

from sqlalchemy import cast, func

from gateway.catalog.types import Family
from gateway.engines.expressing import Sql
from gateway.engines.scalars_forms import as_double, common_number
from gateway.engines.scalars_pieces import DOUBLE, EXACT, TEXT, Rendering, binary, double, infix
from gateway.plan.scalars import Scalar


def key(rendering: Rendering, scalar: Scalar) -> Sql:
    """1.0 and 1.00 are one decimal, 0 and -0 one float; texts are told apart by their bytes."""
    match scalar.type.family:
        case Family.TEXT:
            return binary(cast(rendering.sql(scalar), TEXT))
        case Family.FLOAT:
            return _without_sign(as_double(rendering, scalar))
        case Family.EXACT if rendering.dialect == "postgresql":
            return func.trim_scale(cast(rendering.sql(scalar), EXACT), type_=EXACT)
        case Family.EXACT if common_number(rendering, [scalar]) is DOUBLE:
            return _without_sign(as_double(rendering, scalar))
        case _:
            return rendering.sql(scalar)


def _without_sign(value: Sql) -> Sql:
    return infix(value, "+", double(0.0), DOUBLE)
