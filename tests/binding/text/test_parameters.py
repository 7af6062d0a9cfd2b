"""PREPARE and EXECUTE are split as PostgreSQL's own scanner reads them."""

import pytest
from laws import for_each

from gateway.binding.text.classify import classify, split_statements
from gateway.binding.text.parameters import Execute, Prepare, parse_prepared
from gateway.errors import SyntaxRefused


@pytest.mark.parametrize(
    ("head", "query"),
    [
        ("PREPARE q AS ", "SELECT 1"),
        ("prepare q as\n", "with a as (select 1) table a"),
        ('PREPARE "A b" (int, numeric(10, 2), text[]) AS ', "(VALUES ($1, $2, $3))"),
        ("/* a ; */ PREPARE q (text) AS -- b ;\n", "SELECT ';', $1"),
        ("PREPARE prepare AS ", "TABLE patients"),
    ],
)
def test_a_prepare_is_a_head_and_a_query(head: str, query: str) -> None:
    """Both are kept as they were written."""
    assert parse_prepared(head + query) == Prepare(head, query)


@pytest.mark.parametrize(
    ("sql", "name", "arguments", "count"),
    [
        ("EXECUTE q", "q", "", 0),
        ("execute Q", "q", "", 0),
        ('EXECUTE "Q" ( 1 )', "Q", "( 1 )", 1),
        (
            "EXECUTE q(1, 'a, b', ARRAY[1, 2], (3), f(4, 5))",
            "q",
            "(1, 'a, b', ARRAY[1, 2], (3), f(4, 5))",
            5,
        ),
        ("EXECUTE q()", "q", "()", 0),
        ("/* a */ EXECUTE q($a$),($a$)", "q", "($a$),($a$)", 1),
    ],
)
def test_an_execute_has_a_name_and_arguments(
    sql: str, name: str, arguments: str, count: int
) -> None:
    """Only commas between arguments count."""
    assert parse_prepared(sql) == Execute(name, arguments, count)


@for_each(
    "sql",
    [
        "SELECT 1",
        "PREPARE",
        "PREPARE q",
        "PREPARE q AS",
        "PREPARE q AS DELETE FROM patients",
        'PREPARE q AS "select" 1',
        'PREPARE q "as" SELECT 1',
        "PREPARE q (int AS SELECT 1",
        "PREPARE TRANSACTION 'x'",
        "EXECUTE",
        "EXECUTE 'q'",
        "EXECUTE q(1) AND MORE",
        "EXECUTE q(1) (2)",
        "EXECUTE q (1",
        'EXECUTE "q" USING 1',
        '"EXECUTE" q',
    ],
)
def test_another_form_is_neither(sql: str) -> None:
    """It goes the way of all statements, where it is refused."""
    assert parse_prepared(sql) is None


@pytest.mark.parametrize("sql", ["PREPARE q AS SELECT 1; SELECT 2", "EXECUTE q(1); SELECT 2"])
def test_several_statements_are_not_one(sql: str) -> None:
    """A sign that ends a statement for PostgreSQL ends it here."""
    with pytest.raises(SyntaxRefused):
        parse_prepared(sql)


def test_texts_with_commands_and_parameters_are_split() -> None:
    """A parameter in a command is one, and in a string it is none."""
    texts = ["PREPARE q AS SELECT ';', $1 ", " EXECUTE q('$1;')", " EXPLAIN SELECT $1"]
    assert split_statements(";".join(texts)) == texts
    assert classify("DECLARE c CURSOR FOR SELECT $1").query == "SELECT $1"
