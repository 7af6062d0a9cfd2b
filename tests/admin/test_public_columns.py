"""Public tables get the columns that a policy leaves out from their source, when policies are opened."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import psycopg
import pytest
from fix_policy import BASE, ENVIRONMENT
from fix_sample import plain
from fix_twin import state as state_is
from sqlalchemy import URL, Engine, event

from gateway.admin.check_policies import complete_from_sources, current_policies
from gateway.binding.bind import bind
from gateway.binding.bound import Cut, Fetch
from gateway.catalog.domains import Values
from gateway.catalog.tables import Dataset, Table
from gateway.errors import Reason
from gateway.events import Event, PolicyWarning, ignore_event
from gateway.policy.files.load import PolicyReading, read_policies
from gateway.policy.in_force import Cause
from gateway.state.open import State
from gateway.trail.record import Trail
from gateway.twin import DescribedColumn, Twin, TwinRefused, visible_tables

pytestmark = pytest.mark.server

SUBJECTS = "alice: {role: researcher, region: north}\n"
CAUSE = Cause("os:op", "test")
REGIONS = """
CREATE TABLE regions (region text NOT NULL, people bigint, coastal boolean, area numeric(8,2),
    "odd.name" text, tags text[]);
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "policies"
    place.mkdir()
    (place / "clinic.yaml").write_text(BASE)
    (place / "subjects.yaml").write_text(SUBJECTS)
    return place


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(REGIONS)
    return file


@pytest.fixture(params=["duckdb", "postgresql"])
def source(request: pytest.FixtureRequest) -> str:
    """The URL of a source that has the regions."""
    if request.param == "duckdb":
        return duckdb_url(request.getfixturevalue("file"))
    url: URL = request.getfixturevalue("sample_database")
    with psycopg.connect(plain(url), autocommit=True) as connection:
        connection.execute(REGIONS)
    return plain(url)


def duckdb_url(file: Path) -> str:
    return f"duckdb:///{file}"


def reading(place: Path, source: str) -> PolicyReading:
    return read_policies(place, {"CLINIC_URL": source})


def dataset(reading: PolicyReading) -> Dataset:
    assert reading.loaded is not None
    return reading.loaded.policies["clinic"].dataset


def regions(reading: PolicyReading) -> Table:
    table = dataset(reading).table("regions")
    assert table is not None
    return table


def test_columns_come_from_the_source(place: Path, source: str) -> None:
    """Of types the gateway knows and names a policy could declare; never null only where that is sure."""
    before = reading(place, source)
    found = complete_from_sources(before)
    assert [(one.name, str(one.type), one.nullable) for one in regions(found).columns] == [
        ("region", "text", False),
        ("people", "bigint", True),
        ("coastal", "boolean", True),
        ("area", "numeric(8,2)", True),
    ]
    coastal = regions(found).column("coastal")
    assert coastal is not None
    assert coastal.domain == Values((False, True))
    assert found.loaded is not None
    assert before.loaded is not None
    assert found.loaded.digest == before.loaded.digest
    assert found.loaded.warnings == before.loaded.warnings
    protected = [table for table in dataset(found).tables if not table.public]
    assert protected == [table for table in dataset(before).tables if not table.public]


def test_declared_columns_win(place: Path, source: str) -> None:
    """A table that says its columns keeps them; that they are never NULL the source may add."""
    text = BASE.replace("{public: true}", "{public: true, columns: {region: {type: text}}}")
    (place / "clinic.yaml").write_text(text)
    found = complete_from_sources(reading(place, source))
    assert [one.name for one in regions(found).columns] == ["region"]
    (told,) = regions(found).columns
    (said,) = regions(reading(place, source)).columns
    assert (told.nullable, said.nullable) == (False, True)
    assert replace(told, nullable=True) == said


def test_source_that_is_not_needed_is_not_asked(place: Path) -> None:
    """Where all public tables are declared, it may be away, and nobody warns."""
    text = BASE.replace("{public: true}", "{public: true, columns: {region: {type: text}}}")
    (place / "clinic.yaml").write_text(text)
    away = reading(place, "postgresql://reader:hunter2@127.0.0.1:1/clinic")
    found = complete_from_sources(away)
    assert found.loaded is not None
    assert away.loaded is not None
    assert found.loaded.warnings == away.loaded.warnings


@pytest.mark.parametrize(
    ("away", "why"),
    [
        ("postgresql://reader:hunter2@127.0.0.1:1/clinic", "cannot be reached"),
        ("duckdb:////nowhere/clinic.duckdb", "cannot be reached"),
        (None, "the source has no such table"),
    ],
)
def test_source_that_does_not_say_leaves_a_warning(
    place: Path, tmp_path: Path, away: str | None, why: str
) -> None:
    """The policies load all the same; the warning has its place and no login."""
    empty = tmp_path / "empty.duckdb"
    duckdb.connect(str(empty)).close()
    found = complete_from_sources(reading(place, away or duckdb_url(empty)))
    assert regions(found).columns == ()
    assert found.loaded is not None
    warning = found.loaded.warnings[-1]
    assert warning.detail.startswith(f"{place}/clinic.yaml:27:3: the columns of `regions`")
    assert why in warning.detail
    assert "hunter2" not in warning.detail


def test_source_of_several_policies_is_asked_once(place: Path, file: Path) -> None:
    """Datasets of one source and search path are completed from one connection; another search path is asked for itself."""

    def write(name: str, more: str = "") -> None:
        text = BASE.replace("dataset: clinic\n", f"dataset: {name}\n{more}")
        # a table of persons is in one ledger, and a ledger has one unit
        for one in ("patient\n", "patients", "visits"):
            text = text.replace(f" {one}", f" {name}_{one}").replace(f"[{one}", f"[{name}_{one}")
        (place / f"{name}.yaml").write_text(text.replace("{patients", f"{{{name}_patients"))

    write("second")
    write("third")
    connected: list[object] = []
    event.listen(Engine, "connect", keep := lambda one, _: connected.append(one))
    try:
        found = complete_from_sources(reading(place, duckdb_url(file)))
        assert len(connected) == 1
        write("third", "search_path: [other]\n")
        complete_from_sources(reading(place, duckdb_url(file)))
    finally:
        event.remove(Engine, "connect", keep)
    assert len(connected) == 1 + 2
    assert found.loaded is not None
    assert found.loaded.policies.keys() == {"clinic", "second", "third"}
    for policy in found.loaded.policies.values():
        assert [one.name for one in policy.dataset.tables if one.public and not one.columns] == []


def test_files_with_problems_are_left(place: Path) -> None:
    """There is nothing to complete."""
    (place / "clinic.yaml").write_text("gateway: 2")
    bad = reading(place, ENVIRONMENT["CLINIC_URL"])
    assert complete_from_sources(bad) is bad


def test_public_table_can_be_asked_when_its_columns_are_known(
    place: Path, source: str, twin: Twin
) -> None:
    """Its rows are fetched, and a column it has not is refused as unknown, as is the odd one left out."""
    whole = dataset(complete_from_sources(reading(place, source)))
    with twin.session("alice", visible_tables(whole)) as session:

        def describe(sql: str) -> Sequence[DescribedColumn]:
            return session.describe(sql).columns

        bound = bind("SELECT * FROM regions", whole, describe=describe)
        assert isinstance(bound, Cut)
        assert [type(step) for step in bound.steps] == [Fetch]
        assert bound.columns == ("region", "people", "coastal", "area")
        for name in ("nope", '"odd name"', "tags"):
            with pytest.raises(TwinRefused, check=state_is("42703")) as refused:
                bind(f"SELECT {name} FROM regions", whole, describe=describe)
            assert refused.value.reason is Reason.NOT_PERMITTED


def test_public_table_cannot_be_asked_when_its_columns_are_not_known(
    place: Path, source: str, twin: Twin
) -> None:
    """The control of the above: nobody knows what it has."""
    bare = dataset(reading(place, source))
    bound = bind("SELECT * FROM regions", bare)
    assert isinstance(bound, Cut)
    assert bound.columns is None
    with (
        twin.session("alice", visible_tables(bare)) as session,
        pytest.raises(TwinRefused, check=state_is("42703")),
    ):
        session.describe("SELECT region FROM regions")


def test_gateway_opens_with_what_sources_say(
    state: State, trail: Trail, place: Path, file: Path
) -> None:
    """And a reload of other files asks them again."""
    events: list[Event] = []
    environment = {"CLINIC_URL": duckdb_url(file)}
    hidden = file.rename(file.with_suffix(".away"))
    policies = current_policies(state.journal, trail, place, events.append, environment)
    policies.open(CAUSE)
    assert policies.value.policies["clinic"].dataset.tables[-1].columns == ()
    said = [one.problem for one in events if isinstance(one, PolicyWarning)]
    assert any("the columns of `regions` are not known" in problem for problem in said)
    hidden.rename(file)
    (place / "clinic.yaml").write_text(BASE.replace("max_age: 7d", "max_age: 6d"))
    assert policies.reload(CAUSE).changed
    assert len(policies.value.policies["clinic"].dataset.tables[-1].columns) == 4


def test_hash_in_force_is_that_of_the_files(
    state: State, trail: Trail, place: Path, file: Path
) -> None:
    """What a source says has no part in it, and changes nothing when it is said again."""
    environment = {"CLINIC_URL": duckdb_url(file)}
    policies = current_policies(state.journal, trail, place, ignore_event, environment)
    value = policies.open(CAUSE)
    files = read_policies(place, environment).loaded
    assert files is not None
    assert value.digest == files.digest
    assert not policies.reload(CAUSE).changed
    assert policies.value is value


def test_reload_of_the_same_files_asks_a_source_again_that_was_away(
    state: State, trail: Trail, place: Path, file: Path
) -> None:
    """What it says then is in force; what it said before stays when it is away again."""
    environment = {"CLINIC_URL": duckdb_url(file)}
    hidden = file.rename(file.with_suffix(".away"))
    policies = current_policies(state.journal, trail, place, ignore_event, environment)
    policies.open(CAUSE)
    hidden.rename(file)
    assert policies.reload(CAUSE).changed
    value = policies.value
    assert len(value.policies["clinic"].dataset.tables[-1].columns) == 4
    file.rename(hidden)
    assert not policies.reload(CAUSE).changed
    assert policies.value is value
