"""Columns that are read from JSON documents: the table of a scan with a column of the declared type for each.

Takes the table and its columns, gives a subquery in which the columns have values, as if the table had stored them.

A document is parsed once for a row, however often its columns are named: each step is a subquery of its own, which no
database opens. A document that is too long, or that is none, has no values. Of a key that stands in an object
twice, the last value counts, as PostgreSQL's `jsonb` has it. A number is read as a double, as JSON programs exchange it; a
text is read by the grammar of casts.

INVARIANT: nothing raises: a document is parsed only where it is valid, and a value is cast only where it fits. The bytes of a
document are counted before it is parsed, so the work of a row is bounded (docs/proofs/row_work.md).
INVARIANT: PostgreSQL's `json` and `jsonb` and DuckDB's `JSON` give the same values for the same documents.
"""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    Boolean,
    FromClause,
    Integer,
    Subquery,
    Text,
    case,
    cast,
    false,
    func,
    literal,
    literal_column,
    select,
    true,
    try_cast,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.sql.elements import Grouping

from gateway.catalog.json_values import JsonSource
from gateway.catalog.tables import Column
from gateway.catalog.types import ColumnType, Family
from gateway.engines.sql.casts import matches, narrow_float, read_decimal, read_text
from gateway.engines.sql.partial_select import Dialect, Sql
from gateway.engines.sql.pieces import (
    DOUBLE,
    EXACT,
    TEXT,
    between,
    binary,
    compare,
    double,
    exact,
    integer,
    length_in_bytes,
    null_of,
    sql_type,
    when,
)

COMPRESSED: Final = 4
"""A compressed document counts so many times its stored bytes; PostgreSQL's compression reaches 90."""
_NUMBER: Final = "^ *[-+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]{1,2})? *$"
_CODE_ZERO: Final = r"(^|[^\\])(\\\\)*\\u0000"
_LONGEST_WORD: Final = 1_000
"""Bytes of a text that is read as anything but a text."""
_PLACES: Final = 60
_WHOLE_DOUBLES: Final = 2**53
_PLAIN: Final = (1e-4, 1e15)
_TRUE: Final = ("t", "tr", "tru", "true", "y", "ye", "yes", "on", "1")
_FALSE: Final = ("f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0")
# the path to a whole document; what it leads to is a value of its own, which is not compressed
_NOWHERE: Final = cast(literal("{}", Text()), ARRAY(Text()))
_NUMERIC: Final = frozenset({Family.WHOLE, Family.EXACT, Family.FLOAT})
_NUMBERS: Final = ("BIGINT", "UBIGINT", "HUGEINT", "DOUBLE")


def with_json_values(
    dialect: Dialect, there: FromClause, columns: Iterable[Column], name: Callable[[], str]
) -> FromClause:
    """The table with the columns that are read from its documents; the table itself if there are none."""
    read = {one.name: (one, one.json) for one in columns if one.json is not None}
    if not read:
        return there
    documents = {one.document: one for _, one in read.values()}
    parsed = _parse_documents if dialect == "postgresql" else _check_documents
    kept = [one.name for one in there.c if one.name not in documents]
    source = _with(there, kept, parsed(there, documents.values()), name())
    values = {one: source.c[json.document] for one, (_, json) in read.items()}
    for place in range(max(len(json.keys) for _, json in read.values())):
        made = {
            one: _value(dialect, values[one], json.keys[place])
            if place < len(json.keys)
            else values[one]
            for one, (_, json) in read.items()
        }
        source = _with(source, kept, made, name())
        values = {one: source.c[one] for one in read}
    # names that no column of a policy has
    numbers = {one: str(place) for place, one in enumerate(read)}
    for make in (_number, _bounded):
        found = {
            numbers[one]: make(dialect, values[one], column.type)
            for one, (column, _) in read.items()
        }
        source = _with(source, [*kept, *read], found, name())
        values = {one: source.c[numbers[one]] for one in read}
    typed = {
        one: _typed(dialect, source.c[one], values[one], column.type)
        for one, (column, _) in read.items()
    }
    return _with(source, kept, typed, name())


def _with(there: FromClause, kept: Iterable[str], made: Mapping[str, Sql], name: str) -> Subquery:
    items: list[Any] = [there.c[one] for one in kept]
    items += [sql.label(one) for one, sql in made.items()]
    return select(*items).offset(literal_column("0")).subquery(name)


def _parse_documents(there: FromClause, documents: Iterable[JsonSource]) -> dict[str, Sql]:
    """PostgreSQL's documents as `jsonb`, where they are short and valid."""
    found: dict[str, Sql] = {}
    for one in documents:
        stored = there.c[one.document]
        size: Sql = func.pg_column_size(stored, type_=Integer())
        if one.is_binary:
            is_compressed = func.pg_column_compression(stored, type_=Text()).is_not(None)
            times = case((is_compressed, _count(COMPRESSED)), else_=_count(1))
            few = compare(Grouping(size) * times, "<=", _count(one.longest))
            whole = Grouping(stored).op("#>", return_type=JSONB())(Grouping(_NOWHERE))
            found[one.document] = case((few, whole), else_=null_of(JSONB()))
            continue
        text = cast(stored, TEXT)
        # what is stored is no longer than the text and its header, and its size costs nothing
        fits = compare(size, "<=", _count(one.longest + _HEADER))
        few = compare(length_in_bytes("postgresql", text), "<=", _count(one.longest))
        valid = func.pg_input_is_valid(text, literal("jsonb", Text()), type_=Boolean())
        found[one.document] = case(
            (fits, case((few, case((valid, cast(text, JSONB())), else_=None)), else_=None)),
            else_=null_of(JSONB()),
        )
    return found


_HEADER: Final = 8


def _check_documents(there: FromClause, documents: Iterable[JsonSource]) -> dict[str, Sql]:
    """DuckDB's documents as texts, where they are short, valid, and texts of PostgreSQL."""
    found: dict[str, Sql] = {}
    for one in documents:
        text = cast(there.c[one.document], TEXT)
        few = compare(length_in_bytes("duckdb", text), "<=", integer(one.longest))
        zero: Sql = func.contains(text, r"\u0000", type_=Boolean())
        broken = case((zero, matches("duckdb", text, _CODE_ZERO)), else_=false())
        valid = func.json_valid(text, type_=Boolean())
        whole = case((broken, false()), else_=valid)
        found[one.document] = case(
            (few, case((whole, text), else_=null_of(TEXT))), else_=null_of(TEXT)
        )
    return found


def _value(dialect: Dialect, document: Sql, key: str) -> Sql:
    """The value of a key of an object, the last one; NULL of anything else."""
    if dialect == "postgresql":
        return Grouping(document).op("->", return_type=JSONB())(cast(literal(key, Text()), TEXT))
    pointer = "/" + key.replace("~", "~0").replace("/", "~1")
    quoted = f'"{key}"'
    # a key that is written once, without an escape, is found by DuckDB's own way, which is fast
    without = func.replace(document, literal(quoted, Text()), "", type_=TEXT)
    less = length_in_bytes("duckdb", document) - length_in_bytes("duckdb", without)
    once = compare(less, "<=", integer(len(quoted.encode()))) & ~func.contains(
        document, "\\", type_=Boolean()
    )
    last = -func.list_position(
        func.list_reverse(func.json_keys(document)), literal(key, Text()), type_=Integer()
    )
    every = func.json_extract(document, literal("$.*", Text()))
    found = case(
        (once, cast(func.json_extract(document, literal(pointer, Text())), TEXT)),
        else_=cast(func.list_extract(every, last), TEXT),
    )
    is_object = compare(func.json_type(document, type_=TEXT), "=", literal("OBJECT", Text()))
    return case((is_object, found), else_=null_of(TEXT))


def _number(dialect: Dialect, value: Sql, to: ColumnType) -> Sql:
    """A number of JSON, or a text that a column of numbers reads as one: a decimal in PostgreSQL, a double in DuckDB."""
    kind = EXACT if dialect == "postgresql" else DOUBLE
    words = ("number",) if dialect == "postgresql" else _NUMBERS
    shown = value if dialect == "postgresql" else _shown(dialect, value)
    made = cast(shown, kind) if dialect == "postgresql" else try_cast(shown, kind)
    whens = [(_is(dialect, value, words), made)]
    if to.family in _NUMERIC:
        short = _word(dialect, value)
        bare = short if dialect == "postgresql" else func.trim(short, type_=TEXT)
        said = cast(bare, kind) if dialect == "postgresql" else try_cast(bare, kind)
        whens.append((matches(dialect, short, _NUMBER), said))
    return case(*whens, else_=null_of(kind))


def _bounded(dialect: Dialect, number: Sql, _: ColumnType) -> Sql:
    """A double: NULL beyond 1e36, zero below 1e-30, without the sign of a zero.

    PostgreSQL raises for a decimal that is too large for a double, or that vanishes as one.
    """
    least, most = Fraction(1, 10**30), Fraction(10**36)
    if dialect == "duckdb":
        small, ends = (double(-least), double(least)), (double(-most), double(most))
        made = number
    else:
        small, ends = (exact(-least), exact(least)), (exact(-most), exact(most))
        made = cast(func.round(number, _count(_PLACES), type_=EXACT), DOUBLE)
    return case(
        (between(number, *small), double(0.0)),
        (between(number, *ends), made),
        else_=null_of(DOUBLE),
    )


def _typed(dialect: Dialect, value: Sql, number: Sql, to: ColumnType) -> Sql:
    """The value as one of the declared type, else NULL; objects and arrays have none."""
    match to.family:
        case Family.TEXT:
            return _as_text(dialect, value, number)
        case Family.BOOLEAN:
            word = _short(dialect, _as_text(dialect, value, number))
            trim = func.trim if dialect == "duckdb" else func.btrim
            said = func.lower(binary(trim(word, " ", type_=TEXT)), type_=TEXT)
            return case((_among(said, _TRUE), true()), (_among(said, _FALSE), false()), else_=None)
        case Family.WHOLE:
            most = min(int(to.bound or _WHOLE_DOUBLES), _WHOLE_DOUBLES)
            whole = compare(number, "=", func.floor(number, type_=DOUBLE))
            fits = whole & between(number, double(-most), double(most - 1))
            return when(fits, cast(number, sql_type(dialect, to)))
        case Family.EXACT:
            return read_decimal(dialect, number, to, _digits(dialect, number))
        case Family.FLOAT:
            return narrow_float(number, to)
        case _:
            return read_text(dialect, _word(dialect, value), to)


def _word(dialect: Dialect, value: Sql) -> Sql:
    """A short text; NULL of any other value."""
    words = {"postgresql": ("string",), "duckdb": ("VARCHAR",)}
    text = when(_is(dialect, value, words[dialect]), _shown(dialect, value))
    return binary(_short(dialect, text))


def _short(dialect: Dialect, text: Sql) -> Sql:
    few = compare(length_in_bytes(dialect, text), "<=", _count(_LONGEST_WORD))
    return case((few, text), else_=null_of(TEXT))


def _is(dialect: Dialect, value: Sql, kinds: tuple[str, ...]) -> Sql:
    named = func.jsonb_typeof if dialect == "postgresql" else func.json_type
    return _among(named(value, type_=TEXT), kinds)


def _among(text: Sql, words: Iterable[str]) -> Sql:
    """Each word is a parameter by itself: a list of them would be opened when the statement is compiled, with all others."""
    return text.in_([literal(one, Text()) for one in words])


def _shown(dialect: Dialect, value: Sql) -> Sql:
    if dialect == "duckdb":
        return func.json_extract_string(value, literal("$", Text()), type_=TEXT)
    return Grouping(value).op("#>>", return_type=TEXT)(Grouping(_NOWHERE))


def _as_text(dialect: Dialect, value: Sql, number: Sql) -> Sql:
    """A text, `true` or `false`, or a number from 1e-4 to 1e15 with 15 digits."""
    words = {"postgresql": ("string", "boolean"), "duckdb": ("VARCHAR", "BOOLEAN")}
    size = func.abs(number, type_=DOUBLE)
    low, high = map(double, _PLAIN)
    is_plain = compare(number, "=", double(0.0)) | (
        compare(size, ">=", low) & compare(size, "<", high)
    )
    return case(
        (_is(dialect, value, words[dialect]), _shown(dialect, value)),
        (is_plain, _digits(dialect, number)),
        else_=null_of(TEXT),
    )


def _digits(dialect: Dialect, number: Sql) -> Sql:
    """15 digits of a double: no setting of a connection changes them."""
    if dialect == "duckdb":
        return func.format(literal("{:.15g}", Text()), number, type_=TEXT)
    return cast(cast(number, EXACT), TEXT)


def _count(number: int) -> Sql:
    return cast(literal(number), Integer())
