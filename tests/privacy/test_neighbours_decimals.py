"""Decimals that are one double are two values: neither a proof nor an order may take them for each other."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from property.bounded_releases import statement
from property.neighbour_check import Findings, check
from property.small_worlds import Row, World
from property.stores import in_duckdb, in_postgresql
from sqlalchemy import URL

from gateway.bounding import licences
from gateway.catalog.tables import Column, Dataset, Protection, Table
from gateway.catalog.types import parse_type
from gateway.plan.fields import BIGINT, INTEGER, NUMERIC

_NEAR = ("9007199254740992.1", "9007199254740992.2", "9007199254740992.3")
_TIED = """SELECT COUNT(DISTINCT patient_id) FROM (SELECT patient_id, k, ROW_NUMBER() OVER (
PARTITION BY patient_id ORDER BY day) AS n FROM patients) t
WHERE n = 1 AND CAST(k AS numeric(38,10)) > 9007199254740992.1"""


def _dataset(of: str) -> Dataset:
    """Persons with a decimal, and a public table with a key of this type."""
    columns = (Column("patient_id", BIGINT), Column("day", INTEGER), Column("k", NUMERIC))
    patients = Table("patients", columns, Protection("patient_id", 1, 1))
    codes = Table("codes", (Column("code", parse_type(of)),))
    return Dataset("decimals", "patient", (patients, codes))


def _findings(
    place: Path, url: URL, worlds: Sequence[World], sql: str, dataset: Dataset
) -> Findings:
    findings = Findings()
    with in_duckdb(place, worlds, 3) as here, in_postgresql(url, worlds, 3) as there:
        check(statement(sql, dataset), [here, there], findings, pairs=True)
    return findings


@pytest.mark.parametrize("of", ["numeric", "bigint"])
def test_person_meets_one_public_row_when_its_key_is_compared_as_a_double(
    tmp_path: Path, sample_database: URL, monkeypatch: pytest.MonkeyPatch, of: str
) -> None:
    """Such a join is refused; taken for proven, one person counts several times in DuckDB."""
    codes = _NEAR if of == "numeric" else ("9007199254740992", "9007199254740993")
    keys: list[Row] = [(one,) for one in codes]
    dataset = _dataset(of)
    base = World({"patients": [], "codes": keys}, keyed=True, dataset=dataset)
    worlds = [base, base.more({"patients": [("1", "1", "9007199254740992")]})]
    sql = "SELECT COUNT(*) FROM patients p JOIN codes c ON c.code = p.k"
    assert not _findings(tmp_path, sample_database, worlds, sql, dataset).compared
    monkeypatch.setattr(licences, "_stay_apart", lambda _key, _given: True)
    found = _findings(tmp_path, sample_database, worlds, sql, dataset).problems
    assert any(one.startswith("duckdb") for one in found)


def test_first_row_is_the_same_when_decimals_that_are_one_double_tie(
    tmp_path: Path, sample_database: URL
) -> None:
    """However rows are stored, and whoever else is there."""
    dataset = _dataset("numeric")
    rows: list[Row] = [(str(unit), "1", one) for unit in range(1, 60) for one in _NEAR]
    base = World({"patients": rows, "codes": []}, keyed=False, dataset=dataset)
    worlds = [base, base.more({"patients": [("0", "1", _NEAR[0])]})]
    findings = _findings(tmp_path, sample_database, worlds, _TIED, dataset)
    assert findings.compared == 2
    assert not findings.problems
