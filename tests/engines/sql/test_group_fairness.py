"""A unit's groups are chosen by the unit and the key: on the sample clinic no diagnosis is left out by everybody."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import correlation

import duckdb
import pytest
from engines.plain_expressing import PlainExpressing
from fix_sample import plain
from sqlalchemy import URL, nulls_last

from gateway.bounding.bounded_release import BoundedRelease, bound_release
from gateway.catalog.tables import Column, Protection, Table
from gateway.catalog.types import parse_type
from gateway.catalog.values import Value
from gateway.engines.source import SourceDatabase
from gateway.engines.sql import group_limits, release
from gateway.engines.sql.partial_select import Sql
from gateway.engines.sql.per_unit import hash_order
from gateway.plan.aggregates import Aggregate, Measure
from gateway.plan.fields import BIGINT
from gateway.plan.relations import Scan
from gateway.plan.scalars import Ref
from gateway.sample.clinic import Clinic
from gateway.sample.duckdb_loader import load_into_duckdb
from gateway.sample.postgres_loader import load_into_postgres
from gateway.sensitivity.analysis import Analysis, ThresholdGroups
from gateway.sensitivity.measurement import Measurement, Rows, Slot, Units

CLINIC = Clinic.at_scale(1)
OFTEN = 400  # visits of a diagnosis that is compared: of rarer ones chance decides
MANY = 1_000  # rows of a person in a group: more than anybody has
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
VISITS = Table(
    "visits",
    (
        Column("patient_id", parse_type("bigint")),
        Column("diagnosis", parse_type("text")),
    ),
    Protection("patient_id", MANY, 4),
)
SCAN = Scan(VISITS, "v", "patient")
DIAGNOSIS = Ref(SCAN.fields[1])


def by_diagnosis(groups: int) -> BoundedRelease:
    plan = Aggregate(SCAN, (("k1", DIAGNOSIS),), (("m1", Measure("count", (), BIGINT)),), ((0,),))
    measured = (Measurement(Rows(), MANY), Measurement(Units(), 1))
    slots = tuple(Slot((one,), one.most) for one in measured)
    made = Analysis(plan, MANY, groups, slots, (), ThresholdGroups(1, 2))
    return bound_release(made, now=NOON, proven={})


@dataclass(frozen=True)
class Loaded:
    """The clinic in one of the databases, and how many visits each patient has for each diagnosis."""

    url: URL
    visits: dict[int, Counter[Value | None]]

    def counted(self, wanted: BoundedRelease) -> dict[Value | None, list[int]]:
        source = SourceDatabase.open(self.url, PlainExpressing(), salt="clinic")
        try:
            table = source.run(wanted, {}, limit_s=60)
        finally:
            source.close()
        columns = zip(*table.measured, strict=True)
        return {key: list(one) for (key,), one in zip(table.keys, columns, strict=True)}

    def often(self) -> dict[Value | None, int]:
        """The visits for each diagnosis that has enough of them."""
        found: Counter[Value | None] = sum(self.visits.values(), Counter())
        return {key: many for key, many in found.items() if many >= OFTEN}

    def patients(self) -> Counter[Value | None]:
        return Counter(key for one in self.visits.values() for key in one)

    def expected_losses(self, groups: int) -> dict[Value | None, float]:
        """How many patients each diagnosis loses if each patient draws that many of theirs by lot."""
        found: dict[Value | None, float] = defaultdict(float)
        for one in self.visits.values():
            for key in one:
                found[key] += max(0, 1 - groups / len(one))
        return found


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("fairness") / "clinic.duckdb"
    load_into_duckdb(CLINIC, made)
    return made


@pytest.fixture(scope="module")
def visits(file: Path) -> dict[int, Counter[Value | None]]:
    found: dict[int, Counter[Value | None]] = defaultdict(Counter)
    with duckdb.connect(str(file), read_only=True) as there:
        rows = there.execute("SELECT patient_id, diagnosis FROM visits").fetchall()
    for patient, diagnosis in rows:
        found[patient][diagnosis] += 1
    return found


@pytest.fixture
def in_duckdb(file: Path, visits: dict[int, Counter[Value | None]]) -> Loaded:
    return Loaded(URL.create("duckdb", database=str(file)), visits)


@pytest.fixture
def in_postgresql(sample_database: URL, visits: dict[int, Counter[Value | None]]) -> Loaded:
    load_into_postgres(CLINIC, plain(sample_database))
    return Loaded(sample_database, visits)


@pytest.fixture
def one_order_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bug: a hash of the key alone, which puts the same keys last for every unit."""

    def order(salt: str, _unit: Sql, keys: Sequence[Sql]) -> list[Sql]:
        return [hash_order(salt, list(keys)), *(nulls_last(one.asc()) for one in keys)]

    for module in (group_limits, release):
        monkeypatch.setattr(module, "own_order", order)


def _places(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered.index(one) + (ordered.count(one) - 1) / 2 for one in values]


def _spearman(one: Sequence[float], other: Sequence[float]) -> float:
    return correlation(_places(one), _places(other))


def starved(clinic: Loaded) -> list[str]:
    """Everything that is unfair about counts by diagnosis; empty where no group is starved."""
    problems = []
    often, patients = clinic.often(), clinic.patients()
    for groups in (2, 4):
        found = clinic.counted(by_diagnosis(groups))
        kept = [found.get(key, [0, 0])[0] for key in often]
        rank = _spearman(list(often.values()), kept)
        if rank < 0.98:
            problems.append(f"{groups} groups: the order of diagnoses correlates by {rank:.3f}")
        expected = clinic.expected_losses(groups)
        shares = {key: (patients[key] - found.get(key, [0, 0])[1]) / expected[key] for key in often}
        if min(shares.values()) < 0.5 or max(shares.values()) > 2:
            problems.append(f"{groups} groups: of the patients expected to be lost {shares}")
    # most patients have more than two, so here nearly all of the loss is the choice of groups
    found = clinic.counted(by_diagnosis(2))
    losses = [1 - found.get(key, [0, 0])[0] / many for key, many in often.items()]
    if max(losses) >= 2 * min(losses):
        problems.append(f"relative losses from {min(losses):.3f} to {max(losses):.3f}")
    return problems


def test_no_diagnosis_is_starved_in_duckdb(in_duckdb: Loaded) -> None:
    """Losses differ by less than a factor of 2, and the order of the diagnoses is kept."""
    assert starved(in_duckdb) == []


def test_no_diagnosis_is_starved_in_postgresql(in_postgresql: Loaded, in_duckdb: Loaded) -> None:
    """The same, of the same groups of every patient."""
    assert starved(in_postgresql) == []
    wanted = by_diagnosis(4)
    assert in_postgresql.counted(wanted) == in_duckdb.counted(wanted)


@pytest.mark.usefixtures("one_order_for_all")
def test_diagnoses_are_starved_when_all_units_have_one_order(in_duckdb: Loaded) -> None:
    """The tests above notice an order that is the same for everybody, by each of their measures."""
    problems = " ".join(starved(in_duckdb))
    assert "correlates" in problems
    assert "expected to be lost" in problems
    assert "relative losses" in problems
