"""The price from the policies alone equals the estimate of a running gateway, to the last bit."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from endtoend.clinic_gateway import AskedGateway, a_gateway, clinic_in_duckdb, shown
from endtoend.clinic_policy import policy
from fix_policy import loaded_policies
from fix_servers import SharedServers

from gateway.admin.cost_estimate import forecast_cost
from gateway.datasets.view import Question, Views
from gateway.policy.files.load import LoadedPolicies
from gateway.requests.request import Request
from gateway.trail.record import utc_now

_DATASETS = {"laplace": "laplace", "gaussian": "gaussian", "auto": "auto"}


@dataclass(frozen=True)
class Both:
    """A running gateway, and the files it loaded."""

    gateway: AskedGateway
    loaded: LoadedPolicies


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, servers: SharedServers) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("foretelling")
    policies = {
        name: policy(name, name.upper(), mechanism, groups=100, price="0.1", budget="20")
        for name, mechanism in _DATASETS.items()
    }
    # an analyst whose cap is not the ledger's: in zCDP the least of them decides
    policies["gaussian"] = policies["gaussian"].replace(
        "    budget: {epsilon: 20}", "    budget: {epsilon: 3}"
    )
    environment: Mapping[str, str] = {
        name.upper(): shown(clinic_in_duckdb(folder / f"{name}.duckdb")) for name in policies
    }
    with a_gateway(policies, environment, servers) as gateway:
        yield Both(gateway, loaded_policies(gateway.home / "policies", environment))


@pytest.mark.parametrize("dataset", _DATASETS)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM patients",
        "SELECT region, COUNT(*), SUM(income), AVG(income) FROM patients GROUP BY region",
        "SELECT diagnosis, COUNT(*), COUNT(DISTINCT patient_id) FROM visits GROUP BY diagnosis",
        "SELECT COUNT(*) + SUM(cost) / 7 FROM visits",
        "SELECT diagnosis, STDDEV(cost), CORR(cost, weight), COUNT(*) FROM visits GROUP BY diagnosis",
        "SELECT region FROM patients GROUP BY region",
        "SELECT region, MEDIAN(income), MAX(birth_year) FROM patients GROUP BY region",
        "SELECT diagnosis, MIN(cost), COUNT(*) FROM visits GROUP BY diagnosis",
        "SELECT DP_TOP(region, 2), percentile_cont(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY income) FROM patients",
        "SELECT region FROM patients WHERE region IS NOT NULL GROUP BY 1 ORDER BY COUNT(*) DESC LIMIT 2",
        "SELECT region, smoker, COUNT(*), SUM(income) FROM patients GROUP BY CUBE (region, smoker)",
        "SELECT diagnosis, COUNT(*), COUNT(DISTINCT patient_id) FROM visits GROUP BY ROLLUP (diagnosis)",
    ],
)
def test_price_and_margins_are_those_of_a_running_gateway(
    both: Both, sql: str, dataset: str
) -> None:
    """Nothing was spent or granted, so the ledger knows no more than the policies."""
    alice, rules = both.loaded.subjects["alice"], both.loaded.policies[dataset]
    question = Question(Request(sql), alice, "rest", utc_now())
    bound = Views(rules).bind(question, both.gateway.asking.services.twin.borrowed)
    found = forecast_cost(bound, rules)
    said = both.gateway.asking.estimate(alice, Request(sql, dataset=dataset))
    assert (found.price, found.delta) == (said.price, said.delta)
    assert found.margins == tuple(one.expected_margin_95 for one in said.columns)
    ranks = [one.rank_error for one in found.columns]
    assert ranks == [one.expected_rank_error_95 for one in said.columns]


@pytest.mark.parametrize("dataset", _DATASETS)
def test_noise_is_that_of_the_answer(both: Both, dataset: str) -> None:
    """Mechanism and scale of each column, and the cost in the ledger's currency."""
    sql = "SELECT region, COUNT(*) AS n FROM patients GROUP BY region"
    alice, rules = both.loaded.subjects["alice"], both.loaded.policies[dataset]
    question = Question(Request(sql), alice, "rest", utc_now())
    bound = Views(rules).bind(question, both.gateway.asking.services.twin.borrowed)
    found = forecast_cost(bound, rules)
    answer = both.gateway.answer(sql, dataset)
    assert found.columns == answer.columns
    assert answer.rho in {None, found.cost}
    assert (answer.rho is None) == (found.currency.value == "pure")


@pytest.mark.parametrize("dataset", _DATASETS)
def test_rank_errors_are_those_of_the_answer(both: Both, dataset: str) -> None:
    """Of what is chosen the mechanism and the rank error are told, of what is counted the noise."""
    sql = (
        "SELECT region, MEDIAN(birth_year), MIN(birth_year), COUNT(*) FROM patients GROUP BY region"
    )
    alice = both.loaded.subjects["alice"]
    said = both.gateway.asking.estimate(alice, Request(sql, dataset=dataset))
    answer = both.gateway.answer(sql, dataset)
    assert [one.rank_error for one in answer.columns] == [
        one.expected_rank_error_95 for one in said.columns
    ]
    key, median, least, count = answer.columns
    assert (median.mechanism, least.mechanism) == ("exponential", "exponential")
    assert median.rank_error is not None
    assert least.rank_error is not None
    assert 0 < median.rank_error < least.rank_error
    assert (key.rank_error, count.rank_error) == (None, None)
    assert count.mechanism != "exponential"
    assert said.columns[3].expected_margin_95 is not None
