"""An answer names the clip of its weights, in every form in which it is given."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from endtoend.clinic_gateway import AskedGateway, a_gateway, clinic_in_duckdb, shown
from endtoend.clinic_policy import NO_CLIP, policy
from fix_servers import SharedServers

from gateway.requests.request import Request

_EVENTS = "SELECT diagnosis, COUNT(*), SUM(cost) FROM visits GROUP BY diagnosis"
_PERSONS = "SELECT region, COUNT(*) FROM patients GROUP BY region"
_GIVEN = f"clip: {NO_CLIP}"
_POLICIES = {
    "clipped": ("gaussian", _GIVEN),
    "gaussian": ("gaussian", "clip: {price: 0}"),
    "laplace": ("laplace", "clip: {price: 0}"),
    "capped": ("laplace", "clip: {max: 32, price: 0}"),
}


@pytest.fixture(scope="module")
def gateway(
    tmp_path_factory: pytest.TempPathFactory, servers: SharedServers
) -> Iterator[AskedGateway]:
    """Of `clipped` the policy says the clip, of the others what a patient has: 16 rows in each of 16 groups."""
    folder: Path = tmp_path_factory.mktemp("clipped")
    texts = {
        name: policy(name, name.upper(), mechanism, groups=10_000).replace(_GIVEN, clip)
        for name, (mechanism, clip) in _POLICIES.items()
    }
    sources = {name.upper(): shown(clinic_in_duckdb(folder / f"{name}.duckdb")) for name in texts}
    with a_gateway(texts, sources, servers) as opened:
        yield opened


def test_answer_over_events_names_its_scope_and_clip(gateway: AskedGateway) -> None:
    """In the answer and in a notice, and the same again in an estimate."""
    answer = gateway.answer(_EVENTS, "clipped")
    [rows] = [one for one in answer.clipped if not one.over.startswith("units of ")]
    assert rows.over == "visits by diagnosis"
    assert rows.unit == "patient"
    assert rows.limit == gateway.asking.served.all()["clipped"].policy.clipping.default
    said = [one for one in answer.notices if one.startswith(f"{rows.over}: ")]
    assert ["up to a norm of" in one for one in said] == [True, False]
    assert "each patient counts in at most" in said[1]
    estimate = gateway.asking.estimate(
        gateway.subjects["alice"], Request(_EVENTS, dataset="clipped")
    )
    assert set(said) <= set(estimate.notices)


def _noise(gateway: AskedGateway, dataset: str) -> float:
    [count] = [one for one in gateway.answer(_EVENTS, dataset).columns if one.name == "count"]
    assert count.scale is not None
    return count.scale


@pytest.mark.parametrize(
    ("dataset", "limit", "other", "of_other"),
    [("gaussian", 16 * 4, "clipped", 1024), ("laplace", 16 * 16, "capped", 32)],
)
def test_clip_is_that_of_what_is_declared_where_none_is_given(
    gateway: AskedGateway, dataset: str, limit: int, other: str, of_other: int
) -> None:
    """R·√G for Gaussian noise and R·G for Laplace's, never more than the largest of the policy; noise is as large."""
    for name, clip in ((dataset, limit), (other, of_other)):
        scopes = gateway.answer(_EVENTS, name).clipped
        assert [one.limit for one in scopes if not one.over.startswith("units of ")] == [clip]
    larger = _noise(gateway, other) / _noise(gateway, dataset)
    assert larger == pytest.approx(of_other / limit, rel=1e-3)


def test_answer_over_persons_names_no_clip(gateway: AskedGateway) -> None:
    """The negative control: a person with one row in one group counts in full."""
    answer = gateway.answer(_PERSONS, "clipped")
    assert answer.clipped == ()
    assert not [one for one in answer.notices if "norm" in one]
