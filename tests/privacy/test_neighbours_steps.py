"""A declared step is a grid for sums: of which values there are, between which ends, it says nothing."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import pytest
from property.bounded_releases import Asked, bounded, statement, undropped
from property.moves import Groups, groups_of
from property.neighbour_check import Findings, check
from property.schemas import a_database
from property.small_worlds import Row, World
from property.stores import Store, in_duckdb, in_postgresql

from gateway.catalog.domains import Interval, Values
from gateway.catalog.tables import Column, Dataset, Protection, Table
from gateway.catalog.types import parse_type
from gateway.plan import narrowed_domains
from gateway.plan.fields import BIGINT, DOUBLE, INTEGER
from gateway.postgres_server import Lease

_ROWS = 40
_VISITS = Table(
    "visits",
    (
        Column("patient_id", BIGINT),
        Column("points", INTEGER, Interval(0, 100, Fraction(10))),
        Column("code", parse_type("char(3)"), Values(("a", "b"))),
        Column("share", DOUBLE, Values((0, 1))),
    ),
    Protection("patient_id", _ROWS, 5, values_per_unit=_ROWS),
)
_DATASET = Dataset("steps", "patient", (_VISITS,))
_WHERE = (
    "points BETWEEN 10 AND 19",
    "points >= 3 AND points <= 27",
    "points > 10 AND points < 20",
    "points = 15",
    "points IN (1, 12, 23)",
    "points > 2.5 AND points <= 13.5",
    "code IN ('a', 'b ')",
    "share IN (0, 1.00000000000000000001)",
)


def _asked() -> list[Asked]:
    counts = (
        "COUNT(DISTINCT points), COUNT(DISTINCT code), COUNT(DISTINCT share), SUM(points), COUNT(*)"
    )
    return [
        *(statement(f"SELECT {counts} FROM visits WHERE {one}", _DATASET) for one in _WHERE),
        statement(
            "SELECT points, COUNT(*) FROM visits WHERE points BETWEEN 5 AND 45 GROUP BY 1", _DATASET
        ),
        statement(
            """SELECT COUNT(DISTINCT d) FROM (SELECT patient_id, points AS d FROM visits
            WHERE points BETWEEN 10 AND 19) t""",
            _DATASET,
        ),
    ]


@pytest.fixture(scope="module")
def worlds(
    sample_server: Lease, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sequence[Sequence[Store]]]:
    """Somebody with one value, and one more with every number from 0 to 39, of which only every tenth is declared."""
    few: list[Row] = [("1", "50", None, None)]
    many: list[Row] = [("0", str(place), "ab"[place % 2], str(place % 2)) for place in range(_ROWS)]
    base = World({"visits": few}, keyed=False, dataset=_DATASET)
    worlds = [base, base.more({"visits": many})]
    place = tmp_path_factory.mktemp("steps")
    with (
        a_database(sample_server) as url,
        in_duckdb(place, worlds, 7) as here,
        in_postgresql(url, worlds, 7) as there,
    ):
        yield [here, there]


def _found(worlds: Sequence[Sequence[Store]]) -> Findings:
    findings = Findings()
    for asked in _asked():
        check(asked, worlds, findings, pairs=True)
    return findings


def test_person_moves_counts_of_values_no_further_than_declared_when_none_is_on_a_step(
    worlds: Sequence[Sequence[Store]],
) -> None:
    """Nor where blanks, or digits that a source does not see, make two values of a list one."""
    findings = _found(worlds)
    assert findings.compared == 2 * len(_asked())
    assert not findings.problems


def _counted(worlds: Sequence[Sequence[Store]]) -> list[Groups]:
    """What each statement counts with the person, in each database."""
    found = []
    for asked in _asked():
        analysis = asked.analysis(pairs=True)
        assert analysis is not None
        for stores in worlds:
            release = bounded(analysis, stores[-1].proven)
            assert release is not None
            found.append(groups_of(stores[-1].run(undropped(release), {})))
    return found


def test_narrowing_by_declared_steps_costs_values_and_no_privacy(
    worlds: Sequence[Sequence[Store]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ends that are rounded inwards to a declared step, as they were once: ten values would count as one, and do."""
    before, right = _counted(worlds), narrowed_domains._within

    def trusting(*given: object, exact: bool) -> Interval:
        del exact
        return right(*given, exact=True)  # type: ignore[arg-type]  # as given

    monkeypatch.setattr(narrowed_domains, "_within", trusting)
    assert _counted(worlds) != before
    assert not _found(worlds).problems


def test_narrowing_by_values_as_they_are_written_costs_values_and_no_privacy(
    worlds: Sequence[Sequence[Store]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two spellings of one number narrow a set to too few values; a person is cut to as many."""
    before = _counted(worlds)
    monkeypatch.setattr(narrowed_domains, "is_short", lambda _value: True)
    assert _counted(worlds) != before
    assert not _found(worlds).problems
