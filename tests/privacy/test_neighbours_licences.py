"""What a statement says of its own rows licenses nothing: a person meets one of them, whatever they turn out to be."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest
from property.bounded_releases import Asked, statement
from property.neighbour_check import Findings, check
from property.schemas import a_database
from property.small_worlds import Row, World
from property.stores import Store, in_duckdb, in_postgresql

from gateway.bounding import bound_joins as joins
from gateway.bounding.licences import Licences
from gateway.catalog.values import Value
from gateway.errors import Unbounded
from gateway.plan.fields import Protected
from gateway.plan.joins import Join
from gateway.plan.node import Node
from gateway.plan.relations import StagedRows
from gateway.postgres_server import Lease

Worlds = Sequence[Sequence[Store]]
_FIVE = 5


@dataclass(frozen=True)
class Repeated(Asked):
    """A statement whose stages give one row several times, with NULLs beside it."""

    value: Value = 1980

    def staged(self, seed: int) -> dict[str, StagedRows]:
        del seed
        found = {}
        for stage in self.stages:
            columns = tuple((one.id, one.type) for one in stage.fields)
            row = (self.value, *(place for place, _ in enumerate(columns[1:])))
            rows = (*((row,) * _FIVE), (None,) * len(columns))
            found[stage.name] = StagedRows(columns, rows)
        return found


def _repeated(sql: str, value: Value = 1980) -> Repeated:
    asked = statement(sql)
    assert asked.stages
    return Repeated(asked.name, asked.plan, asked.stages, value)


_STATEMENTS = (
    _repeated(
        "SELECT COUNT(*), SUM(p.income) FROM patients p JOIN (VALUES (1980), (1981)) v(y) ON v.y = p.birth_year"
    ),
    _repeated(
        """SELECT COUNT(*) FROM patients p JOIN (VALUES (1980), (1981)) v(y) ON v.y = p.birth_year
        JOIN (VALUES (1980), (1981)) w(y) ON w.y = p.birth_year"""
    ),
    _repeated(
        """SELECT COUNT(*), COUNT(v.y) FROM patients p LEFT JOIN (SELECT DISTINCT CAST(population AS bigint)
        AS y FROM regions) v ON v.y = p.birth_year"""
    ),
    _repeated(
        """WITH means AS (SELECT region, COUNT(*) AS n FROM patients GROUP BY region)
        SELECT p.region, COUNT(*) FROM patients p JOIN means m ON m.region = p.region GROUP BY p.region""",
        "north",
    ),
    _repeated("SELECT COUNT(*) FROM patients p, (SELECT 1980 AS y) v WHERE p.birth_year >= v.y"),
    _repeated(
        """SELECT SUM(n) FROM (SELECT p.patient_id, COUNT(*) AS n FROM patients p JOIN
        (VALUES (1980), (1981)) v(y) ON v.y = p.birth_year GROUP BY p.patient_id) t"""
    ),
)


@pytest.fixture(scope="module")
def worlds(sample_server: Lease, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    """Forty persons alike with one row each, and one more."""
    rows: list[Row] = [_person(unit) for unit in range(1, 41)]
    base = World({"patients": rows, "visits": [], "regions": [], "codes": []}, keyed=True)
    worlds = [base, base.more({"patients": [_person(0)]})]
    place = tmp_path_factory.mktemp("licences")
    with (
        a_database(sample_server) as url,
        in_duckdb(place, worlds, 5) as here,
        in_postgresql(url, worlds, 5) as there,
    ):
        yield [here, there]


def _person(unit: int) -> Row:
    return (str(unit), "north", "1980", "50000", "true", "a")


def _found(worlds: Worlds) -> Findings:
    findings = Findings()
    for asked in _STATEMENTS:
        check(asked, worlds, findings, pairs=True)
    return findings


def test_person_meets_one_row_of_a_relation_when_its_rows_repeat(worlds: Worlds) -> None:
    """Whatever VALUES, DISTINCT, GROUP BY and one row claim, nobody moves an answer further than declared."""
    findings = _found(worlds)
    assert findings.compared == 2 * len(_STATEMENTS)
    assert not findings.problems


def test_claim_that_licenses_is_found(worlds: Worlds, monkeypatch: pytest.MonkeyPatch) -> None:
    """Joins that trust what was written, as they did once, let one person count five times, and twenty-five."""
    right = Licences.meets_one

    def trusting(licences: Licences, node: Join) -> bool:
        other = node.left if isinstance(node.right.label, Protected) else node.right
        return bool(other.claims) or right(licences, node)

    monkeypatch.setattr(Licences, "meets_one", trusting)
    problems = _found(worlds).problems
    assert {one.partition(":")[0] for one in problems} == {"duckdb", "postgresql"}
    for asked in _STATEMENTS[
        :-1
    ]:  # what is counted of a person and summed again is bounded by itself
        assert any(asked.name in one for one in problems), asked.name


@pytest.mark.parametrize("of", ["real", "double precision"])
def test_join_on_released_floats_is_refused(of: str) -> None:
    """Computed as doubles and printed as something shorter, one key comes back several times and is none."""
    sql = """WITH m AS (SELECT CAST(income AS {0}) AS k, COUNT(*) AS n FROM patients GROUP BY CAST(income AS {0}))
        SELECT COUNT(*), SUM(p.income) FROM patients p JOIN m ON m.k = CAST(p.income AS {0})"""
    with pytest.raises(Unbounded):
        statement(sql.format(of))
    # the control: as whole numbers they are one for each key
    whole = "SELECT birth_year AS k, COUNT(*) AS n FROM patients GROUP BY birth_year"
    assert statement(
        f"SELECT COUNT(*), SUM(p.income) FROM patients p JOIN ({whole}) m ON m.k = p.birth_year"
    ).stages


def test_persons_are_bounded_per_unit_when_repeated_rows_are_not_cut(
    worlds: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound per unit does not rest on the cut, which keeps what a join costs small."""

    def uncut(side: Node, columns: tuple[str, ...]) -> Node:
        del columns
        return replace(side)  # type: ignore[type-var]  # every node is a dataclass

    monkeypatch.setattr(joins, "_one_for", uncut)
    assert not _found(worlds).problems
