"""Which row of a release the rows of a query come from, and how its columns follow from that row.

A query is said to come from a release where each of its rows comes from one row of it, or from none, as beside an
outer join. The columns of that row that the text does not name, its number and the ends of its intervals, can then
be made columns of the query: hidden ones, behind those that it has.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, Protocol, TypeAlias

from sqlglot import exp

from gateway.binding import constants
from gateway.binding.text.dialect import identifier, name_of_function
from gateway.catalog.types import Kind
from gateway.catalog.values import InvalidValue, read_number
from gateway.plan.aggregates import Aggregate
from gateway.plan.fields import is_number
from gateway.plan.formulas import (
    AggregateRef,
    Arithmetic,
    Each,
    Form,
    NumberForm,
    Over,
    Plus,
    Reading,
    Readings,
    Times,
    aggregate_places,
)
from gateway.plan.node import BrokenPlan

_WHOLE: Final = frozenset({Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT})


@dataclass(eq=False, slots=True)
class Origin:
    """One reading of a release. It is `sure` where no row above it comes from none of its rows."""

    release: str
    plan: Aggregate
    sure: bool = True

    def told_apart_by(self, shown: "tuple[Output, ...]") -> bool:
        """Whether rows that agree on these columns come from one row of the release."""
        keys = self.plan.keys
        if not self.sure or self.plan.sets != (tuple(range(len(keys))),):
            return False
        # blanks at their end do not tell texts of fixed length apart
        if any(scalar.type.kind is Kind.CHAR for _, scalar in keys):
            return False
        return {one.key for one in shown if one.of is self} >= set(range(len(keys)))


@dataclass(frozen=True, slots=True)
class Output:
    """A column: the form in which it follows from a row of its origin, or the key of it that it is.

    `reads` are the aggregates it is computed from, `also` has the forms where rows come from one of several origins.
    `whole`: its type may be one of whole numbers, of which PostgreSQL truncates quotients.
    """

    name: str
    form: Form | None = None
    of: Origin | None = None
    key: int | None = None
    reads: Readings = frozenset()
    also: tuple[tuple[Origin, Form], ...] = ()
    whole: bool = True

    @property
    def noisy(self) -> bool:
        """Whether anything released is in it."""
        return bool(self.reads)

    def form_in(self, origin: Origin) -> Form | None:
        """How it follows from a row of this origin, where the row comes from one."""
        if self.of is origin:
            return self.form
        return next((form for of, form in self.also if of is origin), None)


class Rowset(Protocol):
    """A relation; `columns` is None where the twin alone knows them."""

    @property
    def columns(self) -> tuple[Output, ...] | None: ...
    @property
    def origins(self) -> tuple[Origin, ...]: ...

    def expose(self, origin: Origin, column: str) -> str:
        """The name under which a column of the origin's row can be read; it is there from now on."""
        ...


@dataclass(frozen=True, slots=True)
class Unknown:
    """Rows that come from anywhere."""

    columns: tuple[Output, ...] | None = None
    origins: tuple[Origin, ...] = ()

    def expose(self, origin: Origin, column: str) -> str:
        raise BrokenPlan(f"`{column}` of {origin.release} where it is not known")


class ReleaseRows:
    """The constant of a release."""

    def __init__(self, name: str, plan: Aggregate, bounds: int) -> None:
        origin = Origin(name, plan)
        keys = [Output(key, of=origin, key=place) for place, (key, _) in enumerate(plan.keys)]
        measures = [
            Output(
                measure,
                AggregateRef(place),
                origin,
                reads=frozenset({Reading(name, place)}),
                whole=one.type.kind in _WHOLE,
            )
            for place, (measure, one) in enumerate(plan.measures)
        ]
        end_of = frozenset({Reading(name, None)})
        ends = [
            Output(f"{end}{place + 1}", reads=end_of) for place in range(bounds) for end in "lh"
        ]
        marks = map(Output, plan.marks)
        self.columns: tuple[Output, ...] | None = (*keys, *marks, *measures, *ends)
        self.origins = (origin,)

    def expose(self, origin: Origin, column: str) -> str:
        del origin
        return column


@dataclass(slots=True)
class TracedSource:
    """A relation in a FROM: under the names that it has there."""

    alias: str
    node: exp.Expression
    rows: Rowset
    columns: tuple[Output, ...] | None
    sure: bool = True


@dataclass(slots=True)
class NamedCte:
    """A CTE; `alone` where it is read in one place.

    Else, when a column is made of it, the query gets another name, and the CTE reads that: whoever else reads the
    CTE sees no more than before, and it is still computed once.
    """

    node: exp.CTE
    rows: Rowset
    columns: tuple[Output, ...] | None
    hidden: str
    alone: bool
    split: bool = field(default=False)

    def expose(self, origin: Origin, column: str) -> str:
        if not self.split and not self.alone:
            self._part()
        return self.rows.expose(origin, column)

    def _part(self) -> None:
        alias = self.node.args["alias"]
        items = [exp.Column(this=identifier(one.name)) for one in self.columns or ()]
        from_ = exp.From(this=exp.Table(this=identifier(self.hidden)))
        plain = exp.CTE(
            this=exp.Select(expressions=items, from_=from_),
            alias=exp.TableAlias(this=alias.this.copy()),
        )
        alias.set("this", identifier(self.hidden))
        with_ = self.node.parent
        if not isinstance(with_, exp.With):
            raise BrokenPlan("a CTE without a WITH")
        place = next(at for at, one in enumerate(with_.expressions) if one is self.node)
        with_.set(
            "expressions", [*with_.expressions[: place + 1], plain, *with_.expressions[place + 1 :]]
        )
        self.split = True


class CteReading:
    """A CTE where it is read: another reading than every other."""

    def __init__(self, cte: NamedCte, table: exp.Table, alias: str) -> None:
        self._cte = cte
        self._table = table
        self._alias = alias
        names = None if cte.columns is None else [one.name for one in cte.columns]
        told = names is not None and len(set(names)) == len(names)
        self._below = {replace(one): one for one in cte.rows.origins} if told else {}
        above = {below: own for own, below in self._below.items()}
        self.origins = tuple(self._below)
        self.columns: tuple[Output, ...] | None = None
        if cte.columns is not None:
            self.columns = tuple(move_column(one, above) for one in cte.columns)

    def expose(self, origin: Origin, column: str) -> str:
        name = self._cte.expose(self._below[origin], column)
        if self._cte.alone:
            return name
        if self._table.args.get("alias") is None:
            self._table.set("alias", exp.TableAlias(this=identifier(self._alias)))
        self._table.set("this", identifier(self._cte.hidden))
        return name


def move_column(one: Output, above: dict[Origin, Origin], name: str | None = None) -> Output:
    """The column as it is seen from further out; what has no origin there follows from no row."""
    name = one.name if name is None else name
    own = None if one.of is None else above.get(one.of)
    also = tuple((above[of], form) for of, form in one.also if of in above)
    if own is None:
        return Output(name, reads=one.reads, also=also)
    return replace(one, name=name, of=own, also=also)


# they hand on their first argument where it is not NULL, up to rounding
_HANDING_ON: Final = frozenset({"round", "coalesce", "nullif"})


Lookup: TypeAlias = Callable[[exp.Column], Output | None]


def has_whole_type(  # noqa: PLR0911 - one answer for each kind of node
    node: exp.Expression, lookup: Lookup
) -> bool:
    """Whether the expression may have a type of whole numbers; `lookup` has the columns in it.

    INVARIANT: it is False only if PostgreSQL gives the expression another type.
    """
    match node:
        case exp.Paren() | exp.Neg():
            return has_whole_type(node.this, lookup)
        case exp.Column():
            found = lookup(node)
            return found is None or found.whole
        case exp.Literal() if not node.is_string:
            return not set(str(node.this)) & set(".eE")
        case exp.Cast():
            return not _to_number(node) or constants.column_type(node.args["to"]).kind in _WHOLE
        case exp.Anonymous() if name_of_function(node) in _HANDING_ON and node.expressions:
            # of whole numbers, too, `round` gives a double
            named, given = name_of_function(node), node.expressions[0]
            return named != "round" and has_whole_type(given, lookup)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            return has_whole_type(node.this, lookup) and has_whole_type(node.expression, lookup)
    return True


def form_of(node: exp.Expression, lookup: Lookup) -> Form | None:
    """The form of an expression; `lookup` has the columns in it.

    INVARIANT: a quotient of two whole numbers has none, since PostgreSQL truncates it. It is simulated like other expressions.
    """
    form = _array(node, lookup) or _form(node, lookup)
    return form if form is not None and any(True for _ in aggregate_places(form)) else None


def _array(node: exp.Expression, lookup: Lookup) -> Form | None:
    """Several values as an array, or its elements as rows."""
    match node:
        case exp.Column():
            found = lookup(node)
            return None if found is None else found.form
        case exp.Paren() | exp.Unnest():
            return _array(node.this, lookup)
        case exp.Cast():
            inner = _array(node.this, lookup)
            return inner if isinstance(inner, Each) else None
        case exp.Anonymous() if name_of_function(node) == "unnest" and len(node.expressions) == 1:
            return _array(node.expressions[0], lookup)
        case exp.Array() if node.expressions:
            forms = [_form(one, lookup) for one in node.expressions]
            return None if None in forms else Each(tuple(one for one in forms if one is not None))
    return None


def _form(  # noqa: PLR0911 - one answer for each kind of node
    node: exp.Expression, lookup: Lookup
) -> Arithmetic | None:
    match node:
        case exp.Paren():
            return _form(node.this, lookup)
        case exp.Column():
            found = lookup(node)
            return None if found is None or isinstance(found.form, Each) else found.form
        case exp.Literal() if not node.is_string:
            return _number(node.this)
        case exp.Neg():
            inner = _form(node.this, lookup)
            return None if inner is None else Times(NumberForm(Fraction(-1)), inner)
        case exp.Cast():
            return _form(node.this, lookup) if _to_number(node) else None
        case exp.Anonymous() if name_of_function(node) in _HANDING_ON and node.expressions:
            return _form(node.expressions[0], lookup)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            return _arithmetic(node, lookup)
    return None


def _arithmetic(node: exp.Expression, lookup: Lookup) -> Arithmetic | None:
    left, right = _form(node.this, lookup), _form(node.expression, lookup)
    if left is None or right is None:
        return None
    if isinstance(node, exp.Div) and has_whole_type(node, lookup):
        return None
    if isinstance(node, exp.Sub):
        return Plus(left, Times(NumberForm(Fraction(-1)), right))
    return _MAKING[type(node)](left, right)


_MAKING: Final[dict[type[exp.Expression], Callable[[Arithmetic, Arithmetic], Arithmetic]]] = {
    exp.Add: Plus,
    exp.Mul: Times,
    exp.Div: Over,
}


def _number(text: str) -> Arithmetic | None:
    try:
        return NumberForm(read_number(text))
    except InvalidValue:
        return None


def _to_number(node: exp.Cast) -> bool:
    to = node.args["to"]
    if not isinstance(to.this, exp.DataType.Type) or constants.is_interval(to):
        return False
    return to.this.name in constants.TYPE_NAMES and is_number(constants.column_type(to))
