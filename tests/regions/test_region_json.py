"""Scopes as JSON: what is written is read back exactly."""

import json
from datetime import UTC, date, datetime
from fractions import Fraction
from uuid import UUID

import pytest
from hypothesis import given, settings
from laws import for_each
from regions.test_region import REGIONS
from regions.ward import scope
from samples import draws

from gateway.catalog.values import Value, value_json, value_of_json
from gateway.json_form import InvalidJson
from gateway.regions.region import Region, region_json, region_of_json
from gateway.regions.scope_json import scope_json, scope_of_json

_STATEMENTS = [
    "SELECT COUNT(*) FROM patients",
    "SELECT COUNT(*) FROM patients WHERE false",
    "SELECT region, sex, COUNT(*) FROM patients WHERE birth_year < 1950 OR smoker GROUP BY 1, 2",
    "SELECT name, COUNT(*) FROM patients WHERE name LIKE 'a%' GROUP BY 1",
    "SELECT visit_date, COUNT(*) FROM visits WHERE cost > 9.99 GROUP BY 1",
    "SELECT date_trunc('month', admitted), COUNT(*) FROM visits GROUP BY 1",
    "SELECT floor(cost / 1000), COUNT(*) FROM visits WHERE diagnosis NOT IN ('a', 'b') GROUP BY 1",
    "SELECT birth_year > 1950, COUNT(*) FROM patients GROUP BY 1",
]


@pytest.mark.parametrize("sql", _STATEMENTS)
def test_scope_is_equal_after_the_round_trip(sql: str) -> None:
    """Through text, as the state keeps it."""
    made = scope(sql)
    text = json.dumps(scope_json(made), sort_keys=True)
    again = scope_of_json(json.loads(text))
    assert again == made
    assert json.dumps(scope_json(again), sort_keys=True) == text


@settings(max_examples=draws(200), deadline=None)
@given(REGIONS)
def test_region_is_equal_after_the_round_trip(region: Region) -> None:
    """Whatever its boxes are."""
    assert region_of_json(json.loads(json.dumps(region_json(region)))) == region


@for_each(
    "value",
    [
        None,
        True,
        3,
        Fraction(3),
        Fraction(1, 3),
        "3",
        "",
        date(2024, 2, 29),
        datetime(2024, 2, 29, 1, 2, 3, 4),  # noqa: DTZ001 - without a zone
        datetime(2024, 2, 29, tzinfo=UTC),
        UUID(int=5),
    ],
)
def test_value_keeps_its_type(value: Value | None) -> None:
    """A number is not the text of a number, a day is not its midnight."""
    again = value_of_json(json.loads(json.dumps(value_json(value))))
    assert again == value
    assert type(again) is type(value)


@pytest.mark.parametrize("said", [{"axes": [], "boxes": "x"}, [], {"axes": [], "boxes": [[["a", ["cells", [], False]]]]}])  # fmt: skip
def test_what_was_not_written_here_is_refused(said: object) -> None:
    """A state that somebody else wrote into is no region."""
    with pytest.raises(InvalidJson):
        region_of_json(said)  # type: ignore[arg-type]
