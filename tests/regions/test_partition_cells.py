"""Cells of an immutable partition: what is not in those that a statement touches moves no answer of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from overlap.partitioned_statements import (
    CLINIC,
    JOINED,
    PROVEN,
    Databases,
    grounds_of,
    parts_of,
    statement,
    touched_by,
    tried,
)
from samples import draws

from gateway.engines.catalog.proofs import TableProof
from gateway.regions.partition_cells import confining_cells

pytestmark = pytest.mark.server


@pytest.fixture
def databases(tmp_path: Path) -> Iterator[Databases]:
    made = Databases(tmp_path)
    yield made
    made.close()


def test_persons_outside_of_the_touched_cells_move_no_answer(databases: Databases) -> None:
    """Nor do those without a row: over random statements, all of them taken away leave every integer as it was."""
    found = tried(databases, [statement(seed) for seed in range(draws(700))])
    assert found.moved == ()
    assert found.confined > draws(90)


UNCONFINED: Final = [
    # a person without a row of patients is among those that have no region
    f"SELECT COUNT(*) FROM {JOINED.replace('JOIN', 'LEFT JOIN')} WHERE p.region IS NULL",
    # and here there may be none, whatever the policy says of where visits lead
    (
        "SELECT COUNT(*) FROM visits v WHERE NOT EXISTS "
        "(SELECT 1 FROM patients r WHERE r.patient_id = v.patient_id AND r.sex = 'f')"
    ),
    # the same of a table that is not the one with the cells
    (
        "SELECT COUNT(*) FROM patients p WHERE p.band = 0 OR (p.band = 1 AND NOT EXISTS "
        "(SELECT 1 FROM cards k WHERE k.patient_id = p.patient_id))"
    ),
    (
        "SELECT COUNT(*) FROM patients p LEFT JOIN cards c ON p.patient_id = c.patient_id "
        "WHERE p.band = 0 OR (p.band = 1 AND c.patient_id IS NULL)"
    ),
    # the source keeps it from being NULL, but other texts are blanked
    "SELECT COUNT(*) FROM patients p WHERE (p.sex IS NULL AND p.band = 1) OR (p.sex = 'm' AND p.band = 0)",
    (
        "SELECT COUNT(*) FROM patients p WHERE CASE WHEN p.sex = 'm' THEN p.band = 0 "
        "WHEN p.sex = 'f' THEN p.band = 2 ELSE p.band = 1 END"
    ),
    (
        f"SELECT COUNT(*) FROM {JOINED} "
        "WHERE (v.ward IS NULL AND p.band = 1) OR (v.ward = 'x' AND p.band = 0)"
    ),
]


@pytest.mark.parametrize("sql", UNCONFINED)
def test_statement_is_not_confined_when_the_row_may_be_missing_or_blank(
    databases: Databases, sql: str
) -> None:
    """And were it taken for confined, persons of other cells would move its answer."""
    assert touched_by(sql) is None
    found = tried(databases, [sql], believed=frozenset({"patients"}))
    assert found.confined == 1
    assert found.moved == (sql,)


def test_statement_is_not_confined_when_a_person_may_have_two_rows(databases: Databases) -> None:
    """Without the constraint there are no cells; and the comparison sees it when somebody believes in one that is not."""
    sql = "SELECT COUNT(*) FROM patients p WHERE p.region = 'north' AND p.active"
    assert touched_by(sql) is not None
    parts = parts_of(sql)
    assert parts is not None
    assert confining_cells(grounds_of(parts), CLINIC, {**PROVEN, "patients": TableProof()}) is None
    assert confining_cells(grounds_of(parts), CLINIC, {}) is None
    assert tried(databases, [sql], twice=True).moved == (sql,)


def test_other_table_of_one_row_is_taken_at_its_word_only_when_it_is_proven() -> None:
    """Two readings of it are taken for one row, and that decides which rows of patients are left."""
    sql = (
        "SELECT COUNT(*) FROM patients p JOIN cards c ON p.patient_id = c.patient_id "
        "JOIN cards d ON p.patient_id = d.patient_id "
        "WHERE (c.kind = 'a' AND d.kind = 'b' AND p.sex = 'f') OR (p.sex = 'm' AND p.active)"
    )
    parts = parts_of(sql)
    assert parts is not None
    assert confining_cells(grounds_of(parts), CLINIC, PROVEN) is not None
    assert confining_cells(grounds_of(parts), CLINIC, {**PROVEN, "cards": TableProof()}) is None
