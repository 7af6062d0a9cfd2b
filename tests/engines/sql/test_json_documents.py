"""Columns of JSON documents: the same values from PostgreSQL's json and jsonb and from DuckDB's JSON, and no error."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count
from typing import Any, Final
from uuid import UUID

import pytest
from engines.extremes import Databases
from laws import for_each
from sqlalchemy import column, select, table, text

from gateway.catalog.json_values import JsonSource
from gateway.catalog.tables import Column
from gateway.catalog.types import parse_type
from gateway.engines.sql.json_documents import with_json_values
from gateway.engines.sql.partial_select import Dialect

STORED: Final = ("json", "jsonb", "duckdb")
_LONGEST: Final = 2_000


@pytest.fixture(scope="module")
def places(filled: Databases) -> Iterator[Databases]:
    filled.postgresql.execute(
        text("CREATE TEMPORARY TABLE documents (place integer, json json, jsonb jsonb)")
    )
    filled.duckdb.execute(text("CREATE OR REPLACE TABLE documents (place integer, duckdb JSON)"))
    filled.postgresql.commit()
    filled.duckdb.commit()
    yield filled
    filled.postgresql.rollback()
    filled.postgresql.execute(text("DROP TABLE documents"))
    filled.postgresql.commit()


def read(
    databases: Databases,
    documents: Sequence[str],
    to: str,
    keys: tuple[str, ...] = ("k",),
    longest: int = _LONGEST,
) -> dict[str, list[Any]]:
    """The values of the key in each document, from each storage."""
    return {
        one: read_from(databases, one, documents, to, keys=keys, longest=longest) for one in STORED
    }


def read_from(
    databases: Databases,
    storage: str,
    documents: Sequence[str],
    to: str,
    *,
    keys: tuple[str, ...] = ("k",),
    longest: int = _LONGEST,
) -> list[Any]:
    """The values of the key in each document, as one storage has them."""
    dialect: Dialect = "duckdb" if storage == "duckdb" else "postgresql"
    connection = databases.of(dialect)
    connection.rollback()
    put = f"INSERT INTO documents (place, {storage}) VALUES (:place, CAST(:d AS {_TYPES[storage]}))"
    for place, document in enumerate(documents):
        connection.execute(text(put), {"place": place, "d": document})
    source = JsonSource(storage, keys, longest, storage == "jsonb")
    columns = [Column("place", parse_type("integer")), Column("v", parse_type(to), json=source)]
    there = table("documents", column("place"), column(storage)).alias("t")
    made = with_json_values(dialect, there, columns, _names())
    found = list(connection.execute(select(made.c.v).order_by(made.c.place)).scalars())
    connection.rollback()
    return found


def _names() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"t{next(numbers)}"


_TYPES: Final = {"json": "json", "jsonb": "jsonb", "duckdb": "JSON"}

CASES: Final[Sequence[tuple[str, Sequence[tuple[str, object]]]]] = (
    (
        "integer",
        (
            ("12", 12),
            ("-3", -3),
            ("12.0", 12),
            ("1.2e1", 12),
            ("12.5", None),
            ('"12"', 12),
            ('" 12 "', 12),
            ('"+7"', 7),
            ('"0x10"', None),
            ('"1_000"', None),
            ('""', None),
            ('"twelve"', None),
            ('"NaN"', None),
            ('"Infinity"', None),
            ("2147483647", 2147483647),
            ("2147483648", None),
            ("1e400", None),
            ("-1e400", None),
            ("1e-400", 0),
            ('"1e400"', None),
            ("123456789012345678901234567890", None),
            ("true", None),
            ("null", None),
            ("[12]", None),
            ('{"k": 12}', None),
            ("-0", 0),
        ),
    ),
    (
        "bigint",
        (
            ("9007199254740991", 9007199254740991),
            ("9007199254740992", None),
            ("-9007199254740992", -9007199254740992),
            ('"9223372036854775807"', None),
            ("1e15", 10**15),
        ),
    ),
    (
        "numeric(8,2)",
        (
            ("12.345", Decimal("12.35")),
            ("-12.345", Decimal("-12.35")),
            ("0.285", Decimal("0.29")),
            ('"1e2"', Decimal(100)),
            ("1e2", Decimal(100)),
            ("999999.99", Decimal("999999.99")),
            ("1000000", None),
            ("1e400", None),
            ("1e-400", Decimal(0)),
            ("1e30", None),
            ("0." + "3" * 60, Decimal("0.33")),
            ("[]", None),
        ),
    ),
    (
        "double precision",
        (
            ("0.1", 0.1),
            ("12", 12.0),
            ("1e300", None),
            ("1e35", 1e35),
            ("1e-29", 1e-29),
            ("1e-31", 0.0),
            ("-0.0", 0.0),
            ('"0.1"', 0.1),
            ('".5"', 0.5),
            ('"5."', 5.0),
            ('"1e99"', None),
            ('"1e-99"', 0.0),
            ('"' + "9" * 999 + '"', None),
            ('"0.' + "0" * 996 + '1"', 0.0),
            ('"0.' + "0" * 999 + '1"', None),
            ("12345678901234567890123", 1.2345678901234568e22),
            ("false", None),
        ),
    ),
    (
        "boolean",
        (
            ("true", True),
            ("false", False),
            ("null", None),
            ('"true"', True),
            ('" YES "', True),
            ('"off"', False),
            ('"o"', None),
            ("1", True),
            ("1.0", True),
            ("1e0", True),
            ("0", False),
            ("-0.0", False),
            ("2", None),
            ('""', None),
            ("[true]", None),
        ),
    ),
    (
        "text",
        (
            ('"x"', "x"),
            ('""', ""),
            ('" a "', " a "),
            ('"a\\"b\\n"', 'a"b\n'),
            ('"\\u00e9\\ud83d\\ude00"', "é😀"),
            ('"\\\\u0000"', "\\u0000"),
            ("12", "12"),
            ("12.50", "12.5"),
            ("1e2", "100"),
            ("100.00", "100"),
            ("-0.0", "0"),
            ("0.0001", "0.0001"),
            ("0.00001", None),
            ("999999999999999", "999999999999999"),
            ("1e15", None),
            ("1e400", None),
            ("true", "true"),
            ("null", None),
            ('"null"', "null"),
            ("[1]", None),
            ("{}", None),
        ),
    ),
    (
        "date",
        (
            ('"2024-02-29"', date(2024, 2, 29)),
            ('"2023-02-29"', None),
            ('" 2024-01-31 "', date(2024, 1, 31)),
            ('"31.01.2024"', None),
            ('"0000-01-01"', None),
            ('"infinity"', None),
            ('"2024-01-31T12:00:00"', None),
            ("20240131", None),
        ),
    ),
    (
        "timestamp",
        (
            ('"2024-01-31T12:34:56.789"', datetime(2024, 1, 31, 12, 34, 56, 789000)),  # noqa: DTZ001
            ('"2024-01-31 12:34"', datetime(2024, 1, 31, 12, 34)),  # noqa: DTZ001
            ('"2024-01-31T24:00:00"', None),
            ('"2024-01-31T12:00:60"', None),
            ('"2024-02-30T12:00:00"', None),
            ('"2024-01-31T12:00:00Z"', None),
            ('"2024-01-31T12:00:00.1234567"', None),
            ('"now"', None),
        ),
    ),
    (
        "timestamptz",
        (
            ('"2024-01-31T12:34:56Z"', datetime(2024, 1, 31, 12, 34, 56, tzinfo=UTC)),
            ('"2024-01-31T12:34:56+02:00"', datetime(2024, 1, 31, 10, 34, 56, tzinfo=UTC)),
            ('"2024-01-31T12:34:56-0200"', None),
            ('"2024-01-31T12:34:56"', None),
            ('"2024-01-31T12:34:56+99:00"', None),
        ),
    ),
    (
        "uuid",
        (
            (
                '"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"',
                UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
            ),
            ('"a0eebc999c0b4ef8bb6d6bb9bd380a11"', None),
            ('"{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}"', None),
        ),
    ),
)


@for_each("case", CASES, ids=lambda case: case[0])
def test_value_of_a_key_is_the_same_in_every_storage(
    places: Databases, case: tuple[str, Sequence[tuple[str, object]]]
) -> None:
    """A bad cast, a nested value and JSON's null are NULL, and no value raises."""
    to, values = case
    wanted = [one for _, one in values]
    documents = [f'{{"other": 1, "k": {value}}}' for value, _ in values]
    for storage, found in read(places, documents, to).items():
        told = list(zip(documents, map(_plain, found), strict=True))
        assert told == list(zip(documents, wanted, strict=True)), storage


def _plain(value: Any) -> Any:  # noqa: ANN401
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value


def test_document_that_is_no_object_has_no_values(places: Databases) -> None:
    """Arrays, texts, numbers and null; a key that is absent; and of a key that is there twice the last."""
    documents = [
        *('[{"k": 1}]', '"k"', "1", "null", "{}", '{"K": 1}', '{"k ": 1}', '[["k", 1]]'),
        '{"k": 1, "k": 2}',
        '{"k": 1, "a": "k", "k": 3}',
        '{"k": 1, "\\u006b": 4}',
        '{"k": 5, "a": {"k": 6}}',
        '{"a": {"k": 6}}',
        '{"a": "\\"k\\"", "k": 7}',
    ]
    wanted = [None] * 8 + [2, 3, 4, 5, None, 7]
    assert list(read(places, documents, "integer").values()) == [wanted] * 3


def test_keys_lead_into_objects_alone(places: Databases) -> None:
    """A path of keys; a number is a key of an object and no place in an array."""
    documents = [
        '{"a": {"b": {"k": 1}}}',
        '{"a": [{"b": 2}]}',
        '{"a": {"b": {"k": 1}, "b": {"k": 9}}}',
        '{"a": null}',
    ]
    assert (
        list(read(places, documents, "integer", ("a", "b", "k")).values())
        == [[1, None, 9, None]] * 3
    )
    documents = ['{"0": 1}', "[2]", '{"0": {"0": 3}}']
    assert list(read(places, documents, "integer", ("0",)).values()) == [[1, None, None]] * 3
    for key in (
        "a.b",
        "$",
        "$.a",
        "/a",
        "a/b~c",
        'q"uo',
        "it's",
        "*",
        "#",
        "[0]",
        "é%s",
        "back\\slash",
        ":x",
    ):
        found = read(places, [json.dumps({key: 5, "a": {"b": 6}})], "integer", (key,))
        assert list(found.values()) == [[5]] * 3, key


def test_document_is_read_up_to_its_length(places: Databases) -> None:
    """The bytes are counted, not the characters; a longer document has no values."""
    fits = '{"k": "' + "é" * 45 + '"}'
    assert len(fits.encode()) == 99
    found = read(places, [fits, '{"k":  "' + "é" * 46 + '"}'], "text", longest=100)
    assert found["json"] == found["duckdb"] == ["é" * 45, None]
    long = [json.dumps({"k": 1, "x": "y" * size}) for size in (1_000, 5_000, 200_000)]
    found = read(places, long, "integer", longest=2_000)
    assert found["json"] == found["duckdb"] == [1, None, None]
    # jsonb is measured as it is stored, and four times where it is compressed
    assert found["jsonb"] == [1, 1, None]
    keys = [
        json.dumps({"k": 1, **{f"key{place}": place for place in range(size)}})
        for size in (10, 2_000)
    ]
    assert read(places, keys, "integer", longest=2_000)["jsonb"] == [1, None]


@pytest.mark.parametrize("storage", ["json", "duckdb"])
def test_document_that_is_no_jsonb_has_no_values(places: Databases, storage: str) -> None:
    """PostgreSQL's json keeps what it cannot convert: a sign of code zero, half a pair, a number beyond numeric."""
    documents = ['{"k": 1, "a": "\\u0000"}', '{"k": 1, "a": "\\\\u0000"}', '{"k": "x\\u0000y"}']
    if storage == "json":
        documents += ['{"k": 1, "a": "\\ud800"}', '{"k": 1, "a": 1e999999}']
    wanted = [None, 1, None, None, None][: len(documents)]
    assert read_from(places, storage, documents, "integer") == wanted


def test_table_without_documents_is_read_as_it_is(places: Databases) -> None:
    """No subquery stands around a table that has no such column, and several columns share one document."""
    there = table("documents", column("place"), column("jsonb")).alias("t")
    plain = [Column("place", parse_type("integer"))]
    assert with_json_values("postgresql", there, plain, lambda: "x") is there
    source = JsonSource("jsonb", ("a",), _LONGEST, is_binary=True)
    columns = [
        *plain,
        Column("a", parse_type("integer"), json=source),
        Column("b", parse_type("text"), json=replace(source, keys=("b", "c"))),
    ]
    put = text("INSERT INTO documents (place, jsonb) VALUES (1, CAST(:d AS jsonb))")
    places.postgresql.execute(put, {"d": '{"a": 3, "b": {"c": "d"}}'})
    made = with_json_values("postgresql", there, columns, _names())
    statement = select(made.c.place, made.c.a, made.c.b)
    assert places.postgresql.execute(statement).one() == (1, 3, "d")
    assert str(statement).count("pg_column_size") == 1
    places.postgresql.rollback()


def test_compressed_document_is_decompressed_once_for_all_columns(places: Databases) -> None:
    """The path to the whole makes a value that is not compressed; the stored one is, so the test can fail."""
    put = text(
        "INSERT INTO documents (place, jsonb) VALUES (1, jsonb_build_object('k', repeat('a', 200000)))"
    )
    places.postgresql.execute(put)
    asked = text(
        "SELECT pg_column_compression(stored), pg_column_compression(whole)"
        " FROM (SELECT jsonb AS stored, jsonb #> '{}' AS whole FROM documents OFFSET 0) t"
    )
    assert places.postgresql.execute(asked).one() == ("pglz", None)
    columns = [
        Column("k", parse_type("text"), json=JsonSource("jsonb", ("k",), _LONGEST, is_binary=True))
    ]
    there = table("documents", column("place"), column("jsonb"))
    made = with_json_values("postgresql", there, columns, _names())
    assert "#>" in str(select(made.c.k))
    places.postgresql.rollback()
