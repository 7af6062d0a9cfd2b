"""The most frequent keys: chosen where nothing but their names is asked, counted everywhere else."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import pytest
from binding.clinic import CLINIC
from laws import for_each

from gateway.binding.bind import bind
from gateway.binding.bound import Cut, ResultColumn, explain_bound
from gateway.binding.extensions import postgresql_sql
from gateway.binding.top_k import can_select
from gateway.catalog.domains import Interval, Values
from gateway.catalog.tables import Column, ColumnRef, Dataset, Table
from gateway.catalog.types import parse_type
from gateway.plan.fields import BIGINT
from gateway.plan.scalars import Literal
from gateway.twin import Twin, TwinSession, visible_tables

_CODES = Values(("a1", "b2", "c3"))
_MORE = (
    Column("code", parse_type("character varying(7)"), _CODES, nullable=False),
    Column("padded", parse_type("character(4)"), _CODES, nullable=False),
    Column(
        "price",
        parse_type("numeric(6,2)"),
        Interval(Fraction(0), Fraction(9), Fraction(1, 2)),
        nullable=False,
    ),
    Column(
        "weight",
        parse_type("real"),
        Interval(Fraction(0), Fraction(9), Fraction(1)),
        nullable=False,
    ),
    Column("fine", parse_type("integer"), Interval(0, 10_000, Fraction(1)), nullable=False),
)
_TOP = "GROUP BY region ORDER BY COUNT(*) DESC LIMIT 2"


def _never_null(table: Table) -> Table:
    if table.name != "patients":
        return table
    kept = tuple(replace(one, nullable=one.name == "income") for one in table.columns)
    return replace(table, columns=(*kept, *_MORE))


FULL: Dataset = replace(CLINIC, tables=tuple(map(_never_null, CLINIC.tables)))


def _bound(sql: str, dataset: Dataset = FULL, parameters: Sequence[Literal] = ()) -> Cut:
    bound = bind(sql, dataset, parameters=parameters)
    assert isinstance(bound, Cut)
    return bound


def _chosen(cut: Cut) -> list[str]:
    """The measures of the first release, which are choices and nothing else."""
    plan = cut.releases[0].plan
    assert not plan.keys
    assert {one.function for _, one in plan.measures} <= {"mode", "dp_top"}
    return [str(one) for _, one in plan.measures]


@for_each(
    ("sql", "many"),
    [
        (f"SELECT region FROM patients {_TOP}", 2),
        (f"SELECT patients.region AS r FROM patients WHERE smoker {_TOP}", 2),
        ("SELECT region FROM patients GROUP BY 1 ORDER BY (COUNT(region)) DESC LIMIT (4)", 4),
        ("SELECT (region) AS r FROM patients p GROUP BY r ORDER BY count(p.birth_year) DESC LIMIT 1", 1),
        ("SELECT region FROM patients GROUP BY region ORDER BY COUNT(1) DESC NULLS LAST LIMIT 3", 3),
        ("SELECT region FROM patients GROUP BY region ORDER BY COUNT(*) DESC FETCH FIRST 2 ROWS ONLY", 2),
        ("SELECT region FROM patients GROUP BY region ORDER BY COUNT(*) DESC FETCH NEXT ROW ONLY", 1),
        ("SELECT smoker FROM patients GROUP BY smoker ORDER BY COUNT(*) DESC LIMIT 2", 2),
        ("SELECT birth_year > 1970 AS old FROM patients GROUP BY 1 ORDER BY COUNT(*) DESC LIMIT 1", 1),
        ("SELECT birth_year FROM patients GROUP BY 1 ORDER BY COUNT(*) DESC LIMIT 50", 50),
        ("SELECT price FROM patients GROUP BY 1 ORDER BY COUNT(*) DESC LIMIT 5", 5),
        (f"SELECT region FROM (SELECT region FROM patients WHERE smoker) t {_TOP}", 2),
        (f"SELECT AVG(income) FROM patients WHERE region IN (SELECT region FROM patients {_TOP})", 2),
        (f"SELECT count(*) FROM patients JOIN (SELECT region AS r FROM patients {_TOP}) t ON r = region", 2),
        (f"WITH t AS (SELECT region FROM patients {_TOP}) SELECT * FROM t", 2),
        (f"SELECT region FROM regions WHERE region = ANY (SELECT region FROM patients {_TOP})", 2),
    ],
)  # fmt: skip
def test_most_frequent_keys_are_chosen_when_nothing_else_is_asked(sql: str, many: int) -> None:
    """One release without keys: a choice for each place; wherever the SELECT stands."""
    assert len(_chosen(_bound(sql))) == many


@for_each(
    "sql",
    [
        "SELECT region, COUNT(*) FROM patients GROUP BY region ORDER BY COUNT(*) DESC LIMIT 2",
        "SELECT region, 1 AS one FROM patients GROUP BY region ORDER BY COUNT(*) DESC LIMIT 2",
        "SELECT upper(region) FROM patients GROUP BY region ORDER BY COUNT(*) DESC LIMIT 2",
        "SELECT region FROM patients GROUP BY region, smoker ORDER BY COUNT(*) DESC LIMIT 2",
        "SELECT region FROM patients GROUP BY ROLLUP (region) ORDER BY COUNT(*) DESC LIMIT 2",
        "SELECT region FROM patients GROUP BY GROUPING SETS ((region), (region)) ORDER BY COUNT(*) DESC LIMIT 2",
        "SELECT region FROM patients GROUP BY region ORDER BY COUNT(*) LIMIT 2",
        "SELECT region FROM patients GROUP BY region ORDER BY COUNT(*) DESC",
        "SELECT region FROM patients GROUP BY region ORDER BY COUNT(*) DESC LIMIT ALL",
        "SELECT region FROM patients GROUP BY region ORDER BY COUNT(*) DESC LIMIT 1 + 1",
        "SELECT region FROM patients GROUP BY region ORDER BY COUNT(*) DESC LIMIT (SELECT 2)",
        "SELECT region FROM patients GROUP BY region ORDER BY COUNT(*) DESC LIMIT 2 OFFSET 1",
        "SELECT region FROM patients GROUP BY region ORDER BY COUNT(*) DESC FETCH FIRST 2 ROWS WITH TIES",
        "SELECT region FROM patients GROUP BY region ORDER BY COUNT(*) DESC LIMIT 5",
        "SELECT birth_year FROM patients GROUP BY 1 ORDER BY COUNT(*) DESC LIMIT 51",
        "SELECT region FROM patients GROUP BY region ORDER BY COUNT(*) DESC, region LIMIT 2",
        "SELECT region FROM patients GROUP BY region ORDER BY COUNT(*) * 2 DESC LIMIT 2",
        "SELECT region FROM patients GROUP BY region ORDER BY -COUNT(*) DESC LIMIT 2",
        "SELECT region FROM patients GROUP BY region ORDER BY COUNT(DISTINCT patient_id) DESC LIMIT 2",
        "SELECT region FROM patients GROUP BY region ORDER BY COUNT(income) DESC LIMIT 2",
        "SELECT region FROM patients GROUP BY region ORDER BY COUNT(NULL) DESC LIMIT 2",
        "SELECT region FROM patients GROUP BY region ORDER BY COUNT(*) FILTER (WHERE smoker) DESC LIMIT 2",
        "SELECT region FROM patients GROUP BY region ORDER BY AVG(income) DESC LIMIT 2",
        "SELECT region FROM patients GROUP BY region ORDER BY COUNT(*) OVER () DESC LIMIT 2",
        "SELECT region FROM patients GROUP BY region HAVING COUNT(*) > 9 ORDER BY COUNT(*) DESC LIMIT 2",
        "SELECT DISTINCT ON (region) region FROM patients GROUP BY region ORDER BY COUNT(*) DESC LIMIT 2",
        "SELECT region AS n FROM patients GROUP BY region ORDER BY n DESC LIMIT 2",
        "SELECT name FROM patients GROUP BY name ORDER BY COUNT(*) DESC LIMIT 2",
        "SELECT fine FROM patients GROUP BY fine ORDER BY COUNT(*) DESC LIMIT 2",
        "SELECT weight FROM patients GROUP BY weight ORDER BY COUNT(*) DESC LIMIT 2",
        "SELECT padded FROM patients GROUP BY padded ORDER BY COUNT(*) DESC LIMIT 2",
        "SELECT birth_year / 10 FROM patients GROUP BY 1 ORDER BY COUNT(*) DESC LIMIT 2",
        "SELECT region FROM patients WHERE region IN ('north') GROUP BY 1 ORDER BY COUNT(*) DESC LIMIT 2",
        "SELECT smoker FROM patients GROUP BY 1 ORDER BY COUNT(*) DESC LIMIT 3",
    ],
)  # fmt: skip
def test_groups_are_counted_when_anything_else_is_asked(sql: str) -> None:
    """Counts stay counts: also where values cannot be listed, or are fewer than places."""
    cut = _bound(sql)
    assert cut.instead is None
    assert cut.releases[0].plan.keys
    assert not any(one.hands_on for _, one in cut.releases[0].plan.measures)


@pytest.mark.parametrize(
    "where",
    ["region IS NOT NULL", "region IN ('north', 'east')", "region <> 'x' AND region = 'east'"],
)
def test_key_that_may_be_null_is_chosen_when_a_condition_keeps_null_out(where: str) -> None:
    """NULL is a group and no value: who may meet it gets counts."""
    top = "GROUP BY region ORDER BY COUNT(*) DESC LIMIT 1"
    assert len(_chosen(_bound(f"SELECT region FROM patients WHERE {where} {top}", CLINIC))) == 1
    assert _bound(f"SELECT region FROM patients {top}", CLINIC).releases[0].plan.keys


def test_parameter_says_how_many() -> None:
    """A number that came beside the text is a constant like any other."""
    sql = "SELECT region FROM patients GROUP BY region ORDER BY COUNT(*) DESC LIMIT $1"
    assert len(_chosen(_bound(sql, parameters=[Literal(3, BIGINT)]))) == 3
    assert _bound(sql, parameters=[Literal(5, BIGINT)]).instead is None


def test_first_places_are_those_of_dp_top() -> None:
    """The same release in both spellings, so the same price; beside each other they are one."""
    grouped = f"SELECT region FROM patients {_TOP}"
    spelled = "SELECT unnest(DP_TOP(region, 2))::text AS region FROM patients"
    one, other = _bound(grouped), _bound(spelled)
    assert one.releases == other.releases
    assert one.finishing == other.finishing
    assert len(_bound(f"SELECT * FROM ({grouped}) a, ({spelled}) b").releases) == 1


def test_grouping_is_what_has_to_be_permitted() -> None:
    """The uses are those of the statement as it is written: with counts in the place of choices."""
    cut = _bound(f"SELECT region FROM patients WHERE smoker {_TOP}")
    assert [str(one) for one in sorted(cut.uses)] == [
        "group_by patients.region",
        "filter patients.smoker",
    ]
    assert cut.instead is not None
    assert (cut.uses, cut.tables) == (cut.instead.uses, cut.instead.tables)
    assert cut.instead.releases[0].plan.keys
    both = _bound(
        f"SELECT DP_TOP(birth_year, 2), (SELECT region FROM patients {_TOP.replace('2', '1')}) FROM patients"
    )
    assert [str(one) for one in sorted(both.uses)] == [
        "aggregate patients.birth_year",
        "group_by patients.region",
    ]


@pytest.mark.parametrize(
    ("most", "ranged", "chosen"),
    [(101, "income", True), (100, "income", False), (101, "birth_year", False)],
)
def test_choice_needs_room_in_the_policy(most: int, ranged: str, *, chosen: bool) -> None:
    """Not for groups that the policy would not list, nor for columns whose results are in ranges."""
    cut = _bound("SELECT birth_year FROM patients GROUP BY 1 ORDER BY COUNT(*) DESC LIMIT 2")
    assert can_select(cut, most, frozenset({ColumnRef("patients", ranged)})) is chosen


@pytest.fixture(scope="module")
def session(twin: Twin) -> Iterator[TwinSession]:
    with twin.session("alice", visible_tables(FULL)) as session:
        yield session


@for_each("column", ["region", "birth_year", "smoker", "code", "price"])
@for_each("many", [1, 2])
def test_column_is_of_the_type_that_postgresql_says(
    column: str, many: int, session: TwinSession
) -> None:
    """Name, type and what stands in its brackets are those of the statement as it was written."""

    def describe(sql: str) -> list[ResultColumn]:
        return [
            ResultColumn(one.name, one.type_oid, one.type_modifier, one.type_name)
            for one in session.describe(sql).columns
        ]

    for select in (column, f'{column} AS "The Most"'):
        sql = f"SELECT {select} FROM patients GROUP BY {column} ORDER BY COUNT(*) DESC LIMIT {many}"
        bound = bind(sql, FULL, describe=describe)
        assert isinstance(bound, Cut)
        assert len(_chosen(bound)) == many
        assert bound.result == tuple(describe(postgresql_sql(sql)))
        assert bound.instead is not None
        assert bound.instead.result == bound.result
        assert "dp_top" not in explain_bound(bound.instead)
