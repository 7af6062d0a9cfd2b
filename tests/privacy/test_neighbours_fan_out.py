"""Rows that meet several rows of a public table: one person with ten thousand rows moves an answer as declared."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from binding.clinic import CLINIC
from property.bounded_releases import Asked, statement
from property.neighbour_check import Findings, check
from property.schemas import a_database
from property.small_worlds import Row, World
from property.stores import Store, in_duckdb, in_postgresql

from gateway.bounding import bound_joins as joins
from gateway.bounding.bounded_release import BoundedRelease
from gateway.bounding.licences import Licences
from gateway.bounding.row_samples import kept_of_person
from gateway.plan.joins import Join
from gateway.plan.node import Node, walk_nodes
from gateway.plan.relations import Filter
from gateway.postgres_server import Lease

Worlds = Sequence[Sequence[Store]]
_MANY = 10_000
_WORDS = 300  # of one chapter: more than a row meets
_MET = "JOIN codes c ON c.chapter = v.diagnosis"
_SHORT = replace(
    CLINIC,
    tables=tuple(
        replace(
            table,
            columns=tuple(
                replace(one, max_length=20) if one.longest is not None else one
                for one in table.columns
            ),
        )
        for table in CLINIC.tables
    ),
)
_STATEMENTS = tuple(
    statement(one, _SHORT)
    for one in (
        f"SELECT COUNT(*), SUM(v.cost), AVG(v.weight), COUNT(c.code) FROM visits v {_MET}",
        f"SELECT v.visit_date, COUNT(*), COUNT(DISTINCT v.patient_id) FROM visits v {_MET} GROUP BY 1",
        f"""SELECT COUNT(*) FILTER (WHERE c.code > '5'), CORR(v.cost, v.weight) FROM visits v LEFT {_MET}
            WHERE c.code IS NULL OR c.code <> '7'""",
        f"""SELECT COUNT(*), SUM(o.cost) FROM visits v JOIN visits o ON o.patient_id = v.patient_id
            AND o.visit_id <> v.visit_id {_MET}""",
        f"""SELECT COUNT(*), SUM(o.cost) FROM visits o JOIN (SELECT v.patient_id, c.code FROM visits v {_MET}) t
            ON t.patient_id = o.patient_id""",
        f"SELECT COUNT(*) FROM (SELECT v.patient_id FROM visits v {_MET} UNION ALL SELECT patient_id FROM visits) t",
    )
)
_both = pytest.mark.parametrize("pairs", [True, False], ids=["laplace", "gaussian"])


@pytest.fixture(scope="module")
def worlds(sample_server: Lease, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    """Twenty persons with two visits each, and one with ten thousand who meets the public table each time."""
    codes: list[Row] = [*((str(code), "flu") for code in range(_WORDS)), ("a", "asthma")]
    base = World(
        {
            "patients": [],
            "visits": [_visit(unit, number) for unit in range(1, 21) for number in (1, 2)],
            "regions": [],
            "codes": codes,
        },
        keyed=True,
        dataset=_SHORT,
    )
    heavy = [_visit(99, number) for number in range(_MANY)]
    some = [_visit(98, number) for number in range(3)]
    worlds = [base, base.more({"visits": heavy}), base.more({"visits": some})]
    place = tmp_path_factory.mktemp("fan_out")
    with (
        a_database(sample_server) as url,
        in_duckdb(place, worlds, 5) as here,
        in_postgresql(url, worlds, 5) as there,
    ):
        yield [here, there]


def _visit(unit: int, number: int) -> Row:
    word = ("flu", "flu", "asthma", "gout")[number % 4]
    day = f"2024-0{1 + number % 3}-01"
    return (str(number), str(unit), word, f"{number % 4_999}", day, day, str(1 + number % 299))


def _found(worlds: Worlds, *, pairs: bool, asked: Sequence[Asked] = _STATEMENTS) -> Findings:
    findings = Findings()
    for one in asked:
        check(one, worlds, findings, pairs=pairs)
    return findings


@_both
def test_person_who_meets_many_public_rows_moves_no_more_than_declared(
    worlds: Worlds, *, pairs: bool
) -> None:
    """In both databases, however often each of ten thousand rows is joined."""
    findings = _found(worlds, pairs=pairs)
    assert findings.compared == 2 * len(_STATEMENTS)
    assert not findings.problems


@_both
def test_weight_that_is_left_out_is_found(worlds: Worlds, *, pairs: bool) -> None:
    """The sums of this person are far above every limit where nothing weighs them."""
    findings = Findings()

    def unweighted(release: BoundedRelease) -> BoundedRelease:
        return replace(release, by_unit=False, weighted_groups=None)

    check(_STATEMENTS[0], worlds, findings, pairs=pairs, change=unweighted)
    assert any("duckdb" in one for one in findings.problems)
    assert any("postgresql" in one for one in findings.problems)


def test_person_is_weighed_whatever_rows_a_table_keeps(
    worlds: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound does not rest on the cut of the public table, which keeps what a join costs small."""
    monkeypatch.setattr(joins, "MOST_MATCHES", 1_000)
    findings = _found(worlds, pairs=False, asked=_STATEMENTS[:2])
    assert findings.compared == 4
    assert not findings.problems


def test_row_meets_so_many_rows_of_a_public_table_and_no_more(worlds: Worlds) -> None:
    """What a person costs is a multiple of their rows: 64 public rows for each, 65,536 pairs where they are sorted."""
    asked, pairs = _STATEMENTS[0], _STATEMENTS[4]
    assert _kept(asked, worlds) == [64]
    assert sorted(_kept(pairs, worlds)) == [64, 64, 1_024, 1_024]


def _kept(asked: Asked, worlds: Worlds) -> list[int]:
    """The limits of all samples of the rendered rows."""
    analysis = asked.analysis(pairs=False)
    assert analysis is not None
    release = joins.bound_joins(analysis.plan.child, Licences(worlds[0][0].proven))
    return [most for one in walk_nodes(release) if (most := _limit(one)) is not None]


def _limit(node: Node) -> int | None:
    return kept_of_person(node) if isinstance(node, Filter) else None


def test_statements_are_about_joins_that_multiply() -> None:
    """Each of them has a join whose rows nothing bounds, so it is weighted."""
    for one in _STATEMENTS:
        analysis = one.analysis(pairs=True)
        assert analysis is not None
        assert analysis.clips is not None
        assert any(isinstance(each, Join) and each.several for each in walk_nodes(analysis.plan))
