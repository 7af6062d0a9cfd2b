"""The events of the sample clinic under its own policy: exact weighted totals and histograms of norms, from DuckDB."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Final, TypeAlias

import duckdb
from fix_policy import read
from noise.streams import Stream
from sqlalchemy import URL

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.bounding.bounded_release import bound_release
from gateway.catalog.domains import Values
from gateway.catalog.tables import Column, Dataset
from gateway.catalog.values import Value
from gateway.clipping.norm_histogram import NormHistogram
from gateway.engines.catalog.proofs import TableProof
from gateway.engines.source import SourceDatabase
from gateway.engines.sql.expressions import TotalScalarSql
from gateway.exact import ExactTable
from gateway.noise.mechanism import gaussian_for
from gateway.plan.aggregates import Aggregate
from gateway.sample.clinic import Clinic
from gateway.sample.distributions import DIAGNOSES
from gateway.sample.duckdb_loader import load_into_duckdb
from gateway.sensitivity.analysis import Analysis
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.clip import ClipRule
from gateway.sensitivity.formulas import Linear
from gateway.sensitivity.grouping_sets import AnalyzedRelease, analyze_grouping_sets
from gateway.sensitivity.norm_buckets import BUCKETS, DELTA2_SQUARED
from gateway.sensitivity.norm_release import analyze_norms

_POLICY: Final = Path(__file__).parents[2] / "policies" / "clinic.yaml"
_NOON: Final = datetime(2026, 3, 2, 12, tzinfo=UTC)
_PROVEN: Final = {
    "patients": TableProof(unique=frozenset({frozenset({"patient_id"})})),
    "visits": TableProof(unique=frozenset({frozenset({"visit_id"})})),
}
RATE: Final = Fraction(1539, 10_000)
"""The zCDP price of one epsilon where the limit is epsilon 10, delta 1e-6."""
Totals: TypeAlias = dict[Value | None, float]


def _listed(dataset: Dataset) -> Dataset:
    """The same with a declared set of diagnoses, so that groups by them are enumerated."""
    names = Values(tuple(one.name for one in DIAGNOSES))

    def column(one: Column) -> Column:
        return replace(one, domain=names) if one.name == "diagnosis" else one

    tables = tuple(
        replace(one, columns=tuple(map(column, one.columns))) if one.name == "visits" else one
        for one in dataset.tables
    )
    return replace(dataset, tables=tables)


@dataclass(frozen=True)
class ClinicEvents:
    """The sample in one file, and a source over it."""

    file: Path
    source: SourceDatabase

    @cached_property
    def found(self) -> Dataset:
        """The tables as the policy declares them: diagnoses are found in the data."""
        return read(_POLICY.read_text()).accepted.dataset

    @cached_property
    def listed(self) -> Dataset:
        return _listed(self.found)

    def plan(self, sql: str, *, listed: bool = True) -> Aggregate:
        bound = bind(sql, self.listed if listed else self.found)
        assert isinstance(bound, Cut)
        [release] = bound.releases
        return release.plan

    def analyzed(
        self, sql: str, square: int, *, listed: bool = True, pairs: bool = False
    ) -> AnalyzedRelease:
        """The release with weights of this clip. `pairs`: for Laplace noise."""
        one_set = partial(
            analyze_release,
            pairs=pairs,
            enumerated_groups=10_000,
            min_units=10,
            clip=ClipRule(square),
        )
        return analyze_grouping_sets(self.plan(sql, listed=listed), one_set)

    def exact(self, analysis: Analysis) -> ExactTable:
        wanted = bound_release(analysis, now=_NOON, proven=_PROVEN)
        return self.source.run(wanted, {}, limit_s=120)

    def weighted(self, sql: str, square: int, *, listed: bool = True) -> Totals:
        """What the first aggregate of each group is under these weights, without noise."""
        [part] = self.analyzed(sql, square, listed=listed).parts
        table = self.exact(part)
        rows = zip(*table.measured, strict=True)
        formula = part.formulas[0]
        assert isinstance(formula, Linear)
        return {
            key: float(formula.value(row)) for (key,), row in zip(table.keys, rows, strict=True)
        }

    def histogram(self, sql: str, epsilon: Fraction, seed: object) -> NormHistogram:
        """The histogram of norms of these rows over their keys, as it is released for this price."""
        plan = self.plan(sql)
        table = self.exact(analyze_norms(plan, tuple(key for _, key in plan.keys), pairs=False))
        noise = gaussian_for(epsilon * RATE, DELTA2_SQUARED)
        drawn = noise.draw(2 * BUCKETS, Stream(f"norms {seed}"))
        noisy = tuple(one + more for (one,), more in zip(table.measured, drawn, strict=True))
        return NormHistogram(noisy[:BUCKETS], noisy[BUCKETS:], noise)

    def rows(self, sql: str) -> list[tuple[Value | None, ...]]:
        """The rows of a statement as the database has them."""
        with duckdb.connect(str(self.file), read_only=True) as there:
            return there.execute(sql).fetchall()


@contextmanager
def clinic_events(file: Path) -> Iterator[ClinicEvents]:
    """The sample clinic at its full size, loaded into this file."""
    load_into_duckdb(Clinic(), file)
    source = SourceDatabase.open(
        URL.create("duckdb", database=str(file)), TotalScalarSql(), salt="clinic"
    )
    try:
        yield ClinicEvents(file, source)
    finally:
        source.close()
