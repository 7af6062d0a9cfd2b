"""Relations below a release give the same rows on both databases, however the rows are stored."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import psycopg
import pytest
from engines.plain_expressing import PlainExpressing
from fix_sample import plain
from sqlalchemy import URL

from gateway.bounding import bound_joins as joins
from gateway.bounding.bound_joins import bound_joins
from gateway.bounding.bounded_release import BoundedRelease
from gateway.bounding.licences import Licences
from gateway.bounding.rewrites import complete_window_order
from gateway.catalog.domains import Interval
from gateway.catalog.tables import Column, Protection, Table
from gateway.catalog.types import parse_type
from gateway.engines.source import SourceDatabase
from gateway.plan.aggregates import Measure, PerUnit, WindowCall
from gateway.plan.fields import BIGINT, BOOLEAN, DOUBLE, Field, ReleasedLabel
from gateway.plan.joins import Join, Mark, UnionAll
from gateway.plan.node import Node
from gateway.plan.relations import Constant, Filter, Project, Scan, StagedRows, Window
from gateway.plan.scalars import Call, Literal, Ref
from gateway.sensitivity.measurement import Measurement, Rows

ROWS = [
    (1, 1, 0.1),
    (1, 2, 0.2),
    (1, 2, 0.7),
    (2, 1, -900.0),
    (2, None, 0.3),
    (3, 5, None),
    (None, 1, 0.5),
]
VISITS = Table(
    "visits",
    (
        Column("p", BIGINT),
        Column("k", BIGINT, Interval(0, 9, Fraction(1))),
        Column(
            "w", parse_type("double precision"), Interval(Fraction(-1), Fraction(1), Fraction(1))
        ),
    ),
    Protection("p", 2, 2),
)
STAGED = {
    "_s1": StagedRows((("c1", BIGINT),), ((1,), (2,), (None,))),
    "_s2": StagedRows((("c1", BIGINT),), ()),
    "_s3": StagedRows((("c1", BIGINT),), ((30,), (100,), (1,), (1,), (5,), (None,), (None,))),
}


def scan(alias: str) -> Scan:
    return Scan(VISITS, alias, "patient")


def constant(name: str) -> Constant:
    field = Field(f"{name}.c1", BIGINT)
    return Constant(name, (field,), ReleasedLabel(), frozenset({frozenset({field.id})}))


def same(one: Node, other: Node, place: int = 0) -> Call:
    return Call("=", (Ref(one.fields[place]), Ref(other.fields[place])), BOOLEAN)


def per_unit(function: str, place: int, kind: str) -> PerUnit:
    below = scan("a")
    measure = Measure(function, (Ref(below.fields[place]),), parse_type(kind))
    return PerUnit(below, "q", (("p", Ref(below.fields[0])),), (("m", measure),))


def windowed(function: str, *, arguments: bool = True) -> Window:
    below = scan("a")
    given = (Ref(below.fields[2]),) if arguments else ()
    kind = DOUBLE if arguments else BIGINT
    frame = ("1 preceding", "current row") if function == "sum" else None
    order = ((Ref(below.fields[1]), True),)
    call = WindowCall(function, given, (Ref(below.fields[0]),), order, frame, kind)
    return Window(below, (("w", call),))


def marked() -> Node:
    child, inner = scan("a"), scan("b")
    more = Call("<", (Ref(child.fields[1]), Ref(inner.fields[1])), BOOLEAN)
    mark = Mark(child, inner, Call("and", (same(child, inner), more), BOOLEAN), "mark")
    return Filter(mark, Ref(mark.fields[-1]))


def joined(name: str) -> Join:
    left, right = scan("a"), constant(name)
    on = Call("=", (Ref(left.fields[1]), Ref(right.fields[0])), BOOLEAN)
    return Join(left, right, on, outer=True)


def ranged(low: int, high: int, *, outer: bool) -> Node:
    """One row of a relation for each value, where the joined column is from `low` to `high`."""
    left, right = scan("a"), constant("_s3")
    k, same_value = Ref(left.fields[1]), Ref(right.fields[0])
    once = replace(right, one_for=(right.fields[0].id,))
    node = Join(left, once, Call("=", (k, same_value), BOOLEAN), outer=outer)
    above = Call(">=", (k, Literal(low, BIGINT)), BOOLEAN)
    below = Call("<=", (k, Literal(high, BIGINT)), BOOLEAN)
    return Filter(node, Call("and", (above, below), BOOLEAN))


def squared() -> Join:
    one, other = scan("a"), scan("b")
    return Join(one, other, same(one, other))


def united() -> UnionAll:
    sides = [Project(scan(name), f"q{name}", ()) for name in "ab"]
    sides = [
        replace(one, items=(("p", Ref(one.child.fields[0])), ("k", Ref(one.child.fields[1]))))
        for one in sides
    ]
    return UnionAll(sides[0], sides[1], "u", ("p", "k"))


def doubled() -> Node:
    node: Node = scan("a")
    for place in range(40):
        k = Ref(node.fields[1])
        twice = Call("-", (Call("+", (k, k), BIGINT), k), BIGINT)
        node = Project(node, f"q{place}", (("p", Ref(node.fields[0])), ("k", twice)))
    return node


# the relation, which columns are keys, and what comes back: key and number of persons' rows
CASES: dict[str, tuple[Node, int, dict[object, int]]] = {
    "count": (per_unit("count", 1, "bigint"), 1, {2: 1, 1: 2}),
    # the second person has three rows, and two count: 5 * 2 / 3
    "sum": (per_unit("sum", 1, "bigint"), 1, {5: 1, 3: 1, 1: 1}),
    "min": (per_unit("min", 1, "bigint"), 1, {1: 2, 5: 1}),
    "row_number": (windowed("row_number", arguments=False), 3, {1: 3, 2: 3}),
    "mark": (marked(), 1, {1: 1}),
    "join": (joined("_s1"), 3, {1: 2, 2: 2, None: 2}),
    "nothing": (joined("_s2"), 3, {None: 6}),
    "range": (ranged(1, 4, outer=False), 3, {1: 2}),
    "range, outer": (ranged(2, 5, outer=True), 3, {None: 2, 5: 1}),
    "empty range": (ranged(6, 9, outer=False), 3, {}),
    "union": (united(), 1, {1: 4, 2: 4, 5: 2, None: 2}),
    "doubled": (doubled(), 1, {1: 2, 2: 2, 5: 1, None: 1}),
}


@pytest.fixture(params=["duckdb", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> URL:
    if request.param == "postgresql":
        found = request.getfixturevalue("sample_database")
        assert isinstance(found, URL)
        return found
    return URL.create("duckdb", database=str(tmp_path / "clinic.duckdb"))


def rows_by(url: URL, node: Node, place: int, *, backwards: bool = False) -> dict[object, int]:
    made = [
        "DROP TABLE IF EXISTS visits",
        "CREATE TABLE visits (p bigint, k bigint, w double precision)",
    ]
    for row in reversed(ROWS) if backwards else ROWS:
        shown = ", ".join("NULL" if one is None else str(one) for one in row)
        made.append(f"INSERT INTO visits VALUES ({shown})")
    if url.get_backend_name() == "duckdb":
        with duckdb.connect(str(url.database)) as here:
            here.execute(";".join(made))
    else:
        with psycopg.connect(plain(url)) as there:
            there.execute(";".join(made).encode())
    bounded = complete_window_order(bound_joins(node, Licences({})))
    key = Ref(next(one for one in bounded.fields if one.id == node.fields[place].id))
    release = BoundedRelease(bounded, (key,), (Measurement(Rows(), 99),), 99, True, None, None)
    source = SourceDatabase.open(url, PlainExpressing(), salt="")
    try:
        table = source.run(release, STAGED, limit_s=20)
    finally:
        source.close()
    return {key: many for (key,), many in zip(table.keys, table.measured[0], strict=True)}


@pytest.mark.parametrize("name", CASES)
def test_relation_has_the_rows_it_means(url: URL, name: str) -> None:
    """Domains enforced, rows without a unit gone, results cut to what R rows can reach."""
    node, place, wanted = CASES[name]
    assert rows_by(url, node, place) == wanted


@pytest.mark.parametrize("function", ["sum", "avg"])
def test_sum_of_floats_does_not_depend_on_how_rows_are_stored(url: URL, function: str) -> None:
    """Sums of a person, whole and running, are the same to the last digit."""
    for node, place in ((per_unit(function, 2, "double precision"), 1), (windowed(function), 3)):
        assert rows_by(url, node, place) == rows_by(url, node, place, backwards=True)


@pytest.mark.parametrize("function", ["lag", "lead"])
def test_neighbour_does_not_depend_on_how_rows_are_stored(url: URL, function: str) -> None:
    """Rows that tie in the written order are told apart by their other columns."""
    node = windowed(function)
    assert rows_by(url, node, 3) == rows_by(url, node, 3, backwards=True)


def test_join_of_persons_has_no_more_rows_than_both_sides_are_cut_to(
    url: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three rows with themselves are nine, whatever is declared; cut to two on both sides they are four."""
    assert rows_by(url, squared(), 0) == {1: 9, 2: 4, 3: 1}
    monkeypatch.setattr(joins, "MOST_MET", 2)
    monkeypatch.setattr(joins, "MOST_PAIRS", 4)
    assert rows_by(url, squared(), 0) == {1: 4, 2: 4, 3: 1}
    assert rows_by(url, squared(), 4) == rows_by(url, squared(), 4, backwards=True)
