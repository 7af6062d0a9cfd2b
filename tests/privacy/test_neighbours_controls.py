"""What finds a unit that moves an answer too far finds it: each bound is reached, each cut is missed when gone."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import pytest
from property.bounded_releases import Asked, bounded, statement, undropped
from property.moves import excesses, groups_of
from property.neighbour_check import Findings, check, kind_of
from property.schemas import a_database
from property.small_worlds import Row, World
from property.stores import Store, in_duckdb, in_postgresql
from sqlalchemy import func

from gateway.bounding import bounded_release as bound_release
from gateway.bounding.bounded_release import BoundedRelease
from gateway.engines.sql import relations
from gateway.engines.sql.partial_select import Expressions, Sql
from gateway.plan.aggregates import Measure
from gateway.postgres_server import Lease
from gateway.sensitivity.analysis import Analysis
from gateway.sensitivity.clip import ClipRule, Clips
from gateway.sensitivity.measurement import Slot

Worlds = Sequence[Sequence[Store]]
SUMS = statement("SELECT COUNT(*), SUM(cost), COUNT(cost) FROM visits")
GROUPS = statement("SELECT diagnosis, COUNT(*), SUM(cost) FROM visits GROUP BY diagnosis")
EVERY_KIND = (
    SUMS,
    GROUPS,
    statement("SELECT COUNT(DISTINCT patient_id) FROM visits"),
    statement("SELECT COUNT(DISTINCT visit_id) FROM visits"),
    statement("SELECT SUM(weight) FROM visits WHERE weight < 150"),
    statement("SELECT VAR_POP(cost) FROM visits"),
    statement("SELECT COVAR_POP(cost, weight) FROM visits WHERE weight > 200"),
)
CHOICES = statement("SELECT MEDIAN(cost), MAX(visit_date) FROM visits")
CHOICES_IN_GROUPS = statement("SELECT diagnosis, MIN(cost) FROM visits GROUP BY diagnosis")
TIED = statement(
    """SELECT COUNT(DISTINCT patient_id) FROM (SELECT patient_id, cost, ROW_NUMBER() OVER (
    PARTITION BY patient_id ORDER BY visit_date) AS n FROM visits) t WHERE n = 1 AND cost > 1000"""
)
BEFORE = statement(
    """SELECT COUNT(DISTINCT patient_id) FROM (SELECT patient_id, LAG(cost) OVER (PARTITION BY
    patient_id ORDER BY visit_date) AS earlier, cost FROM visits) t WHERE earlier = 3000 AND cost = 0"""
)
FLOATS = statement(
    """SELECT COUNT(DISTINCT patient_id) FROM (SELECT patient_id, SUM(weight) AS s FROM visits
    GROUP BY patient_id) t WHERE s > 66.6"""
)


def _world() -> World:
    """Two hundred persons alike: visits of one day, of ever other costs, whose weights have no exact sum."""
    visits: list[Row] = []
    for unit in range(1, 201):
        for place, weight in enumerate(("1.1", "2.2", "3.3", "60")):
            visits.append((
                str(place), str(unit), "flu", f"{place}000", "2024-02-29", "2024-02-29", weight
            ))  # fmt: skip
    rows = {"patients": [], "visits": visits, "regions": [], "codes": []}
    return World(rows, keyed=True)


def _heavy() -> list[Row]:
    """Five hundred visits in a hundred groups, at the ends of every domain."""
    ends = (("5000", "300"), ("0", "1"))
    return [
        (str(9000 + place), "0", f"group {place % 100}", *_at(ends[one % 2]))
        for place, one in ((place, place // 250 + 1) for place in range(500))
    ]


def _at(end: tuple[str, str]) -> tuple[str, ...]:
    return end[0], "2026-12-31", "2026-12-31", end[1]


@pytest.fixture(scope="module")
def worlds(sample_server: Lease, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    """A world, and the same with one person at one end, at the other, and in a hundred groups more."""
    base, place = _world(), tmp_path_factory.mktemp("controls")
    low = [(str(one), "0", "flu", *_at(("0", "1"))) for one in range(500)]
    high = [(str(one), "0", "flu", *_at(("5000", "149.9"))) for one in range(500)]
    made = [base, *(base.more({"visits": rows}) for rows in (low, high, _heavy()))]
    with (
        a_database(sample_server) as url,
        in_duckdb(place, made, 5) as here,
        in_postgresql(url, made, 5) as there,
    ):
        yield [here, there]


@pytest.fixture(autouse=True)
def _nothing_remembered(worlds: Worlds) -> Iterator[None]:
    """A control breaks what renders: neither it nor the test after it may get statements from before."""
    _forget(worlds)
    yield
    _forget(worlds)


def _forget(worlds: Worlds) -> None:
    for stores in worlds:
        for store in stores:
            store.source._rendered._known.clear()
            store.source._rendered_histograms._known.clear()


def _problems(worlds: Worlds, asked: Asked) -> list[list[str]]:
    """What is found in each database."""
    found = []
    for stores in worlds:
        findings = Findings()
        check(asked, [stores], findings, pairs=True)
        found.append(findings.problems)
    return found


def _tightened(analysis: Analysis) -> Iterator[tuple[str, Analysis]]:
    """One less than declared, for one measurement after the other."""
    for place, slot in enumerate(analysis.slots):
        for one in slot.measurements:
            less = tuple(
                replace(each, most=each.most - (each is one)) for each in slot.measurements
            )
            slots = (
                *analysis.slots[:place],
                Slot(less, slot.most, slot.norm),
                *analysis.slots[place + 1 :],
            )
            yield kind_of(one.quantity), replace(analysis, slots=slots)


@pytest.mark.parametrize("place", [0, 1], ids=["duckdb", "postgresql"])
def test_declared_move_is_reached_and_one_less_is_noticed(worlds: Worlds, place: int) -> None:
    """Of every kind of measurement: a bound that nobody comes near would show nothing."""
    noticed = set()
    # as many as the heavy person has rows, or rows at one end
    for asked, pairs, clip in product(EVERY_KIND, (True, False), (250, 500)):
        analysis = asked.analysis(pairs=pairs, clip=ClipRule(clip**2))
        assert analysis is not None
        exact = []
        for store in worlds[place]:
            release = bounded(analysis, store.proven)
            assert release is not None
            exact.append(groups_of(store.run(undropped(release), {})))
        for after in exact[1:]:
            assert not list(excesses(exact[0], after, analysis))
            noticed |= {
                kind for kind, less in _tightened(analysis) if any(excesses(exact[0], after, less))
            }
    totals = {f"total from {one}" for one in ("low", "high", "middle")}
    assert noticed == {"rows", "units", "different", "squares", "products", *totals}


def test_nothing_is_found_when_nothing_is_broken(worlds: Worlds) -> None:
    """The statements of the controls keep their bounds."""
    for asked in (*EVERY_KIND, CHOICES, CHOICES_IN_GROUPS, TIED, BEFORE, FLOATS):
        assert _problems(worlds, asked) == [[], []]


def _doubled(release: BoundedRelease) -> BoundedRelease:
    """Twice as many rows of a person: in histograms, and under the clip."""
    assert release.clips is not None
    rows = replace(release.clips.rows, square=4 * release.clips.rows.square)
    clips = replace(release.clips, rows=rows)
    return replace(release, rows_per_unit=2 * release.rows_per_unit, clips=clips)


def _uncapped(release: BoundedRelease) -> BoundedRelease:
    """All groups of a person in full: of values and histograms, and of what is weighted."""
    assert release.clips is not None
    clips = Clips(replace(release.clips.rows, square=2**28), None)
    return replace(release, groups_per_unit=None, weighted_groups=None, clips=clips)


@pytest.mark.parametrize(("asked", "change"), [(SUMS, _doubled), (GROUPS, _uncapped)])
def test_cut_is_missed_when_it_is_left_out(worlds: Worlds, asked: Asked, change: object) -> None:
    """R and G: each of them by itself."""
    assert callable(change)
    for stores in worlds:
        findings = Findings()
        check(asked, [stores], findings, pairs=True, change=change)
        assert findings.problems


@pytest.mark.parametrize(
    ("asked", "change"),
    [(CHOICES, _doubled), (CHOICES_IN_GROUPS, _doubled), (CHOICES_IN_GROUPS, _uncapped)],
)
def test_cut_of_a_histogram_is_missed_when_it_is_left_out(
    worlds: Worlds, asked: Asked, change: object
) -> None:
    """R and G: each of them by itself, and R is reached where nothing is left out."""
    assert callable(change)
    for stores in worlds:
        findings, whole = Findings(), Findings()
        check(asked, [stores], findings, pairs=True, change=change)
        assert any(": histogram" in one or one.startswith("histogram") for one in findings.problems)
        check(asked, [stores], whole, pairs=True)
        assert not whole.problems
        assert "histogram" in whole.reached


def test_rank_over_ties_is_noticed_where_row_number_should_be(
    worlds: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys that tie have one rank: a unit is then in as many groups as it likes."""

    def tied(_salt: str, _unit: Sql, keys: Sequence[Sql]) -> list[Sql]:
        return [keys[0].is_(None)]

    for module in ("release", "group_limits"):
        monkeypatch.setattr(f"gateway.engines.sql.{module}.own_order", tied)
        monkeypatch.setattr(f"gateway.engines.sql.{module}.func", _Ranking())
    assert all(_problems(worlds, GROUPS))


class _Ranking:
    """The functions of SQL, with RANK for ROW_NUMBER."""

    def __getattr__(self, name: str) -> object:
        return getattr(func, "rank" if name == "row_number" else name)


@pytest.mark.parametrize("asked", [TIED, BEFORE])
def test_order_that_is_not_completed_is_noticed(
    worlds: Worlds, monkeypatch: pytest.MonkeyPatch, asked: Asked
) -> None:
    """Rows of one day come in the order in which they are stored, and that is others' doing."""
    monkeypatch.setattr(bound_release, "RULES", bound_release.RULES[:-1])
    assert all(_problems(worlds, asked))


def test_sum_of_floats_is_noticed(worlds: Worlds, monkeypatch: pytest.MonkeyPatch) -> None:
    """1.1 + 2.2 + 3.3 + 60 is 66.6 or a little more: it depends on which comes first."""

    def added(_dialect: object, expressions: Expressions, measure: Measure, *_: object) -> Sql:
        made: Sql = func.sum(expressions.sql(measure.arguments[0]))
        return made

    monkeypatch.setattr(relations, "unit_aggregate", added)
    assert all(_problems(worlds, FLOATS))
