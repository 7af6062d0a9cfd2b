"""The most frequent values of a key, where nothing but their names is asked.

`SELECT x … GROUP BY x ORDER BY count(*) DESC LIMIT k` needs no counts: it is k choices among the values of x, and its
rows are the places in their order. So it is read as `SELECT unnest(dp_top(x, k)) …`.

INVARIANT: this is done only where both mean the same: one key that is never NULL and has k values at least, which are
known beforehand; nothing beside it in the list, and no order but by the count of the rows. The values differ, so the
column of the result is still a key of it.
"""

from typing import Final

from sqlglot import exp

from gateway.binding.aggregates import split_array_aggregate
from gateway.binding.bound import Cut
from gateway.binding.select_list import Item
from gateway.binding.text.dialect import name_of_function
from gateway.catalog.domains import Interval, Values
from gateway.catalog.tables import ColumnRef
from gateway.catalog.types import ColumnType, Family, Kind
from gateway.plan.aggregates import Measure
from gateway.plan.scalars import Literal, Ref, Scalar

_MOST: Final = 50
_MOST_VALUES: Final = 10_000
_BESIDE: Final = ("having", "distinct", "offset", "windows")
# whose length or digits are not told by what is chosen; the values of a domain fit them
_FITTED: Final = frozenset({Kind.VARCHAR, Kind.NUMERIC})


def requested_top_k(select: exp.Select, key: Scalar) -> int | None:
    """How many of the most frequent values a SELECT with this one key asks for; None where it asks for anything else."""
    if any(select.args.get(slot) for slot in _BESIDE) or key.nullable or not _tellable(key.type):
        return None
    many, known = _limit(select.args.get("limit")), _values(key)
    return (
        many if many is not None and known is not None and 1 <= many <= min(known, _MOST) else None
    )


def ordering_count(select: exp.Select) -> exp.Anonymous | None:
    """The count by which alone the groups are put in order, the largest first."""
    order = select.args.get("order")
    if order is None or len(order.expressions) != 1 or not order.expressions[0].args.get("desc"):
        return None
    count = _bare(order.expressions[0].this)
    if not isinstance(count, exp.Anonymous) or name_of_function(count) != "count":
        return None
    plain = all(
        isinstance(_bare(one), (exp.Star, exp.Literal, exp.Column)) for one in count.expressions
    )
    return count if plain else None


def is_row_count(measure: Measure) -> bool:
    """Whether it counts every row: of a value that is always there, too."""
    there = all(not one.nullable for one in measure.arguments)
    return measure.function == "count" and there and not measure.distinct and measure.where is None


def select_top(item: Item, many: int, kind: ColumnType) -> tuple[exp.Select, Item]:
    """The SELECT of the first `many` values of an item, the most frequent first."""
    top = exp.Anonymous(this="dp_top", expressions=[item.node.copy(), exp.Literal.number(many)])
    [first, *others] = split_array_aggregate(top) or [top]
    shown: exp.Expression = exp.Anonymous(this="UNNEST", expressions=[top]) if others else first
    # an array does not tell its type here, nor a choice what stands in its brackets
    if others or kind != ColumnType(kind.kind):
        shown = exp.Cast(this=shown, to=exp.DataType.build(str(kind), dialect="postgres"))
    return exp.Select(expressions=[shown]), Item(item.name, shown)


def can_select(cut: Cut, most: int, ranged: frozenset[ColumnRef]) -> bool:
    """Whether a policy leaves room for it: values enough in the permitted rows, not more than `most` groups that it
    would list, and none of the columns that are reported in ranges.
    """
    places = [
        one
        for release in cut.releases
        for _, one in release.plan.measures
        if one.function in {"mode", "dp_top"}
    ]
    return all(
        not one.origins & ranged and _place(one) <= (_values(one.arguments[0]) or 0) <= most
        for one in places
    )


def _values(key: Scalar) -> int | None:
    """How many values it can have, where they can be listed: never more than the analysis finds."""
    kind = key.type
    if kind.family is Family.BOOLEAN and not isinstance(key, Literal):
        return 2
    domain = key.domain if isinstance(key, Ref) else None
    if not isinstance(domain, Values | Interval) or domain.size > _MOST_VALUES:
        return None
    # a filter may leave out the ends of an interval, where they are declared steps
    on_steps = isinstance(domain, Interval) and domain.step != kind.resolution
    return domain.size - 2 if on_steps else domain.size


def _tellable(kind: ColumnType) -> bool:
    """Whether its values come back as they are declared: two floats may be one, and a zone depends on settings."""
    if kind.family is Family.FLOAT or kind.kind is Kind.TIMESTAMPTZ:
        return False
    return kind.kind in _FITTED or kind == ColumnType(kind.kind)


def _place(measure: Measure) -> int:
    value = measure.fraction.value if isinstance(measure.fraction, Literal) else None
    return value if isinstance(value, int) else 1


def _limit(limit: exp.Expression | None) -> int | None:
    """A constant number of rows."""
    match limit:
        case exp.Limit():
            count = _bare(limit.expression)
        case exp.Fetch():
            options = limit.args.get("limit_options")
            if options is not None and options.args.get("with_ties"):
                return None
            count = _bare(limit.args.get("count") or exp.Literal.number(1))
        case _:
            return None
    while isinstance(count, exp.Cast):  # a parameter
        count = _bare(count.this)
    text = count.this if isinstance(count, exp.Literal) else ""
    return int(text) if text.isdecimal() and len(text) <= len(str(_MOST)) else None


def _bare(node: exp.Expression) -> exp.Expression:
    while isinstance(node, exp.Paren):
        node = node.this
    return node
