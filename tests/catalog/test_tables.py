"""A projection shows what was named and the unit keys, and nothing that hints at the rest."""

import pytest
from fix_policy import BASE, read
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.tables import Column, ColumnRef, Dataset, Protection, Table, visible_part
from gateway.catalog.types import parse_type

CLINIC = read(BASE).accepted.dataset
NUMBER = parse_type("bigint")


def test_projection_keeps_the_unit_key_and_cuts_joins_that_lead_nowhere() -> None:
    """Counting persons needs no column; a join to a hidden table says that there is one."""
    both = visible_part(CLINIC, {"patients": ["region"], "visits": []})
    assert [[column.name for column in table.columns] for table in both.tables] == [
        ["patient_id", "region"],
        ["patient_id"],
    ]
    key = both.find(ColumnRef("visits", "patient_id"))
    assert key is not None
    assert key.joins == ColumnRef("patients", "patient_id")
    alone = visible_part(CLINIC, {"visits": ["cost"]}).find(ColumnRef("visits", "patient_id"))
    assert alone is not None
    assert alone.joins is None


NAMES = [(table.name, column.name) for table in CLINIC.tables for column in table.columns]


@given(st.sets(st.sampled_from(NAMES)))
def test_projection_has_nothing_that_was_not_named(named: set[tuple[str, str]]) -> None:
    """Except the unit key of a table that was."""
    wanted: dict[str, set[str]] = {}
    for of, column in named:
        wanted.setdefault(of, set()).add(column)
    seen = visible_part(CLINIC, wanted)
    assert {table.name for table in seen.tables} == set(wanted)
    for table in seen.tables:
        key = table.unit_column
        extra = {column.name for column in table.columns} - wanted[table.name]
        assert extra <= {key.name if key else ""}


def test_dataset_that_cannot_be_is_a_bug() -> None:
    """Doubled names, a unit key or a join that leads nowhere are found when it is made."""
    column = Column("id", NUMBER)
    table = Table("t", (column,), Protection("id", 1, 1))
    with pytest.raises(ValueError, match="one name"):
        Table("t", (column, column))
    with pytest.raises(ValueError, match="unit key"):
        Table("t", (column,), Protection("other", 1, 1))
    with pytest.raises(ValueError, match="two tables"):
        Dataset("d", "person", (table, table))
    with pytest.raises(ValueError, match="joins"):
        Dataset("d", "person", (Table("t", (Column("id", NUMBER, joins=ColumnRef("u", "id")),)),))
    assert Dataset("d", "person", (table,)).find(ColumnRef("t", "nothing")) is None
    assert table.unit_column == column
