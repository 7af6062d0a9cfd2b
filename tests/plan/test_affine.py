"""Conditions inside of aggregates are uses for filtering; what is affine is not."""

from datetime import UTC, datetime
from fractions import Fraction

import pytest
from laws import for_each
from overlap.sequences import policy

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.catalog.domains import Interval
from gateway.catalog.tables import Column, Dataset, Protection, Table
from gateway.catalog.types import parse_type

_CONDITIONS = """
SUM(CASE WHEN income > 50000 THEN 1 ELSE 0 END)
SUM(CASE WHEN birth_year > 1990 THEN income ELSE income + (income > 5)::int END)
COUNT(CASE WHEN income = 12.34 THEN 1 END)
SUM(NULLIF(income, 5))
SUM(ABS(income - 5))
SUM(GREATEST(income, 5))
AVG(LEAST(income, 50000))
SUM(COALESCE(income, birth_year))
SUM((income > 5)::int)
SUM(income * (income > 5)::int)
SUM(SIGN(income - 50000))
SUM(FLOOR(income / 50000))
SUM(ROUND(income, -4))
SUM(income::int)
SUM(income::numeric(12, 2))
SUM(income * income * income)
SUM(income % 7)
SUM(income::double precision + 1e20 - 1e20)
SUM((income * 0.000001 * 0.000001)::float8 + 1073741824::float8 - 1073741824::float8)
SUM((income * 0.000001 / 1000000)::float8 * 2)
SUM((income / 100000000)::float8 + 1000000000::float8)
SUM(birth_year::float8 + (income * 0.0001 * 0.00001)::float8 * 0.001 - birth_year::float8)
SUM((income + 1000000000000000000::numeric(38, 0)) - 1000000000000000000)
SUM((income * 0.000005 + 100000000000000000) / 1 - 100000000000000000)
SUM(income::real + 16777216::real)
SUM((income + 1000000000)::real)
SUM(((income - 100000) * 0.00001 * (income - 100000) * 0.00001)::float8 * 0.0000001)
SUM((CASE WHEN birth_year > 1990 THEN income ELSE 0 END * 0.000000001)::float8 + 1073741824::float8)
SUM(ABS(birth_year - 5)::float8 + income::float8)
MAX(CASE WHEN income > 50000 THEN 1 ELSE 0 END)
COUNT(DISTINCT income > 50000)
AVG(CASE birth_year WHEN 1950 THEN 0 ELSE income + NULLIF(income, 7) END)
"""
_AFFINE = """
SUM(income)
SUM(income * 2 - 5)
AVG(income / 12)
AVG(-income)
SUM(income * birth_year)
SUM(income * income)
STDDEV(income)
CORR(income, birth_year)
REGR_SLOPE(income, birth_year)
COUNT(income)
COUNT(DISTINCT income)
MEDIAN(income + 1)
AVG(income::double precision + 100)
AVG(income::float8)
SUM(income * 1.1)
SUM(income::real)
SUM(income::float8 * 1000000 / 1000000 - birth_year)
SUM((income - 100000) * (birth_year - 1970))
SUM(CASE WHEN birth_year > 1990 THEN income * 2 ELSE 0 END / 12.0 + income)
SUM(CASE WHEN birth_year > 1990 THEN income ELSE 0 END)
SUM(income) FILTER (WHERE birth_year > 1990)
"""
_TIMES = """
AVG(extract(epoch FROM left_at - came_at))
AVG(extract(epoch FROM left_at - came_at) / 86400)
SUM(extract(epoch FROM came_at) / 3600.0)
AVG(extract(epoch FROM seen_at - '2024-01-01 00:00+00'::timestamptz))
AVG(extract(epoch FROM now() - seen_at) / 86400)
MEDIAN(extract(epoch FROM left_at - came_at))
SUM(extract(epoch FROM left_at - came_at)) FILTER (WHERE NOT urgent)
AVG(extract(epoch FROM (left_at + interval '2 days') - came_at))
"""
_TIME_CONDITIONS = """
AVG(extract(day FROM left_at - came_at))
SUM(extract(month FROM came_at))
SUM(extract(epoch FROM date_trunc('day', came_at)))
SUM(extract(epoch FROM came_at::date))
SUM(extract(epoch FROM came_at AT TIME ZONE 'Europe/Berlin'))
SUM(extract(epoch FROM seen_at AT TIME ZONE 'Europe/Berlin'))
SUM(extract(epoch FROM came_at + interval '1 month'))
SUM(extract(epoch FROM came_at) * extract(epoch FROM now()))
SUM(extract(epoch FROM came_at)::float8 + 1e25 - 1e25)
SUM(rank * (extract(epoch FROM current_date - interval '20000 days' + interval '3 seconds')::float8 / 1000000000::float8) + 1073741824::float8)
SUM(rank * (extract(epoch FROM now() - interval '20514 days')::float8 / 1000000000::float8) + 1073741824::float8)
AVG(extract(epoch FROM came_at) - extract(epoch FROM now() - interval '20514 days'))
SUM(extract(epoch FROM GREATEST(came_at, TIMESTAMP '2024-01-01')))
SUM(extract(epoch FROM NULLIF(came_at, TIMESTAMP '2024-01-01 08:00:00')))
SUM(extract(epoch FROM open_at - TIMESTAMP '2024-01-01'))
"""
_NESTED = (
    "SELECT SUM(r) FROM (SELECT CASE WHEN income > 5 THEN 1 ELSE 0 END AS r FROM patients) t",
    "SELECT AVG(b::int) FROM (SELECT income > 5 AS b FROM patients) t",
    "WITH w AS (SELECT income - 5 AS d FROM patients) SELECT SUM(ABS(d)) FROM w",
    """SELECT SUM(CASE WHEN m > 9 THEN 1 ELSE 0 END) FROM
    (SELECT patient_id, MAX(income) m FROM patients GROUP BY patient_id) t""",
    """SELECT SUM(m) FROM (SELECT patient_id, MAX(x) m FROM (SELECT patient_id, income x FROM patients
    UNION ALL SELECT patient_id, 50000 FROM patients) u GROUP BY patient_id) t""",
    """SELECT SUM(y::float8 + 1073741824::float8) FROM
    (SELECT x * 0.000001 AS y FROM (SELECT income * 0.000001 AS x FROM patients) t) u""",
    """SELECT SUM(m * 0.000001) FROM (SELECT patient_id, SUM(x * 0.000001) m FROM
    (SELECT patient_id, income * 0.000001 x FROM patients) t GROUP BY patient_id) u""",
    """SELECT SUM(m::float8 + 1073741824::float8) FROM
    (SELECT patient_id, SUM(income * 0.0000001) m FROM patients GROUP BY patient_id) t""",
    """SELECT SUM(x::float8 + 1073741824::float8) FROM (SELECT income * 0.00000001 x FROM patients
    UNION ALL SELECT income FROM patients) t""",
    "SELECT SUM(x) FROM (SELECT NULLIF(income, 7) x FROM patients UNION ALL SELECT income FROM patients) t",
)


def _uses(sql: str) -> set[str]:
    cut = bind(sql, policy("clinic").dataset)
    assert isinstance(cut, Cut)
    return {str(one) for one in cut.uses}


@for_each("aggregate", _CONDITIONS.strip().splitlines())
def test_condition_in_an_aggregate_is_a_use_for_filtering(aggregate: str) -> None:
    """Whoever may not write it in WHERE may not write it there."""
    found = _uses(f"SELECT {aggregate} FROM patients")
    assert {"filter patients.income", "aggregate patients.income"} <= found


@for_each("aggregate", _AFFINE.strip().splitlines())
def test_affine_expression_is_no_use_for_filtering(aggregate: str) -> None:
    """Sums of its columns are all that it tells; conditions on others are theirs."""
    assert "filter patients.income" not in _uses(f"SELECT {aggregate} FROM patients")


def _time_uses(aggregate: str) -> set[str]:
    moments = datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 12, 31, tzinfo=UTC)
    first, last = (one.replace(tzinfo=None) for one in moments)
    within = Interval(first, last, Fraction(1))
    columns = (
        Column("patient_id", parse_type("bigint")),
        Column("urgent", parse_type("boolean")),
        Column("rank", parse_type("integer"), Interval(0, 100, Fraction(1))),
        Column("came_at", parse_type("timestamp"), within),
        Column("left_at", parse_type("timestamp"), within),
        Column("seen_at", parse_type("timestamptz"), Interval(*moments, Fraction(1))),
        Column("open_at", parse_type("timestamp")),
    )
    table = Table("stays", columns, Protection("patient_id", 5, 4))
    dataset = Dataset("ward", "patient", (table,))
    cut = bind(f"SELECT {aggregate} FROM stays", dataset)
    assert isinstance(cut, Cut)
    return {str(one) for one in cut.uses if not str(one).endswith("urgent")}


@for_each("aggregate", _TIMES.strip().splitlines())
def test_seconds_between_times_are_affine(aggregate: str) -> None:
    """A mean length of stay tells of no row on which side of a value it is."""
    assert not any(one.startswith("filter") for one in _time_uses(aggregate))


@for_each("aggregate", _TIME_CONDITIONS.strip().splitlines())
def test_rounded_and_chosen_times_are_conditions(aggregate: str) -> None:
    """Days, months, clocks with summer time, choices and times without bounds separate rows."""
    assert any(one.startswith("filter") for one in _time_uses(aggregate))


@for_each("sql", _NESTED)
def test_condition_is_found_where_a_name_was_given_to_it(sql: str) -> None:
    """Subqueries, steps for each person and unions hide none."""
    assert "filter patients.income" in _uses(sql)


def test_whole_numbers_that_leave_their_type_are_a_condition() -> None:
    """What overflows is NULL: a sum that is chosen to overflow above a year tells who is above it."""
    assert "filter patients.birth_year" in _uses(
        "SELECT SUM(birth_year + 2147481656) FROM patients"
    )
    assert "filter patients.birth_year" in _uses("SELECT SUM(birth_year / 1991) FROM patients")
    assert "filter patients.birth_year" not in _uses("SELECT AVG(2026 - birth_year) FROM patients")


def test_sum_that_overflows_above_a_condition_is_a_condition_on_all_of_it() -> None:
    """The WHEN of a CASE is not all that such a sum tells of."""
    inside = "CASE WHEN region = 'north' THEN birth_year ELSE 0 END"
    narrow = f"SELECT SUM({inside} + 2147481656) FROM patients"
    assert "filter patients.birth_year" in _uses(narrow)
    assert "filter patients.birth_year" not in _uses(f"SELECT SUM({inside} + 5) FROM patients")


def test_days_that_leave_the_calendar_are_a_condition() -> None:
    """What is moved beyond the calendar, at once or step by step, is NULL."""
    one = " + INTERVAL '36500 days'"
    for times, found in ((1, False), (90, True)):
        uses = _uses(f"SELECT COUNT(visit_date{one * times}) FROM visits")
        assert ("filter visits.visit_date" in uses) is found


@pytest.mark.parametrize("made", ["m / 12.0", "m * 1.5", "m::float8"])
def test_multiples_of_what_was_counted_for_a_person_are_affine(made: str) -> None:
    """Of these no ends are known, and none are needed."""
    inner = "SELECT patient_id, SUM(cost) m FROM visits GROUP BY patient_id"
    assert "filter visits.cost" not in _uses(f"SELECT AVG({made}) FROM ({inner}) t")


_TWO = """(SELECT patient_id, income x, 0 tag FROM patients
    UNION ALL SELECT patient_id, 30000 x, 1 tag FROM patients) u"""
_VISITED = "patients p JOIN visits v ON v.patient_id = p.patient_id"
_COPIES = """(SELECT patient_id, 1 tag FROM patients UNION ALL SELECT patient_id, 0 FROM patients
    UNION ALL SELECT patient_id, 0 FROM patients)"""
_HIDDEN = f"""(SELECT p.patient_id, diagnosis, MAX(CASE WHEN diagnosis = 'flu' THEN income ELSE 300000 END) m,
    MAX(CASE WHEN diagnosis = 'flu' THEN cost * 0 + 250000 ELSE cost * 0 END) k FROM {_VISITED} GROUP BY 1, 2) g"""
_BESIDE = "patients p CROSS JOIN (VALUES (0), (1)) t(tag)"


@for_each(
    "sql",
    [
        f"SELECT SUM(l) FROM (SELECT lag(tag) OVER (PARTITION BY patient_id ORDER BY x) l FROM {_TWO}) w",
        f"SELECT SUM(r) FROM (SELECT row_number() OVER (PARTITION BY patient_id ORDER BY x) * tag r FROM {_TWO}) w",
        f"SELECT SUM(m) FROM (SELECT MIN(x) OVER (PARTITION BY patient_id) m FROM {_TWO}) w",
        f"""SELECT SUM(m) FROM (SELECT patient_id, MIN(s) m FROM (SELECT patient_id, tag, SUM(x) s FROM {_TWO}
        GROUP BY patient_id, tag) a GROUP BY patient_id) b""",
        f"""SELECT SUM(m) FROM (SELECT patient_id, MIN(s) m FROM (SELECT patient_id,
        SUM(x) OVER (PARTITION BY patient_id, tag) s FROM {_TWO}) a GROUP BY patient_id) b""",
        f"""SELECT SUM(m) FROM (SELECT patient_id, MIN(income * (1 - tag) + 30000 * tag) m FROM {_BESIDE}
        GROUP BY patient_id) b""",
        f"""SELECT SUM(l) FROM (SELECT lag(cost) OVER (PARTITION BY p.patient_id
        ORDER BY cost * (income - 50000)) l FROM {_VISITED}) z""",
        f"SELECT SUM(m) FROM (SELECT p.patient_id, MAX(cost * (income - 50000)) m FROM {_VISITED} GROUP BY 1) z",
        f"SELECT SUM(m) FROM (SELECT p.patient_id, MAX(cost * income - cost * 50000) m FROM {_VISITED} GROUP BY 1) z",
        f"""SELECT SUM(m) FROM (SELECT patient_id, MIN(s) m FROM (SELECT p.patient_id, SUM(cost * (income - 50000))
        OVER (PARTITION BY p.patient_id ORDER BY visit_date ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) s
        FROM {_VISITED}) y GROUP BY patient_id) z""",
        f"SELECT MAX(cost * (income - 50000)) FROM {_VISITED}",
        # a sum is the value times the number of rows
        f"""SELECT SUM(m) FROM (SELECT patient_id, MAX(s) m FROM (SELECT t.patient_id, t.tag, SUM(p.income - 50000) s
        FROM patients p JOIN {_COPIES} t ON t.patient_id = p.patient_id GROUP BY 1, 2) u GROUP BY 1) t""",
        f"""SELECT SUM(l) FROM (SELECT lag(tag) OVER (PARTITION BY patient_id ORDER BY s) l FROM (SELECT t.patient_id,
        t.tag, SUM(p.income - 50000) s FROM patients p JOIN {_COPIES} t ON t.patient_id = p.patient_id
        GROUP BY 1, 2) u) t""",
        f"""SELECT SUM(m) FROM (SELECT patient_id, MAX(s) m FROM (SELECT p.patient_id, SUM(income - 50000)
        OVER (PARTITION BY p.patient_id ORDER BY cost ROWS 999 PRECEDING) s FROM {_VISITED}) u GROUP BY 1) t""",
        f"""SELECT SUM(m) FROM (SELECT patient_id, MAX(s - 50000 * n) m FROM (SELECT t.patient_id, t.tag, SUM(p.income) s,
        COUNT(*) n FROM patients p JOIN {_COPIES} t ON t.patient_id = p.patient_id GROUP BY 1, 2) u GROUP BY 1) t""",
        # a CASE on another column mixes a column with a constant
        f"""SELECT SUM(m) FROM (SELECT p.patient_id, MAX(CASE WHEN cost > 1000 THEN income ELSE 50000.0 END) m
        FROM {_VISITED} GROUP BY 1) t""",
        f"""SELECT SUM(m) FROM (SELECT patient_id, MAX(x) m FROM (SELECT p.patient_id,
        CASE WHEN cost > 1000 THEN income ELSE 2 * income - 50000 END x FROM {_VISITED}) u GROUP BY 1) t""",
        f"""SELECT SUM(l) FROM (SELECT lag(cost) OVER (PARTITION BY patient_id ORDER BY x) l FROM (SELECT p.patient_id,
        cost, CASE WHEN cost > 1000 THEN income ELSE 50000.0 END x FROM {_VISITED}) u) t""",
        f"""SELECT SUM(m) FROM (SELECT p.patient_id, MAX((cost > 1000)::int * (income - 50000)) m
        FROM {_VISITED} GROUP BY 1) t""",
        f"""SELECT SUM(m) FROM (SELECT patient_id, MAX(k * (income - 50000)) m FROM (SELECT p.patient_id, income,
        CASE WHEN cost > 1000 THEN 1 ELSE 0 END k FROM {_VISITED}) u GROUP BY 1) t""",
        # two CASE behind aggregates of each group, added and multiplied
        f"""SELECT SUM(z) FROM (SELECT patient_id, MAX(m + k) z FROM {_HIDDEN} GROUP BY 1) t""",
        f"""SELECT SUM(z) FROM (SELECT patient_id, MAX(m * k) z FROM {_HIDDEN} GROUP BY 1) t""",
        f"SELECT SUM(l) FROM (SELECT lag(k) OVER (PARTITION BY patient_id ORDER BY m + k) l FROM {_HIDDEN}) t",
        f"""SELECT COUNT(d) FROM (SELECT p.patient_id, COUNT(DISTINCT CASE WHEN cost > 1000 THEN income ELSE 0 END) d
        FROM {_VISITED} GROUP BY 1) t""",
        f"SELECT COUNT(DISTINCT cost * (income - 50000)) FROM {_VISITED}",
    ],
)
def test_choice_among_mixed_values_of_a_person_is_a_condition(sql: str) -> None:
    """The least of a column and a constant compares them, by a window or in steps as by LEAST."""
    assert "filter patients.income" in _uses(sql)


@pytest.mark.parametrize(
    "inner",
    [
        "lag(cost) OVER (PARTITION BY patient_id ORDER BY visit_date)",
        "MIN(cost) OVER (PARTITION BY patient_id)",
        "row_number() OVER (PARTITION BY patient_id ORDER BY cost)",
    ],
)
def test_window_over_one_column_is_no_condition(inner: str) -> None:
    """A person's values are compared with each other alone."""
    assert "filter visits.cost" not in _uses(f"SELECT SUM(l) FROM (SELECT {inner} l FROM visits) w")


def test_choice_among_values_that_are_apart_is_no_condition() -> None:
    """A flag, and a value or nothing, are compared with each other without a threshold."""
    inner = [
        f"SELECT p.patient_id, MAX(CASE WHEN cost > 1000 THEN 1 ELSE 0 END) m FROM {_VISITED} GROUP BY 1",
        f"SELECT p.patient_id, MAX(CASE WHEN cost > 1000 THEN income END) m FROM {_VISITED} GROUP BY 1",
        f"SELECT p.patient_id, MAX(CASE WHEN cost > 1000 THEN income ELSE 0 END) m FROM {_VISITED} GROUP BY 1",
        f"SELECT p.patient_id, MIN(CASE WHEN cost > 1000 THEN income ELSE -1 END) m FROM {_VISITED} GROUP BY 1",
    ]
    for one in inner:
        assert "filter patients.income" not in _uses(f"SELECT SUM(m) FROM ({one}) t"), one


def test_name_that_is_given_twice_is_followed_to_both() -> None:
    """Subqueries may have the same alias, one inside of the other."""
    assert "filter patients.income" in _uses(
        "SELECT SUM(x) FROM (SELECT CASE WHEN x > 5 THEN 1 ELSE 0 END x FROM"
        " (SELECT income x FROM patients) t) t"
    )
