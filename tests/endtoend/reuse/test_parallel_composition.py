"""Queries about disjoint people share a budget if an immutable column separates them."""

from collections.abc import Iterator
from fractions import Fraction

import pytest
from endtoend.reuse.clinics import PRICE
from endtoend.reuse.datasets import POSTGRESQL, ZCDP, Opened, Place, opened
from fix_servers import SharedServers

from gateway.postgres_server import Lease

_PRICE = Fraction(PRICE)
_NORTH = "SELECT COUNT(*) FROM patients WHERE region = 'north'"
_SOUTH = "SELECT SUM(income) FROM patients p WHERE p.region IN ('south')"
_BOTH = "SELECT AVG(birth_year) FROM patients WHERE region IN ('north', 'south')"
_VISITS = (
    "SELECT COUNT(*) FROM visits JOIN patients USING (patient_id) WHERE patients.region = 'east'"
)
_WITHOUT_A_ROW = (
    "SELECT COUNT(*) FROM visits v LEFT JOIN patients p ON p.patient_id = v.patient_id"
    " WHERE p.region IS NULL"
)
_GROUPED = "SELECT region, COUNT(*) FROM patients GROUP BY region"


@pytest.fixture(scope="module")
def regions(sample_server: Lease, servers: SharedServers) -> Iterator[Opened]:
    with opened(sample_server, servers, postgresql=4, zcdp=2) as one:
        yield one


def _immutable(regions: Opened) -> Place:
    place = regions.place(POSTGRESQL)
    _declare_immutable(place)
    return place


def _declare_immutable(place: Place) -> None:
    listed = "domain: {in: [north, east, south, west]}"
    place.change_policy(listed, f"{listed}, immutable: true")


def test_cells_are_charged_apart_when_their_column_never_changes(regions: Opened) -> None:
    """A, B, A and B, the visits of C; what is about everybody, and about persons without a row, is everybody's."""
    place = _immutable(regions)
    cost = {
        sql: place.charged_for(lambda sql=sql: place.ask(sql))  # type: ignore[misc]  # bound now
        for sql in (_NORTH, _SOUTH, _BOTH, _VISITS, _WITHOUT_A_ROW, _GROUPED)
    }
    assert cost == {
        _NORTH: _PRICE,
        _SOUTH: 0,
        _BOTH: _PRICE,
        _VISITS: 0,
        _WITHOUT_A_ROW: _PRICE,
        _GROUPED: _PRICE,
    }
    assert place.spent() == place.spent_by_all() == 4 * _PRICE


def test_everything_is_charged_together_when_the_column_may_change(regions: Opened) -> None:
    """The negative control: nothing is declared, so each question is everybody's."""
    place = regions.place(POSTGRESQL)
    for number, sql in enumerate((_NORTH, _SOUTH, _BOTH), 1):
        place.ask(sql)
        assert place.spent_by_all() == number * _PRICE


def test_answer_of_a_cell_is_paid_for_in_that_cell_by_whoever_is_told(regions: Opened) -> None:
    """Somebody else's account gives for it where it lies, and the trail agrees with all of it."""
    place = _immutable(regions)
    place.ask(_NORTH)
    place.ask(_SOUTH, "dave")
    assert place.ask(_NORTH, "dave").charged.value == 0  # beside the south it makes nothing fuller
    assert place.spent("dave") == _PRICE
    assert regions.foundation.verify_trail().intact


def test_answer_whose_charge_makes_no_account_fuller_is_kept_under_its_key(regions: Opened) -> None:
    """The charge is durable, so the same key gives the same answer."""
    place = _immutable(regions)
    place.ask(_NORTH, epsilon=str(float(4 * _PRICE)))
    key = (f"south {place.dataset}", "what it asked")
    first = place.ask(_SOUTH, idempotency=key)
    assert first.charged.value == 0
    assert place.ask(_SOUTH, idempotency=key) == first


@pytest.mark.parametrize("before", [True, False])
def test_what_was_topped_up_lies_where_all_of_it_was_charged(
    regions: Opened,
    before: bool,  # noqa: FBT001 - whether it was declared in time
) -> None:
    """What was charged to everybody at first is everybody's for whoever is told of it, whatever was added later."""
    place = regions.place(ZCDP)
    if before:
        _declare_immutable(place)
    place.ask(_NORTH)
    if not before:
        _declare_immutable(place)
    dear = {"epsilon": str(float(4 * _PRICE))}
    assert 0 < place.ask(_NORTH, **dear).charged.value < 4 * _PRICE
    place.ask(_SOUTH, "dave", **dear)
    told = place.ask(_NORTH, "dave", **dear)
    assert told.reused is not None
    assert told.charged.value == (0 if before else 4 * _PRICE)
