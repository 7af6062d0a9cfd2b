"""The value of a scanned column as its policy declares it: whatever is stored, what is above sees this.

INVARIANT: no NaN, no infinity and no day outside the calendar gets through; a number or day outside its
interval becomes the nearest end, a value outside its set NULL; of a text only `max_length` characters, of a decimal
40 digits behind the point. The unit of a row is handed on as it is.

INVARIANT: keys are never changed. The columns of unit paths are read as they are stored. A column of a public table, which a licence may rest on, is read as it is stored or
is NULL where it is longer; two different stored values never become equal there.

The whole number i of a value x: `LEAST(GREATEST(round(x / h), low), high)`.

INVARIANT: the result is NULL or from `low` to `high`, whatever the expression gives and whatever its range says:
the clamp is always there, and nothing is cast to a whole number before it is known to fit.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from sqlalchemy import (
    Boolean,
    Integer,
    Numeric,
    Text,
    case,
    cast,
    false,
    func,
    literal,
    null,
    true,
    try_cast,
    type_coerce,
)
from sqlalchemy.sql.elements import Grouping
from sqlalchemy.types import NullType

from gateway.catalog.domains import Anything, Interval, Values
from gateway.catalog.tables import Column, Membership, Table
from gateway.catalog.types import WIDE, ColumnType, Family, Kind
from gateway.engines.sql.number_types import Digits, as_double, as_number, decimal_digits
from gateway.engines.sql.partial_select import Dialect, Sql
from gateway.engines.sql.pieces import (
    DOUBLE,
    EXACT,
    LARGEST,
    TEXT,
    WHOLE,
    Rendering,
    between,
    binary,
    cast_or_null,
    compare,
    constant,
    double,
    exact,
    infix,
    integer,
    length_in_bytes,
    null_of,
    sql_type,
    when,
)
from gateway.engines.sql.times import day_number, is_in_calendar, microseconds
from gateway.plan.scalars import Ref, Scalar
from gateway.ranges.decimal_digits import Size, stored_size
from gateway.ranges.lattice import Lattice
from gateway.sensitivity.measurement import Total

MOST_BEHIND: Final = 40
MOST_ELEMENTS: Final = 1_000


def clamp_column(  # noqa: PLR0911 - one answer for each kind of column
    dialect: Dialect, table: Table, column: Column, sql: Sql, *, proven: bool = False
) -> Sql:
    """`proven`: a constraint of the source keeps every value within the domain."""
    if table.is_key(column):
        return sql
    if column.membership is not None:
        return _is_member(dialect, sql, column.membership)
    domain, of = column.domain, column.type
    sql = own_number(dialect, column, sql)
    # the blanks at the end of a char(n) are no part of its value
    plain = cast(sql, TEXT) if of.family is Family.TEXT else sql
    if proven and not isinstance(domain, Anything):
        return plain
    match domain:
        case Values(values):
            among = [constant(dialect, one, of) for one in values]
            what = binary(plain) if of.family is Family.TEXT else plain
            return when(what.in_(among), _with_digits(dialect, plain, column, public=table.public))
        case _ if column.longest is not None:
            return _short(dialect, plain, column.longest, public=table.public)
        case Interval(low, high):
            shown = _few_digits(dialect, plain, of, public=table.public)
            ends = (constant(dialect, low, of), constant(dialect, high, of))
            held = [
                _with_digits(dialect, one, column, public=table.public) for one in (*ends, shown)
            ]
            made = _clamped(dialect, plain, ends, held, of)
            if (
                of.family is Family.EXACT
                and _read_size(dialect, column, public=table.public) is None
            ):
                # it has the digits that it is stored with, not those of the ends
                return type_coerce(
                    made, sql_type(dialect, of) if of.scale is not None else NullType()
                )
            return made
        case _:
            inside = _finite(dialect, plain, of)
            shown = _few_digits(dialect, plain, of, public=table.public)
            return shown if inside is None else when(inside, shown)


def own_number(dialect: Dialect, column: Column, sql: Sql) -> Sql:
    """A whole number of DuckDB that PostgreSQL has no type for, as one of the declared type.

    Beyond a bigint it is outside of the domain: the nearest end of an interval, else NULL.
    """
    if not column.stored_type:
        return sql
    domain = column.domain
    if column.stored_type in WIDE and isinstance(domain, Interval):
        low, high = (constant(dialect, one, column.type) for one in (domain.low, domain.high))
        sql = case((compare(sql, "<", low), low), (compare(sql, ">", high), high), else_=sql)
    return cast_or_null(sql, sql_type(dialect, column.type))


def _is_member(dialect: Dialect, array: Sql, membership: Membership) -> Sql:
    """Whether the array has the value: false also for NULL, and where an array is too long to be searched."""
    wanted = cast(literal(membership.value, Text()), TEXT)
    if dialect == "duckdb":
        size: Sql = func.len(array, type_=WHOLE)
        found: Sql = func.list_contains(array, wanted, type_=Boolean())
    else:
        size = func.cardinality(array, type_=WHOLE)
        # arrays have the collation of their column, which may call texts equal that are not
        found = binary(wanted).op("= ANY", return_type=Boolean())(Grouping(array))
    few = compare(size, "<=", integer(MOST_ELEMENTS))
    return case((few, func.coalesce(found, false())), else_=false())


def has_short_unit(dialect: Dialect, column: Column, unit: Sql) -> Sql | None:
    """Whether the unit of a row is no longer than what is read of it; None where it cannot be."""
    if column.longest is None:
        return None
    many: Sql = func.length(unit, type_=WHOLE)
    fits = compare(many, "<=", integer(column.longest))
    # counting bytes costs nothing, and there are no fewer of them than characters
    few = compare(length_in_bytes(dialect, unit), "<=", integer(column.longest))
    return case((few, true()), else_=fits)


def _short(dialect: Dialect, text: Sql, longest: int, *, public: bool) -> Sql:
    """The text as long as it may be. One of a public table may be a key: it is read as it is, or not at all."""
    few = compare(length_in_bytes(dialect, text), "<=", integer(longest))
    if not public:
        return case((few, text), else_=func.left(text, _count(longest), type_=TEXT))
    fits = compare(func.length(text, type_=WHOLE), "<=", integer(longest))
    return case((few, text), (fits, text), else_=null_of(TEXT))


def _with_digits(dialect: Dialect, value: Sql, column: Column, *, public: bool) -> Sql:
    """A decimal without a scale that is within its domain, on DuckDB, in the decimal that its domain says.

    INVARIANT: every use of the column sees this one value, and its type says the digits that arithmetic counts on.
    """
    size = _read_size(dialect, column, public=public)
    return value if size is None else try_cast(value, Numeric(sum(size), size[1]))


def _read_size(dialect: Dialect, column: Column, *, public: bool) -> Size | None:
    """The digits of such a column; None where it is read as it is stored. A column of a public table may be a key."""
    if dialect != "duckdb" or public or column.type.family is not Family.EXACT:
        return None
    return stored_size(column.domain) if column.type.scale is None else None


def _few_digits(dialect: Dialect, value: Sql, of: ColumnType, *, public: bool) -> Sql:
    """A decimal whose type says no scale, with at most so many digits behind the point; public ones may be keys."""
    if dialect == "duckdb" or of.family is not Family.EXACT or of.scale is not None:
        return value
    few = compare(func.coalesce(func.scale(value), _count(0)), "<=", _count(MOST_BEHIND))
    if public:
        return when(few, value)
    return case((few, value), else_=func.round(value, _count(MOST_BEHIND), type_=EXACT))


def _count(number: int) -> Sql:
    return cast(literal(number), Integer())


def finite_value(dialect: Dialect, sql: Sql, of: ColumnType) -> Sql:
    """The value, where it is one that the catalog has."""
    inside = _finite(dialect, sql, of)
    return sql if inside is None else when(inside, sql)


def _clamped(
    dialect: Dialect, sql: Sql, ends: tuple[Sql, Sql], held: Sequence[Sql], of: ColumnType
) -> Sql:
    """`held` are both ends and the value, as expressions see them."""
    low, high, shown = held
    whens = [(between(sql, *ends), shown)]
    inside = _finite(dialect, sql, of)
    if inside is not None:
        whens.append((~inside.self_group(), null()))
    whens += [(compare(sql, "<", ends[0]), low), (compare(sql, ">", ends[1]), high)]
    return case(*whens, else_=null())


def _finite(dialect: Dialect, sql: Sql, of: ColumnType) -> Sql | None:
    """Whether the value is one that the catalog has; None: every value is."""
    match of.family:
        case Family.FLOAT:
            # NaN is above all numbers in both databases
            return between(sql, double(-LARGEST), double(LARGEST))
        case Family.EXACT if dialect == "postgresql":
            ends = [cast(literal(one), EXACT) for one in ("-Infinity", "Infinity")]
            return compare(sql, ">", ends[0]) & compare(sql, "<", ends[1])
        case Family.DATE:
            return is_in_calendar(sql, zoned=None)
        case Family.TIMESTAMP:
            return is_in_calendar(sql, zoned=of.kind is Kind.TIMESTAMPTZ)
        case _:
            return None


_LARGEST_FACTOR: Final = 2**900
_SHORT: Final = 18
_COMFORTABLE: Final = 2**62


def lattice_integer(rendering: Rendering, total: Total) -> Sql:
    scalar, on = total.value, total.lattice
    value = rendering.sql(scalar)
    if isinstance(scalar, Ref) and scalar.type.family is Family.WHOLE and on.step == 1:
        # the fastest form in both databases, where nothing has to be computed
        low, high = integer(on.low), integer(on.high)
        return case((compare(value, "<", low), low), (compare(value, ">", high), high), else_=value)
    made = _clamped_lattice_integers(_nearest(rendering, scalar, on), on)
    # GREATEST passes NULL over, so NULL is kept apart; what is computed is named once
    return when(value.is_not(None), made)


def _clamped_lattice_integers(value: Sql, on: Lattice) -> Sql:
    held = func.greatest(value, integer(on.low), type_=WHOLE)
    return func.least(held, integer(on.high), type_=WHOLE)


def _nearest(rendering: Rendering, scalar: Scalar, on: Lattice) -> Sql:
    match scalar.type.family:
        case Family.WHOLE:
            return _of_whole(rendering, rendering.sql(scalar), on)
        case Family.DATE:
            return _of_whole(rendering, day_number(rendering, scalar), on)
        case Family.TIMESTAMP:
            return _of_whole(rendering, microseconds(rendering, scalar), on)
        case Family.EXACT:
            return _of_exact(rendering, scalar, on)
        case _:
            return _of_double(as_double(rendering, scalar), on)


def _of_whole(rendering: Rendering, value: Sql, on: Lattice) -> Sql:
    step = on.step
    number = cast(value, WHOLE)
    if step == 1:
        return number
    if step.denominator != 1:
        # a lattice finer than the numbers: rare, and exact where it can matter
        return _scaled(rendering, number, on)
    h = int(step)
    first, last = on.low * h, on.high * h
    if max(abs(first), abs(last)) + 2 * h >= _COMFORTABLE:
        return _of_double(cast(value, DOUBLE), on)
    held = func.least(func.greatest(number, integer(first)), integer(last), type_=WHOLE)
    away = infix(held, "-", integer(first - h // 2), WHOLE)
    divided = "//" if rendering.dialect == "duckdb" else "/"
    return infix(infix(away, divided, integer(h), WHOLE), "+", integer(on.low), WHOLE)


def _scaled(rendering: Rendering, number: Sql, on: Lattice) -> Sql:
    if rendering.dialect == "postgresql":
        return _of_decimal(cast(number, EXACT), on)
    return _of_double(cast(number, DOUBLE), on)


def _of_exact(rendering: Rendering, scalar: Scalar, on: Lattice) -> Sql:
    factor = 1 / on.step
    if rendering.dialect == "postgresql":
        value = cast(rendering.sql(scalar), EXACT)
        # what the type of a stored column bounds needs no cut before the cast
        bound = scalar.type.bound if isinstance(scalar, Ref) else None
        if bound is not None and factor.denominator == 1 and bound * factor < _COMFORTABLE:
            grown = value if factor == 1 else infix(value, "*", exact(factor), EXACT)
            return cast(grown, WHOLE)
        return _of_decimal(value, on)
    form = decimal_digits(rendering, scalar)
    if form is not None and form.type is not None and factor.denominator == 1:
        length = len(str(int(factor)))
        grown_form = Digits(form.before + length, form.behind)
        if grown_form.before + grown_form.behind <= _SHORT and grown_form.type is not None:
            short_value = as_number(rendering, scalar, form.type)
            grown = infix(short_value, "*", short_integer(int(factor), length), grown_form.type)
            return try_cast(grown, WHOLE)
    return _of_double(as_double(rendering, scalar), on)


def short_integer(value: int, length: int) -> Sql:
    """A whole number of few digits: DuckDB multiplies short decimals faster than long ones."""
    return cast(integer(value), Numeric(length, 0))


def _of_decimal(value: Sql, on: Lattice) -> Sql:
    """PostgreSQL's decimals, cut before they are divided and cast."""
    first, last = exact_endpoint(on.low * on.step), exact_endpoint(on.high * on.step)
    held = func.least(func.greatest(value, first), last, type_=EXACT)
    p, q = on.step.numerator, on.step.denominator
    grown = held if q == 1 else infix(held, "*", exact(q), EXACT)
    divided = grown if p == 1 else infix(grown, "/", exact(p), EXACT)
    # the cast rounds half away from zero, as `round` does, in less time
    return cast(divided, WHOLE)


def exact_endpoint(value: Fraction) -> Sql:
    """The end itself; one that is no decimal number as a quotient."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest == 1:
        return exact(value)
    return infix(exact(value.numerator), "/", exact(value.denominator), EXACT)


def _of_double(value: Sql, on: Lattice) -> Sql:
    """Cut, scaled, cast: in range at every step, and no quotient so small that PostgreSQL raises."""
    p, q = on.step.numerator, on.step.denominator
    first, last = double(on.low * on.step), double(on.high * on.step)
    if max(p, q) >= _LARGEST_FACTOR:
        # steps that a double cannot scale by: the ends are told apart, and what is between them
        ends = (
            (compare(value, "<=", first), integer(on.low)),
            (compare(value, ">=", last), integer(on.high)),
        )
        return case(*ends, else_=integer(0))
    held = func.least(func.greatest(value, first), last, type_=DOUBLE)
    grown = held if q == 1 else infix(held, "*", double(q), DOUBLE)
    if p != 1:
        grown = infix(infix(grown, "+", double(p), DOUBLE), "/", double(p), DOUBLE)
        grown = infix(grown, "-", double(1), DOUBLE)
    return cast(grown, WHOLE)
