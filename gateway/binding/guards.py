"""Guards around operators of a finishing: NULL in the place of an error that depends on the numbers of a release.

A noisy count may be 0, and so may that of an empty listed group. PostgreSQL then raises for the whole statement, which
was paid for. The guarded text is run where the text as it was written has raised, so where PostgreSQL has an answer
it stays PostgreSQL's. What reads no column is left as it is: `1 / 0` raises whatever was released.

INVARIANT: a guard gives NULL where PostgreSQL would raise and the value elsewhere, of the same type: texts without a
type (`'0'`) take that of the operand, and a CASE with one branch has that of the branch. Only a `numeric` power that is
beyond every double, an exponential of it, and a function of `NaN` are NULL as well.
INVARIANT: a guard never raises itself, whatever the types of its operands are. The rehearsal tries it.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from sqlglot import exp

from gateway.binding.text.dialect import identifier, name_of_function, result_name

Guard: TypeAlias = Callable[[exp.Expression], exp.Expression]

_MOST_NODES: Final = 20_000  # an operand that a guard repeats may have guards in it
_LARGEST_SUM: Final = 1_900
_TIMES_LONGER: Final = 4  # at least: a sum with its guard, than without
_LARGEST_LOGARITHM: Final = "690"  # e to that is a double, and so is one by it
_LARGEST_FACTORIAL: Final = "32177"  # the last that a `numeric` holds
_WHOLE: Final = frozenset({exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT})
_NUMBERS: Final = frozenset({exp.DType.DECIMAL, exp.DType.FLOAT, exp.DType.DOUBLE})
_READ: Final = frozenset(
    {
        *_NUMBERS,
        *(exp.DType.BOOLEAN, exp.DType.UUID),
        *(exp.DType.DATE, exp.DType.TIME, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ),
        exp.DType.INTERVAL,
    }
)
_SUMS: Final = (exp.Add, exp.Sub, exp.Mul)
_ENDS: Final = (
    ("bigint", "18446744073709551615"),
    ("integer", "4294967295"),
    ("smallint", "65535"),
    ("double precision", "3.5953862697246e308"),
    ("real", "6.805646e38"),
)
"""How far from a half the numbers of a type are at most, doubled; a little less where they are not whole."""
_NEAR: Final = 2  # operators between a sum and the cast that makes it one of doubles
# of a second and of a day: intervals are made with them
_SECONDS: Final = frozenset({"1", "86400"})
_DIVISIONS: Final = (exp.Div, exp.Mod, exp.IntDiv)
# nodes that cannot raise over columns that are there
_HARMLESS: Final = (
    *(exp.Select, exp.Alias, exp.Column, exp.Identifier, exp.Star, exp.From, exp.Table),
    *(exp.TableAlias, exp.Order, exp.Ordered, exp.With, exp.CTE, exp.Paren),
)


def can_raise(tree: exp.Expression) -> bool:
    """Whether anything but columns and their order stands in it."""
    return any(not isinstance(one, _HARMLESS) for one in tree.walk())


def with_guards(tree: exp.Expression) -> exp.Expression | None:
    """The query with guards; None where there is nothing to guard, or it would become too long."""
    made = tree.copy()
    found = [
        (one, written)
        for one, written in zip(made.walk(bfs=False), tree.walk(bfs=False), strict=True)
        if isinstance(one, exp.Expression)
        and isinstance(written, exp.Expression)
        and _can_be_guarded(one)
    ]
    for select in made.find_all(exp.Select):
        select.set("expressions", [_named(one) for one in select.expressions])
    size = _size(made)
    # the innermost first: what is repeated has its guards then
    for node, written in reversed(found):
        if isinstance(node, _SUMS):
            # each guard repeats its operands: a chain of them would be exponential, and others matter more
            shorter = _size(node)
            if shorter > _LARGEST_SUM or size + _TIMES_LONGER * shorter > _MOST_NODES // 2:
                continue
        guarded = _guarded(node, written)
        if node is made:
            return None  # a query is never an operator
        longer = _size(guarded)
        if isinstance(node, _SUMS) and size + longer > _MOST_NODES // 2:
            continue  # others matter more
        size += longer - _size(node)
        node.replace(guarded)
        if size > _MOST_NODES:
            return None
    return made if found else None


def _size(tree: exp.Expression) -> int:
    return sum(1 for _ in tree.walk())


def _named(item: exp.Expression) -> exp.Expression:
    """A column is called after its expression where nothing else is said, and a guard is another expression."""
    if not _can_be_guarded(item):
        return item
    return exp.Alias(this=item, alias=identifier(result_name(item)))


def _can_be_guarded(node: exp.Expression) -> bool:
    if isinstance(node, _DIVISIONS):
        return _reads(node.expression)
    if isinstance(node, _SUMS):  # an interval is made of more of them than one text may hold guards
        return _reads(node) and not _is_double(node)
    if isinstance(node, exp.Pow):
        return _reads(node)
    if isinstance(node, exp.Subquery):
        return _is_value(node)
    if isinstance(node, exp.Cast):
        return node.to.this in _WHOLE | _READ and _reads(node.this)
    return isinstance(node, exp.Anonymous) and _name(node) in _FUNCTIONS and _reads(node)


def _reads(node: exp.Expression) -> bool:
    return node.find(exp.Column) is not None


def _is_double(node: exp.Expression, deep: int = _NEAR) -> bool:
    """Whether it is a double of seconds that an interval is made of, or what operators make of one."""
    if isinstance(node, exp.Cast):
        seconds = isinstance(node.this, exp.Literal) and node.this.name in _SECONDS
        return seconds and node.to.this is exp.DType.DOUBLE
    if not deep or not isinstance(node, _SUMS):
        return False
    return _is_double(node.this, deep - 1) or _is_double(node.expression, deep - 1)


def _guarded(node: exp.Expression, written: exp.Expression) -> exp.Expression:
    """The node, whose operands have their guards, with its own; `written` is the same without any."""
    if isinstance(node, _DIVISIONS):
        out = node.copy()
        out.set("expression", _not_zero(node.expression))
        return out
    if isinstance(node, exp.Pow):
        return _power(node, node.this, node.expression)
    if isinstance(node, _SUMS):
        return _sum(node, written)
    if isinstance(node, exp.Subquery):
        return _single(node)
    if isinstance(node, exp.Cast):
        return _cast(node, written.this)
    return _FUNCTIONS[_name(node)](node)


def _is_value(node: exp.Subquery) -> bool:
    """Whether it stands for one value, which it is not where it has several rows."""
    query, around = node.this, node.parent
    if not isinstance(query, exp.Select) or node.args.get("alias") is not None:
        return False
    if len(query.expressions) != 1 or query.is_star or query.args.get("from_") is None:
        return False
    tables = (exp.From, exp.Join, exp.In, exp.Any, exp.All, exp.Exists, exp.SetOperation, exp.CTE)
    return not isinstance(around, (*tables, exp.Lateral, exp.Subquery, type(None)))


def _single(node: exp.Subquery) -> exp.Expression:
    """The value of a subquery; NULL where it has several rows."""
    inside = exp.Subquery(
        this=node.this.copy(),
        alias=exp.TableAlias(this=identifier("i"), columns=[identifier("c")]),
    )
    column, many = exp.column("c", quoted=True), exp.column("n", quoted=True)
    counted = exp.Window(this=_call("COUNT", exp.Star()))
    rows = exp.Select(
        expressions=[column.copy(), exp.Alias(this=counted, alias=identifier("n"))],
        from_=exp.From(this=inside),
    )
    outer = exp.Subquery(this=rows, alias=exp.TableAlias(this=identifier("q")))
    one = exp.Case(ifs=[exp.If(this=_compared(exp.EQ, many, exp.Literal.number(1)), true=column)])
    whole = exp.Select(expressions=[one], from_=exp.From(this=outer))
    whole.set("limit", exp.Limit(expression=exp.Literal.number(1)))
    return exp.Subquery(this=whole)


def _sum(node: exp.Expression, written: exp.Expression) -> exp.Expression:
    """Numbers whose sum, difference or product fits its type; values of other types as they are.

    What is added decides, not the sum alone: the days between two dates are a whole number as well.
    """
    wide = node.__class__(
        this=exp.Paren(this=_as_number(node.this)),
        expression=exp.Paren(this=_as_number(node.expression)),
    )
    # from -most - 1 to most
    twice = exp.Add(
        this=exp.Mul(this=exp.Paren(this=wide), expression=exp.Literal.number(2)),
        expression=exp.Literal.number(1),
    )
    most = exp.Case(
        this=_type_of(written),
        ifs=[exp.If(this=_text(name), true=exp.Literal.number(end)) for name, end in _ENDS],
    )
    away = _call("NULLIF", _call("ABS", twice), _text("NaN"))
    fits = exp.LTE(this=_call("NULLIF", away, _text("Infinity")), expression=most)
    return _only(_call("COALESCE", fits, exp.true()), node)


def _type_of(written: exp.Expression) -> exp.Expression:
    """The name of its type; it is not computed, so it needs no guards of its own."""
    never = exp.Case(ifs=[exp.If(this=exp.false(), true=written.copy())])
    return exp.Cast(this=_call("PG_TYPEOF", never), to=exp.DataType.build("text"))


def _as_text(what: exp.Expression) -> exp.Expression:
    return exp.Cast(this=exp.Paren(this=what.copy()), to=exp.DataType.build("text"))


def _as_number(what: exp.Expression) -> exp.Expression:
    """The `numeric` that its text spells; NULL where it spells none.

    INVARIANT: it never raises, even when PostgreSQL computes constants while it plans: what is cast is a CASE whose
    condition is not immutable, and which is pruned where it is computed.
    """
    if isinstance(what, exp.Literal) and not what.is_string:
        return what.copy()
    valid = _call("PG_INPUT_IS_VALID", _as_text(what), _text("numeric"))
    spelled = exp.Case(ifs=[exp.If(this=valid, true=_as_text(what))])
    return exp.Cast(this=spelled, to=exp.DataType.build("numeric"))


def _name(node: exp.Expression) -> str:
    return name_of_function(node) if isinstance(node, exp.Anonymous) else ""


def _call(name: str, *parts: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=name, expressions=[one.copy() for one in parts])


def _text(value: str) -> exp.Expression:
    return exp.Literal.string(value)


def _not_zero(what: exp.Expression) -> exp.Expression:
    return _call("NULLIF", what, _text("0"))


def _positive(what: exp.Expression) -> exp.Expression:
    return _not_zero(_call("GREATEST", what, _text("0")))


def _only(condition: exp.Expression | exp.Condition, what: exp.Expression) -> exp.Expression:
    return exp.Paren(this=exp.Case(ifs=[exp.If(this=condition, true=what.copy())]))


def _compared(kind: type[exp.Binary], one: exp.Expression, other: exp.Expression) -> exp.Condition:
    return kind(this=exp.Paren(this=one.copy()), expression=other.copy())


def _all(*conditions: exp.Condition) -> exp.Condition:
    return exp.Paren(this=exp.and_(*conditions, copy=False))


def _tiles(call: exp.Expression) -> exp.Expression:
    """`ntile` of a number above 0; NULL, as `ntile` of NULL, elsewhere."""
    return _call(call.this, *map(_positive, call.expressions))


def _divided(call: exp.Expression) -> exp.Expression:
    """`mod` and `div`."""
    first, *others = call.expressions
    return _call(call.this, first, *(_not_zero(one) if _reads(one) else one for one in others))


def _logarithm(call: exp.Expression) -> exp.Expression:
    parts = [_positive(one) if _reads(one) else one for one in call.expressions]
    if len(parts) > 1 and _reads(parts[0]):
        parts[0] = _call("NULLIF", parts[0], _text("1"))  # whose logarithm is 0
    return _call(call.this, *parts)


def _between(low: str, high: str) -> Guard:
    def guarded(call: exp.Expression) -> exp.Expression:
        if len(call.expressions) != 1:
            return call.copy()
        [what] = call.expressions
        return _only(
            _all(_compared(exp.GTE, what, _text(low)), _compared(exp.LTE, what, _text(high))), call
        )

    return guarded


def _at_least(low: str) -> Guard:
    def guarded(call: exp.Expression) -> exp.Expression:
        if len(call.expressions) != 1:
            return call.copy()
        return _only(_compared(exp.GTE, call.expressions[0], _text(low)), call)

    return guarded


def _powered(call: exp.Expression) -> exp.Expression:
    if len(call.expressions) != 2:  # noqa: PLR2004 - a base and an exponent
        return call.copy()
    return _power(call, *call.expressions)


def _exactly(what: exp.Expression) -> exp.Expression:
    return exp.Cast(this=exp.Paren(this=what.copy()), to=exp.DataType.build("numeric"))


def _with_type(what: exp.Expression) -> exp.Expression:
    """A text without a type, or NULL, as the number that a power takes it for; others as they are."""
    plain = what.unnest()
    if isinstance(plain, exp.Null) or (isinstance(plain, exp.Literal) and plain.is_string):
        return exp.Cast(this=what.copy(), to=exp.DataType.build("double"))
    return what


def _power(whole: exp.Expression, base: exp.Expression, exponent: exp.Expression) -> exp.Expression:
    """Of 0 to what is not negative; of a negative base to a whole exponent; and not beyond a double."""
    base, exponent = (_with_type(one) for one in (base, exponent))
    logarithm = exp.Mul(
        this=_exactly(exponent),
        expression=_exactly(_call("LN", _positive(_call("ABS", _exactly(base))))),
    )
    of_zero = _all(
        _compared(exp.EQ, base, _text("0")), _compared(exp.GTE, exponent, exp.Literal.number(0))
    )
    of_others = _all(
        exp.Paren(
            this=exp.or_(
                _compared(exp.GT, base, _text("0")),
                _compared(exp.EQ, exponent, _call("TRUNC", exponent)),
                copy=False,
            )
        ),
        exp.LTE(this=_call("ABS", logarithm), expression=exp.Literal.number(_LARGEST_LOGARITHM)),
    )
    return _only(exp.or_(of_zero, of_others, copy=False), whole)


def _cast(cast: exp.Cast, written: exp.Expression) -> exp.Expression:
    """A text or a date is tried as it is, a number as the one that it is rounded to; other types do not raise."""
    text = _as_text(cast.this)
    wanted = _text(cast.to.sql(dialect="postgres"))
    spelled = ["text", "character varying", "character", "date"]
    is_text = exp.In(this=_type_of(written), expressions=[_text(name) for name in spelled])
    valid = _call("PG_INPUT_IS_VALID", text, wanted)
    number: exp.Expression = exp.true()
    if cast.to.this in _WHOLE | _NUMBERS:
        given = _as_number(cast.this)
        if cast.to.this in _WHOLE:
            given = _call("ROUND", given)
        tried = _call("PG_INPUT_IS_VALID", _as_text(given), wanted)
        # a text that is no number is NULL there
        number = _call("COALESCE", tried, exp.true())
    tried = exp.Case(ifs=[exp.If(this=is_text, true=valid)], default=number)
    # once more around it: a CASE has no digits of its own
    return exp.Cast(this=_only(tried, cast), to=cast.to.copy())


_FUNCTIONS: Final[dict[str, Guard]] = {
    "mod": _divided,
    "div": _divided,
    "ln": _logarithm,
    "log": _logarithm,
    "log10": _logarithm,
    "sqrt": _at_least("0"),
    "exp": _between(f"-{_LARGEST_LOGARITHM}", _LARGEST_LOGARITHM),
    "asin": _between("-1", "1"),
    "acos": _between("-1", "1"),
    "asind": _between("-1", "1"),
    "acosd": _between("-1", "1"),
    "atanh": _between("-1", "1"),
    "acosh": _at_least("1"),
    "factorial": _between("0", _LARGEST_FACTORIAL),
    "ntile": _tiles,
    "power": _powered,
    "pow": _powered,
}
