"""Listed groups that WHERE excludes are not shown; all that PostgreSQL shows are."""

import psycopg
from endtoend.clinic_gateway import AskedGateway
from endtoend.plain_postgresql import plain_result
from endtoend.same_answer import differences, without_empty_groups
from laws import for_each

_HOUR = "extract(hour FROM admitted)"


@for_each(
    "key, table, where",
    [
        ("region", "patients", "region <> 'east'"),
        ("region", "patients", "region NOT IN ('east', 'west')"),
        ("region", "patients", "region LIKE '%th' OR region IS NULL"),
        ("region", "patients", "coalesce(region, 'west') = 'west'"),
        ("region", "patients", "region IS DISTINCT FROM 'north'"),
        ("upper(region)", "patients", "region <> 'east' AND income > 10"),
        ("birth_year / 10", "patients", "birth_year / 10 IN (195, 196) OR birth_year / 10 = 199"),
        ("birth_year / 10", "patients", "birth_year < 1955 OR birth_year > 1990"),
        ("birth_year", "patients", "birth_year BETWEEN 1950 AND 1990 AND birth_year <> 1970"),
        ("birth_year", "patients", "birth_year IN (1950, 1960, 1970) AND NOT birth_year = 1960"),
        ("b", "(SELECT birth_year AS b FROM patients WHERE birth_year % 2 = 0) t", "b > 1950"),
        (_HOUR, "visits", f"admitted IS NOT NULL AND {_HOUR} BETWEEN 8 AND 17"),
        (_HOUR, "visits", f"{_HOUR} BETWEEN 8 AND 17"),
        (_HOUR, "visits", f"NOT ({_HOUR} BETWEEN 8 AND 17)"),
        (f"CASE WHEN {_HOUR} < 8 THEN 'a' ELSE 'b' END", "visits", f"{_HOUR} >= 10"),
        ("extract(year FROM admitted)", "visits", "admitted > '2024-06-30 12:00' OR admitted < '2023-01-02'"),
        ("date_bin('30 days', admitted, '2020-01-01')", "visits",
            "date_bin('30 days', admitted, '2020-01-01') <> '2024-01-10' AND admitted > '2023-06-01'"),
    ],
)  # fmt: skip
def test_groups_are_those_that_where_leaves(
    gateway: AskedGateway, plain: psycopg.Connection, key: str, table: str, where: str
) -> None:
    """Every group of PostgreSQL comes back with its values; what is beside these passes WHERE and is empty."""
    sql = f"SELECT {key} AS k, COUNT(*) AS n FROM {table} WHERE {where} GROUP BY 1"
    expected = plain_result(plain, sql)
    answer = gateway.answer(sql, "listed")
    shown = without_empty_groups(answer, expected)
    assert differences(expected, shown, ordered=False) == []
    everything = gateway.answer(
        f"SELECT {key} AS k, COUNT(*) AS n FROM {table} GROUP BY 1", "listed"
    )
    assert {row[0] for row in answer.rows} <= {row[0] for row in everything.rows}


def test_excluded_groups_are_not_shown(gateway: AskedGateway) -> None:
    """Nothing is left of what WHERE excludes; without the condition all are there, with NULL."""
    sql = "SELECT region, COUNT(*) FROM patients {} GROUP BY 1 ORDER BY 1"
    kept = gateway.answer(sql.format("WHERE region <> 'east'"), "listed").rows
    assert [row[0] for row in kept] == ["north", "south", "west"]
    every = gateway.answer(sql.format(""), "listed").rows
    assert [row[0] for row in every] == ["east", "north", "south", "west", None]
    hours = gateway.answer(
        f"SELECT {_HOUR} AS h, COUNT(*) FROM visits WHERE {_HOUR} NOT IN (3, 4) GROUP BY 1",
        "listed",
    ).rows
    assert sorted(int(str(row[0])) for row in hours) == [0, 1, 2, *range(5, 24)]


@for_each(
    "sql, rows",
    [
        ("SELECT region, COUNT(*) FROM patients WHERE {} GROUP BY 1", []),
        ("SELECT region, smoker, AVG(income) FROM patients WHERE {} GROUP BY 1, 2", []),
        ("SELECT region, COUNT(DISTINCT birth_year), MEDIAN(income) FROM patients WHERE {} GROUP BY 1", []),
        ("SELECT region, COUNT(*) FROM patients WHERE {} GROUP BY ROLLUP (1) ORDER BY 1 DESC", [(None, "0")]),
        ("SELECT COUNT(*) FROM (SELECT region, COUNT(*) FROM patients WHERE {} GROUP BY 1) t", [("0",)]),
    ],
)  # fmt: skip
def test_no_group_is_shown_where_where_leaves_none(
    gateway: AskedGateway, sql: str, rows: list[tuple[object, ...]]
) -> None:
    """A condition that no value passes gives no group, as in PostgreSQL; a total has its row."""
    answer = gateway.answer(sql.format("region = 'north' AND region = 'east'"), "listed")
    assert [tuple(row) for row in answer.rows] == rows
