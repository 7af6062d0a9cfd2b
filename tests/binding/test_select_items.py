"""Items of a SELECT list, found in the text and replaced by NULL."""

import pytest

from gateway.binding.select_items import MOST_WORK, SelectList
from gateway.binding.text.lexer import lexemes

_TWO = {
    "functions with commas": "SELECT f(a, b), g(c) FROM t",
    "an array with commas": "SELECT ARRAY[a, b], g(c) FROM t",
    "a string with a comma": "SELECT 'a, FROM b' || x, g(c) FROM t",
    "a comment with a comma": "SELECT a /* , from */, g(c) -- , x\n FROM t",
    "dollar quotes": "SELECT $q$, FROM$q$ || x, g(c) FROM t",
    "a quoted name": 'SELECT "a, from", g(c) FROM t',
    "IS DISTINCT FROM": "SELECT a IS DISTINCT FROM b, g(c) FROM t",
    "WITHIN GROUP": "SELECT p(0.5) WITHIN GROUP (ORDER BY a, b), g(c) FROM t",
    "a name that is a keyword": "SELECT a AS from, t.order FROM t",
    "a subquery": "SELECT (SELECT a, b FROM u), g(c) FROM t",
    "a CTE": "WITH u AS (SELECT a, b, c FROM v) SELECT a, g(c) FROM u",
    "CASE": "SELECT CASE WHEN a THEN b ELSE c END, g(c) FROM t",
    "EXTRACT": "SELECT EXTRACT(year FROM a), g(c) FROM t",
    "a window": "SELECT sum(a) OVER (PARTITION BY b, c ORDER BY d), g(c) FROM t",
    "a trailing semicolon": "SELECT a, g(c) FROM t;",
    "no FROM": "SELECT f(a), g(c)",
}
_LISTED = ", ".join(["count(a)"] * 100)
_NONE = {
    "a union": "SELECT a FROM t UNION SELECT b FROM u",
    "DISTINCT": "SELECT DISTINCT a, b FROM t",
    "a star": "SELECT a, * FROM t",
    "a star of a table": "SELECT a, t.* FROM t",
    "brackets": "(SELECT a FROM t)",
    "VALUES": "VALUES (1, 2)",
    "INTO": "SELECT a INTO u FROM t",
    "no items": "SELECT FROM t",
    "too many": f"SELECT {', '.join(['count(a)'] * (MOST_WORK // 100))} FROM t",
    "a long WHERE": f"SELECT {_LISTED} FROM t WHERE {' AND '.join(['a > 1'] * 200)}",
    "long keys": f"SELECT {_LISTED} FROM t GROUP BY {', '.join(['a + 1'] * 200)}",
    "a long CTE": f"WITH u AS (SELECT {', '.join(['a'] * 400)} FROM v) SELECT {_LISTED} FROM t",
    "many items that stay": f"SELECT {_LISTED}, {', '.join(['1'] * 400)} FROM t",
    "a number far behind": f"SELECT {', '.join(['f(a)'] * 300)} FROM t ORDER BY 300",
}


@pytest.mark.parametrize("text", _TWO.values(), ids=_TWO)
def test_items_are_found_where_postgresql_has_them(text: str) -> None:
    """Two items, and the text has both replaced and all of the rest."""
    found = SelectList.read(text)
    assert found is not None
    one, other = found.items
    made = found.with_nulls({0: ("x", "text"), 1: ('y"z', "numeric")})
    first, second = 'CAST(NULL AS text) AS "x"', 'CAST(NULL AS numeric) AS "y""z"'
    between, rest = text[one.end : other.start], text[other.end :]
    assert made == f"{text[: one.start]}{first}{between}{second}{rest}"
    assert between.replace(" /* , from */", "") == ", "
    assert rest.replace(" -- , x\n", "").strip(";") in {"", " FROM t", " FROM u"}


@pytest.mark.parametrize("text", _NONE.values(), ids=_NONE)
def test_list_is_not_touched_where_an_item_cannot_be_left_out(text: str) -> None:
    """Where rows are compared, the number of items is open, or the query is another one."""
    assert SelectList.read(text) is None


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT {', '.join(['count(a)'] * 400)} FROM t",
        f"SELECT {_LISTED} FROM t WHERE a > 1 AND b = 2 GROUP BY c",
        f"SELECT f(a), count(b) FROM t WHERE {' AND '.join(['a > 1'] * 200)}",
    ],
)
def test_wide_lists_and_long_clauses_are_read_where_their_product_is_small(text: str) -> None:
    """One of the two may be long: the controls of what is too much."""
    found = SelectList.read(text)
    assert found is not None
    assert found.work <= MOST_WORK


@pytest.mark.parametrize("tail", ["", " WHERE a > 1 AND b = 2", " GROUP BY c ORDER BY 2"])
def test_work_is_at_least_the_pieces_of_the_texts_that_are_bound(tail: str) -> None:
    """It is counted without making them."""
    found = SelectList.read(f"WITH t AS (SELECT 1) SELECT c, f(a, b), 1, count(*) FROM t{tail}")
    assert found is not None
    texts = [found.alone(place)[0] for place in found.replaceable]
    assert found.work >= sum(len(lexemes(one)) for one in texts)


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("SELECT a, sum(b), 1, 'x' AS y, null FROM t", {2, 3, 4}),
        ("SELECT a, sum(b) FROM t GROUP BY a", {0}),
        ("SELECT f(a), sum(b) FROM t GROUP BY 1", {0}),
        ("SELECT a, sum(b) FROM t GROUP BY a ORDER BY sum(b)", {0, 1}),
        ("SELECT a, sum(b) AS s FROM t GROUP BY a ORDER BY s DESC LIMIT 2", {0, 1}),
        ("SELECT a + $1, sum(b) FROM t", {0}),
        ("SELECT unnest(a), generate_series (1, 2), sum(b) FROM t", {0, 1}),
        ("SELECT a, sum(b) FROM t WHERE a > 1", set()),
    ],
)
def test_items_that_other_clauses_need_are_fixed(text: str, fixed: set[int]) -> None:
    """Keys, what rows are ordered by, parameters, several rows, and literals stay what they are."""
    found = SelectList.read(text)
    assert found is not None
    assert found.fixed == fixed


@pytest.mark.parametrize(
    ("text", "nulled", "keeps"),
    [
        ("SELECT count(*), array_agg(a) FROM t", {1}, True),
        ("SELECT count(*), array_agg(a) FROM t", {0, 1}, False),
        ("SELECT 1, array_agg(a) FROM t", {1}, False),
        ("SELECT (SELECT count(*) FROM u), array_agg(a) FROM t", {1}, False),
        ("SELECT sum(n) OVER (), array_agg(a) FROM t", {1}, False),
        ("SELECT a, array_agg(b) FROM t GROUP BY a", {1}, False),
        ("SELECT a, f(a), array_agg(b) FROM t GROUP BY a", {2}, True),
        ("SELECT a, count(*), array_agg(b) FROM t GROUP BY a ORDER BY count(*)", {2}, True),
    ],
)
def test_rest_keeps_its_rows_where_an_aggregate_or_a_key_makes_them(
    text: str, *, nulled: set[int], keeps: bool
) -> None:
    """Without an aggregate a SELECT that had one row would have one for each row of the table."""
    found = SelectList.read(text)
    assert found is not None
    assert found.keeps_rows(nulled) is keeps
