"""One person more or less moves the exact answer by no more than declared: the whole line, on both databases.

SQL or a plan, analysed, bounded, rendered, run. Between the two worlds rows are stored in another order, and
threads, memory and the ways in which a database may plan are others. For longer: `long_neighbours.py`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from binding.plans import releases
from fix_permissions import EVERY_LEVEL
from hypothesis import HealthCheck, Phase, given, settings
from property.bounded_releases import Asked, golden
from property.catalogs import catalog, populated, statements
from property.hostile_statements import spoken
from property.neighbour_check import Findings, check, kind_of
from property.schemas import a_database
from property.stores import Store, in_duckdb, in_postgresql, neighbours
from samples import Samples, draws
from sqlalchemy import URL

from gateway.binding.aggregates import AGGREGATES, REFUSED
from gateway.plan.aggregates import Aggregate
from gateway.plan.print import explain_plan
from gateway.policy.generalization import generalize
from gateway.postgres_server import Lease
from gateway.sensitivity.measurement import Measurement

# each statement is asked in one of four ways; with fewer samples, every fifth of them
_APART = 4 if Samples.full else 20
Worlds = Sequence[Sequence[Store]]


@pytest.fixture(scope="module")
def database(sample_server: Lease) -> Iterator[URL]:
    """One for all worlds of this module: each has a schema of its own."""
    with a_database(sample_server) as url:
        yield url


@pytest.fixture(scope="module", params=[True, False], ids=["keyed", "unkeyed"])
def worlds(
    request: pytest.FixtureRequest, database: URL, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Worlds]:
    """A small world and one with a person of hundreds of rows more. Keyed: no two patients are one person."""
    place = tmp_path_factory.mktemp("worlds")
    with neighbours(place, database, 6, keyed=request.param, persons=8) as made:
        yield made


@pytest.mark.parametrize("pairs", [True, False], ids=["laplace", "gaussian"])
def test_columns_of_documents_are_among_what_is_asked_of_neighbours(*, pairs: bool) -> None:
    """The golden statements over JSON documents are analysed, so that both databases answer them in both worlds."""
    asked = [one for one in golden() if one.analysis(pairs=pairs) is not None]
    read = {str(of) for one in asked for each in one.plan.child.fields for of in each.origins}
    assert {"intakes.drinks", "intakes.height", "intakes.note"} <= read


@pytest.mark.parametrize("pairs", [True, False], ids=["laplace", "gaussian"])
def test_every_function_is_among_what_is_asked_of_neighbours(*, pairs: bool) -> None:
    """Counts, sums, moments, ends, quantiles, modes and first places; alone, in groups and in grouping sets."""
    asked = [one for one in (*spoken(), *golden()) if one.analysis(pairs=pairs) is not None]
    functions = {measure.function for one in asked for _, measure in one.plan.measures}
    assert functions >= AGGREGATES - REFUSED
    several = {len(one.stages) > 0 for one in asked} | {len(one.plan.keys) > 1 for one in asked}
    assert several == {True, False}
    kinds = {kind_of(each.quantity) for one in asked for each in _measured(one, pairs=pairs)}
    assert kinds >= {"rows", "units", "different", "squares", "products"}
    assert ({"total from low", "total from high"} if pairs else {"total from middle"}) <= kinds


def _measured(asked: Asked, *, pairs: bool) -> tuple[Measurement, ...]:
    analysis = asked.analysis(pairs=pairs)
    return () if analysis is None else tuple(analysis.measurements)


@pytest.mark.parametrize("pairs", [True, False], ids=["laplace", "gaussian"])
def test_statement_moves_by_no_more_than_declared_when_a_person_is_added(
    worlds: Worlds, *, pairs: bool
) -> None:
    """In every group, in the sum and in the sum of squares; nothing raises, and both databases agree."""
    findings = Findings()
    keyed = bool(worlds[0][0].proven["patients"].unique)
    place = 2 * keyed + pairs
    for asked in (*spoken()[place::_APART], *golden()[place::_APART]):
        check(asked, worlds, findings, pairs=pairs)
    assert not findings.problems, "\n".join(findings.problems)
    assert findings.compared > draws(60)


def test_statement_under_levels_moves_by_no_more_than_declared_when_a_person_is_added(
    worlds: Worlds,
) -> None:
    """The same where every column is read by a level, also over a table of codes that is joined for it."""
    findings = Findings()
    for place, asked in enumerate(golden()[:: 2 * _APART]):
        levelled = replace(asked, plan=generalize(asked.plan, EVERY_LEVEL))
        check(levelled, worlds, findings, pairs=place % 2 == 0)
    assert not findings.problems, "\n".join(findings.problems)
    assert findings.compared > 0


def test_random_plan_moves_by_no_more_than_declared_when_a_person_is_added(worlds: Worlds) -> None:
    """Plans that nobody thought of."""
    findings = Findings()

    @settings(
        max_examples=draws(30),
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(releases())
    def one(plan: Aggregate) -> None:
        check(Asked(explain_plan(plan), plan), worlds, findings, pairs=plan.size % 2 == 0)

    one()
    assert not findings.problems, "\n".join(findings.problems)
    assert findings.compared > draws(20)


def test_random_catalog_moves_by_no_more_than_declared_when_a_person_is_added(
    database: URL, tmp_path: Path
) -> None:
    """Units of any type, columns of every type and domain, any R and G."""
    findings = Findings()
    for seed in (3, 7):
        dataset = catalog(seed)
        worlds = populated(dataset, seed)
        with in_duckdb(tmp_path, worlds, seed) as here, in_postgresql(database, worlds, seed) as it:
            for asked in statements(dataset, seed, draws(10, fewest=4)):
                check(asked, [here, it], findings, pairs=seed == 3)
    assert not findings.problems, "\n".join(findings.problems)
    assert findings.compared > draws(15)
