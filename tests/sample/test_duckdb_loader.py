from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from typing_extensions import override

from gateway.errors import Code, OperatorError
from gateway.sample.clinic import Clinic, Visits
from gateway.sample.duckdb_loader import load_into_duckdb

CLINIC = Clinic(patients=200, visits=1_200)

BROKEN_RULES = [
    pytest.param(statement, id=name)
    for name, statement in {
        "patient twice": "INSERT INTO patients VALUES (1, 'north', 1980, 1)",
        "visit twice": "INSERT INTO visits VALUES (1, 1, 'x', 1, '2020-01-01')",
        "no patient": "INSERT INTO visits VALUES (0, 0, 'x', 1, '2020-01-01')",
        "patient unknown": "INSERT INTO visits VALUES (0, NULL, 'x', 1, '2020-01-01')",
        "key unknown": "INSERT INTO patients VALUES (NULL, 'north', 1980, 1)",
        "no region": "INSERT INTO patients VALUES (0, 'centre', 1980, 1)",
        "too old": "INSERT INTO patients VALUES (0, 'north', 1919, 1)",
        "too young": "INSERT INTO patients VALUES (0, 'north', 2021, 1)",
        "in debt": "INSERT INTO patients VALUES (0, 'north', 1980, -1)",
        "too rich": "INSERT INTO patients VALUES (0, 'north', 1980, 200001)",
        "too dear": "INSERT INTO visits VALUES (0, 1, 'x', 5000.01, '2020-01-01')",
        "too cheap": "INSERT INTO visits VALUES (0, 1, 'x', -0.01, '2020-01-01')",
        "too early": "INSERT INTO visits VALUES (0, 1, 'x', 1, '2019-12-31')",
        "too late": "INSERT INTO visits VALUES (0, 1, 'x', 1, '2027-01-01')",
        "region twice": "INSERT INTO regions VALUES ('north', 'North', 1)",
    }.items()
]
KEPT_RULES = (
    "INSERT INTO patients VALUES (0, 'north', 2020, 200000)",
    "INSERT INTO visits VALUES (0, 0, NULL, 5000, '2026-12-31')",
)


@dataclass(frozen=True)
class Interrupted(Clinic):
    """A clinic that breaks off after the first visits."""

    @override
    def visit_rows(self, rows: int = 100) -> Iterator[Visits]:
        yield next(super().visit_rows(rows))
        raise OSError(28, "No space left on device")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clinic.duckdb"


def test_duckdb_holds_every_row_as_it_was_made(path: Path) -> None:
    """Codes arrive as names, cents as decimals, days as dates, the unknown as NULL."""
    load_into_duckdb(CLINIC, path)
    (made,) = CLINIC.visit_rows()
    with duckdb.connect(path, read_only=True) as connection:
        arrived = connection.execute(
            "SELECT visit_id, patient_id, cost * 100, visit_date - date '2020-01-01', diagnosis "
            "FROM visits ORDER BY visit_id"
        ).fetchall()
        assert [row[:4] for row in arrived] == list(
            zip(
                *(c.tolist() for c in (made.visit_id, made.patient_id, made.cost_cents, made.day)),
                strict=True,
            )
        )
        assert [row[4] is None for row in arrived] == (made.diagnosis < 0).tolist()
        assert connection.execute("SELECT count(*) FROM regions").fetchone() == (4,)
        seconds = "SELECT epoch(prescribed_at)::bigint FROM prescriptions ORDER BY prescription_id"
        (prescribed,) = CLINIC.prescription_rows()
        assert (
            connection.execute(seconds).fetchnumpy().popitem()[1].tolist()
            == prescribed.second.tolist()
        )


@pytest.mark.parametrize("statement", BROKEN_RULES)
def test_duckdb_refuses_a_row_when_it_breaks_a_rule_of_the_policy(
    path: Path, statement: str
) -> None:
    """Keys and domains that the policy declares are enforced by the database."""
    load_into_duckdb(Clinic(1, 1), path)
    with duckdb.connect(path) as connection, pytest.raises(duckdb.ConstraintException):
        connection.execute(statement)


def test_duckdb_takes_a_row_when_it_keeps_the_rules(path: Path) -> None:
    """The rules refuse no row at the very ends of the domains."""
    load_into_duckdb(Clinic(1, 1), path)
    with duckdb.connect(path) as connection:
        for statement in KEPT_RULES:
            connection.execute(statement)


def test_duckdb_file_is_the_only_trace(path: Path) -> None:
    """Nothing but the complete file is left, without a log that other versions would have to read."""
    load_into_duckdb(CLINIC, path)
    assert _names(path.parent) == [path.name]


@pytest.mark.parametrize("there", ["clinic.duckdb", "clinic.duckdb.wal"])
def test_duckdb_file_is_kept_when_it_exists(path: Path, there: str) -> None:
    """An existing file, or the log of one, is neither overwritten nor touched."""
    path.with_name(there).write_text("precious")
    with pytest.raises(OperatorError, match="exists already") as caught:
        load_into_duckdb(CLINIC, path)
    assert caught.value.code is Code.ARGUMENT_INVALID
    assert "--replace" in caught.value.hint
    assert path.with_name(there).read_text() == "precious"
    assert _names(path.parent) == [there]


def test_duckdb_file_is_replaced_when_told_to(path: Path) -> None:
    """The new file takes the old one's place and the old one's log goes; a reader of the old stays."""
    load_into_duckdb(Clinic(1, 1), path)
    with duckdb.connect(path, read_only=True) as reader:
        path.with_name("clinic.duckdb.wal").write_bytes(b"of the old file")
        load_into_duckdb(CLINIC, path, replace=True)
        assert reader.execute("SELECT count(*) FROM visits").fetchone() == (1,)
    with duckdb.connect(path, read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM visits").fetchone() == (1_200,)
    assert _names(path.parent) == [path.name]


def test_duckdb_file_does_not_appear_when_the_load_breaks_off(path: Path) -> None:
    """Half a clinic is never seen, and nothing is left of it."""
    with pytest.raises(OperatorError, match="No space left"):
        load_into_duckdb(Interrupted(200, 1_200), path)
    assert _names(path.parent) == []


def test_duckdb_file_stays_when_the_load_that_replaces_it_breaks_off(path: Path) -> None:
    """A failed replacement leaves the old sample as it was."""
    load_into_duckdb(Clinic(1, 1), path)
    before = path.read_bytes()
    with pytest.raises(OperatorError, match="No space left"):
        load_into_duckdb(Interrupted(200, 1_200), path, replace=True)
    assert path.read_bytes() == before
    assert _names(path.parent) == [path.name]


def test_duckdb_says_so_when_the_directory_is_missing(path: Path) -> None:
    """A path that cannot be written is one clear line."""
    with pytest.raises(OperatorError, match="cannot be written: No such file or directory"):
        load_into_duckdb(CLINIC, path.parent / "nowhere" / "clinic.duckdb")


def test_duckdb_says_so_when_the_path_is_a_directory(tmp_path: Path) -> None:
    """A directory is not replaced by a file."""
    (tmp_path / "clinic.duckdb").mkdir()
    with pytest.raises(OperatorError, match="cannot be written"):
        load_into_duckdb(Clinic(1, 1), tmp_path / "clinic.duckdb", replace=True)
    assert _names(tmp_path) == ["clinic.duckdb"]


def _names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())
