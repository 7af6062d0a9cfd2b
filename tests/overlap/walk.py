"""Asks sequences one statement after the other, as the pipeline does: bound, analysed, audited, then remembered."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache, partial

import duckdb
import numpy as np
from overlap.sequences import Asked, policy, trusting
from overlap.simulated_people import counted, noisy

from gateway.binding.bind import bind
from gateway.binding.bound import Cut, Stage
from gateway.bounding.time_zone import fold_moments
from gateway.errors import OverlapRefused
from gateway.overlap.auditor import History, NewQuery, PriorRelease, audit
from gateway.plan.aggregates import Aggregate
from gateway.plan.relations import StagedRows
from gateway.policy.policy import Auditing, UnreadableConditions
from gateway.regions.scope import ReleaseScope, aggregate_scopes, scope_of
from gateway.release_cache.fingerprints import free_stages
from gateway.release_cache.group_sizes import Counting, counting_of
from gateway.sensitivity.analysis import EnumeratedGroups
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.grouping_sets import analyze_grouping_sets

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
DEFAULTS = Auditing(10, 1, (), UnreadableConditions.REFUSE)
SWITCHED_OFF = Auditing(1, 0, (), UnreadableConditions.ALLOW)
SPREAD = Fraction(800)  # of Laplace noise at a scale of 20, which is that of the default price


@dataclass(frozen=True)
class Told:
    """What a part is about, and how its groups are counted, if they are; `rows` is how often one unit counts."""

    scope: ReleaseScope
    counting: Counting | None
    rows: int


@cache
def parts(catalog: str, sql: str, now: datetime = NOON) -> tuple[Told, ...]:
    """What a statement is about at this moment, part by part."""
    cut = bind(sql, policy(catalog).dataset)
    assert isinstance(cut, Cut), sql
    known = {one.name: _computed(one) for one in free_stages(cut)}
    names = {step.name: f"{sql} {step.name}" for step in cut.steps}
    return tuple(one for each in cut.releases for one in _parts(each.plan, now, known, names))


def _computed(stage: Stage) -> StagedRows:
    """What the stage gives, computed here."""
    rows = duckdb.sql(stage.sql.text()).fetchall()
    return StagedRows(tuple((one.id, one.type) for one in stage.fields), tuple(rows))


def scopes(catalog: str, sql: str) -> tuple[ReleaseScope, ...]:
    return tuple(one.scope for one in parts(catalog, sql))


def _parts(
    plan: Aggregate,
    now: datetime,
    known: Mapping[str, StagedRows] | None = None,
    names: Mapping[str, str] | None = None,
) -> Iterator[Told]:
    folded = fold_moments(plan, now)
    assert isinstance(folded, Aggregate)
    analysed = partial(analyze_release, pairs=True, enumerated_groups=10_000, min_units=10)
    for part in analyze_grouping_sets(folded, analysed).parts:
        listed = part.groups if isinstance(part.groups, EnumeratedGroups) else None
        scope = scope_of(part.plan, listed, names or {}, known)
        counting = counting_of(part)
        whole = max((one.whole for one in part.measurements), default=1)
        rows = 1 if counting is None else min(counting.most // whole, part.rows)
        yield Told(scope, counting, rows)
        yield from (
            Told(one, None, rows) for one in aggregate_scopes(part.plan, scope, names or {}, known)
        )


@dataclass
class Walk:
    """What became of a sequence: the refusal of the statement at which it ended, if it did."""

    asked: int = 0
    refusal: OverlapRefused | None = None
    histories: dict[str, History] = field(default_factory=dict)


def walked(case: Asked, rules: Auditing, seed: int = 1) -> Walk:
    """The sequence, asked up to its first refusal."""
    chance = np.random.default_rng(seed)
    walk = Walk()
    of = policy(case.catalog)
    for subject, sql in case.asked:
        history = walk.histories.setdefault(trusting(of, subject), History())
        walk.asked += 1
        about = parts(case.catalog, sql)
        spread = SPREAD / case.price**2
        try:
            audit([NewQuery(one.scope, spread) for one in about], history, rules)
        except OverlapRefused as refusal:
            walk.refusal = refusal
            return walk
        remember(about, history, f"q{walk.asked}", chance, case.price)
    return walk


def remember(
    about: Sequence[Told], history: History, query: str, chance: np.random.Generator, price: int
) -> None:
    """Add what was answered, with noisy sizes of the invented people."""
    spread = SPREAD / price**2
    for place, one in enumerate(about):
        counts = _counts(one, chance, price)
        whole = one.counting is not None and not one.counting.from_below
        release = f"{query}.r1.{place + 1}"
        history.add(PriorRelease(release, query, one.scope, counts, spread, spread, whole))


def _counts(told: Told, chance: np.random.Generator, price: int) -> tuple[int, ...] | None:
    """The noisy sizes of its groups, where it counts them: units, or rows as if they had R each."""
    if told.counting is None:
        return None
    rows = told.rows if told.counting.from_below else 1
    exact = counted(told.scope, rows)
    return None if exact is None else noisy(exact, chance, price)
