"""The work of running a finishing statement again, the aggregates its columns depend on, and whether it is deterministic."""

import pytest
from binding.clinic import CLINIC
from laws import for_each

from gateway.binding.bind import bind
from gateway.binding.bound import Cut, RerunSql, Sql
from gateway.binding.provenance.effort import is_deterministic

_N = "SELECT region, COUNT(*) AS n, SUM(income) AS s FROM patients GROUP BY region"
_VISITS = "SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis"


def _again(sql: str) -> RerunSql:
    bound = bind(sql, CLINIC)
    assert isinstance(bound, Cut)
    assert bound.again is not None
    return bound.again


@for_each(
    ("sql", "products"),
    [
        (_N, ["a"]),
        (f"SELECT MAX(n) FROM ({_N}) t", ["a", "a"]),
        (f"SELECT t.n FROM ({_N}) t JOIN regions r USING (region)", ["a", "a", "b", "a", "b"]),
        (f"SELECT t.n FROM ({_N}) t, regions r", ["a", "ab", "ab"]),
        (f"SELECT t.n FROM ({_N}) t JOIN regions r ON r.population > t.n", ["a", "ab", "ab"]),
        (f"SELECT n, (SELECT MAX(u.n) FROM ({_N}) u) FROM ({_N}) t", ["a", "a", "a", "a"]),
        (f"SELECT n, (SELECT COUNT(*) FROM ({_N}) u WHERE u.n < t.n) FROM ({_N}) t", ["a", "a", "aa", "aa"]),
        (f"SELECT n, x FROM ({_N}) t CROSS JOIN (SELECT SUM(n) AS x FROM ({_N}) u) v", ["a", "a", "a", "a", "a"]),
        ("SELECT (SELECT COUNT(*) FROM patients) + (SELECT COUNT(*) FROM visits)", ["", "a", "b"]),
        (f"SELECT n FROM ({_N}) t UNION ALL SELECT 1", ["", "a", "a", "a", ""]),
    ],
)  # fmt: skip
def test_effort_is_a_sum_of_products_of_rows(sql: str, products: list[str]) -> None:
    """Joins by an equality are their rows added, others and what is computed for each row their product."""
    effort = _again(sql).effort
    assert effort is not None
    names = {
        name: "ab"[at]
        for at, name in enumerate(sorted({n for one in effort for n in one}, reverse=True))
    }
    assert sorted("".join(sorted(names[name] for name in one)) for one in effort) == sorted(
        products
    )


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT n * random() FROM ({_N}) t",
        f"SELECT n FROM ({_N}) t, generate_series(1, 100000) g",
        f"SELECT repeat('x', n::integer) FROM ({_N}) t",
        f"WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a WHERE n < 9) SELECT a.n, t.n FROM a, ({_N}) t",
        f"SELECT extract(epoch FROM clock_timestamp()) + n FROM ({_N}) t",
        "WITH " + ", ".join(["a0 AS (" + _N + ")", *(f"a{i} AS (SELECT x.* FROM a{i - 1} x, a{i - 1} y)" for i in range(1, 12))])
        + " SELECT n FROM a11",
    ],
)  # fmt: skip
def test_effort_is_not_told_where_it_may_be_anything(sql: str) -> None:
    """Functions that give another value each time, or make rows, and queries that multiply without end."""
    assert _again(sql).effort is None


@for_each(
    ("sql", "reads", "steering"),
    [
        (f"SELECT region, n, s / n, SUM(n) OVER (ORDER BY region) FROM ({_N}) t", ["", "0", "01", "0"], ""),
        (f"SELECT COUNT(*) FROM ({_N}) t WHERE n > 5", ["0"], "0"),
        (f"SELECT region, COUNT(*) OVER () FROM ({_N}) t WHERE s > 5", ["", "1"], "1"),
        (f"SELECT region FROM ({_N}) t ORDER BY n LIMIT 2", [""], "0"),
        (f"SELECT region, s FROM ({_N}) t ORDER BY 2 LIMIT 2", ["", "1"], "1"),
        (f"SELECT region FROM ({_N}) t ORDER BY n", [""], ""),
        (f"SELECT n / 100, COUNT(*) FROM ({_N}) t GROUP BY 1", ["0", "0"], "0"),
        (f"SELECT DISTINCT s FROM ({_N}) t", ["1"], "1"),
        (f"SELECT n FROM ({_N}) t UNION SELECT 5", ["0"], "0"),
        (f"SELECT t.region FROM ({_N}) t JOIN regions r ON r.population = t.n", [""], "0"),
        (f"SELECT l.x FROM ({_N}) t, LATERAL (SELECT t.n + 1 AS x) l", ["01"], ""),
        (f"SELECT DP_INTERVAL_LOW(n) AS lo FROM ({_N}) t", ["-"], ""),
    ],
)  # fmt: skip
def test_columns_read_the_aggregates_that_are_in_them(
    sql: str, reads: list[str], steering: str
) -> None:
    """And a count of rows those that decide which rows there are; ends of intervals are no aggregates."""
    again = _again(sql)

    def told(found: frozenset[tuple[str, int | None]]) -> str:
        return "".join(sorted("-" if place is None else str(place) for _, place in found))

    assert [told(one) for one in again.reads] == reads
    assert told(again.steering) == steering


STEADY = [
    "SELECT AVG(m1) AS value FROM _r1",
    "SELECT k1 FROM _r1 WHERE m1 > 100 ORDER BY m1 DESC LIMIT 3",
    "SELECT EXISTS (SELECT 1 FROM _r1 WHERE m1 > 5) AS value",
    "SELECT CAST(round(m1 / 2.0, 1) AS numeric) AS value FROM _r1",
    "SELECT lower(k1), date_trunc('month', CAST('2024-03-05' AS date)) FROM _r1",
]
UNSTEADY = [
    "SELECT random() AS value",
    "SELECT m1 * random() AS value FROM _r1",
    "SELECT current_date AS value",
    "SELECT CURRENT_TIMESTAMP AS value FROM _r1",
    "SELECT localtime AS value",
    "SELECT now() AS value",
    "SELECT clock_timestamp() AS value",
    "SELECT gen_random_uuid() AS value",
    "SELECT current_user AS value",
    "SELECT nextval('s') AS value",
    "SELECT a_function_that_nobody_knows(m1) FROM _r1",
]


@pytest.mark.parametrize("text", STEADY)
def test_sql_is_steady_when_its_functions_are_known(text: str) -> None:
    """What is computed from constants alone has a name by which it is found again."""
    assert is_deterministic(Sql("", text))


@for_each("text", UNSTEADY)
def test_sql_is_not_steady_when_it_may_give_something_else_next_time(text: str) -> None:
    """Chance, clocks, who asks, and what is not on the list, in the body or in a CTE before it."""
    assert not is_deterministic(Sql("", text))
    assert not is_deterministic(Sql(f"q AS ({text})", "SELECT 1 AS value FROM q"))
