"""Aggregate functions: which there are, what they take, what they give.

INVARIANT: none of them hands on a value of a single row as it is, except MIN, MAX, percentiles and
MODE, which are released by mechanisms of their own over declared domains.
"""

from fractions import Fraction
from typing import Final, Protocol

from sqlglot import exp

from gateway.binding.text.dialect import name_of_function
from gateway.catalog.types import ColumnType
from gateway.errors import Code, NotAggregate, SyntaxRefused, UnsupportedSql
from gateway.functions.function import mean_type, sum_type
from gateway.plan.aggregates import Measure
from gateway.plan.fields import BIGINT, BOOLEAN, DOUBLE, TIMES, Tie, is_number, plain
from gateway.plan.scalars import Call, Case, Literal, Ref, Scalar

_SPREAD: Final = frozenset(
    {"variance", "var_pop", "var_samp", "stddev", "stddev_pop", "stddev_samp"}
)
_PAIRS: Final = frozenset(
    {"covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept", "regr_r2", "regr_count"}
    | {"regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy"}
)
_ENDS: Final = frozenset({"min", "max"})
_PERCENTILES: Final = frozenset({"percentile_cont", "percentile_disc"})
_ORDERED: Final = _PERCENTILES | {"mode"}
_PLAIN: Final = frozenset({"count", "sum", "avg"}) | _ENDS | _SPREAD | _PAIRS
_TOP: Final = "dp_top"
_MOST_PLACES: Final = 100
PER_UNIT: Final = frozenset({"count", "sum", "avg", "min", "max"})
BOOLEANS: Final = frozenset({"bool_and", "bool_or", "every"})
"""Answered of the rows of one person, refused of several."""
REFUSED: Final = frozenset(
    {"array_agg", "string_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg"}
    | {"xmlagg", "any_value", "first", "last", "bit_and", "bit_or", "bit_xor", "bool_and"}
    | {"bool_or", "every", "range_agg", "rank", "dense_rank", "percent_rank", "cume_dist"}
    | {"json_arrayagg", "json_objectagg", "range_intersect_agg"}
)
AGGREGATES: Final = (
    _PLAIN | _ORDERED | {_TOP} | (REFUSED - {"rank", "dense_rank", "percent_rank"}) - {"cume_dist"}
)
_VALUES: Final = frozenset(
    {"array_agg", "string_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg"}
    | {"xmlagg", "any_value", "first", "last", "json_arrayagg", "json_objectagg"}
)
_OF_GROUPS: Final = frozenset({"array_agg", "string_agg", "json_agg", "jsonb_agg"})


def is_aggregate(node: exp.Expression) -> bool:
    """Whether the node is an aggregate with all that belongs to it: FILTER, WITHIN GROUP."""
    if isinstance(node, (exp.Filter, exp.WithinGroup)):
        return True
    return isinstance(node, exp.Anonymous) and name_of_function(node) in AGGREGATES


def aggregates_in(node: exp.Expression) -> list[exp.Expression]:
    """The aggregates in the expression, but for those of queries in it."""
    if isinstance(node, (exp.Select, exp.SetOperation)):
        return []
    if is_aggregate(node):
        return [node]
    return [found for one in node.iter_expressions() for found in aggregates_in(one)]


def boolean_as_end(node: exp.Expression) -> exp.Expression | None:
    """BOOL_OR(x) as the MAX of 1 where x is true and 0 where it is false, BOOL_AND and EVERY as the MIN; None of others.

    The result is the boolean where it equals 1: both ends pass NULL over as the booleans do, and are NULL of no value.
    """
    if isinstance(node, exp.Filter):
        inner = boolean_as_end(node.this)
        return inner and exp.Filter(this=inner, expression=node.expression.copy())
    name = _name_of(node)
    if name not in BOOLEANS:
        return None
    arguments, distinct = _arguments(name, node)
    if len(arguments) != 1 or isinstance(arguments[0], exp.Star):
        raise SyntaxRefused(
            Code.TYPE_MISMATCH, f"`{name}` does not accept {len(arguments)} arguments"
        )
    if distinct:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            f"`{name}(DISTINCT …)` is not supported",
            f"leave DISTINCT out: the result of `{name}` is the same",
        )
    true = exp.Paren(this=arguments[0].copy())
    branches = [
        exp.If(this=true, true=exp.Literal.number(1)),
        exp.If(this=exp.Not(this=true.copy()), true=exp.Literal.number(0)),
    ]
    end = "max" if name == "bool_or" else "min"
    return exp.Anonymous(this=end, expressions=[exp.Case(ifs=branches)])


def _name_of(node: exp.Expression) -> str:
    """The name of a plain call; of anything else none."""
    return name_of_function(node) if isinstance(node, exp.Anonymous) else ""


def split_array_aggregate(node: exp.Expression) -> list[exp.Expression] | None:
    """An aggregate that is an array of others: percentiles at an array of fractions, the first places of DP_TOP."""
    if isinstance(node, exp.WithinGroup) and _name_of(node.this) == _TOP:
        return None  # one place by itself, as they are written here
    if isinstance(node, (exp.Filter, exp.WithinGroup)):
        inner = split_array_aggregate(node.this)
        if inner is None:
            return None
        return [node.__class__(this=one, expression=node.expression.copy()) for one in inner]
    name = _name_of(node)
    if name == _TOP:
        return _places(node)
    fractions = node.expressions[0] if name in _PERCENTILES and node.expressions else None
    if not isinstance(fractions, exp.Array) or len(node.expressions) != 1:
        return None
    each = [one.copy() for one in fractions.expressions]
    return [exp.Anonymous(this=node.this, expressions=[one]) for one in each] or None


def _places(call: exp.Expression) -> list[exp.Expression]:
    """One call for each place: the first of two arguments, within a group, and the number of the place."""
    if len(call.expressions) != 2:  # noqa: PLR2004 - the column, and how many places
        raise SyntaxRefused(
            Code.TYPE_MISMATCH, f"`{_TOP}` does not accept {len(call.expressions)} arguments"
        )
    what, many = call.expressions
    text = many.this if isinstance(many, exp.Literal) and not many.is_string else ""
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_PLACES:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            f"the argument of `{_TOP}` must be a constant whole number from 1 to {_MOST_PLACES}",
        )
    order = exp.Order(expressions=[exp.Ordered(this=what)])
    return [
        exp.WithinGroup(
            this=exp.Anonymous(this=_TOP, expressions=[exp.Literal.number(place)]),
            expression=order.copy(),
        )
        for place in range(1, int(text) + 1)
    ]


class AggregateContext(Protocol):
    """Binds what stands inside an aggregate."""

    def bind(self, node: exp.Expression) -> Scalar: ...

    def condition(self, node: exp.Expression, *, filtering: bool = False) -> Scalar: ...


class Measures:
    """Takes an aggregate apart; `bind` and `condition` bind what is inside."""

    def __init__(self, scalars: AggregateContext) -> None:
        self._scalars = scalars

    def measure(self, node: exp.Expression) -> Measure:
        where: Scalar | None = None
        if isinstance(node, exp.Filter):
            where = self._scalars.condition(node.expression.this)
            node = node.this
        within: exp.Order | None = None
        if isinstance(node, exp.WithinGroup):
            within, node = node.expression, node.this
        if not isinstance(node, exp.Anonymous):
            raise UnsupportedSql(
                Code.FUNCTION_UNSUPPORTED, "FILTER is only allowed after an aggregate"
            )
        name = name_of_function(node)
        _check_name(name)
        if name == _TOP:
            return self._place(node, within, where)
        if within is not None or name in _ORDERED:
            return self._ordered(name, node, within, where)
        arguments, distinct = _arguments(name, node)
        if name == "count":
            return self._count(arguments, where, distinct=distinct)
        if distinct and name not in _ENDS:
            raise UnsupportedSql(
                Code.FUNCTION_UNSUPPORTED,
                f"`{name}(DISTINCT …)` is not supported",
                "sum in a subquery before a join repeats the rows; or use COUNT(DISTINCT …)",
            )
        bound = tuple(self._scalars.bind(one) for one in arguments)
        return Measure(name, bound, _result(name, bound), where=where)

    def _count(
        self, arguments: list[exp.Expression], where: Scalar | None, *, distinct: bool
    ) -> Measure:
        if len(arguments) != 1:
            raise SyntaxRefused(
                Code.TYPE_MISMATCH, f"`count` does not accept {len(arguments)} arguments"
            )
        argument = arguments[0]
        if isinstance(argument, exp.Star):
            if distinct:
                raise SyntaxRefused(Code.SQL_SYNTAX, "`count(DISTINCT *)` is not valid")
            return Measure("count", (), BIGINT, where=where)
        is_row = isinstance(argument, exp.Anonymous) and name_of_function(argument) == "row"
        if is_row or isinstance(argument, exp.Tuple):
            raise UnsupportedSql(
                Code.FUNCTION_UNSUPPORTED,
                "COUNT(DISTINCT …) of several columns is not supported",
                "count the rows of SELECT DISTINCT … with the unit key, or write COUNT(DISTINCT a || '/' || b)",
            )
        bound = self._scalars.bind(argument)
        if isinstance(bound, Literal) and bound.value is not None and not distinct:
            return Measure("count", (), BIGINT, where=where)
        bound, only = _units_of_case(bound)
        if only is not None:
            where = only if where is None else Call("and", (where, only), BOOLEAN)
        return Measure("count", (bound,), BIGINT, distinct, where)

    def _place(
        self, node: exp.Anonymous, within: exp.Order | None, where: Scalar | None
    ) -> Measure:
        """One of the most frequent values; the first is the mode, and as such is measured once."""
        if within is None:
            raise UnsupportedSql(
                Code.FUNCTION_UNSUPPORTED,
                f"`{_TOP}` is not supported in a GROUP BY with the unit key",
            )
        what = self._scalars.bind(within.expressions[0].this)
        _need_no_unit(_TOP, what)
        given = [self._scalars.bind(one) for one in node.expressions]
        if len(given) != 1 or not isinstance(given[0], Literal) or not _is_place(given[0].value):
            raise UnsupportedSql(
                Code.FUNCTION_UNSUPPORTED, f"this form of `{_TOP}` is not supported"
            )
        kind = ColumnType(what.type.kind)
        if given[0].value == 1:
            return Measure("mode", (what,), kind, where=where)
        return Measure(_TOP, (what,), kind, where=where, fraction=given[0])

    def _ordered(
        self,
        name: str,
        node: exp.Anonymous,
        within: exp.Order | None,
        where: Scalar | None,
    ) -> Measure:
        if name not in _ORDERED or within is None or len(within.expressions) != 1:
            raise UnsupportedSql(
                Code.FUNCTION_UNSUPPORTED, f"this form of `{name[:40]}` is not supported"
            )
        order = within.expressions[0]
        what = self._scalars.bind(order.this)
        fraction: Scalar | None = None
        if name != "mode":
            given = [self._scalars.bind(one) for one in node.expressions]
            fraction = given[0] if len(given) == 1 else None
            if not isinstance(fraction, Literal) or not _between_0_and_1(fraction):
                raise UnsupportedSql(
                    Code.FUNCTION_UNSUPPORTED,
                    f"the argument of `{name}` must be a constant number from 0 to 1",
                )
            _need_order(name, what)
        elif node.expressions:
            raise SyntaxRefused(Code.TYPE_MISMATCH, "`mode` does not accept arguments")
        else:
            _need_no_unit(name, what)
        # as PostgreSQL has it: of a decimal or a text, without what stands in brackets
        kind = DOUBLE if name == "percentile_cont" else ColumnType(what.type.kind)
        if name == "percentile_cont" and not is_number(what.type):
            raise SyntaxRefused(
                Code.TYPE_MISMATCH, f"`percentile_cont` does not accept {what.type}"
            )
        down = bool(order.args.get("desc"))
        return Measure(name, (what,), kind, where=where, fraction=fraction, descending=down)


def _is_place(value: object) -> bool:
    return type(value) is int and 1 <= value <= _MOST_PLACES


def _check_name(name: str) -> None:
    if name in _VALUES:
        raise NotAggregate(
            Code.PERSON_AS_VALUE,
            f"`{name}` would return values of individual persons",
            f"use COUNT, SUM, AVG or a percentile; or call `{name}` over the rows of a subquery with COUNT(*) and GROUP BY"
            if name in _OF_GROUPS
            else "use COUNT, SUM, AVG or a percentile instead",
        )
    if name in BOOLEANS:
        against = "" if name == "bool_or" else "NOT "
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            f"`{name}` over rows of several persons would show the value of one of them",
            f"write COUNT(*) FILTER (WHERE {against}…), the noisy number of rows that decide it; or `{name}` in a subquery with"
            " GROUP BY the unit key",
        )
    if name not in _PLAIN | _ORDERED | {_TOP}:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            f"the aggregate `{name[:40]}` is not supported over protected rows",
            "use COUNT, SUM, AVG, MIN, MAX, STDDEV, a percentile, or COUNT with FILTER",
        )


def _arguments(name: str, node: exp.Expression) -> tuple[list[exp.Expression], bool]:
    given = list(node.expressions)
    if any(isinstance(one, exp.Order) for one in given):
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED, f"ORDER BY inside `{name}` is not supported"
        )
    if len(given) == 1 and isinstance(given[0], exp.Distinct):
        return list(given[0].expressions), True
    return given, False


def _result(name: str, arguments: tuple[Scalar, ...]) -> ColumnType:
    wanted = 2 if name in _PAIRS else 1
    if len(arguments) != wanted:
        raise SyntaxRefused(
            Code.TYPE_MISMATCH, f"`{name}` does not accept {len(arguments)} arguments"
        )
    if name in _ENDS:
        _need_order(name, arguments[0])
        return plain(arguments[0].type)
    for one in arguments:
        if not is_number(one.type):
            raise SyntaxRefused(Code.TYPE_MISMATCH, f"`{name}` does not accept {one.type}")
    if name == "sum":
        return sum_type(plain(arguments[0].type))
    if name == "regr_count":
        return BIGINT
    return DOUBLE if name in _PAIRS else mean_type(plain(arguments[0].type))


def _need_order(name: str, what: Scalar) -> None:
    """Texts and keys have no ends that could be released: they are values of single persons."""
    if not is_number(what.type) and what.type.family not in TIMES:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            f"`{name}` does not accept {what.type}",
            "use GROUP BY with this column, or declare its values: `domain: {in: [...]}`",
        )
    _need_no_unit(name, what)


def _need_no_unit(name: str, what: Scalar) -> None:
    if isinstance(what, Ref) and what.field.tie is not Tie.NONE:
        raise NotAggregate(
            Code.PERSON_AS_VALUE,
            f"`{name}` must not be applied to the unit key",
            "count persons with COUNT(DISTINCT unit_key)",
        )


def _between_0_and_1(fraction: Literal) -> bool:
    value = fraction.value
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        return False
    return is_number(fraction.type) and 0 <= value <= 1


def _units_of_case(what: Scalar) -> tuple[Scalar, Scalar | None]:
    """COUNT(DISTINCT CASE WHEN c THEN unit END) counts persons where c, and says so."""
    if not isinstance(what, Case) or len(what.branches) != 1:
        return what, None
    [(when, then)] = what.branches
    ends = isinstance(what.otherwise, Literal) and what.otherwise.value is None
    if ends and isinstance(then, Ref) and then.field.tie is Tie.ALWAYS:
        return then, when
    return what, None
