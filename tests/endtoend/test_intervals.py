"""Intervals of an answer, however it is wrapped, and the same ends as columns."""

import psycopg
import pytest
from endtoend.clinic_gateway import AskedGateway

from gateway.cancellation import CancelEvent
from gateway.requests.request import Answer, Request
from gateway.units import Epsilon

_N = "SELECT region, COUNT(*) AS n, AVG(income) AS x FROM patients GROUP BY region"
_ENDS = "DP_INTERVAL_LOW(n) AS lo, DP_INTERVAL_HIGH(n) AS hi"

# the column n, and the ends of its interval
ENDED = [
    f"SELECT region, COUNT(*) AS n, {_ENDS} FROM patients GROUP BY region ORDER BY lo",
    f"SELECT region, SUM(income) AS n, {_ENDS} FROM patients GROUP BY region HAVING DP_INTERVAL_LOW(n) > 0",
    f"SELECT AVG(income) AS n, {_ENDS} FROM patients",
    f"SELECT STDDEV(birth_year) AS n, {_ENDS} FROM patients",
    f"SELECT COVAR_POP(income, birth_year) AS n, {_ENDS} FROM patients",
    f"SELECT region, SUM(income) / COUNT(*) AS n, {_ENDS} FROM patients GROUP BY region",
    f"SELECT *, {_ENDS} FROM ({_N}) t ORDER BY DP_INTERVAL_HIGH(n), region",
    f"SELECT * FROM (SELECT region AS r, n, {_ENDS} FROM ({_N}) t) u WHERE lo < hi",
    f"SELECT x AS n, {_ENDS} FROM ({_N}) t",
    f"SELECT x * n AS n, DP_INTERVAL_LOW(x * t.n) AS lo, DP_INTERVAL_HIGH(x * t.n) AS hi FROM ({_N}) t",
    f"WITH a AS ({_N}) SELECT n, {_ENDS} FROM a WHERE n >= (SELECT MIN(n) FROM a) ORDER BY n",
    f"WITH a AS ({_N}) SELECT r.capital, a.n, {_ENDS} FROM regions r LEFT JOIN a USING (region)",
    f"SELECT DISTINCT region, n, {_ENDS} FROM ({_N}) t",
]  # fmt: skip


def _asked(gateway: AskedGateway, sql: str, dataset: str = "listed") -> Answer:
    """At a price at which noise is seen."""
    request = Request(sql, dataset=dataset, epsilon=Epsilon.parse("2"))
    return gateway.asking.answer(gateway.subjects["alice"], request, CancelEvent())


@pytest.mark.parametrize("sql", ENDED)
def test_ends_are_those_of_the_interval_when_they_are_asked_for(
    gateway: AskedGateway, sql: str
) -> None:
    """What the two functions give is what stands in the answer's intervals, cell by cell."""
    answer = _asked(gateway, sql)
    names = [one.name for one in answer.columns]
    n, low, high = names.index("n"), names.index("lo"), names.index("hi")
    assert [answer.columns[place].type for place in (low, high)] == ["double precision"] * 2
    assert all(answer.columns[place].noisy for place in (n, low, high))
    assert answer.rows
    for row, intervals in zip(answer.rows, answer.intervals, strict=True):
        ends = (row[low], row[high])
        found = None if None in ends else tuple(map(float, filter(None, ends)))
        assert intervals[n] == found
        assert found is None or found[0] < found[1]
        assert intervals[low] is intervals[high] is None
    assert any(one[n] is not None for one in answer.intervals)


# each column is made of the same cells as one of the questions behind it, asked alone
UNITED = [
    ("SELECT region, COUNT(*) AS n FROM patients GROUP BY region UNION ALL SELECT 'total', COUNT(*) FROM patients", 1),
    ("SELECT * FROM (SELECT 1 AS k, COUNT(*) AS n FROM patients UNION ALL SELECT 2, COUNT(*) FROM visits) t ORDER BY k", 1),
    ("SELECT COUNT(*) AS n FROM patients UNION ALL (SELECT AVG(income) FROM patients UNION ALL SELECT -4321)", 0),
    ("SELECT p.n, v.n AS m FROM (SELECT COUNT(*) AS n FROM patients) p, (SELECT COUNT(*) AS n FROM visits) v", 0),
    ("SELECT p.n, v.n AS m FROM (SELECT COUNT(*) AS n FROM patients) p, (SELECT COUNT(*) AS n FROM visits) v", 1),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "place"), UNITED)
def test_cells_of_several_releases_have_their_own_intervals(
    gateway: AskedGateway, sql: str, place: int
) -> None:
    """The interval lies around the cell that it stands beside; what is exact has none."""
    answer = _asked(gateway, sql)
    assert len(answer.rows[0]) == len(answer.columns) == len(answer.intervals[0])
    formed = 0
    for row, intervals in zip(answer.rows, answer.intervals, strict=True):
        cell, ends = row[place], intervals[place]
        if cell == "-4321":
            assert ends is None
            continue
        assert cell is not None
        assert ends is not None
        assert ends[0] <= float(cell) <= ends[1]
        formed += 1
    assert formed


# columns that are simulated, and one more that tells the rows apart or is not simulated
SIMULATED = [
    ("SELECT region, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS x FROM patients GROUP BY region", 1),
    ("SELECT region, SUM(COUNT(*)) OVER (ORDER BY region) AS x FROM patients GROUP BY region", 1),
    (f"SELECT region, n - LAG(n, 1, 0) OVER (ORDER BY region) AS x FROM ({_N}) t", 1),
    (f"SELECT region, CASE WHEN n > 5 THEN n * 2 ELSE n END AS x FROM ({_N}) t", 1),
    (f"SELECT MAX(n) AS x FROM ({_N}) t", 0),
    (f"SELECT COUNT(*) AS x FROM ({_N}) t WHERE n > 5", 0),
    ("SELECT (SELECT COUNT(*) FROM patients WHERE smoker) * 100.0 / GREATEST((SELECT COUNT(*) FROM patients), 1) AS x", 0),
    (f"SELECT r.capital, GREATEST(t.n, r.population) AS x FROM regions r JOIN ({_N}) t USING (region)", 1),
    # sums, for they are not clamped: a count that is shown as 0 moves every share, also the one that is always a third
    ("SELECT region, smoker, 1.0 * SUM(income) / SUM(SUM(income)) OVER () AS x FROM patients GROUP BY ROLLUP (region, smoker)", 2),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "place"), SIMULATED)
def test_cells_without_a_formula_have_intervals_by_simulation(
    gateway: AskedGateway, sql: str, place: int
) -> None:
    """It lies around the cell, as far as noise goes: clamping is not in it."""
    answer = _asked(gateway, sql)
    assert answer.rows
    assert answer.notices == ()
    assert answer.columns[place].noisy
    assert not any(one.noisy for one in answer.columns[:place])
    for row, intervals in zip(answer.rows, answer.intervals, strict=True):
        cell, ends = row[place], intervals[place]
        assert cell is not None
        assert ends is not None
        slack = 0.1 * (ends[1] - ends[0]) + 1e-9 * abs(float(cell))
        assert ends[0] - slack <= float(cell) <= ends[1] + slack
        assert all(one is None for one in intervals[:place])


# quotients of whole numbers, and the same without the truncation of PostgreSQL
TRUNCATED = [
    ("COUNT(*) / 7", "COUNT(*) / 7.0"),
    ("-COUNT(*) / (COUNT(*) + 3)", "-COUNT(*) / (COUNT(*) + 3.5)"),
    ("10 * (COUNT(*) / 7) + 3", "10 * (COUNT(*) / CAST(7 AS numeric)) + 3"),
    ("SUM(birth_year) / COUNT(*)", "SUM(birth_year) / CAST(COUNT(*) AS numeric)"),
    ("coalesce(COUNT(*), 0) / CAST(7 AS integer)", "CAST(COUNT(*) AS numeric) / 7"),
]


@pytest.mark.parametrize(("whole", "plain"), TRUNCATED)
def test_quotient_of_whole_numbers_has_an_interval_of_truncated_ends(
    gateway: AskedGateway, whole: str, plain: str
) -> None:
    """Both ends are values that the cell can have. Other quotients, the negative control, have other ends."""
    for nested in (False, True):
        sqls = []
        for cell in (whole, plain):
            sql = f"SELECT region, {cell} AS x FROM patients GROUP BY region"
            sqls.append(f"SELECT x FROM ({sql}) t" if nested else sql)
        truncated, other = (_asked(gateway, sql) for sql in sqls)
        ends = [row[-1] for row in truncated.intervals if row[-1] is not None]
        assert ends
        assert all(float(end).is_integer() for pair in ends for end in pair)
        assert not all(
            float(end).is_integer() for row in other.intervals if row[-1] for end in row[-1]
        )


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT region, n * (random() + 1) AS x FROM ({_N}) t",
        "SELECT region, GREATEST(MEDIAN(income), COUNT(*)) AS x FROM patients GROUP BY region",
        f"SELECT GREATEST(n, 5) AS x FROM ({_N}) t WHERE n > 0 UNION SELECT GREATEST(n, 6) FROM ({_N}) t",
    ],
)
def test_cells_have_no_interval_where_nothing_can_be_simulated(
    gateway: AskedGateway, sql: str
) -> None:
    """Other values each time, a choice, rows that nothing tells apart: the answer comes all the same."""
    answer = _asked(gateway, sql)
    assert answer.rows
    assert all(one is None for intervals in answer.intervals for one in intervals)


def test_ends_cost_nothing_when_they_are_asked_for(gateway: AskedGateway) -> None:
    """The interval of a cell is measured by nothing but the cell: noise, scale and price are the same."""
    plain = _asked(gateway, f"SELECT region, n FROM ({_N}) t")
    ended = _asked(gateway, f"SELECT region, n, {_ENDS} FROM ({_N}) t")
    assert plain.charged == ended.charged
    assert plain.columns[1] == ended.columns[1]


def test_interval_holds_the_exact_value_in_most_answers_when_it_is_wrapped(
    gateway: AskedGateway, plain: psycopg.Connection
) -> None:
    """Each interval goes with the group it stands beside: of 100 at 95 %, fewer than 75 has a chance below 1e-9."""
    counted = plain.execute("SELECT region, COUNT(*) FROM patients GROUP BY 1").fetchall()
    exact: dict[str | None, int] = dict(counted)
    sql = f"WITH a AS ({_N}) SELECT * FROM (SELECT n, region FROM a ORDER BY n DESC) t"
    inside = 0
    for _ in range(25):
        answer = _asked(gateway, sql)
        for (_, region), (interval, _) in zip(answer.rows, answer.intervals, strict=True):
            assert interval is not None
            inside += interval[0] <= exact[region] <= interval[1]
    assert inside >= 75


def test_margin_is_estimated_when_the_question_is_wrapped(gateway: AskedGateway) -> None:
    """A wrapped question has the expected margins of the plain one."""
    request = Request(_N, dataset="listed")
    plain = gateway.asking.estimate(gateway.subjects["alice"], request)
    wrapped = Request(f"SELECT n, t.x, region FROM ({_N}) t WHERE n > 5", dataset="listed")
    found = gateway.asking.estimate(gateway.subjects["alice"], wrapped)
    region, n, x = (one.expected_margin_95 for one in plain.columns)
    assert [one.expected_margin_95 for one in found.columns] == [n, x, region]
    assert n is not None
