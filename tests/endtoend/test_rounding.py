"""Results that a policy reports in ranges. The noise is zero, so each result is known beforehand."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from endtoend.clinic_gateway import AskedGateway, a_gateway, clinic_in_duckdb, shown
from endtoend.clinic_policy import policy
from fix_servers import SharedServers

from gateway.errors import Code, Refusal
from gateway.requests.request import Answer, Request

_COUNT, _INCOME, _COST = 10, 30_000, 250
_COLUMNS = (
    ("[0, 200000]}, step: 1", str(_INCOME)),
    ("[0, 5000]}, step: 0.01", str(_COST)),
    ("visit_date: {type: date, class: quasi, domain: {between: [2020-01-01, 2026-12-31]}", "7"),
    ("admitted: {type: timestamp, class: quasi, domain: {between: [2020-01-01, 2026-12-31]}", "1h"),
)


def _in_ranges(text: str) -> str:
    for column, width in _COLUMNS:
        assert column in text
        text = text.replace(column, f"{column}, report: {{ranges: {width}}}")
    return text + f"answers: {{report: {{count: {_COUNT}}}}}\n"


@pytest.fixture(scope="module")
def gateway(
    tmp_path_factory: pytest.TempPathFactory, servers: SharedServers
) -> Iterator[AskedGateway]:
    """The same people three times: `plain`, in ranges, and in ranges with noise that matters."""
    folder: Path = tmp_path_factory.mktemp("ranges")
    policies = {
        "plain": policy("plain", "PLAIN", "laplace", groups=10_000),
        "ranged": _in_ranges(policy("ranged", "RANGED", "laplace", groups=10_000)),
        "noisy": _in_ranges(
            policy("noisy", "NOISY", "gaussian", groups=10_000, price="1", budget="1000")
        ),
    }
    sources = {
        name.upper(): shown(clinic_in_duckdb(folder / f"{name}.duckdb")) for name in policies
    }
    with a_gateway(policies, sources, servers) as opened:
        yield opened


def _middle(value: str | None, width: float) -> float:
    return (float(value or 0) + width / 2) // width * width


_REGIONS = """
SELECT region, COUNT(*) AS n, COUNT(DISTINCT income), AVG(income), SUM(income), AVG(birth_year),
    SUM(CASE WHEN smoker THEN 1 ELSE 0 END), COUNT(*) FILTER (WHERE income > 50000)
FROM patients GROUP BY region ORDER BY region
"""
_WIDTHS = (_COUNT, _COUNT, _INCOME, _INCOME, None, _COUNT, _COUNT)


def test_results_are_in_ranges_where_the_policy_says_so(gateway: AskedGateway) -> None:
    """Counts, sums and means are middles of ranges, in the same types; a column without ranges is as it was."""
    plain, ranged = gateway.answer(_REGIONS, "plain"), gateway.answer(_REGIONS, "ranged")
    assert ranged.columns == plain.columns
    assert ranged.price == plain.price
    moved = 0
    for row, own, ends in zip(plain.rows, ranged.rows, ranged.intervals, strict=True):
        assert own[0] == row[0]
        for value, cell, end, width in zip(row[1:], own[1:], ends[1:], _WIDTHS, strict=True):
            assert end is not None
            if width is None:
                assert cell == value
                continue
            assert float(cell or 0) == _middle(value, width)
            assert end == (float(cell or 0) - width / 2, float(cell or 0) + width / 2)
            moved += cell != value
    assert moved > 20  # the negative control: plain results are no middles


def test_ranges_are_told_with_the_answer_and_before_it(gateway: AskedGateway) -> None:
    """Analysts read which results are in which ranges; without any nothing is said."""
    sql = "SELECT COUNT(*), AVG(income), AVG(birth_year) FROM patients"
    said = (
        "`count(*)` is reported in ranges of 10",
        "`avg(patients.income)` is reported in ranges of 30000",
    )
    assert gateway.answer(sql, "ranged").notices == said
    alice = gateway.subjects["alice"]
    estimate = gateway.asking.estimate(alice, Request(sql, dataset="ranged"))
    assert estimate.notices == said
    assert estimate.columns[0].expected_margin_95 == _COUNT / 2
    assert gateway.answer(sql, "plain").notices == ()


def test_whatever_is_computed_above_sees_the_ranges_alone(gateway: AskedGateway) -> None:
    """HAVING, ORDER BY, windows, subqueries and arithmetic: 36, 24, 20 and 12 persons are 40, 20, 20 and 10."""
    having = (
        "SELECT region FROM patients WHERE region IS NOT NULL GROUP BY region HAVING COUNT(*) >= {}"
    )
    assert len(gateway.answer(having.format(37), "plain").rows) == 0
    assert gateway.answer(having.format(37), "ranged").rows == (("north",),)
    ties = """SELECT DISTINCT rank() OVER (ORDER BY COUNT(*) DESC) FROM patients
        WHERE region IS NOT NULL GROUP BY region ORDER BY 1"""
    assert gateway.answer(ties, "plain").rows == (("1",), ("2",), ("3",), ("4",))
    assert gateway.answer(ties, "ranged").rows == (("1",), ("2",), ("4",))
    twice = "SELECT 2 * COUNT(*) + 1 FROM patients WHERE region = 'north'"
    answer = gateway.answer(twice, "ranged")
    assert answer.rows == (("81",),)
    assert answer.intervals == (((71.0, 91.0),),)
    staged = "SELECT COUNT(*) FROM patients WHERE income >= (SELECT AVG(income) FROM patients)"
    [[mean]] = gateway.answer("SELECT AVG(income) FROM patients", "ranged").rows
    count = f"SELECT COUNT(*) FROM patients WHERE income >= {mean}"
    [[exactly]] = gateway.answer(count, "plain").rows
    assert float(gateway.answer(staged, "ranged").rows[0][0] or 0) == _middle(exactly, _COUNT)


def test_ends_of_intervals_in_sql_are_those_of_the_ranges(gateway: AskedGateway) -> None:
    """Clients that see rows alone get the same."""
    sql = """SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n), DP_INTERVAL_HIGH(n), DP_INTERVAL_LOW(AVG(income))
        FROM patients WHERE region = 'north'"""
    [[count, low, high, income]] = gateway.answer(sql, "ranged").rows
    assert (count, float(low or 0), float(high or 0)) == ("40", 35.0, 45.0)
    assert (float(income or 0) + _INCOME / 2) % _INCOME == 0


def test_person_by_person_the_widest_ranges_count(gateway: AskedGateway) -> None:
    """A product, and what is added up for each person before, take the ranges of their columns."""
    for sql, width in (
        ("SELECT AVG(t) FROM (SELECT patient_id, SUM(cost) AS t FROM visits GROUP BY 1) s", _COST),
        ("SELECT AVG(v.cost + p.income) FROM visits v JOIN patients p USING (patient_id)", _INCOME),
        ("SELECT SUM(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY 1) s", _COUNT),
    ):
        [[plain]] = gateway.answer(sql, "plain").rows
        [[ranged]] = gateway.answer(sql, "ranged").rows
        assert float(ranged or 0) == _middle(plain, width) != float(plain or 0)


@pytest.mark.parametrize(
    ("aggregate", "width"),
    [
        ("MIN(income)", _INCOME),
        ("MAX(income)", _INCOME),
        ("percentile_cont(0.5) WITHIN GROUP (ORDER BY income)", _INCOME),
        ("STDDEV(income)", _INCOME),
        ("VAR_POP(income)", _INCOME**2),
        ("REGR_COUNT(income, birth_year)", _COUNT),
        ("REGR_AVGY(income, birth_year)", _INCOME),
    ],
)
def test_other_aggregates_are_in_ranges_of_their_column(
    gateway: AskedGateway, aggregate: str, width: int
) -> None:
    """Extremes, percentiles and moments too; variances in squares."""
    sql = f"SELECT {aggregate} FROM patients"
    [[plain]] = gateway.answer(sql, "plain").rows
    [[ranged]] = gateway.answer(sql, "ranged").rows
    assert float(ranged or 0) == _middle(plain, width) != float(plain or 0)


def test_dates_and_times_are_in_ranges_of_days_and_hours(gateway: AskedGateway) -> None:
    """Weeks from Monday, full hours; the first Monday is before the domain, so it is where the domain begins."""
    sql = "SELECT MIN(visit_date), MAX(visit_date), MAX(admitted) FROM visits"
    [[first, last, admitted]] = gateway.answer(sql, "plain").rows
    assert (first, last) == ("2020-01-01", "2026-05-20")
    assert admitted is not None
    assert admitted.startswith("2026-05-21 02:29:")
    found = gateway.answer(sql, "ranged").rows
    assert found == (("2020-01-01", "2026-05-18", "2026-05-21 02:00:00"),)


def test_totals_are_in_ranges_of_their_own(gateway: AskedGateway) -> None:
    """So the rows above a total need not add up to it."""
    sql = "SELECT region, COUNT(*) FROM patients GROUP BY ROLLUP (region) ORDER BY GROUPING(region), region"
    rows = gateway.answer(sql, "ranged").rows
    assert [row[1] for row in rows] == ["20", "40", "20", "10", "0", "100"]


def test_question_is_refused_before_the_charge_when_there_are_no_ranges_for_it(
    gateway: AskedGateway,
) -> None:
    """A correlation is no amount of the column; without ranges the policy has nothing against it."""
    sql = "SELECT CORR(income, birth_year) FROM patients"

    def code(dataset: str) -> Code | None:
        try:
            gateway.answer(sql, dataset)
        except Refusal as refusal:
            return refusal.code
        return None

    assert code("ranged") is Code.OPERATION_NOT_PERMITTED
    assert code("plain") is not Code.OPERATION_NOT_PERMITTED


def test_noise_comes_before_the_ranges(gateway: AskedGateway) -> None:
    """With noise of its own each year's count is a multiple of ten, and its interval ends between two such.

    That of 101 counts with noise of a scale of about 10 all are 0 has a probability below 1e-20.
    """
    answer: Answer = gateway.answer(
        "SELECT birth_year, COUNT(*) FROM patients GROUP BY birth_year", "noisy"
    )
    counts = [int(row[1] or 0) for row in answer.rows]
    assert {count % _COUNT for count in counts} == {0}
    assert len(counts) == 101
    ends = [end for own in answer.intervals if own[1] is not None for end in own[1]]
    assert {end % _COUNT for end in ends} == {5.0}
    assert max(ends) - min(ends) > _COUNT
