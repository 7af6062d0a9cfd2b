"""Releases of the golden statements and of random plans, bounded as the gateway bounds them."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from fractions import Fraction
from functools import cache
from typing import Final

from binding.cases import every
from binding.clinic import CLINIC

from gateway.binding.bind import bind
from gateway.binding.bound import Cut, Stage
from gateway.bounding.bounded_release import BoundedRelease, bound_release
from gateway.bounding.fan_out import mark_fan_out
from gateway.bounding.licences import Licences
from gateway.catalog.tables import Dataset
from gateway.catalog.types import ColumnType, Family, Kind
from gateway.catalog.values import Value
from gateway.engines.catalog.proofs import TableProof
from gateway.errors import Refusal
from gateway.plan.aggregates import Aggregate
from gateway.plan.node import walk_nodes
from gateway.plan.relations import StagedRows
from gateway.plan.scalars import StagedValue, walk_scalar
from gateway.sensitivity.analysis import Analysis
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.clip import ClipRule

NOW: Final = datetime(2026, 3, 2, 12, tzinfo=UTC)
_KEYED: Final = {
    name: TableProof(frozenset({frozenset({key})}))
    for name, key in (("regions", "region"), ("codes", "code"))
}
"""What the worlds of `small_worlds.py` prove of public tables: joins by other columns multiply rows."""
CLIP: Final = ClipRule(16)  # lower than what is declared, so that many persons are weighed down
_NUMBERS: Final = (0, 1, -1, 2, 7, 80, 1980, 5000, 10**18, -(10**18), 10**25)
_WORDS: Final = ("north", "a", "A", "flu", "J45", "it's", "", "😀x", "ÄöÜß")


@dataclass(frozen=True)
class Asked:
    """A release of a statement, and the rows that would have been staged before it."""

    name: str
    plan: Aggregate
    stages: tuple[Stage, ...] = ()

    def analysis(self, *, pairs: bool, clip: ClipRule = CLIP) -> Analysis | None:
        """None: refused."""
        try:
            plan = mark_fan_out(self.plan, Licences(_KEYED).meets_one)
            assert isinstance(plan, Aggregate)
            return analyze_release(
                plan,
                pairs=pairs,
                enumerated_groups=10_000,
                min_units=3,
                clip=clip,
            )
        except Refusal:
            return None

    def staged(self, seed: int) -> dict[str, StagedRows]:
        chance = random.Random(seed)  # noqa: S311 - rows of a test
        single = self._single()
        return {
            stage.name: _rows(stage, chance, most=1 if stage.name in single else 5)
            for stage in self.stages
        }

    def _single(self) -> set[str]:
        """The stages of which one value is wanted."""
        return {
            one.constant
            for node in walk_nodes(self.plan)
            for scalar in node.scalars
            for one in walk_scalar(scalar)
            if isinstance(one, StagedValue)
        }


@cache
def golden() -> tuple[Asked, ...]:
    """Every release of an accepted statement, set by set, each plan once."""
    found: dict[Aggregate, Asked] = {}
    for case in every():
        if case.refused:
            continue
        bound = bind(case.sql, CLINIC)
        if not isinstance(bound, Cut):
            continue
        stages = tuple(step for step in bound.steps if isinstance(step, Stage))
        for plan in (one for release in bound.releases for one in _set_by_set(release.plan)):
            found.setdefault(plan, Asked(f"{case.name}\n{case.sql}", plan, stages))
    return tuple(found.values())


def _set_by_set(plan: Aggregate) -> list[Aggregate]:
    """As the sets of a release are measured: each by itself."""
    return [
        replace(
            plan,
            keys=tuple(plan.keys[place] for place in keys),
            sets=(tuple(range(len(keys))),),
        )
        for keys in dict.fromkeys(plan.sets)
    ]


def statement(sql: str, dataset: Dataset = CLINIC) -> Asked:
    """The last release of a statement."""
    bound = bind(sql, dataset)
    assert isinstance(bound, Cut)
    stages = tuple(step for step in bound.steps if isinstance(step, Stage))
    return Asked(sql, bound.releases[-1].plan, stages)


def bounded(analysis: Analysis, proven: Mapping[str, TableProof]) -> BoundedRelease | None:
    """None: refused."""
    try:
        return bound_release(analysis, now=NOW, proven=proven)
    except Refusal:
        return None


def undropped(release: BoundedRelease) -> BoundedRelease:
    """With the groups that few units are in: whether a group is there is another question."""
    return replace(release, least_units=None)


def _rows(stage: Stage, chance: random.Random, *, most: int) -> StagedRows:
    columns = tuple((one.id, one.type) for one in stage.fields)
    rows = tuple(
        tuple(_value(of, chance) for _, of in columns)
        for _ in range(chance.choice((0, 1, 1, most)))
    )
    # whatever a statement says of its rows, they may be there several times
    return StagedRows(columns, rows if most == 1 else rows * chance.choice((1, 1, 3)))


def _value(  # noqa: PLR0911 - one answer for each kind
    of: ColumnType, chance: random.Random
) -> Value | None:
    if chance.random() < 0.15:
        return None
    match of.family:
        case Family.WHOLE:
            number = chance.choice(_NUMBERS)
            small = {Kind.SMALLINT: 2**15, Kind.INTEGER: 2**31}.get(of.kind, 2**63)
            return max(-small, min(number, small - 1))
        case Family.EXACT | Family.FLOAT:
            return Fraction(chance.choice(_NUMBERS)) / chance.choice((1, 2, 4))
        case Family.TEXT:
            return chance.choice(_WORDS)
        case Family.BOOLEAN:
            return chance.random() < 0.5
        case Family.DATE:
            return date(chance.choice((1, 2020, 2024, 9999)), 2, 28)
        case Family.TIMESTAMP:
            zone = UTC if of.kind is Kind.TIMESTAMPTZ else None
            return datetime(chance.choice((1, 2020, 2024, 9999)), 2, 28, 13, 14, tzinfo=zone)
        case _:
            return None
