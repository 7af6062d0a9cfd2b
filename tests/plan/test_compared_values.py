"""Values of a person that are compared: what is not of one column in one way needs the permission to filter."""

from typing import Final

from laws import for_each
from overlap.sequences import policy

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.plan.node import walk_nodes
from gateway.plan.scalars import column_ids
from gateway.plan.unused_columns import drop_unused

_VISITED: Final = "patients p JOIN visits v ON v.patient_id = p.patient_id"
_TAGGED: Final = f"""(SELECT p.patient_id, birth_year, CASE WHEN cost > 100 THEN income ELSE 50000.0 END x,
    CASE WHEN cost > 100 THEN 1 ELSE 0 END tag FROM {_VISITED}) t"""
_DAYS: Final = "(visit_date - DATE '2020-01-01')"
_PRODUCT: Final = f"(income + 300000 - 100 * {_DAYS}) * (visit_date - DATE '2019-12-31')"
_MIXED: Final = {
    "all columns break the ties of a window": f"""SELECT SUM(l), SUM(x) FROM (SELECT x, lag(tag) OVER
        (PARTITION BY patient_id ORDER BY birth_year) l FROM {_TAGGED}) s""",
    "a number of rows is given by their order": f"""SELECT SUM(n * tag), SUM(x) FROM (SELECT tag, x, row_number() OVER
        (PARTITION BY patient_id ORDER BY birth_year) n FROM {_TAGGED}) s""",
    "a mean of constants outside of the domain": f"""SELECT SUM(z) FROM (SELECT patient_id, MAX(a) z FROM (SELECT
        p.patient_id, diagnosis, AVG(CASE WHEN cost > 100 THEN income WHEN cost > 50 THEN 300000 ELSE -200000 END) a
        FROM {_VISITED} GROUP BY 1, 2) s GROUP BY 1) t""",
    "a mean by a window": f"""SELECT SUM(z) FROM (SELECT patient_id, MAX(a) z FROM (SELECT p.patient_id, AVG(CASE
        WHEN cost > 100 THEN income WHEN cost > 50 THEN 300000 ELSE -200000 END)
        OVER (PARTITION BY p.patient_id, diagnosis) a FROM {_VISITED}) s GROUP BY 1) t""",
    "a sum of a column or a constant": f"""SELECT SUM(z) FROM (SELECT patient_id, MAX(a) z FROM (SELECT p.patient_id,
        diagnosis, SUM(CASE WHEN diagnosis = 'flu' THEN income ELSE 250000 END) a FROM {_VISITED} GROUP BY 1, 2) s
        GROUP BY 1) t""",
    "a sum of a column and its double": f"""SELECT SUM(z) FROM (SELECT patient_id, MAX(a) z FROM (SELECT p.patient_id,
        diagnosis, SUM(CASE WHEN cost > 5 THEN income ELSE income + 50000 END) a FROM {_VISITED} GROUP BY 1, 2) s
        GROUP BY 1) t""",
    "a product of sums of columns": f"SELECT SUM(z) FROM (SELECT p.patient_id, MAX({_PRODUCT}) z FROM {_VISITED} GROUP BY 1) t",
    "an order by a product of sums of columns": f"""SELECT SUM(l) FROM (SELECT lag(cost) OVER (PARTITION BY p.patient_id
        ORDER BY {_PRODUCT}) l FROM {_VISITED}) t""",
    "a product of columns": f"SELECT SUM(m) FROM (SELECT p.patient_id, MAX(cost * (income + 5) * 2) m FROM {_VISITED} GROUP BY 1) z",
    "a product of a column that grows and one that falls": """SELECT percentile_cont(0.5) WITHIN GROUP
        (ORDER BY (income + 200000) * (300000 - income)) FROM patients""",
    "two CASE of one column": f"""SELECT SUM(z) FROM (SELECT p.patient_id, MAX((CASE WHEN diagnosis = 'flu' THEN income
        ELSE 300000 END) + (CASE WHEN diagnosis = 'flu' THEN income ELSE -200000 END)) z FROM {_VISITED} GROUP BY 1) t""",
    "a mean of a CASE behind an aggregate": f"""SELECT SUM(z) FROM (SELECT patient_id, MAX(a) z FROM (SELECT patient_id,
        diagnosis, AVG(m) a FROM (SELECT p.patient_id, diagnosis, visit_date, MAX(CASE WHEN diagnosis = 'flu' THEN income
        WHEN cost > 50 THEN 300000 ELSE -200000 END) m FROM {_VISITED} GROUP BY 1, 2, 3) s GROUP BY 1, 2) q GROUP BY 1) t""",
    "a mean of sums of sums": f"""SELECT SUM(n) FROM (SELECT patient_id, COUNT(DISTINCT a) n FROM (SELECT patient_id,
        diagnosis, AVG(s) a FROM (SELECT patient_id, diagnosis, SUM(s) s FROM (SELECT p.patient_id, diagnosis,
        SUM(income * 0.7) s FROM {_VISITED} GROUP BY 1, 2) q GROUP BY 1, 2) z GROUP BY 1, 2) y GROUP BY 1) t""",
    "a mean beside a large constant": "SELECT AVG(income * 0.00001 + 1000000000.5) FROM patients",
    "a deviation beside a large constant": "SELECT STDDEV(income * 0.00001 + 1000000000.5) FROM patients",
    "a person's mean beside a large constant": """SELECT AVG(n) FROM (SELECT patient_id,
        AVG(income * 0.000005 + 1000000000) n FROM patients GROUP BY 1) t""",
    "a person's mean that a filter seems to narrow": f"""SELECT SUM(n) FROM (SELECT p.patient_id, AVG(income * 0.04 + 2096
        + 900000000 * ((visit_date - visit_date)::bigint + (visit_date - visit_date))) n FROM {_VISITED}
        WHERE visit_date = DATE '2026-01-01' GROUP BY 1) t""",
    "different values of a sum of two columns": f"SELECT COUNT(DISTINCT (income + 212144 + 50 * cost)::real - 50 * cost) FROM {_VISITED}",
    "a constant that rounding makes equal to the end": f"""SELECT COUNT(DISTINCT (CASE WHEN cost > 100 THEN income
        ELSE 200000.0000000001 END) * 1.5 + 900000) FROM {_VISITED}""",
    "two CASE of one column over all": f"""SELECT MAX(CASE WHEN cost > 5 THEN income ELSE 300000 END
        + CASE WHEN cost > 5 THEN income ELSE -200000 END) FROM {_VISITED}""",
    "a CASE behind an aggregate and one beside it": f"""SELECT SUM(z) FROM (SELECT patient_id, MAX(m + CASE
        WHEN diagnosis = 'flu' THEN m ELSE -150000 END) z FROM (SELECT p.patient_id, diagnosis,
        MAX(CASE WHEN cost > 100 THEN income ELSE 300000 END) m FROM {_VISITED} GROUP BY 1, 2) s GROUP BY 1) t""",
    "a value or a constant where it is NULL": f"SELECT SUM(z) FROM (SELECT p.patient_id, MAX(COALESCE(CASE WHEN cost > 5 THEN income END, 50000)) z FROM {_VISITED} GROUP BY 1) t",
    "a sum of constants of the same column": "SELECT AVG(income * (income * 0 + 0.00001) + 1000000000.5) FROM patients",
    "a person's mean whose lattice is wider than its range": """SELECT AVG(x) FROM (SELECT patient_id,
        AVG(income * (birth_year - 1920 + 0.0000001)) x FROM patients WHERE birth_year IN (1920) GROUP BY 1) t""",
    "different values of a product": f"SELECT COUNT(DISTINCT income * cost) FROM {_VISITED}",
    "a square": f"SELECT SUM(m) FROM (SELECT p.patient_id, MAX((income - 5) * (income - 5)) m FROM {_VISITED} GROUP BY 1) z",
    "a sum of two columns in each row": f"""SELECT SUM(z) FROM (SELECT patient_id, MAX(s) z FROM (SELECT p.patient_id,
        visit_date, SUM(income + 100 * {_DAYS}) s FROM {_VISITED} GROUP BY 1, 2) q GROUP BY 1) t""",
    "a sum of two columns by a window": f"""SELECT SUM(z) FROM (SELECT patient_id, MAX(s) z FROM (SELECT p.patient_id,
        SUM(income + cost * 20) OVER (PARTITION BY p.patient_id, diagnosis) s FROM {_VISITED}) q GROUP BY 1) t""",
    "a difference of two aggregates": f"""SELECT SUM(z) FROM (SELECT patient_id, MAX(a - b) z FROM (SELECT p.patient_id,
        diagnosis, MAX(income) a, COUNT(*) * 500 b FROM {_VISITED} GROUP BY 1, 2) q GROUP BY 1) t""",
}  # fmt: skip
_PLAIN: Final = {
    "one column": "MAX(income)",
    "a multiple of one column": "MIN(income / 12 + 5)",
    "a column or nothing": "MAX(CASE WHEN cost > 5 THEN income END)",
    "a column or 0": "MAX(CASE WHEN cost > 5 THEN income ELSE 0 END)",
    "a flag": "MAX((cost > 5)::int)",
    "different values": "COUNT(DISTINCT income)",
}
_COUNTS: Final = {
    "a count": "COUNT(*)",
    "a count of values": "COUNT(income)",
    "a count under a condition": "SUM(CASE WHEN cost > 5 THEN 1 ELSE 0 END)",
}
_SUMS: Final = {
    "a sum": "SUM(income)",
    "a sum under a condition": "SUM(CASE WHEN cost > 5 THEN income ELSE 0 END)",
    "a mean": "AVG(income - 5)",
}


def _uses(sql: str) -> set[str]:
    cut = bind(sql, policy("clinic").dataset)
    assert isinstance(cut, Cut)
    return {str(one) for one in cut.uses}


@for_each("sql", _MIXED.values())
def test_comparison_of_mixed_values_needs_filter(sql: str) -> None:
    """Each of these orders a person's values around a constant that the analyst chose."""
    assert "filter patients.income" in _uses(sql)


def test_order_by_a_difference_of_rows_needs_filter() -> None:
    """A date that is known would turn the difference of two costs into a condition on it."""
    sql = f"SELECT SUM(l) FROM (SELECT lag(cost) OVER (PARTITION BY patient_id ORDER BY cost - 100 * {_DAYS}) l FROM visits) t"
    assert "filter visits.cost" in _uses(sql)


@for_each("aggregate", _PLAIN.values())
def test_comparison_within_one_column_needs_no_filter(aggregate: str) -> None:
    """The negative control: a person's values are compared with each other alone."""
    inner = f"SELECT p.patient_id, {aggregate} m FROM {_VISITED} GROUP BY 1"
    assert "filter patients.income" not in _uses(f"SELECT SUM(m) FROM ({inner}) t")


def _greatest(aggregate: str) -> str:
    inner = f"SELECT p.patient_id, diagnosis, {aggregate} s FROM {_VISITED} GROUP BY 1, 2"
    return f"SELECT AVG(m) FROM (SELECT patient_id, MAX(s) m FROM ({inner}) u GROUP BY 1) t"


@for_each("aggregate", _SUMS.values())
def test_comparison_of_sums_needs_filter(aggregate: str) -> None:
    """Which of two sums is greater depends on how many rows are behind each, and conditions choose these."""
    assert "filter patients.income" in _uses(_greatest(aggregate))


@for_each("aggregate", _COUNTS.values())
def test_comparison_of_counts_needs_no_filter(aggregate: str) -> None:
    """The negative control: counts contain no value."""
    assert "filter patients.income" not in _uses(_greatest(aggregate))


@for_each("aggregate", _SUMS.values())
def test_distribution_of_sums_over_persons_needs_no_filter(aggregate: str) -> None:
    """The median of what persons have in all: a mechanism with noise compares their sums."""
    inner = f"SELECT p.patient_id, {aggregate} s FROM {_VISITED} GROUP BY 1"
    assert "filter patients.income" not in _uses(f"SELECT MEDIAN(s) FROM ({inner}) t")


_SAMPLED: Final = """SELECT SUM(CASE WHEN s BETWEEN 1 AND n - 1 THEN 1 ELSE 0 END), SUM(y) FROM (SELECT x.patient_id, SUM(x.tag) s,
    COUNT(*) n, SUM(y) y FROM (SELECT patient_id FROM visits UNION ALL SELECT patient_id FROM visits) z JOIN (SELECT p.patient_id,
    {} y, (visit_date - DATE '2020-01-01') % 2 tag FROM patients p JOIN visits v ON v.patient_id = p.patient_id) x
    ON z.patient_id = x.patient_id GROUP BY 1) t"""


def test_equality_of_rows_in_a_join_that_is_cut_needs_filter() -> None:
    """Which rows of a person are kept depends on which of them are equal: `(income - 50000) * day` are equal for one income."""
    product = _SAMPLED.format("(income - 50000) * (visit_date - DATE '2020-01-01')")
    assert "filter patients.income" in _uses(product)
    assert "filter patients.income" not in _uses(_SAMPLED.format("income"))


def test_sum_that_its_type_does_not_hold_is_a_condition() -> None:
    """DuckDB's decimals end at 10^28: a person's mean beyond is NULL, and COUNT tells so."""
    rows = f"""SELECT p.patient_id, visit_date d, MAX(income) x, SUM(income * income * 1000000000) z FROM {_VISITED}
        GROUP BY 1, 2"""
    for level in range(5):
        rows = f"SELECT patient_id, d, MAX(x) x, SUM(z) z FROM ({rows}) r{level} GROUP BY 1, 2"
    mean = "AVG(x * x * 1000000000 + (z - z) + 9999999997500000000000000000)"
    inner = f"SELECT patient_id, {mean} m FROM ({rows}) r GROUP BY 1"
    assert "filter patients.income" in _uses(f"SELECT COUNT(m) FROM ({inner}) t")


_TIED: Final = f"""SELECT p.patient_id, birth_year, (income > 50000) = (cost > 100) k,
    CASE WHEN cost > 100 THEN 1 ELSE 0 END tag, 1 z, 2 z FROM {_VISITED}"""


def _by_lag(rows: str) -> str:
    lag = "lag(tag) OVER (PARTITION BY patient_id ORDER BY birth_year) l"
    return f"SELECT SUM(m) FROM (SELECT patient_id, MAX(l) m FROM (SELECT patient_id, {lag} FROM ({rows}) t) s GROUP BY 1) q"


@for_each(
    "rows", [_TIED, f"{_TIED} UNION ALL {_TIED}", f"{_TIED} UNION ALL {_TIED} UNION ALL {_TIED}"]
)
def test_column_that_nothing_reads_breaks_no_ties(rows: str) -> None:
    """Equal names, and the places in a union, keep all columns of a subquery: what nothing reads is NULL there."""
    cut = bind(_by_lag(rows), policy("clinic").dataset)
    assert isinstance(cut, Cut)
    [release] = cut.releases
    read = drop_unused(release.plan.child, column_ids(*release.plan.scalars))
    kept = {f"{one}" for node in walk_nodes(read) for field in node.fields for one in field.origins}
    assert kept == {
        "patients.patient_id",
        "patients.birth_year",
        "visits.patient_id",
        "visits.cost",
    }
    assert "filter patients.income" not in {str(one) for one in cut.uses}


def test_order_by_the_keys_of_a_grouping_has_no_ties() -> None:
    """A row for each person and day is found by its day; what else is in it decides nothing."""
    inner = "SELECT patient_id, visit_date d, SUM(cost) s FROM visits GROUP BY 1, 2"
    lag = "lag(s) OVER (PARTITION BY patient_id ORDER BY d)"
    sql = f"SELECT SUM(s - l) FROM (SELECT s, {lag} l FROM ({inner}) t) u"
    assert "filter visits.cost" not in _uses(sql)
    assert "filter visits.cost" in _uses(sql.replace("ORDER BY d)", "ORDER BY 1 - 1)"))


_HONEST: Final = {
    "0 for persons without rows": """SELECT SUM(COALESCE(s, 0)) FROM (SELECT p.patient_id, SUM(income) s FROM patients p
        LEFT JOIN visits v ON v.patient_id = p.patient_id GROUP BY 1) t""",
    "a mean with a constant for NULL": "SELECT AVG(COALESCE(income, 30000)) FROM patients",
    "a difference between a value and the one before": f"""SELECT AVG(income - l) FROM (SELECT income, lag(income)
        OVER (PARTITION BY p.patient_id ORDER BY visit_date, visit_id) l FROM {_VISITED}) t""",
    "a product with a column of one value": "SELECT SUM(income * birth_year) FROM patients WHERE birth_year = 1980",
    "a quadratic form": "SELECT SUM(income * income - 5 * income) FROM patients",
    "a slope": f"SELECT REGR_SLOPE(income, EXTRACT(year FROM visit_date)) FROM {_VISITED}",
    "a value and a sum": "SELECT AVG(i - s) FROM (SELECT patient_id, MAX(income) i, SUM(income) s FROM patients GROUP BY 1) t",
}  # fmt: skip


@for_each("sql", _HONEST.values())
def test_sums_that_are_linear_need_no_filter(sql: str) -> None:
    """They reveal sums of the column, of its squares and products, and how many values there are."""
    assert "filter patients.income" not in _uses(sql)


def test_distribution_over_persons_of_two_columns_needs_no_filter() -> None:
    """Values of different persons are compared by a mechanism with noise, which has the distribution anyway."""
    for aggregate in ("MEDIAN(income - cost)", "MAX(cost * income)"):
        assert "filter patients.income" not in _uses(f"SELECT {aggregate} FROM {_VISITED}")


def test_names_that_are_read_twice_at_each_level_are_followed_once() -> None:
    """Without that, thirty levels would be followed a billion times: this test would not end."""
    steps = ["c0 AS (SELECT patient_id, birth_year, income AS x FROM patients)"]
    for level in range(30):
        doubled = "CASE WHEN birth_year > 1950 THEN x ELSE x / 2 END + x / 2"
        columns = f"SELECT patient_id, birth_year, ({doubled}) AS x FROM c{level}"
        steps.append(f"c{level + 1} AS ({columns})")
    for aggregate in ("MAX(x)", "SUM(x)"):
        inner = f"SELECT patient_id, {aggregate} m FROM c30 GROUP BY 1"
        assert "filter patients.birth_year" in _uses(
            f"WITH {', '.join(steps)} SELECT SUM(m) FROM ({inner}) t"
        )
