"""What is asked, and what a careful person would write by hand instead: bounded in SQL, without noise."""

from typing import Final

from answers_data import MOST_COST, MOST_GROUPS, MOST_INCOME, MOST_ROWS

SHAPES: Final = ("count", "10 groups x 3", "2,000 groups x 3", "count distinct person")
TABLES: Final = ("patients", "visits")
# the rest of the repertoire, beside raw SQL alone
REPERTOIRE: Final = {
    "median, 10 groups": (
        "SELECT g10, percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM patients GROUP BY g10"
    ),
    "variance, 10 groups": "SELECT g10, VAR_SAMP(x) FROM patients GROUP BY g10",
    "correlation, 10 groups": "SELECT g10, CORR(x, g2000) FROM patients GROUP BY g10",
    "ROLLUP of 10 groups x 2": "SELECT g10, COUNT(*), SUM(x) FROM patients GROUP BY ROLLUP (g10)",
}
_KEYS: Final = {"10 groups x 3": "g10", "2,000 groups x 3": "g2000"}
_UNIT_WEIGHT: Final = 2**16
_HASHES: Final = {"duckdb": "hash({})", "postgresql": "hashint4({})"}


def asked(table: str, shape: str) -> str:
    key = _KEYS.get(shape)
    if key is not None:
        return f"SELECT {key}, COUNT(*), SUM(x), AVG(x) FROM {table} GROUP BY {key}"
    return f"SELECT {'COUNT(*)' if shape == 'count' else 'COUNT(DISTINCT patient_id)'} FROM {table}"


def by_hand(dialect: str, table: str, shape: str) -> tuple[str, ...]:
    """The ways to write it that are worth trying; the fastest on the day is the one to compare with."""
    key = _KEYS.get(shape)
    most = MOST_INCOME if table == "patients" else MOST_COST
    value = f"CASE WHEN x < 0 THEN 0 WHEN x > {most} THEN {most} ELSE x END"
    if table == "patients":
        if key is None:
            return ("SELECT count(*) FROM patients",)
        return (f"SELECT {key}, count(*), sum({value}) FROM patients GROUP BY 1",)
    if key is None:
        units = "SELECT patient_id, count(*) AS n FROM visits GROUP BY 1"
        counted = f"sum(least(n, {MOST_ROWS}))" if shape == "count" else "count(*)"
        return (f"SELECT {counted} FROM ({units}) u",)
    units = (
        f"SELECT patient_id AS u, {key} AS k, count(*) AS n, sum({value}) AS s"
        " FROM visits GROUP BY 1, 2"
    )
    whole = {"duckdb": "//", "postgresql": "/"}[dialect]
    rows = f"least(n, {MOST_ROWS})"
    cut = f"CASE WHEN n > {MOST_ROWS} THEN s * {MOST_ROWS} {whole} n ELSE s END"
    return (
        _first_groups(_HASHES[dialect].format("k"), units, rows, cut),
        *_weighed_groups(whole, units, rows, cut),
    )


def _first_groups(order: str, units: str, rows: str, cut: str) -> str:
    """At most G groups of each person, those of the least hash."""
    ranked = (
        f"SELECT k, n, s, row_number() OVER (PARTITION BY u ORDER BY {order}, k) AS place"
        f" FROM ({units}) units"
    )
    return (
        f"SELECT k, sum({rows}), sum({cut}) FROM ({ranked}) ranked"
        f" WHERE place <= {MOST_GROUPS} GROUP BY 1"
    )


def _weighed_groups(whole: str, units: str, rows: str, cut: str) -> tuple[str, str]:
    """All groups of each person, with less weight the more there are: counted by a join, or by a window."""
    weight = (
        f"CASE WHEN g <= {MOST_GROUPS} THEN {_UNIT_WEIGHT}"
        f" ELSE {_UNIT_WEIGHT * MOST_GROUPS} {whole} g END"
    )
    sums = f"SELECT k, sum(({weight}) * ({rows})), sum(({weight}) * ({cut}))"
    return (
        (
            f"WITH units AS MATERIALIZED ({units}),"
            " persons AS (SELECT u, count(*) AS g FROM units GROUP BY 1)"
            f" {sums} FROM units JOIN persons USING (u) GROUP BY 1"
        ),
        (
            f"{sums} FROM (SELECT *, count(*) OVER (PARTITION BY u) AS g FROM ({units}) units)"
            " counted GROUP BY 1"
        ),
    )
