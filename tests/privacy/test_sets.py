"""Several grouping sets on the whole line, with real noise: totals add up, and cost what is measured for them."""

from collections.abc import Iterator
from fractions import Fraction

import pytest
from engines.sources import in_duckdb
from fix_state import StateServer
from privacy.line import NOON, Line, open_line, whole_shares
from privacy.neighbour_clinics import SUBJECTS, statements
from privacy.neighbour_clinics import policy as policy_of
from queries import analyzed

from gateway.budget.charge import ChargeRequest
from gateway.pricing.price import charge_request
from gateway.requests.request import Request
from gateway.twin import Twin
from gateway.units import Epsilon

_BOTH = "SELECT region, smoker, GROUPING(region, smoker) AS g, {} FROM patients GROUP BY {}"


@pytest.fixture(scope="module", params=["laplace", "gaussian"])
def line(
    request: pytest.FixtureRequest,
    state_server: StateServer,
    twin: Twin,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Line]:
    home = tmp_path_factory.mktemp("sets")
    source = in_duckdb(home, statements(with_person=True))
    policy = policy_of(request.param)
    with open_line(state_server, twin, home / "g", source, policy=policy, subjects=SUBJECTS) as one:
        yield one


def _charged(line: Line, sql: str) -> ChargeRequest:
    services, request = line.asking.services, Request(sql)
    query = analyzed(services, line.alice, request, NOON)
    return charge_request(query, whole_shares(query))


def _names(charge: ChargeRequest) -> list[str]:
    return [one.name for one in charge.measurements]


@pytest.mark.parametrize("sets", ["ROLLUP (region, smoker)", "CUBE (region, smoker)"])
def test_totals_of_listed_groups_cost_nothing(line: Line, sets: str) -> None:
    """One count is one measurement, in however many sets."""
    charge = _charged(line, _BOTH.format("COUNT(*)", sets))
    assert _names(charge) == ["r1.1.1"]
    assert charge.measurements[0].share == 1


def test_price_is_split_over_the_sets_when_something_does_not_add_up(line: Line) -> None:
    """Rows are counted once; persons with visits in several quarters in every set."""
    quarter = "EXTRACT(quarter FROM visit_date)"
    sql = f"SELECT {quarter}, COUNT(*), COUNT(DISTINCT patient_id) FROM visits GROUP BY ROLLUP ({quarter})"
    charge = _charged(line, sql)
    assert _names(charge) == ["r1.1.1", "r1.1.2", "r1.2.1"]
    assert {one.share for one in charge.measurements} == {Fraction(1, 3)}


def test_delta_is_split_over_the_sets_that_have_a_threshold(line: Line) -> None:
    """Two sets of found groups take no more than one alone; a total takes none."""
    one = _charged(line, "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis")
    several = _charged(
        line,
        "SELECT diagnosis, visit_id, COUNT(*) FROM visits GROUP BY ROLLUP (diagnosis, visit_id)",
    )
    deltas = {each.name: each.delta.value for each in several.measurements if each.delta}
    assert set(deltas) == {"r1.1.1", "r1.2.1"}
    assert len(set(deltas.values())) == 1
    assert 0 < several.delta.value <= one.delta.value


def test_totals_of_answers_add_up_whatever_the_noise(line: Line) -> None:
    """To the last digit that is shown, in every set, at every price."""
    noisy = set()
    for price in (Fraction(1), Fraction(10), Fraction(900)):
        answer = line.answer(
            _BOTH.format("SUM(birth_year)", "CUBE (region, smoker)"), epsilon=Epsilon(price)
        )
        rows = {(row[2], row[0], row[1]): int(row[3] or 0) for row in answer.rows}
        assert len(rows) == len(answer.rows) == 24
        finest = {key: value for key, value in rows.items() if key[0] == "0"}
        for key, total in rows.items():
            shown = {"0": (1, 2), "1": (1,), "2": (2,), "3": ()}[key[0] or ""]
            same = [one for one in finest if all(one[place] == key[place] for place in shown)]
            assert sum(finest[one] for one in same) == total, key
        noisy.add(rows["3", None, None])
    assert len(noisy) == 3


def test_intervals_of_totals_are_wider_by_the_root_of_what_is_added_up(line: Line) -> None:
    """5 regions with NULL and 3 answers of smokers: a total's interval says how noisy it is."""
    sql = "SELECT region, smoker, GROUPING(region, smoker) AS g, SUM(birth_year) AS s FROM patients GROUP BY CUBE (region, smoker)"
    # noise that is wide beside the steps of one that it has
    answer = line.answer(sql, epsilon=Epsilon(Fraction(1, 100)))
    widths: dict[str | None, set[float]] = {}
    for row, own in zip(answer.rows, answer.intervals, strict=True):
        assert own[3] is not None
        low, high = own[3]
        widths.setdefault(row[2], set()).add(round(high - low, -1))
    assert all(max(one) - min(one) <= 10 for one in widths.values())
    [finest], [region], [smoker], [total] = ([max(widths[g])] for g in ("0", "1", "2", "3"))
    near = (
        0.12 if answer.rho is None else 0.02
    )  # one Laplace's tails are heavier than those of a sum
    assert region / finest == pytest.approx(3**0.5, rel=near)
    assert smoker / finest == pytest.approx(5**0.5, rel=near)
    assert total / finest == pytest.approx(15**0.5, rel=near)
