"""The work bound: what it counts, what it refuses, and that nothing binds without a cost."""

from dataclasses import replace
from fractions import Fraction
from typing import Final

import pytest
from laws import for_each
from property.bounded_releases import NOW, golden, statement

from gateway.bounding.bounded_release import bound_release
from gateway.bounding.rewrites import complete_window_order
from gateway.bounding.row_samples import MOST_PAIRS
from gateway.bounding.work_bound import MOST_HELD, MOST_WORK, check_work
from gateway.catalog.domains import Interval
from gateway.catalog.tables import Column, Dataset, Protection, Table
from gateway.catalog.types import parse_type
from gateway.errors import Code, Refusal
from gateway.plan.node import walk_nodes
from gateway.plan.relations import Window


def notes(max_length: int | None) -> Dataset:
    """Rows of persons with two texts, and numbers."""
    text = parse_type("text")
    columns = (
        Column("p", parse_type("bigint")),
        Column("t", text, max_length=max_length),
        Column("s", text, max_length=max_length),
        Column("i", parse_type("integer"), Interval(0, 100, Fraction(1))),
        Column("n", parse_type("numeric"), Interval(0, 100, Fraction(1))),
        Column("f", parse_type("double precision"), Interval(0, 100, Fraction(1))),
    )
    return Dataset("notes", "person", (Table("notes", columns, Protection("p", 5, 2)),))


LETTERS: Final = "a" * 900
LONG: Final = notes(None)
SHORT: Final = notes(100)


def said(sql: str, dataset: Dataset = LONG) -> Code | None:
    """The code with which a statement is refused for its work, or None."""
    try:
        check_work(statement(sql, dataset).plan)
    except Refusal as refusal:
        return refusal.code
    return None


def bounded(sql: str, dataset: Dataset = LONG) -> Code | None:
    """The code with which it is refused when all that bounding adds is counted, or None."""
    analysis = statement(sql, dataset).analysis(pairs=False)
    assert analysis is not None
    try:
        bound_release(analysis, now=NOW, proven={})
    except Refusal as refusal:
        return refusal.code
    return None


def chained(*made: str) -> str:
    """Two joins over a window: what is computed below is hashed and ordered for each pair."""
    columns = ", ".join(
        f"CASE WHEN i = 7 THEN {one} ELSE '' END AS d{n}" for n, one in enumerate(made)
    )
    names = [f"d{place}" for place in range(len(made))]
    numbered = (
        f"SELECT p, {', '.join(names)}, row_number() OVER (PARTITION BY p ORDER BY i) AS rn"
        f" FROM (SELECT p, i, {columns} FROM notes) b"
    )
    wanted = " AND ".join(f"a.{one} IS NOT NULL" for one in names)
    return (
        f"SELECT count(*) FROM ({numbered}) a JOIN notes v ON v.p = a.p JOIN notes w ON w.p = a.p"
        f" WHERE {wanted} AND a.rn > 0"
    )


def test_golden_statements_stay_within_the_work_of_a_row() -> None:
    """What tools and people ask is far from the bound: at most a half of it."""
    refused = []
    for one in golden():
        analysis = one.analysis(pairs=False)
        try:
            check_work(one.plan)
            if analysis is not None:
                bound_release(analysis, now=NOW, proven={})
        except Refusal as refusal:
            if refusal.code is Code.WORK_OF_A_ROW:
                refused.append((one.name, refusal.detail))
    assert refused == []


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        (("||".join([f"'{LETTERS}'"] * 11),), (f"'{LETTERS[:200]}'",)),  # long in one column
        (("'aaaaaa'",) * 15, ("'aaaaaa'",) * 5),  # many short ones
        (("t",), ("left(t, 50)",)),
    ],
)
def test_columns_that_are_carried_through_cuts_of_pairs_are_counted(
    wide: tuple[str, ...], narrow: tuple[str, ...]
) -> None:
    """What cuts and completed orders add is refused where it is large, though the plan before them is small."""
    assert said(chained(*wide)) is None  # the statement as it is written does little
    assert bounded(chained(*wide)) is Code.WORK_OF_A_ROW
    assert bounded(chained(*narrow)) is None


def test_an_order_over_many_long_columns_is_counted_without_any_join() -> None:
    """An order that is completed by all columns compares them all."""
    window = (
        "SELECT sum(rn) FROM (SELECT row_number() OVER (PARTITION BY p ORDER BY i) AS rn, {} FROM"
        " (SELECT p, i, {} FROM notes) b) q WHERE {}"
    )

    def of(many: int, text: str) -> str:
        names = [f"d{place}" for place in range(many)]
        made = ", ".join(f"CASE WHEN i = 7 THEN '{text}' ELSE '' END AS {one}" for one in names)
        return window.format(", ".join(names), made, " AND ".join(f"{one} <> ''" for one in names))

    assert (said(of(20, LETTERS)), bounded(of(20, LETTERS))) == (None, Code.WORK_OF_A_ROW)
    assert bounded(of(3, LETTERS)) is None


def test_joins_of_many_tables_of_persons_are_counted() -> None:
    """Each further join hashes and orders the pairs of the one before."""

    def of(many: int) -> str:
        joins = " ".join(f"JOIN notes v{n} ON v{n}.p = a.p" for n in range(many))
        return f"SELECT count(*) FROM notes a {joins}"

    assert (bounded(of(3)), bounded(of(6))) == (None, Code.WORK_OF_A_ROW)


def test_a_condition_of_exists_that_is_tried_by_pairs_counts_as_of_pairs() -> None:
    """A tenth of what a row may take, as in a join; what is about one row is not tried by pairs."""
    exists = (
        "SELECT count(*) FROM notes a WHERE EXISTS (SELECT 1 FROM notes w WHERE w.p = a.p AND {})"
    )
    texts = notes(300)
    assert bounded(exists.format("position(w.t IN a.t) > 0"), texts) is Code.WORK_OF_A_ROW
    assert bounded(exists.format("position(w.t IN w.s) > 0"), texts) is None


def test_the_breaking_pattern_is_accepted_in_its_linear_form() -> None:
    """Several `%` and a `_` are linear in both engines, so they are answered."""
    case = f"CASE WHEN p = 7 THEN '{LETTERS}' ELSE 'x' END"
    assert said(f"SELECT count(*) FROM notes WHERE {case} LIKE '%a%a%a%_b'") is None


@for_each(
    ("condition", "code"),
    [
        ("position(s IN t) > 0", Code.WORK_OF_A_ROW),
        (f"strpos(t, '{'a' * 499}') > 0", Code.WORK_OF_A_ROW),
        (f"btrim(t, '{'xyz' * 100}') = 'a'", Code.WORK_OF_A_ROW),
        (f"replace(t, '{'a' * 400}', '') = 'a'", Code.WORK_OF_A_ROW),
        (f"t LIKE '%{'a' * 200}%b'", Code.WORK_OF_A_ROW),
        ("t LIKE '%a_b%c_d%'", Code.PATTERN_UNBOUNDED),
        (f"t ILIKE '%a{'_' * 15}b%'", Code.PATTERN_UNBOUNDED),
        (" OR ".join(["t LIKE '%abc%'"] * 40), Code.WORK_OF_A_ROW),
        (
            "t || t || t || t || t || t || t || t || t || t || t || t || t || t || t || t || t || t || t || t || t = 'a'",
            Code.WORK_OF_A_ROW,
        ),
        (f"t = '{'a' * 1_001}'", Code.WORK_OF_A_ROW),
        (" + ".join(["power(n / 3, 0.5)"] * 4) + " > 1", Code.WORK_OF_A_ROW),
        ("f" + " * f" * 12 + " > 1", Code.WORK_OF_A_ROW),
        (
            "CASE " + " ".join(f"WHEN t = '{one}' THEN 1" for one in range(60)) + " END = 1",
            Code.WORK_OF_A_ROW,
        ),
    ],
)
def test_statement_is_refused_when_a_row_could_take_too_long(condition: str, code: Code) -> None:
    """The plan decides: no row is looked at."""
    assert said(f"SELECT count(*) FROM notes WHERE {condition}") is code


@pytest.mark.parametrize(
    "condition",
    [
        "position(s IN t) > 0",
        "t LIKE '%abc%def%' OR s ILIKE 'x_y%'",
        " OR ".join(["t LIKE '%abc%'"] * 40),
        "CASE " + " ".join(f"WHEN t = '{one}' THEN 1" for one in range(60)) + " END = 1",
    ],
)
def test_statement_is_accepted_when_the_policy_says_how_long_texts_are(condition: str) -> None:
    """With `max_length: 100` the same questions are small."""
    assert said(f"SELECT count(*) FROM notes WHERE {condition}", SHORT) is None


def test_a_frame_that_reaches_to_the_end_is_turned_round() -> None:
    """The least of all later rows is kept from row to row, from the other end; a short frame is counted."""
    window = (
        "SELECT sum(x) FROM (SELECT min(i) OVER (PARTITION BY p ORDER BY t ROWS BETWEEN {}"
        " AND {}) AS x FROM notes) q"
    )
    plan = statement(window.format("2 PRECEDING", "UNBOUNDED FOLLOWING"), SHORT).plan
    turned = [
        one for one in walk_nodes(complete_window_order(plan.child)) if isinstance(one, Window)
    ]
    ((_, call),) = turned[0].items
    assert call.frame == ("unbounded preceding", "2 following")
    assert all(down for _, down in call.order)
    assert said(window.format("1000 PRECEDING", "1000 FOLLOWING"), SHORT) is None
    several = ", ".join(
        f"min(i) OVER (PARTITION BY p ORDER BY t ROWS BETWEEN 1000 PRECEDING AND {far} FOLLOWING) AS x{far}"
        for far in (900, 950, 1000)
    )
    wide = f"SELECT sum(x900 + x950 + x1000) FROM (SELECT {several} FROM notes) q"
    assert said(wide, SHORT) is Code.WORK_OF_A_ROW


def test_a_column_is_counted_wherever_it_is_read() -> None:
    """What a subquery computes counts as often as what is around it reads it: a database may put it there."""
    inner = "SELECT t LIKE '%abc%' AS x FROM notes"
    once = f"SELECT count(*) FROM ({inner}) q WHERE x"
    often = f"SELECT count(*) FROM ({inner}) q WHERE " + " AND ".join(["x"] * 30)
    assert (said(once), said(often)) == (None, Code.WORK_OF_A_ROW)


def test_the_bound_is_the_stated_one() -> None:
    """The documents say 200 µs, and 64 MiB of pairs."""
    assert MOST_WORK == 200_000
    assert (MOST_HELD, MOST_PAIRS) == (64 * 2**20, 65_536)
    assert replace(LONG.tables[0].columns[1], max_length=7).longest == 7
