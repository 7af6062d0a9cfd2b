"""Random plans over the clinic, made by the nodes' own constructors and never by the binder.

They stay within what SQL can say of a plan: the unit is kept as the first column, types are those that
PostgreSQL gives, and chains of AND and OR are flat.
"""

from collections.abc import Callable
from fractions import Fraction

from binding.clinic import CLINIC
from hypothesis import strategies as st

from gateway.binding.calls import make_call
from gateway.binding.operands import compare
from gateway.catalog.types import ColumnType, Family
from gateway.functions.function import mean_type, operator_type, sum_type
from gateway.plan.aggregates import Aggregate, Measure, PerUnit, WindowCall
from gateway.plan.fields import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    Field,
    Tie,
    common_type,
    is_number,
    plain,
)
from gateway.plan.joins import Join, Mark, UnionAll
from gateway.plan.node import Node
from gateway.plan.relations import Filter, Project, Scan, Window
from gateway.plan.scalars import Call, Case, Cast, Literal, Ref, Scalar, Shift

_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "is distinct from", "is not distinct from")
_LITERALS = st.sampled_from(
    [
        Literal(0, INTEGER),
        Literal(7, INTEGER),
        Literal(-3, INTEGER),
        Literal(2**40, BIGINT),
        Literal(7, BIGINT),
        Literal(Fraction(5, 2), NUMERIC),
        Literal(Fraction(-1, 8), NUMERIC),
        Literal(Fraction(3), NUMERIC),
        Literal(Fraction(3, 2), DOUBLE),
        Literal(None, INTEGER),
    ]
)
_TEXTS = st.sampled_from([Literal(one, TEXT) for one in ("north", "it's", "a\\b", "", "%_", "--")])


class Plans:
    """Draws plans with relation names that no other relation of the plan has."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._names = 0

    def release(self) -> Aggregate:
        child = self.rows(self._pick(3))
        keys = [self.scalar(child.fields, 1) for _ in range(self._pick(3))]
        once = list(dict.fromkeys(key for key in keys if not _is_tied(key)))
        named = tuple((f"k{place + 1}", key) for place, key in enumerate(once))
        measures = [self._measure(child.fields) for _ in range(1 + self._pick(3))]
        values = tuple((f"m{place + 1}", one) for place, one in enumerate(dict.fromkeys(measures)))
        return Aggregate(child, named, values, (tuple(range(len(named))),))

    def rows(self, depth: int) -> Node:
        """Rows of persons whose first column is the unit."""
        if depth == 0:
            return self._scan()
        below = self.rows(depth - 1)
        kinds = [self._filter, self._project, self._join, self._mark, self._per_unit]
        kinds += [self._window, self._union]
        return kinds[self._pick(len(kinds))](below)

    def _scan(self) -> Node:
        table = CLINIC.tables[self._pick(2)]
        scan = Scan(table, self._name(), CLINIC.unit)
        first = sorted(scan.fields, key=lambda one: one.tie is Tie.NONE)
        return Project(scan, self._name(), tuple((f"c{i}", Ref(f)) for i, f in enumerate(first)))

    def _filter(self, below: Node) -> Node:
        return Filter(below, self.condition(below.fields, 2))

    def _project(self, below: Node) -> Node:
        made = [self.scalar(below.fields, 2) for _ in range(1 + self._pick(3))]
        items = (Ref(below.fields[0]), *made)
        return Project(below, self._name(), tuple((f"c{i}", one) for i, one in enumerate(items)))

    def _join(self, below: Node) -> Node:
        other = self.rows(self._pick(2))
        same = compare("=", Ref(below.fields[0]), Ref(other.fields[0]))
        fields = (*below.fields, *other.fields)
        parts = [same] if self._pick(2) else [same, self.condition(fields, 1)]
        return Join(below, other, _chain("and", parts), outer=bool(self._pick(2)))

    def _mark(self, below: Node) -> Node:
        other = self.rows(self._pick(2))
        same = compare("=", Ref(other.fields[0]), Ref(below.fields[0]))
        marked = Mark(below, other, same, self._name())
        return Filter(marked, Ref(marked.fields[-1])) if self._pick(2) else marked

    def _per_unit(self, below: Node) -> Node:
        keys = [Ref(below.fields[0]), *(self.scalar(below.fields, 1) for _ in range(self._pick(2)))]
        once = [key for place, key in enumerate(keys) if place == 0 or not _is_tied(key)]
        measures = [self._measure(below.fields, per_unit=True) for _ in range(self._pick(3))]
        return PerUnit(
            below,
            self._name(),
            tuple((f"k{i}", one) for i, one in enumerate(dict.fromkeys(once))),
            tuple((f"m{i}", one) for i, one in enumerate(dict.fromkeys(measures))),
        )

    def _window(self, below: Node) -> Node:
        what = self.number(below.fields, 1)
        order = ((self.scalar(below.fields, 0), bool(self._pick(2))),)
        frame = ("2 preceding", "current row")
        unit = (Ref(below.fields[0]),)
        calls = [
            WindowCall("row_number", (), unit, order, None, BIGINT),
            WindowCall("lag", (what,), unit, order, None, plain(what.type)),
            WindowCall("sum", (what,), unit, order, frame, sum_type(plain(what.type))),
            WindowCall("count", (), unit, (), None, BIGINT),
        ]
        return Window(below, ((self._name(), calls[self._pick(len(calls))]),))

    def _union(self, below: Node) -> Node:
        other = self.rows(0)
        pair = [
            Project(
                one, self._name(), (("u", Ref(one.fields[0])), ("n", self.number(one.fields, 1)))
            )
            for one in (below, other)
        ]
        return UnionAll(pair[0], pair[1], self._name(), ("u", "n"))

    def _measure(self, fields: tuple[Field, ...], *, per_unit: bool = False) -> Measure:
        number = self.number(fields, 1)
        of = plain(number.type)
        where = self.condition(fields, 1) if self._pick(3) == 0 else None
        if isinstance(number, Literal) or _is_tied(number):
            return Measure("count", (), BIGINT, where=where)
        some = [
            Measure("count", (), BIGINT, where=where),
            Measure("count", (number,), BIGINT, where=where),
            Measure("count", (Ref(fields[0]),), BIGINT, distinct=True, where=where),
            Measure("sum", (number,), sum_type(of), where=where),
            Measure("avg", (number,), mean_type(of), where=where),
            Measure("max", (number,), of, where=where),
        ]
        if not per_unit:
            half = Literal(Fraction(1, 2), NUMERIC)
            some.append(Measure("percentile_cont", (number,), DOUBLE, where=where, fraction=half))
            some.append(Measure("stddev", (number,), mean_type(of), where=where))
            some.append(Measure("corr", (number, number), DOUBLE, where=where))
        return some[self._pick(len(some))]

    def condition(self, fields: tuple[Field, ...], depth: int) -> Scalar:
        match self._pick(6 if depth else 2):
            case 0:
                operator = _COMPARISONS[self._pick(len(_COMPARISONS))]
                return compare(operator, self.number(fields, depth), self.number(fields, depth))
            case 1:
                what = self.scalar(fields, depth)
                asked = what if not _is_tied(what) else Literal(None, INTEGER)
                word = ("is null", "is not null")[self._pick(2)]
                return Call(word, (asked,), BOOLEAN, nullable=False)
            case 2:
                parts = [self.condition(fields, depth - 1) for _ in range(2)]
                return _chain(("and", "or")[self._pick(2)], parts)
            case 3:
                inner = self.condition(fields, depth - 1)
                return Call("not", (inner,), BOOLEAN, inner.nullable)
            case 4:
                what = self.text(fields, depth)
                pattern = Literal("a_%", TEXT)
                word = ("like", "not ilike")[self._pick(2)]
                return Call(word, (what, pattern), BOOLEAN, what.nullable)
            case _:
                what = self.text(fields, depth)
                among = (Literal("a", TEXT), Literal("it's", TEXT))
                return Call("in", (what, *among), BOOLEAN, what.nullable)

    def scalar(self, fields: tuple[Field, ...], depth: int) -> Scalar:
        one = (self.number, self.text, self._date)[self._pick(3)](fields, depth)
        return self._of(fields, is_number) if isinstance(one, Literal) else one

    def number(self, fields: tuple[Field, ...], depth: int) -> Scalar:  # noqa: PLR0911 - of each kind
        match self._pick(7 if depth else 2):
            case 0:
                return self._draw(_LITERALS)
            case 1:
                return self._of(fields, is_number)
            case 2:
                operator = "+-*/"[self._pick(4)]
                left, right = self.number(fields, depth - 1), self.number(fields, depth - 1)
                kind = operator_type(operator, left.type, right.type)
                assert kind is not None
                return Call(operator, (left, right), kind)
            case 3:
                some = [self.number(fields, depth - 1) for _ in range(2)]
                return make_call(("coalesce", "greatest", "nullif")[self._pick(3)], some)
            case 4:
                return self._case(fields, depth)
            case 5:
                what = self.number(fields, depth - 1)
                to = (INTEGER, DOUBLE, NUMERIC)[self._pick(3)]
                return what if what.type == to or isinstance(what, Literal) else Cast(what, to)
            case _:
                return make_call("length", [self.text(fields, depth - 1)])

    def text(self, fields: tuple[Field, ...], depth: int) -> Scalar:
        match self._pick(4 if depth else 2):
            case 0:
                return self._draw(_TEXTS)
            case 1:
                texts = [one for one in fields if one.type.family is Family.TEXT]
                return Ref(texts[self._pick(len(texts))]) if texts else self._draw(_TEXTS)
            case 2:
                left, right = self.text(fields, depth - 1), self.text(fields, depth - 1)
                return Call("||", (left, right), TEXT, left.nullable or right.nullable)
            case _:
                return make_call("lower", [self.text(fields, depth - 1)])

    def _date(self, fields: tuple[Field, ...], depth: int) -> Scalar:
        dates = [one for one in fields if one.type in {DATE, TIMESTAMP}]
        if not dates:
            return self.number(fields, depth)
        what = Ref(dates[self._pick(len(dates))])
        match self._pick(4):
            case 0:
                return what
            case 1:
                return Shift(what, -2, 3, -5_000_000, TIMESTAMP)
            case 2:
                part = Literal("year", TEXT)
                return Call("extract", (part, what), NUMERIC, what.nullable)
            case _ if what.type == TIMESTAMP:  # of a date it has the zone of the session
                part = Literal("month", TEXT)
                return Call("date_trunc", (part, what), TIMESTAMP, what.nullable)
            case _:
                return what

    def _case(self, fields: tuple[Field, ...], depth: int) -> Scalar:
        when = self.condition(fields, depth - 1)
        then, otherwise = self.number(fields, depth - 1), self.number(fields, depth - 1)
        kind = common_type(plain(then.type), plain(otherwise.type))
        assert kind is not None
        return Case(((when, then),), otherwise, kind)

    def _of(self, fields: tuple[Field, ...], wanted: Callable[[ColumnType], bool]) -> Scalar:
        found = [one for one in fields if wanted(one.type) and one.tie is Tie.NONE]
        return Ref(found[self._pick(len(found))]) if found else Ref(fields[0])

    def _pick(self, below: int) -> int:
        return self._draw(st.integers(0, below - 1))

    def _name(self) -> str:
        self._names += 1
        return f"t{self._names}"


def _chain(word: str, parts: list[Scalar]) -> Scalar:
    flat: list[Scalar] = []
    for one in parts:
        flat += one.parts if isinstance(one, Call) and one.function == word else (one,)
    if len(flat) == 1:
        return flat[0]
    return Call(word, tuple(flat), BOOLEAN, any(one.nullable for one in flat))


def _is_tied(scalar: Scalar) -> bool:
    return isinstance(scalar, Ref) and scalar.field.tie is not Tie.NONE


@st.composite
def releases(draw: st.DrawFn) -> Aggregate:
    """A release over random rows."""
    return Plans(draw).release()
