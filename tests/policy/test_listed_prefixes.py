"""Beginnings of many listed texts are read by one function: their groups stay listed, and the work of a row is small."""

from datetime import UTC, datetime
from typing import Final

import pytest
from sensitivity.analyses import dataset, plan_of, whole

from gateway.bounding.bounded_release import BoundedRelease, bound_release
from gateway.catalog.domains import Anything, Values
from gateway.catalog.tables import ColumnRef, Dataset
from gateway.engines.duckdb_preparation import compile_for_duckdb
from gateway.engines.sql.expressions import TotalScalarSql
from gateway.engines.sql.release import ReleaseSql, select_release
from gateway.plan.fields import BIGINT, INTEGER, TEXT, Field
from gateway.plan.scalars import Call, Literal, Ref, Scalar
from gateway.policy.generalization import generalize
from gateway.policy.levels import PrefixLevel, ReadLevel
from gateway.sensitivity.analysis import EnumeratedGroups
from gateway.sensitivity.analyze import analyze_release

NOON: Final = datetime(2026, 3, 2, 12, tzinfo=UTC)
CODES: Final = Values(tuple(f"{one:05d}" for one in range(0, 100_000, 50)))
LEVEL: Final = {ColumnRef("t", "code"): ReadLevel(PrefixLevel(2), None)}
BEGINNINGS: Final = {f"{one:02d}" for one in range(100)}


def coded() -> Dataset:
    return dataset(10, {"code": ("text", CODES), "x": ("integer", whole(0, 10))}, 4)


def released(sql: str) -> tuple[set[object], BoundedRelease]:
    """The listed groups of a statement whose codes are read by two characters, and its bounded release."""
    plan = generalize(plan_of(sql, coded()), LEVEL)
    made = analyze_release(plan, pairs=False, enumerated_groups=10_000, min_units=3)
    assert isinstance(made.groups, EnumeratedGroups)
    return {key for (key,) in made.groups.keys}, bound_release(made, now=NOON, proven={})


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT code, COUNT(*) FROM t GROUP BY code",
        "SELECT code, COUNT(*) FROM (SELECT u, code FROM t UNION ALL SELECT u, code FROM t) s GROUP BY code",
        "SELECT code, COUNT(*) FROM (SELECT code, lag(x) OVER (PARTITION BY u ORDER BY x) FROM t) s GROUP BY 1",
        "SELECT code, COUNT(*) FROM t WHERE code < '50' OR code LIKE '9%' GROUP BY code",
    ],
)
def test_groups_are_the_beginnings_of_listed_texts(sql: str) -> None:
    """In a plain SELECT, above a union and above a window: listed, and within the work of a row."""
    keys, _ = released(sql)
    assert keys - {None} == BEGINNINGS


def test_text_names_the_listed_values_no_more_often_than_without_a_level() -> None:
    """The column is enforced as always, and the level adds a function to it."""
    _, release = released("SELECT code, COUNT(*) FROM t GROUP BY code")
    statement = select_release(release, {}, ReleaseSql("duckdb", TotalScalarSql(), "salt"))
    compiled = compile_for_duckdb(statement)
    named = [value for value in compiled.parameters({}) if value in CODES]
    assert len(named) <= 2 * CODES.size


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (("left", Literal(2, INTEGER)), Values(("no", "so", "n"))),
        (("left", Literal(0, INTEGER)), Values(("",))),
        (("left", Literal(-1, INTEGER)), Anything()),
        (("left", Ref(Field("t.n", BIGINT))), Anything()),
        (("right", Literal(2, INTEGER)), Anything()),
    ],
)
def test_beginnings_of_listed_texts_are_a_set(call: tuple[str, Scalar], wanted: object) -> None:
    """Of a length that is known; nothing is said of other functions, lengths and texts."""
    name, length = call
    listed = Ref(Field("t.side", TEXT, Values(("north", "south", "n"))))
    assert Call(name, (listed, length), TEXT).domain == wanted
    assert Call(name, (Ref(Field("t.free", TEXT)), length), TEXT).domain == Anything()
