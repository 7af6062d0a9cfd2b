"""One person more or less moves a histogram of norms by no more than declared: the whole line, on both databases.

The rows are those of the golden statements without their conditions, as the gateway counts norms over them: joins, NULL
keys, persons with hundreds of rows, and row rules. `engines/sql/test_count_norms.py` has the negative control.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest
from property.bounded_releases import Asked, bounded, golden, statement
from property.moves import groups_of, moves
from property.neighbour_check import Findings, check
from property.schemas import a_database
from property.stores import Store, neighbours
from samples import draws
from sqlalchemy import URL

from gateway.plan.aggregates import Aggregate
from gateway.plan.node import Node
from gateway.plan.relations import Filter, Scan
from gateway.plan.rewrite import rewrite_plan, without_conditions
from gateway.postgres_server import Lease
from gateway.sensitivity.analysis import Analysis
from gateway.sensitivity.clip import DECLARED_CLIP, ClipRule
from gateway.sensitivity.norm_buckets import BUCKETS, DELTA1, DELTA2_SQUARED
from gateway.sensitivity.norm_release import analyze_norms, can_count_norms

_APART = 8
Worlds = Sequence[Sequence[Store]]
_both = pytest.mark.parametrize("pairs", [True, False], ids=["laplace", "gaussian"])


@dataclass(frozen=True)
class Norms(Asked):
    """The histogram of norms of a release, in the place of the release."""

    def analysis(self, *, pairs: bool, clip: ClipRule = DECLARED_CLIP) -> Analysis | None:
        del clip
        if super().analysis(pairs=pairs) is None:
            return None
        whole = without_conditions(self.plan)
        if not can_count_norms(whole):
            return None
        keys = whole.sets[0]
        return analyze_norms(whole, tuple(whole.keys[at][1] for at in keys), pairs=pairs)


def _norms(asked: Asked) -> Norms:
    return Norms(asked.name, asked.plan, asked.stages)


@pytest.fixture(scope="module")
def database(sample_server: Lease) -> Iterator[URL]:
    with a_database(sample_server) as url:
        yield url


@pytest.fixture(scope="module", params=[True, False], ids=["keyed", "unkeyed"])
def worlds(
    request: pytest.FixtureRequest, database: URL, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Worlds]:
    place = tmp_path_factory.mktemp("worlds")
    with neighbours(place, database, 6, keyed=request.param, persons=8) as made:
        yield made


def _moved(asked: Norms, worlds: Worlds, *, pairs: bool) -> Iterator[list[int]]:
    """How far each neighbour is from the world, in every bucket."""
    analysis = asked.analysis(pairs=pairs)
    assert analysis is not None
    for stores in worlds:
        before, *after = (_histogram(store, asked, analysis) for store in stores)
        for one in after:
            [found] = moves({(): before}, {(): one}, analysis).values()
            yield list(found)


def _histogram(store: Store, asked: Norms, analysis: Analysis) -> tuple[int, ...]:
    release = bounded(analysis, store.proven)
    assert release is not None
    [found] = groups_of(store.run(release, asked.staged(0))).values()
    return found


def _counted(asked: Asked) -> object:
    """What the histogram of norms of a release rests on."""
    analysis = _norms(asked).analysis(pairs=False)
    return None if analysis is None else (analysis.plan, asked.stages)


@_both
def test_golden_statement_s_histogram_moves_by_no_more_than_declared(
    worlds: Worlds, *, pairs: bool
) -> None:
    """In every bucket and in the whole vector; nothing raises, and both databases count the same integers."""
    findings = Findings()
    # statements that differ in their conditions and measures alone have one histogram
    several = {_counted(one): _norms(one) for one in reversed(golden()[pairs::_APART])}
    for asked in several.values():
        check(asked, worlds, findings, pairs=pairs)
    assert not findings.problems, "\n".join(findings.problems)
    assert findings.compared > draws(30, fewest=10)


_JOINED = "FROM visits v JOIN patients p ON v.patient_id = p.patient_id"
_STATEMENTS = (
    "SELECT diagnosis, COUNT(*) FROM visits WHERE cost > 100 GROUP BY diagnosis",
    f"SELECT p.region, v.diagnosis, SUM(v.cost) {_JOINED} WHERE p.smoker GROUP BY 1, 2",
    "SELECT COUNT(*) FROM visits v LEFT JOIN regions r ON v.diagnosis = r.region",
    "SELECT visit_date, AVG(cost) FROM visits WHERE patient_id IN (SELECT patient_id FROM patients) GROUP BY 1",
)


@_both
@pytest.mark.parametrize("sql", _STATEMENTS)
def test_whole_vector_moves_by_no_more_than_declared(
    worlds: Worlds, sql: str, *, pairs: bool
) -> None:
    """One bucket of units and one of spreads: together they have one price."""
    asked, reached = _norms(statement(sql)), 0
    for moved in _moved(asked, worlds, pairs=pairs):
        units = moved[:BUCKETS]
        assert sum(one != 0 for one in units) <= 1
        if pairs:
            assert sum(moved) <= DELTA1
        else:
            assert sum(one * one for one in moved) <= DELTA2_SQUARED
        reached += any(units)
    assert reached, "no neighbour has a row in it"


def test_conditions_of_the_statement_are_not_in_its_histogram(worlds: Worlds) -> None:
    """The same integers whatever WHERE says; a condition that stays would give others."""
    plain, filtered = (
        _norms(statement(f"SELECT diagnosis, COUNT(*) FROM visits {where} GROUP BY diagnosis"))
        for where in ("", "WHERE cost > 1000 AND visit_date > date '2023-01-01'")
    )
    kept = _Filtered(filtered.name, filtered.plan)
    analyses = [one.analysis(pairs=False) for one in (plain, filtered, kept)]
    found = []
    for one in analyses:
        assert one is not None
        found.append(_histogram(worlds[0][0], plain, one))
    assert found[0] == found[1]
    assert found[0] != found[2]


class _Filtered(Norms):
    """The negative control: the conditions stay."""

    def analysis(self, *, pairs: bool, clip: ClipRule = DECLARED_CLIP) -> Analysis | None:
        del clip
        return analyze_norms(self.plan, tuple(key for _, key in self.plan.keys), pairs=pairs)


@_both
def test_vector_moves_by_no_more_than_declared_under_a_row_rule(
    worlds: Worlds, *, pairs: bool
) -> None:
    """A rule filters the table itself, so it stays where the conditions of the statement go; other rows are counted."""
    whole = _norms(statement(_STATEMENTS[1]))
    ruled = replace(whole, plan=_ruled(whole.plan))
    for moved in _moved(ruled, worlds, pairs=pairs):
        assert sum(one * one for one in moved) <= (DELTA1 if pairs else DELTA2_SQUARED)
    analyses = [one.analysis(pairs=pairs) for one in (whole, ruled)]
    first, second = (_histogram(worlds[0][0], whole, one) for one in analyses if one is not None)
    assert first != second


def _ruled(plan: Aggregate) -> Aggregate:
    """Over the patients of one region."""
    north = statement("SELECT COUNT(*) FROM patients p WHERE p.region = 'north'").plan.child
    assert isinstance(north, Filter)

    def permitted(node: Node) -> Node:
        is_ruled = isinstance(node, Scan) and node.table.name == "patients"
        return Filter(node, north.condition) if is_ruled else node

    made = rewrite_plan(plan, permitted)
    assert isinstance(made, Aggregate)
    return made
