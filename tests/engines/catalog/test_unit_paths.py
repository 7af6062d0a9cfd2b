"""What a source must say of the keys of unit paths, and which other keys lead to persons."""

from dataclasses import replace

import duckdb
import pytest
from fix_policy import BASE, read

from gateway.catalog.tables import Dataset
from gateway.engines.catalog.describe import SourceColumn, SourceTables, read_duckdb
from gateway.engines.catalog.proofs import find_mismatches, list_other_paths, prove_tables
from gateway.plan.relations import Scan, stored_tables
from gateway.regions.declarations import declarations

_MORE = """
  prescriptions:
    unit_key: visits.patient_id
    rows_per_unit: 5
    groups_per_unit: 2
    columns:
      prescription_id: {type: bigint, class: identifier}
      visit_id: {type: bigint, class: identifier, joins: visits.visit_id}
      doctor_id: {type: bigint, class: identifier}
      agent_id: {type: bigint, class: identifier, joins: patients.patient_id}
  refills:
    unit_key: visits.patient_id
    rows_per_unit: 5
    groups_per_unit: 2
    columns:
      prescription_id: {type: bigint, class: identifier, joins: prescriptions.prescription_id}
  regions: {public: true}
"""
DATASET = read(BASE.replace("  regions: {public: true}\n", _MORE.lstrip("\n"))).accepted.dataset
_TABLES = """
CREATE TABLE regions (region text PRIMARY KEY);
CREATE TABLE patients (patient_id bigint PRIMARY KEY, region text, birth_year integer, income decimal(38, 10),
    weight double);
CREATE TABLE doctors (doctor_id bigint PRIMARY KEY, person_id bigint REFERENCES patients);
"""
_VISITS = "CREATE {kind} visits (visit_id {of}, patient_id bigint, cost numeric(8,2), visit_date date{more});"
_REST = """
CREATE TABLE prescriptions (prescription_id bigint PRIMARY KEY, visit_id bigint, agent_id bigint,
    doctor_id bigint REFERENCES doctors);
CREATE TABLE refills (prescription_id bigint);
"""


def _described(visits: str) -> SourceTables:
    with duckdb.connect(":memory:") as connection:
        connection.execute(_TABLES + visits + _REST)
        return SourceTables(("main",), read_duckdb(lambda sql: connection.execute(sql).fetchall()))


def _visits(of: str = "bigint PRIMARY KEY", more: str = "") -> str:
    return _VISITS.format(kind="TABLE", of=of, more=more)


def _said(source: SourceTables, dataset: Dataset = DATASET) -> list[tuple[str, str | None, str]]:
    return [
        (one.table, one.column, one.message)
        for one in find_mismatches(dataset, source)
        if "numeric" not in one.message
    ]


_NEEDS = (
    "the unit path of `prescriptions` needs one row of `visits` for each `visits.visit_id`, but "
)


@pytest.mark.unit
@pytest.mark.parametrize("of", ["bigint PRIMARY KEY", "bigint UNIQUE"])
def test_unit_path_fits_when_a_constraint_makes_its_parent_unique(of: str) -> None:
    """A primary key and UNIQUE do; the child needs no foreign key."""
    assert _said(_described(_visits(of))) == []


@pytest.mark.unit
@pytest.mark.parametrize(
    ("visits", "why"),
    [
        (_visits("bigint"), "no constraint that the source enforces makes it unique"),
        (
            _visits("bigint", ", PRIMARY KEY (patient_id, visit_id)"),
            "only (`patient_id`, `visit_id`) together are unique; keys of several columns are not supported",
        ),
        (
            f"{_visits().replace('visits', 'v')} CREATE VIEW visits AS SELECT * FROM v;",
            "no constraint that the source enforces makes it unique",
        ),
    ],
    ids=["no constraint", "two columns", "view"],
)
def test_unit_path_misfits_when_a_row_could_have_two_parents(visits: str, why: str) -> None:
    """The message names the key and what is there instead; tables below it have a complaint of their own path only."""
    source = _described(visits)
    assert _said(source) == [("prescriptions", "visit_id", _NEEDS + why)]
    assert not prove_tables(DATASET, source)["visits"].meets_one({"visit_id"})


@pytest.mark.unit
def test_unit_path_misfits_when_its_columns_have_two_types_or_collations() -> None:
    """Also where every value of the one is one of the other."""
    source = _described(_visits("integer PRIMARY KEY"))
    [(_, _, message)] = _said(source)
    assert (
        message
        == "`prescriptions.visit_id` is `bigint` in the source, but `visits.visit_id` is `integer`"
    )
    source = _described(_visits())
    tables = tuple(
        replace(one, columns=tuple(_collated(column) for column in one.columns))
        if one.name == "visits"
        else one
        for one in source.tables
    )
    [(_, _, message)] = _said(replace(source, tables=tables))
    assert message.endswith("but `visits.visit_id` is `bigint` of collation `public.german`")


def _collated(column: SourceColumn) -> SourceColumn:
    return replace(column, collation="public.german") if column.name == "visit_id" else column


@pytest.mark.unit
def test_other_keys_that_lead_to_a_person_are_listed() -> None:
    """Declared ones, and foreign keys over tables that the policy does not name."""
    source = _described(_visits())
    told = [(one.table, one.column, one.message) for one in list_other_paths(DATASET, source)]
    assert [(table, column) for table, column, _ in told] == [
        ("prescriptions", "agent_id"),
        ("prescriptions", "doctor_id"),
    ]
    assert all(
        message.endswith("the end of the unit path and nobody else named in them")
        for _, _, message in told
    )


@pytest.mark.unit
def test_scan_reads_the_tables_of_its_unit_path() -> None:
    """They are locked and looked at like the table itself."""
    table = DATASET.table("refills")
    assert table is not None
    scan = Scan(table, "r", "patient")
    assert stored_tables(scan) == {"refills", "prescriptions", "visits"}


@pytest.mark.unit
def test_declarations_differ_by_the_unit_path() -> None:
    """An answer over one path is not reused over another; what is read as stored differs, too."""
    table, visits = DATASET.table("prescriptions"), DATASET.table("visits")
    assert table is not None
    assert visits is not None
    path = "visit_id: {type: bigint, class: identifier, joins: visits.visit_id}"
    other = read(
        BASE.replace("  regions: {public: true}\n", _MORE.lstrip("\n"))
        .replace(path, path.replace(", joins: visits.visit_id", ""))
        .replace(
            "prescriptions:\n    unit_key: visits.patient_id",
            "prescriptions:\n    unit_key: patients.patient_id",
        )
        .replace(
            "refills:\n    unit_key: visits.patient_id",
            "refills:\n    unit_key: patients.patient_id",
        )
    ).accepted.dataset
    for one in (table, visits):
        scan = Scan(one, "t", "patient")
        assert declarations(scan, DATASET) != declarations(scan, other)
