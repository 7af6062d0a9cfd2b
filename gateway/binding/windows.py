"""Window functions within the rows of one person.

INVARIANT: their results depend on that person's rows alone and not on how ties were stored: the order is
completed by all columns, so functions that see ties (rank and its like, RANGE frames) are refused.
"""

from typing import Final

from sqlglot import exp

from gateway.binding.expressions import ScalarBinder
from gateway.binding.text.dialect import name_of_function
from gateway.catalog.types import ColumnType
from gateway.errors import Code, NotAggregate, SyntaxRefused, UnsupportedSql
from gateway.functions.function import mean_type, sum_type
from gateway.plan.aggregates import WindowCall
from gateway.plan.fields import BIGINT, Tie, is_number, plain
from gateway.plan.scalars import Literal, Ref, Scalar

_NUMBERING: Final = frozenset({"row_number"})
_NEIGHBOURS: Final = frozenset({"lag", "lead"})
_SUMMING: Final = frozenset({"sum", "avg", "count", "min", "max"})
_MOST_ROWS_AWAY: Final = 1_000


def bind_window(node: exp.Window, scalars: ScalarBinder) -> WindowCall:
    """The call, when it is one of those that can be computed person by person."""
    if node.args.get("alias") is not None:
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            "named windows are not supported over protected rows",
            "write OVER (…) in full",
        )
    call = node.this
    if not isinstance(call, exp.Anonymous):
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED, "FILTER with OVER is not supported over protected rows"
        )
    name = name_of_function(call)
    if name not in _NUMBERING | _NEIGHBOURS | _SUMMING:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            f"the window function `{name[:40]}` is not supported over protected rows",
            "use ROW_NUMBER, LAG, LEAD, SUM, AVG, COUNT, MIN or MAX",
        )
    partition = tuple(scalars.bind(one) for one in node.args.get("partition_by") or [])
    order = bind_order(node.args.get("order"), scalars)
    frame = _frame(node.args.get("spec"))
    arguments = _arguments(name, call, scalars)
    if name in _NUMBERING | _NEIGHBOURS and not order:
        raise UnsupportedSql(Code.CLAUSE_UNSUPPORTED, f"`{name}` needs ORDER BY in its window")
    if name in _SUMMING and order and frame is None:
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            f"a running `{name}` with the default frame is not supported",
            "add ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
        )
    return WindowCall(name, arguments, partition, order, frame, _type(name, arguments))


def _arguments(name: str, call: exp.Anonymous, scalars: ScalarBinder) -> tuple[Scalar, ...]:
    given = call.expressions
    if name == "count" and len(given) == 1 and isinstance(given[0], exp.Star):
        return ()
    if any(isinstance(one, (exp.Distinct, exp.Order)) for one in given):
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED, f"DISTINCT and ORDER BY are not supported inside `{name}`"
        )
    bound = tuple(scalars.bind(one) for one in given)
    most = 0 if name in _NUMBERING else 2 if name in _NEIGHBOURS else 1
    if len(bound) > most or (most and not bound):
        raise SyntaxRefused(Code.TYPE_MISMATCH, f"`{name}` does not accept {len(bound)} arguments")
    if len(bound) == 2 and not _is_offset(bound[1]):  # noqa: PLR2004 - value and offset
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED, f"the offset of `{name}` must be a constant"
        )
    if name != "count" and any(_is_unit(one) for one in bound):
        raise NotAggregate(
            Code.PERSON_AS_VALUE,
            f"`{name}` must not be applied to the unit key",
            "count persons with COUNT(DISTINCT unit_key)",
        )
    if name in {"sum", "avg"} and not is_number(bound[0].type):
        raise SyntaxRefused(Code.TYPE_MISMATCH, f"`{name}` does not accept {bound[0].type}")
    return bound


def _is_unit(scalar: Scalar) -> bool:
    return isinstance(scalar, Ref) and scalar.field.tie is not Tie.NONE


def _is_offset(scalar: Scalar) -> bool:
    if not isinstance(scalar, Literal) or type(scalar.value) is not int:
        return False
    return 0 <= scalar.value <= _MOST_ROWS_AWAY


def bind_order(order: exp.Order | None, scalars: ScalarBinder) -> tuple[tuple[Scalar, bool], ...]:
    """The keys of an ORDER BY among the rows of a person, and whether they go down."""
    if order is None:
        return ()
    keys = []
    for one in order.expressions:
        down = bool(one.args.get("desc"))
        if bool(one.args.get("nulls_first")) != down:
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED,
                "NULLS FIRST and NULLS LAST are not supported in this window",
            )
        keys.append((scalars.bind(one.this), down))
    return tuple(keys)


def _frame(spec: exp.WindowSpec | None) -> tuple[str, str] | None:
    if spec is None:
        return None
    if str(spec.args.get("kind") or "").upper() != "ROWS":
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            "RANGE and GROUPS frames are not supported over protected rows",
            "use ROWS",
        )
    end = spec.args.get("end")
    first = _bound(spec.args.get("start"), spec.args.get("start_side"))
    last = "current row" if end is None else _bound(end, spec.args.get("end_side"))
    if _place(first) > _place(last):
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            "the window frame has no rows, because it begins after its end",
            "write the earlier row first",
        )
    return first, last


def _place(bound: str) -> float:
    """Where a frame begins or ends, in rows after the current one."""
    if bound == "current row":
        return 0
    away, side = bound.split(" ")
    rows = float("inf") if away == "unbounded" else int(away)
    return rows if side == "following" else -rows


def _bound(place: object, side: object) -> str:
    words = f"{place} {side or ''}".strip().lower()
    if words in {"unbounded preceding", "current row", "unbounded following"}:
        return words
    away = place.this if isinstance(place, exp.Literal) and not place.is_string else ""
    if away.isdigit() and int(away) <= _MOST_ROWS_AWAY and str(side).lower() in _SIDES:
        return f"{int(away)} {str(side).lower()}"
    raise UnsupportedSql(Code.CLAUSE_UNSUPPORTED, "this window frame is not supported")


_SIDES: Final = frozenset({"preceding", "following"})


def _type(name: str, arguments: tuple[Scalar, ...]) -> ColumnType:
    if name in {"row_number", "count"}:
        return BIGINT
    of = plain(arguments[0].type)
    if name == "sum":
        return sum_type(of)
    return mean_type(of) if name == "avg" else of
