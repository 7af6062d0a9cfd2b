"""Expressions over rows, from the parsed text into the plan's allow-list.

INVARIANT: a node that has no case here is refused. No case looks at more of a node than `shapes.py`
lets through, and none hands a piece of the analyst's text on.
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from sqlglot import exp

from gateway.binding import clocks, constants
from gateway.binding.calls import (
    as_list,
    bind_call,
    check_place,
    make_call,
    unsupported_expression,
)
from gateway.binding.constants import Span
from gateway.binding.documents import document_column
from gateway.binding.operands import (
    as_equality,
    change_sign,
    check_cast,
    compare,
    document_text,
    join_texts,
    negate,
    read_as,
    require_number,
    type_beside,
)
from gateway.binding.other_spellings import flat_chain, in_plain_words
from gateway.binding.patterns import LISTED, bind_listed, bind_pattern, is_pattern
from gateway.binding.scope import Visible, column_text
from gateway.binding.text.dialect import check_brackets, name_of_function
from gateway.binding.time_arithmetic import (
    bind_between_intervals,
    bind_compared_difference,
    bind_multiple,
    operator_refusal,
)
from gateway.binding.time_calls import as_local, bind_extract, bind_zone
from gateway.catalog.types import ColumnType, Family
from gateway.errors import Code, NotAggregate, SyntaxRefused, UnsupportedSql
from gateway.functions.function import operator_type
from gateway.plan.fields import (
    BOOLEAN,
    DATE,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Tie,
    common_type,
    plain,
)
from gateway.plan.scalars import Call, Case, Cast, Literal, Ref, Scalar, Shift

_COMPARISONS: Final[dict[type[exp.Expression], str]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "is not distinct from",
    exp.NullSafeNEQ: "is distinct from",
}
_ARITHMETIC: Final[dict[type[exp.Expression], str]] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.Pow: "^",
}
_LONGEST_LIST: Final = 1_000


class Subqueries(Protocol):
    """What becomes of a query inside an expression."""

    def exists(self, node: exp.Exists) -> Scalar: ...

    def member(self, node: exp.In, *, filtering: bool) -> Scalar: ...

    def value(self, node: exp.Subquery) -> Scalar: ...


Lookup = Callable[[exp.Column], Visible]
Special = Callable[[exp.Expression], Scalar | None]


class ScalarBinder:
    """Binds expressions where `lookup` says what names mean.

    `zone` is the session's time zone. `special` is asked first: it knows the expressions that something else has computed already.
    """

    def __init__(
        self,
        lookup: Lookup,
        zone: str,
        subqueries: Subqueries | None = None,
        special: Special | None = None,
    ) -> None:
        self._lookup = lookup
        self.zone = zone
        self._subqueries = subqueries
        self._special = special

    def condition(self, node: exp.Expression, *, filtering: bool = False) -> Scalar:
        """A boolean; `filtering` where NULL and false are the same: a conjunct of WHERE or ON."""
        node = in_plain_words(node)
        if isinstance(node, exp.Paren):
            return self.condition(node.this, filtering=filtering)
        if isinstance(node, exp.In) and node.args.get("query") is not None:
            bound = self._queries().member(node, filtering=filtering)
        elif isinstance(node, exp.And):
            parts = flat_chain(node, exp.And)
            inner = tuple(self.condition(part, filtering=filtering) for part in parts)
            return Call("and", inner, BOOLEAN, any(one.nullable for one in inner))
        elif isinstance(node, exp.Null):
            bound = constants.null(BOOLEAN)
        else:
            bound = self.bind(node)
        if bound.type.family is not Family.BOOLEAN:
            raise SyntaxRefused(
                Code.TYPE_MISMATCH, f"a condition must be boolean, not {bound.type}"
            )
        return as_equality(bound) if filtering else bound

    def bind(self, node: exp.Expression) -> Scalar:  # noqa: C901, PLR0911, PLR0912 - one for each kind
        """The expression, or the refusal."""
        if self._special is not None and (known := self._special(node)) is not None:
            return known
        check_brackets(node)
        if (value := document_column(node)) is not None:
            return document_text(self._column(value))
        node = as_list(in_plain_words(node))
        match node:
            case exp.Column():
                return self._column(node)
            case exp.Paren():
                return self.bind(node.this)
            case exp.Literal():
                return Literal(node.this, TEXT) if node.is_string else constants.number(node.this)
            case exp.Boolean():
                return constants.boolean(node)
            case exp.Null():
                return constants.null()
            case exp.And() | exp.Or():
                return self._logic(node)
            case exp.Not():
                return negate(self.condition(node.this))
            case exp.Neg():
                return change_sign(require_number(self.bind(node.this)))
            case exp.Is():
                return self._is(node)
            case exp.Between():
                return self._between(node)
            case exp.In():
                return self._in(node)
            case exp.Case():
                return self._case(node)
            case exp.Cast():
                return self._cast(node)
            case exp.Exists():
                return self._queries().exists(node)
            case exp.Subquery():
                return self._queries().value(node)
            case exp.Anonymous():
                return self._call(node)
            case exp.Extract():
                return bind_extract(node.this.name.lower(), node.expression, self)
            case exp.DPipe():
                return self._concatenated(node.this, node.expression)
            case exp.CurrentDate() | exp.CurrentTimestamp() | exp.Localtimestamp():
                return clocks.current_time(node, self.zone)
            case exp.AtTimeZone():
                return bind_zone(node.args["zone"], node.this, self)
            case exp.Substring() | exp.Trim() | exp.StrPosition():
                return self._worded(node)
        if type(node) in _COMPARISONS:
            spans = bind_compared_difference(node.this, node.expression, self)
            both = spans or self.pair(node.this, node.expression)
            return compare(_COMPARISONS[type(node)], *both)
        if is_pattern(node):
            return bind_pattern(node, self.bind)
        if type(node) in _ARITHMETIC:
            return self._arithmetic(node)
        raise unsupported_expression(node)

    def pair(self, left: exp.Expression, right: exp.Expression) -> tuple[Scalar, Scalar]:
        """Two expressions that meet; a constant without a type takes the type of the other."""
        both = self.together((left, right))
        return both[0], both[1]

    def _concatenated(self, *sides: exp.Expression) -> Scalar:
        """Two texts; a constant without a type is a text beside anything."""
        to = exp.DataType(this=exp.DataType.Type.TEXT)
        texts = [
            exp.Cast(this=one.copy(), to=to) if constants.is_untyped(one) else one for one in sides
        ]
        left, right = join_texts(*map(self.bind, texts))
        return Call("||", (left, right), TEXT, left.nullable or right.nullable)

    def together(self, nodes: Sequence[exp.Expression]) -> list[Scalar]:
        """Expressions that have one type in common; the untyped ones take it."""
        typed = clocks.meet_times(
            [self.bind(node) for node in nodes if not constants.is_untyped(node)], self.zone
        )
        kind, given = type_beside(typed), iter(typed)
        return [
            self._untyped(node, kind) if constants.is_untyped(node) else next(given)
            for node in nodes
        ]

    def _untyped(self, node: exp.Expression, kind: ColumnType) -> Literal:
        text = constants.untyped_text(node)
        if text is None:
            return constants.null(plain(kind))
        return constants.literal(text, kind, self.zone)

    def _column(self, node: exp.Column) -> Scalar:
        if isinstance(node.this, exp.Star):
            raise NotAggregate(
                Code.PERSON_AS_VALUE,
                "a whole row cannot be used as a value",
                "name its columns one by one",
            )
        seen = self._lookup(node)
        if seen.field is None:
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED,
                f"the type of `{column_text(node)}` is not known here",
                "cast it in the subquery that computes it",
            )
        return Ref(seen.field)

    def _logic(self, node: exp.Expression) -> Scalar:
        kind = exp.And if isinstance(node, exp.And) else exp.Or
        parts = tuple(self.condition(part) for part in flat_chain(node, kind))
        word = "and" if kind is exp.And else "or"
        return Call(word, parts, BOOLEAN, any(part.nullable for part in parts))

    def _is(self, node: exp.Is) -> Scalar:
        negated, right = bool(node.args.get("negate")), node.expression
        if isinstance(right, exp.Boolean):
            inner = self.condition(node.this)
            word = "true" if right.this else "false"
        elif isinstance(right, exp.Null):
            inner, word = self.bind(node.this), "null"
        else:
            raise unsupported_expression(node)
        if word == "null" and isinstance(inner, Ref) and inner.field.tie is Tie.ALWAYS:
            # rows without a unit are dropped at the scan, so this asks nothing
            return Literal(negated, BOOLEAN)
        return Call(f"is {'not ' if negated else ''}{word}", (inner,), BOOLEAN, nullable=False)

    def _between(self, node: exp.Between) -> Scalar:
        spans = bind_between_intervals(node, self)
        if spans is not None:
            return spans
        what, low, high = self.together((node.this, node.args["low"], node.args["high"]))
        both = (compare(">=", what, low), compare("<=", what, high))
        return Call("and", both, BOOLEAN, any(one.nullable for one in both))

    def _in(self, node: exp.In) -> Scalar:
        if node.args.get("query") is not None:
            return self._queries().member(node, filtering=False)
        if not node.expressions or len(node.expressions) > _LONGEST_LIST:
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED, f"the list has more than {_LONGEST_LIST} values"
            )
        bound = self.together((node.this, *node.expressions))
        what, *among = bound
        if not all(isinstance(one, Literal) for one in among):
            parts = tuple(compare("=", what, one) for one in among)
            return Call("or", parts, BOOLEAN, any(part.nullable for part in parts))
        for one in among:
            compare("=", what, one)
        parts = clocks.without_clock("in", bound)
        return Call("in", parts, BOOLEAN, any(one.nullable for one in parts))

    def _case(self, node: exp.Case) -> Scalar:
        results = [branch.args["true"] for branch in node.args["ifs"]]
        default = node.args.get("default") or exp.Null()
        bound = self.together((*results, default))
        kind = bound[0].type
        for one in bound[1:]:
            met = common_type(plain(kind), plain(one.type))
            if met is None:
                raise SyntaxRefused(
                    Code.TYPE_MISMATCH, f"CASE types {kind} and {one.type} cannot be matched"
                )
            kind = met
        whens = []
        for branch in node.args["ifs"]:
            if node.this is None:
                whens.append(self.condition(branch.this))
            else:
                whens.append(compare("=", *self.pair(node.this, branch.this)))
        branches = tuple(zip(whens, bound[:-1], strict=True))
        return Case(branches, bound[-1], kind)

    def _cast(self, node: exp.Cast) -> Scalar:
        to = node.args["to"]
        if constants.is_interval(to):
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED,
                "an interval can only be added to or subtracted from a date or timestamp",
            )
        kind = constants.column_type(to)
        text = constants.untyped_text(node.this)
        if text is not None:
            return constants.literal(text, kind, self.zone)
        if isinstance(node.this, exp.Null):
            return constants.null(kind)
        value = document_column(node.this)
        what = self.bind(node.this) if value is None else read_as(self._column(value), kind)
        if what.type == kind:
            return as_local(what)
        if isinstance(what, Literal) and (same := constants.cast_literal(what, kind)) is not None:
            return same
        zoned = clocks.cast_time(what, kind, self.zone)
        if zoned is not None:
            return zoned
        check_cast(what.type, kind)
        return Cast(what, kind)

    def _call(self, node: exp.Anonymous) -> Scalar:
        name = name_of_function(node)
        if name in LISTED and len(node.expressions) == 1:
            return bind_listed(name, self.bind(node.expressions[0]))
        arguments = [
            one for one in node.expressions if not isinstance(one, (exp.Distinct, exp.Order))
        ]
        if len(arguments) != len(node.expressions):
            raise UnsupportedSql(
                Code.FUNCTION_UNSUPPORTED, f"`{name[:40]}` is not supported as an aggregate here"
            )
        return bind_call(name, arguments, self)

    def _worded(self, node: exp.Expression) -> Scalar:
        if isinstance(node, exp.Substring):
            start, length = node.args.get("start"), node.args.get("length")
            check_place(start)
            # SUBSTRING(x FOR n) begins at the first sign
            places = [self.bind(start) if start is not None else constants.number("1")]
            if length is not None:
                places.append(self.bind(length))
            return make_call("substr", [self.bind(node.this), *places])
        if isinstance(node, exp.StrPosition):
            return make_call("position", [self.bind(node.args["substr"]), self.bind(node.this)])
        side = node.args.get("position") or "BOTH"
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(side, "btrim")
        given = (node.this, node.args.get("expression"))
        return make_call(name, [self.bind(one) for one in given if one is not None])

    def _arithmetic(self, node: exp.Expression) -> Scalar:
        operator = _ARITHMETIC[type(node)]
        moved = constants.span(node.expression)
        if moved is not None and operator in {"+", "-"}:
            return self._shift(node.this, moved if operator == "+" else -moved)
        if operator in {"+", "-"}:
            forward = operator == "+"
            multiple = bind_multiple(node.this, node.expression, self, forward=forward)
            if multiple is None and forward:
                multiple = bind_multiple(node.expression, node.this, self, forward=True)
            if multiple is not None:
                return multiple
        left_span = constants.span(node.this)
        if left_span is not None and operator == "+":
            return self._shift(node.expression, left_span)
        left, right = self.pair(node.this, node.expression)
        kind = operator_type(operator, left.type, right.type)
        if kind is None:
            raise operator_refusal(operator, left.type, right.type)
        return Call(operator, (left, right), kind)

    def _shift(self, node: exp.Expression, by: Span) -> Scalar:
        what = self.bind(node)
        if what.type == TIMESTAMPTZ:
            return clocks.shift_moment(what, by, self.zone)
        if what.type not in {DATE, TIMESTAMP}:
            raise SyntaxRefused(Code.TYPE_MISMATCH, f"an interval cannot be added to {what.type}")
        return Shift(what, by.months, by.days, by.microseconds, TIMESTAMP)

    def _queries(self) -> Subqueries:
        if self._subqueries is None:
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED, "subqueries are not supported in this place"
            )
        return self._subqueries
