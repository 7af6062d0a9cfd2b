"""An answer names the clip of its weights, in every form in which it is given."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from endtoend.clinic_gateway import AskedGateway, a_gateway, clinic_in_duckdb, shown
from endtoend.clinic_policy import policy
from fix_servers import SharedServers

from gateway.requests.request import Request

_EVENTS = "SELECT diagnosis, COUNT(*), SUM(cost) FROM visits GROUP BY diagnosis"
_PERSONS = "SELECT region, COUNT(*) FROM patients GROUP BY region"


@pytest.fixture(scope="module")
def gateway(
    tmp_path_factory: pytest.TempPathFactory, servers: SharedServers
) -> Iterator[AskedGateway]:
    folder: Path = tmp_path_factory.mktemp("clipped")
    text = policy("clipped", "CLIPPED", "gaussian", groups=10_000)
    source = shown(clinic_in_duckdb(folder / "clipped.duckdb"))
    with a_gateway({"clipped": text}, {"CLIPPED": source}, servers) as opened:
        yield opened


def test_answer_over_events_names_its_scope_and_clip(gateway: AskedGateway) -> None:
    """In the answer and in a notice, and the same again in an estimate."""
    answer = gateway.answer(_EVENTS, "clipped")
    [rows] = [one for one in answer.clipped if not one.over.startswith("units of ")]
    assert rows.over == "visits by visits.diagnosis"
    assert rows.unit == "patient"
    assert rows.limit == gateway.asking.served.all()["clipped"].policy.clipping.default
    said = [one for one in answer.notices if one.startswith(f"{rows.over}: ")]
    assert len(said) == 1
    estimate = gateway.asking.estimate(
        gateway.subjects["alice"], Request(_EVENTS, dataset="clipped")
    )
    assert said[0] in estimate.notices


def test_answer_over_persons_names_no_clip(gateway: AskedGateway) -> None:
    """The negative control: a person with one row in one group counts in full."""
    answer = gateway.answer(_PERSONS, "clipped")
    assert answer.clipped == ()
    assert not [one for one in answer.notices if "norm" in one]
