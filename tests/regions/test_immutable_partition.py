"""The immutable partition of a dataset, what its cells are called, and which of them a condition meets."""

import json
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Final

import pytest
from laws import for_each
from overlap.partitioned_statements import (
    CARDS,
    CLINIC,
    PATIENTS,
    PROVEN,
    UNIQUE,
    VISITS,
    cells_in,
    column,
    grounds_of,
    parts_of,
    touched_by,
    whole,
)

from gateway.catalog.domains import Interval, Values
from gateway.catalog.tables import Column, Dataset, Protection, Table
from gateway.catalog.types import parse_type
from gateway.engines.catalog.proofs import TableProof
from gateway.regions.partition_cells import MOST_CELLS, confining_cells, partition_of
from gateway.regions.scope_json import scope_json, scope_of_json


def _without(*names: str, table: Table = PATIENTS) -> Dataset:
    """The clinic where these columns may change."""
    columns = tuple(
        replace(one, immutable=one.immutable and one.name not in names) for one in table.columns
    )
    return Dataset("clinic", "patient", (VISITS, replace(table, columns=columns), CARDS))


def test_column_that_may_change_is_no_cell() -> None:
    """A condition on it confines nothing."""
    sql = "SELECT COUNT(*) FROM patients WHERE region = 'north'"
    assert touched_by(sql, _without("sex", "active")) is not None
    assert touched_by(sql, _without("region")) is None
    assert touched_by(sql, _without("region", "sex", "band", "active")) is None
    assert touched_by("SELECT COUNT(*) FROM patients WHERE income = 3") is None


REGIONS: Final = _without("sex", "band", "active")
BANDS: Final = _without("region", "sex", "active")


@for_each(
    ("condition", "cells"),
    [
        ("region = 'north'", [["north"]]),
        ("region IN ('south', 'north') AND income > 3", [["north"], ["south"]]),
        ("region <> 'south'", [["east"], ["north"]]),
        ("region IS NULL", [[None]]),
        ("region IS DISTINCT FROM 'south'", [["east"], ["north"], [None]]),
        ("region = 'north' OR income > 3", None),
        ("region = 'north' AND income = band", [["north"]]),
        ("region LIKE 'n%'", [["north"]]),
        ("region < 'n'", None),
        ("region = 'north' AND region = 'south'", None),
        ("region = 'moon'", None),
        ("region IS NOT NULL OR region IS NULL", None),
    ],
)
def test_touched_cells_are_those_of_the_condition(
    condition: str, cells: list[list[str | None]] | None
) -> None:
    """By their values; nothing that is not read as a condition on them confines."""
    found = touched_by(f"SELECT COUNT(*) FROM patients WHERE {condition}", REGIONS)
    said = None if found is None else [json.loads(one.partition(":")[2]) for one in found]
    assert said == cells


@pytest.mark.parametrize(
    ("condition", "cells"),
    [
        ("band >= 4", ["4"]),
        ("band > 1 AND band < 4", ["2", "3"]),
        ("band <= 0", ["0"]),
        ("2 * band = 4", ["2"]),
        ("band % 2 = 1", ["1", "3"]),
        ("band >= 0", None),
    ],
)
def test_touched_cells_of_an_interval_are_its_steps(
    condition: str, cells: list[str] | None
) -> None:
    """The ends have what is moved to them."""
    found = touched_by(f"SELECT COUNT(*) FROM patients WHERE {condition}", BANDS)
    said = None if found is None else [json.loads(one.partition(":")[2])[0] for one in found]
    assert said == cells


def test_value_between_two_steps_is_in_the_cell_of_the_lower_one() -> None:
    """A decimal whose domain has a step may be stored with more digits."""
    weight = column("weight", "numeric(6,2)", Interval(Fraction(0), Fraction(9), Fraction(3)))
    table = replace(PATIENTS, columns=(*PATIENTS.columns[:1], replace(weight, immutable=True)))
    clinic = Dataset("clinic", "patient", (table, CARDS))
    for condition, cells in {
        "weight > 3.5 AND weight < 3.6": ["3"],
        "weight >= 5.99 AND weight <= 6": ["3", "6"],
        "weight = 9": ["9"],
        "weight < 3": ["0"],
    }.items():
        found = touched_by(f"SELECT COUNT(*) FROM patients WHERE {condition}", clinic)
        assert found is not None
        assert [json.loads(one.partition(":")[2])[0] for one in found] == cells


def test_all_releases_of_a_statement_have_to_be_confined() -> None:
    """One that is not makes it the whole; several have the cells of all of them."""
    north = "(SELECT COUNT(*) FROM patients WHERE region = 'north')"
    south = "(SELECT COUNT(*) FROM patients WHERE region = 'south')"
    every = "(SELECT COUNT(*) FROM patients)"
    both = touched_by(f"SELECT {north}, {south}", REGIONS)
    assert both is not None
    assert cells_in(both) == {("north",), ("south",)}
    assert touched_by(f"SELECT {north}, {every}", REGIONS) is None
    assert confining_cells([], REGIONS, PROVEN) is None


def test_too_many_touched_cells_are_thewhole() -> None:
    """The ledger would keep a line for each."""
    half = "SELECT COUNT(*) FROM patients WHERE "
    assert touched_by(half + "active AND sex = 'f'") is not None
    assert touched_by(half + "region IS NOT NULL") is None, "3 of 4 regions, 90 of 120 cells"


def test_stored_scope_confines_nothing() -> None:
    """Only what has just been read says through which tables its rows have passed."""
    parts = parts_of("SELECT COUNT(*) FROM patients WHERE region = 'north'", REGIONS)
    assert parts is not None
    [scope] = grounds_of(parts)
    assert confining_cells([scope], REGIONS, PROVEN) is not None
    assert confining_cells([scope_of_json(scope_json(scope))], REGIONS, PROVEN) is None


def _digest(dataset: Dataset) -> str:
    found = partition_of(dataset, PROVEN)
    assert found is not None
    return found.digest


def _changed(column: Column) -> Dataset:
    columns = (*PATIENTS.columns[:1], column)
    return Dataset("clinic", "patient", (replace(PATIENTS, columns=columns), CARDS))


def test_cells_have_other_names_when_they_may_hold_other_persons() -> None:
    """Another table, column, type, unit or domain: nobody is in the cells of before."""
    region = PATIENTS.columns[1]
    band = PATIENTS.columns[3]
    key = replace(PATIENTS.columns[0], joins=None)
    numbers = Values((0, 1, 2, 3, 4))
    renamed = replace(PATIENTS, name="people", columns=(key, region))
    other_key = replace(
        PATIENTS, columns=(PATIENTS.columns[5], region), protection=Protection("income", 1, 1)
    )
    datasets = [
        *(REGIONS, CLINIC, _changed(replace(region, name="place"))),
        _changed(replace(region, domain=Values(("north", "south")))),
        _changed(replace(region, domain=Values(("north", "south", "west")))),
        _changed(replace(region, type=parse_type("character varying(8)"))),
        *(_changed(band), _changed(replace(band, domain=whole(0, 5)))),
        *(_changed(replace(band, domain=whole(1, 4))), _changed(replace(band, domain=numbers))),
        _changed(replace(band, domain=Interval(0, 4, Fraction(2)))),
        *(Dataset("clinic", "patient", (renamed,)), Dataset("clinic", "patient", (other_key,))),
    ]
    proven = {**PROVEN, "people": UNIQUE}
    proven["patients"] = TableProof(
        unique=frozenset({frozenset({"patient_id"}), frozenset({"income"})})
    )
    digests = []
    for one in datasets:
        found = partition_of(one, proven)
        assert found is not None
        assert found.digest.isalnum()
        digests.append(found.digest)
    assert len(set(digests)) == len(digests)


def test_cells_keep_their_names_when_nothing_of_them_changes() -> None:
    """Other columns, the order of a set, the name of the dataset, how sensitive a column is."""
    region = replace(PATIENTS.columns[1], domain=Values(("east", "north", "south")))
    again = _without(
        "sex", "band", "active", table=replace(PATIENTS, columns=(PATIENTS.columns[0], region))
    )
    assert _digest(replace(again, name="other")) == _digest(REGIONS)


def test_column_with_too_many_cells_is_left_out() -> None:
    """As is one with which there would be more than can be kept; those after it may fit again."""
    key = PATIENTS.columns[0]
    made = [
        column(
            "born",
            "date",
            Interval(date(1920, 1, 1), date(2020, 1, 1), Fraction(1)),
            immutable=True,
        ),
        column("year", "integer", whole(1, 200), immutable=True),
        column("region", "text", Values(tuple(f"r{one}" for one in range(9))), immutable=True),
        column("sex", "text", Values(("m", "f")), immutable=True),
        column(
            "score",
            "double precision",
            Interval(Fraction(0), Fraction(1), Fraction(1)),
            immutable=True,
        ),
    ]
    clinic = Dataset("clinic", "patient", (replace(PATIENTS, columns=(key, *made)), CARDS))
    found = partition_of(clinic, PROVEN)
    assert found is not None
    assert [str(one.axis.column) for one in found.divisions] == ["patients.year", "patients.sex"]
    assert found.size == 201 * 3 <= MOST_CELLS


def test_first_table_that_has_cells_is_the_one() -> None:
    """Of several; one whose constraint is missing has none."""
    kind = replace(CARDS.columns[1], immutable=True)
    cards = replace(CARDS, columns=(CARDS.columns[0], kind))
    clinic = Dataset("clinic", "patient", (VISITS, cards, PATIENTS))
    first = partition_of(clinic, PROVEN)
    second = partition_of(clinic, {"patients": UNIQUE})
    assert first is not None
    assert second is not None
    assert (first.table, second.table) == ("cards", "patients")
    assert partition_of(_without("region", "sex", "band", "active"), PROVEN) is None
    several = replace(PATIENTS, protection=Protection("patient_id", 2, 1))
    assert partition_of(Dataset("clinic", "patient", (VISITS, several, CARDS)), PROVEN) is None
