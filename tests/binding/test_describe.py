"""What PostgreSQL says of original and finishing: the same, for every accepted case."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest
from binding.cases import Case, accepted, refused
from binding.clinic import CLINIC
from laws import for_each

from gateway.binding.bind import StatementCache, bind
from gateway.binding.bound import Cut, PassThrough, ResultColumn, Sql
from gateway.binding.catalog_queries import is_catalog_query
from gateway.binding.describe import describe_result, require_same_description
from gateway.binding.extensions import postgresql_sql
from gateway.errors import Code, Reason, Refusal
from gateway.twin import Twin, TwinRefused, TwinSession, visible_tables

ACCEPTED = accepted()
REFUSED = refused()
# PostgreSQL has words of its own for what it does not take; ours are for the rest
_LEFT_TO_THE_TWIN = {
    "clauses__refused: rows from",
    "functions__refused: a setting",
    "hostile__refused: rows by ROWS FROM",
    "names__refused: a table of the system that holds secrets",
    "names__refused: sessions of others",
    "names__refused: statistics of values",
}
_FITTING = {Reason.SYNTAX_ERROR, Reason.NOT_PERMITTED, Reason.UNSUPPORTED_SQL}


@pytest.fixture(scope="module")
def session(twin: Twin) -> Iterator[TwinSession]:
    with twin.session("alice", visible_tables(CLINIC)) as session:
        yield session


def _describe(session: TwinSession) -> Callable[[str], Sequence[ResultColumn]]:
    return lambda sql: [
        ResultColumn(one.name, one.type_oid, one.type_modifier, one.type_name)
        for one in session.describe(sql).columns
    ]


@for_each("case", ACCEPTED)
def test_describe_of_original_is_describe_of_finishing(case: Case, session: TwinSession) -> None:
    """Names, type OIDs and type modifiers of the answer are those that PostgreSQL gives."""
    bound = bind(case.sql, CLINIC, describe=_describe(session))
    if isinstance(bound, PassThrough) and not bound.statement.query:
        return
    original = describe_result(postgresql_sql(bound.statement.query), _describe(session))
    assert bound.result == original
    if isinstance(bound, Cut):
        require_same_description(bound, original, _describe(session))
        if bound.columns is not None:
            assert tuple(one.name for one in original) == bound.columns


@for_each("case", REFUSED)
def test_refused_case_stays_refused_when_postgresql_is_asked_first(
    case: Case, session: TwinSession
) -> None:
    """Asking PostgreSQL first lets nothing through but what names no table and is left to the twin; its own
    refusals are of a fitting class.
    """
    if case.name in _LEFT_TO_THE_TWIN:
        bound = bind(case.sql, CLINIC, describe=_describe(session))
        assert isinstance(bound, PassThrough)
        assert is_catalog_query(bound.statement.query, CLINIC)
        return
    with pytest.raises(Refusal) as caught:
        bind(case.sql, CLINIC, describe=_describe(session))
    if isinstance(caught.value, TwinRefused):
        assert caught.value.reason in _FITTING
    else:
        assert caught.value.code.value == case.expected


@pytest.mark.parametrize(
    ("finishing", "what"),
    [
        ('SELECT "_r1"."m1" AS n FROM "_r1"', "names"),
        ('SELECT CAST("_r1"."m1" AS integer) AS "count" FROM "_r1"', "the type"),
        ('SELECT CAST("_r1"."m1" AS numeric(12,2)) AS "count" FROM "_r1"', "the type"),
        ('SELECT "_r1"."m1" AS "count", 1 AS more FROM "_r1"', "names"),
    ],
)
def test_finishing_is_refused_when_postgresql_reads_it_otherwise(
    finishing: str, what: str, session: TwinSession
) -> None:
    """A finishing with another name, type, modifier or column is noticed."""
    describe = _describe(session)
    bound = bind("SELECT COUNT(*) FROM patients", CLINIC)
    assert isinstance(bound, Cut)
    original = describe_result("SELECT COUNT(*) FROM patients", describe)
    require_same_description(bound, original, describe)
    with pytest.raises(Refusal, match=what) as caught:
        require_same_description(replace(bound, finishing=Sql("", finishing)), original, describe)
    assert caught.value.code is Code.TEXT_DRIFTS


def test_finishing_fails_when_a_table_of_the_source_is_left_in_it(session: TwinSession) -> None:
    """The twin has the table's name and type, and no right to read it: nothing comes from emptiness."""
    assert session.describe("SELECT COUNT(*) FROM patients").columns
    with pytest.raises(TwinRefused) as caught:
        session.run("SELECT COUNT(*) FROM patients")
    assert caught.value.reason is Reason.NOT_PERMITTED


@pytest.mark.parametrize(
    ("sql", "position"),
    [
        ("SELECT COUNT(*) FROM patients WHERE", 36),
        ("SELECT nope FROM visits", 8),
        ("SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) AS lo, nope FROM visits", 49),
    ],
)
def test_refusal_has_the_place_when_postgresql_finds_the_mistake(
    sql: str, position: int, session: TwinSession
) -> None:
    """Slips of the pen are shown where PostgreSQL shows them."""
    with pytest.raises(TwinRefused) as caught:
        bind(sql, CLINIC, describe=_describe(session))
    assert caught.value.position == position


def test_remembered_refusal_of_the_twin_is_raised_again_whole(session: TwinSession) -> None:
    """The second refusal says what the first said, and is another object."""
    remembered = StatementCache(CLINIC)
    found = []
    for _ in range(2):
        with pytest.raises(TwinRefused) as caught:
            remembered.bind("SELECT nope FROM visits", (), _describe(session))
        found.append(caught.value)
    first, second = found
    assert first is not second
    for name in ("code", "detail", "hint", "sqlstate", "position"):
        assert getattr(first, name) == getattr(second, name)


@pytest.mark.parametrize("sqlstate", ["57P01", "57014", "53300"])
def test_refusal_of_the_moment_is_not_remembered(sqlstate: str, session: TwinSession) -> None:
    """A twin that was slow or gone for a moment does not make a statement refused for ever."""
    remembered = StatementCache(CLINIC)

    def fails(sql: str) -> Sequence[ResultColumn]:
        del sql
        raise TwinRefused(sqlstate)

    with pytest.raises(TwinRefused):
        remembered.bind("SELECT COUNT(*) FROM visits", (), fails)
    assert remembered.bind("SELECT COUNT(*) FROM visits", (), _describe(session)).result
