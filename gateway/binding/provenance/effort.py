"""The work of running a finishing statement again, computed from its text before the number of rows is known.

The work is a sum of products of rows: of relations beside each other that an equality joins, the sum of both; of
others, and of what is computed anew for each row, the product. It is an estimate that looks at no clock, so equal
statements over as many rows are always decided in the same way.

INVARIANT: a statement with a function that is not on the list has no known effort. On it are functions
which give the same for the same, and which take about as long for any number.

Whether SQL for the twin gives the same over the same constants, whenever it runs.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import product
from typing import Final, TypeAlias

import sqlglot
from sqlglot import exp

from gateway.binding.aggregates import AGGREGATES
from gateway.binding.bound import Sql
from gateway.binding.select_list import has_aggregate
from gateway.binding.text.dialect import DIALECT, fold_name, name_of_function
from gateway.functions.table import CALLED

Effort: TypeAlias = tuple[tuple[str, ...], ...]

_MOST: Final = 256  # products
_LONGEST: Final = 6  # relations beside each other
_ONE: Final[Effort] = ((),)
_QUERIES: Final = (exp.Select, exp.SetOperation, exp.Values)
KNOWN: Final = (
    (CALLED - {"replace", "concat"})
    | (AGGREGATES - {"string_agg", "array_agg", "json_agg", "jsonb_agg", "xmlagg"})
    | {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"}
    | {
        "first_value",
        "last_value",
        "nth_value",
        "cbrt",
        "log10",
        "div",
        "sin",
        "cos",
        "tan",
        "atan",
    }
    | {"pi", "degrees", "radians", "to_char", "date_part", "grouping", "now"}
)


class _Untold(Exception):
    """The effort is not known."""


def query_effort(query: exp.Expression, constants: Iterable[str]) -> Effort | None:
    """The work of the query, in rows of constants; None if it is not known."""
    if any(name_of_function(one) not in KNOWN for one in query.find_all(exp.Anonymous)):
        return None
    try:
        counting = _Counting()
        counting.rows(query, {name: ((name,),) for name in constants})
    except _Untold:
        return None
    return counting.work


class _Counting:
    """Adds up the work of all queries in one."""

    def __init__(self) -> None:
        self.work: Effort = ()

    def rows(self, node: exp.Expression, around: Mapping[str, Effort]) -> Effort:
        """How many rows a query has, at most."""
        inside = dict(around)
        with_ = node.args.get("with_")
        if with_ is not None and with_.args.get("recursive"):
            raise _Untold
        for cte in [] if with_ is None else with_.expressions:
            inside[fold_name(cte.args["alias"].this)] = self.rows(cte.this, inside)
        match node:
            case exp.Select():
                return self._select(node, inside)
            case exp.Subquery():
                return self.rows(node.this, inside)
            case exp.SetOperation():
                left = self.rows(node.this, inside)
                return self._spent(_sum(left, self.rows(node.expression, inside)))
            case exp.Values():
                return self._spent(_ONE * len(node.expressions))
        raise _Untold

    def _select(self, node: exp.Select, around: Mapping[str, Effort]) -> Effort:
        rows, from_ = _ONE, node.args.get("from_")
        if from_ is not None:
            rows = self._item(from_.this, around)
        for join in node.args.get("joins") or []:
            rows = self._joined(rows, join, around)
        self._spent(rows)
        for part in _own_parts(node):
            self._inside(part, rows, around)
        # one row, where it aggregates without keys
        lists = [*node.expressions, *([node.args["having"]] if node.args.get("having") else [])]
        alone = node.args.get("group") is None and any(map(has_aggregate, lists))
        return _ONE if alone else rows

    def _item(self, node: exp.Expression, around: Mapping[str, Effort]) -> Effort:
        rows: Effort | None = None
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            rows = None if node.args.get("db") is not None else around.get(fold_name(node.this))
        elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
            rows = self._item(node.this, around)
        elif isinstance(node, exp.Subquery | exp.Values):
            rows = self.rows(node, around)
        if rows is None:
            raise _Untold
        for join in node.args.get("joins") or []:
            rows = self._joined(rows, join, around)
        return rows

    def _joined(self, rows: Effort, join: exp.Join, around: Mapping[str, Effort]) -> Effort:
        other = self._item(join.this, around)
        on = join.args.get("on")
        equal = join.args.get("using") or join.args.get("method")
        if on is not None:
            equal = not on.find(exp.Or) and on.find(exp.EQ) is not None
        return self._spent(_sum(rows, other) if equal else _times(rows, other))

    def _inside(self, part: exp.Expression, rows: Effort, around: Mapping[str, Effort]) -> None:
        """Queries in an expression: once, or for each row where they name something outside."""
        stack = [part]
        while stack:
            one = stack.pop()
            if not isinstance(one, _QUERIES):
                stack += list(one.iter_expressions())
                continue
            own = _Counting()
            own.rows(one, around)
            self._spent(_times(rows, own.work) if _looks_out(one) else own.work)

    def _spent(self, rows: Effort) -> Effort:
        self.work = _sum(self.work, rows)
        return rows


def _own_parts(node: exp.Select) -> Iterable[exp.Expression]:
    for slot, value in node.args.items():
        if slot in {"with_", "from_"}:
            continue
        for one in value if isinstance(value, list) else (value,):
            if isinstance(one, exp.Join):
                if one.args.get("on") is not None:
                    yield one.args["on"]
            elif isinstance(one, exp.Expression):
                yield one


def _looks_out(query: exp.Expression) -> bool:
    """Whether a relation is named in it that is not in it."""
    own = set()
    for one in query.find_all(exp.Table, exp.Subquery):
        alias = one.args.get("alias")
        named = one.this if alias is None or alias.this is None else alias.this
        if isinstance(named, exp.Identifier):
            own.add(fold_name(named))
    tables = (one.args.get("table") for one in query.find_all(exp.Column))
    return any(one is not None and fold_name(one) not in own for one in tables)


def _sum(left: Effort, right: Effort) -> Effort:
    return _checked((*left, *right))


def _times(left: Effort, right: Effort) -> Effort:
    if len(left) * len(right) > _MOST:
        raise _Untold
    return _checked(tuple((*one, *other) for one, other in product(left, right)))


def _checked(effort: Effort) -> Effort:
    if len(effort) > _MOST or any(len(one) > _LONGEST for one in effort):
        raise _Untold
    return effort


_MOST_REMEMBERED: Final = 1_024
_MOMENTS: Final = (
    exp.CurrentDate,
    exp.CurrentTime,
    exp.CurrentTimestamp,
    exp.Localtime,
    exp.Localtimestamp,
    exp.CurrentUser,
    exp.Rand,
)
_STEADY: Final = KNOWN - {"now"}


@lru_cache(maxsize=_MOST_REMEMBERED)
def is_deterministic(sql: Sql) -> bool:
    """INVARIANT: functions that are not on the list are taken to give something else each time."""
    query = sqlglot.parse_one(sql.text(), dialect=DIALECT)
    if any(query.find_all(*_MOMENTS)):
        return False
    return all(name_of_function(one) in _STEADY for one in query.find_all(exp.Anonymous))
