"""A constraint of the source licenses a skipped step only while it holds, for the rows that are counted."""

from collections.abc import Iterator
from typing import Any

import pytest
from endtoend.changing_source import DATASET, PERSONS, SWAP, WITHOUT_KEY, Changing, changing
from endtoend.clinic_policy import policy
from engines.sources import connections_of
from fix_servers import SharedServers
from sqlalchemy import event

from gateway.engines import postgresql_digest
from gateway.engines.sharding import MANY_ROWS
from gateway.errors import Code
from gateway.postgres_server import Lease
from gateway.trail.record import RecordKind

TWICE = 24  # persons whose rows are there twice in the other table
_VISITS = "SELECT COUNT(*) FROM visits"
_MANY = f"UPDATE pg_class SET reltuples = {MANY_ROWS} WHERE relname IN ('visits', 'others')"


@pytest.fixture
def clinic(sample_server: Lease, servers: SharedServers) -> Iterator[Changing]:
    with changing(sample_server, servers) as made:
        yield made


def test_count_is_bounded_when_the_table_was_swapped_for_one_without_its_key(
    clinic: Changing,
) -> None:
    """Between two questions on one kept connection: nobody counts twice."""
    assert clinic.count() == PERSONS
    clinic.run(WITHOUT_KEY)
    clinic.run(SWAP)
    assert clinic.value("SELECT count(*) FROM patients") == PERSONS + TWICE
    assert clinic.count() == PERSONS


def test_count_of_rows_is_told_when_nothing_looks_at_the_constraints(
    clinic: Changing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: with a digest that is always the same, those who are there twice count twice."""
    monkeypatch.setattr(
        postgresql_digest, "_DIGEST", "(SELECT 'the same'::text WHERE @NAME@::text IS NOT NULL)"
    )
    assert clinic.count() == PERSONS
    clinic.run(WITHOUT_KEY)
    clinic.run(SWAP)
    assert clinic.count() == PERSONS + TWICE


@pytest.mark.parametrize(
    ("change", "twice"),
    [
        (SWAP, TWICE),
        ("ALTER TABLE patients DROP CONSTRAINT patients_pkey", 0),
        ("ALTER TABLE patients RENAME COLUMN birth_year TO year", None),
    ],
)
def test_question_fails_charged_when_its_table_changes_after_the_charge(
    clinic: Changing, change: str, twice: int | None
) -> None:
    """Nothing of the source is locked between preparing and running, and what changed there is found in the statement."""
    clinic.run(WITHOUT_KEY)
    assert clinic.count() == PERSONS
    before = clinic.charges()
    with clinic.meanwhile(lambda: clinic.run(change)):
        refused = clinic.refusal()
    assert refused.code is Code.SOURCE_CHANGED
    assert clinic.kinds(refused.query_id) == [RecordKind.CHARGED, RecordKind.FAILED]
    assert clinic.charges() == before + 1
    assert clinic.lent() == 0
    if twice is None:
        assert clinic.refusal().code is Code.SOURCE_SCHEMA
    else:
        assert clinic.count() == PERSONS


def test_question_in_parts_is_held_to_its_tables(clinic: Changing) -> None:
    """Tables are locked before the snapshot of all parts; a swap before that is found by every part."""
    visits = clinic.count(_VISITS)
    clinic.run(_MANY)
    clinic.source.database.connections.drop()
    sent: list[str] = []
    for engine in (connections_of(clinic.source).engine, connections_of(clinic.source).spare):
        event.listen(engine, "before_cursor_execute", lambda *one: sent.append(one[2]))
    assert clinic.count(_VISITS) == visits
    [begin, lock, export] = [
        next(place for place, one in enumerate(sent) if one.startswith(start))
        for start in ("BEGIN ISOLATION", "LOCK TABLE", "SELECT pg_export_snapshot")
    ]
    assert lock < export
    assert begin < lock
    assert sum("pg_catalog.pg_constraint" in one and "visits" in one for one in sent) >= 2
    clinic.run("CREATE TABLE others AS SELECT * FROM visits UNION ALL SELECT * FROM visits")
    swap = SWAP.replace("patients", "visits")
    with clinic.meanwhile(lambda: clinic.run(swap)):
        assert clinic.refusal(_VISITS).code is Code.SOURCE_CHANGED
    assert clinic.lent() == 0
    assert clinic.count(_VISITS) == min(2 * visits, 16 * PERSONS)


def test_question_is_prepared_again_once_when_its_connection_dies_after_the_charge(
    clinic: Changing,
) -> None:
    """One charge, one draw of noise, however often the source is connected to."""
    kill = (
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    assert clinic.count() == PERSONS
    before = clinic.charges()
    with clinic.meanwhile(lambda: clinic.run(kill)):
        assert clinic.count() == PERSONS
    assert clinic.charges() == before + 1
    clinic.run(WITHOUT_KEY)
    with clinic.meanwhile(lambda: clinic.run(f"{kill}; {SWAP}")):
        assert clinic.refusal().code is Code.SOURCE_CHANGED
    assert clinic.charges() == before + 2


def _immutable(variable: str) -> str:
    column = "smoker: {type: boolean, class: sensitive"
    text = policy(DATASET, variable, "laplace", groups=10_000)
    assert column in text
    return text.replace(column, f"{column}, immutable: true")


def test_charge_is_confined_to_cells_only_while_a_unit_has_one_row(
    sample_server: Lease, servers: SharedServers
) -> None:
    """The cells of an immutable partition rest on the key: without it everybody is charged."""
    smokers = "SELECT COUNT(*) FROM patients WHERE smoker"
    with changing(sample_server, servers, _immutable) as clinic:

        def cells() -> set[Any]:
            request = clinic.gateway.answer(smokers, DATASET)
            [charged, _] = clinic.records(request.query_id)
            return {one.get("cell") for one in charged["taken"]}

        assert cells() != {None}
        clinic.run(WITHOUT_KEY)
        with clinic.meanwhile(lambda: clinic.run(SWAP)):  # charged to the cells, and not told
            assert clinic.refusal(smokers).code is Code.SOURCE_CHANGED
        clinic.run("ALTER TABLE patients RENAME TO others; ALTER TABLE away RENAME TO patients")
        assert cells() != {None}
        clinic.run(SWAP)
        assert cells() == {None}
