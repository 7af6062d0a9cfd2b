"""What is asked, and what a careful person would write by hand instead: bounded in SQL, without noise."""

from typing import Final

from answers_data import MOST_COST, MOST_GROUPS, MOST_INCOME, MOST_ROWS

SHAPES: Final = ("count", "10 groups x 3", "2,000 groups x 3", "count distinct person")
TABLES: Final = ("patients", "visits")
_KEYS: Final = {"10 groups x 3": "g10", "2,000 groups x 3": "g2000"}
_HASHES: Final = {"duckdb": "hash({})", "postgresql": "hashint4({})"}


def asked(table: str, shape: str) -> str:
    key = _KEYS.get(shape)
    if key is not None:
        return f"SELECT {key}, COUNT(*), SUM(x), AVG(x) FROM {table} GROUP BY {key}"
    return f"SELECT {'COUNT(*)' if shape == 'count' else 'COUNT(DISTINCT patient_id)'} FROM {table}"


def by_hand(dialect: str, table: str, shape: str) -> str:
    key = _KEYS.get(shape)
    most = MOST_INCOME if table == "patients" else MOST_COST
    value = f"CASE WHEN x < 0 THEN 0 WHEN x > {most} THEN {most} ELSE x END"
    if table == "patients":
        if key is None:
            return "SELECT count(*) FROM patients"
        return f"SELECT {key}, count(*), sum({value}) FROM patients GROUP BY 1"
    if key is None:
        units = "SELECT patient_id, count(*) AS n FROM visits GROUP BY 1"
        counted = f"sum(least(n, {MOST_ROWS}))" if shape == "count" else "count(*)"
        return f"SELECT {counted} FROM ({units}) u"
    units = (
        f"SELECT patient_id AS u, {key} AS k, count(*) AS n, sum({value}) AS s"
        " FROM visits GROUP BY 1, 2"
    )
    order = _HASHES[dialect].format("k")
    ranked = (
        f"SELECT k, n, s, row_number() OVER (PARTITION BY u ORDER BY {order}, k) AS place"
        f" FROM ({units}) units"
    )
    cut = f"CASE WHEN n > {MOST_ROWS} THEN s * {MOST_ROWS} / n ELSE s END"
    return (
        f"SELECT k, sum(least(n, {MOST_ROWS})), sum({cut}) FROM ({ranked}) ranked"
        f" WHERE place <= {MOST_GROUPS} GROUP BY 1"
    )
