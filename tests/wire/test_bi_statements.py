"""Statements of BI tools have the same columns, types and rows as on plain PostgreSQL, by every protocol.

Over DuckDB they are asked once, by the extended protocol: what a source is does not reach the wire.
"""

import psycopg
import pytest
from endtoend.same_answer import is_ordered
from wire.bi_cases import Case, cases
from wire.gateways import WireGateway
from wire.results import Column, Result, described, differences, extended, simple

_CASES = [case for case in cases() if not case.refused]
_REFUSED = [case for case in cases() if case.refused]
_TOOLS = {"metabase", "tableau", "power_bi", "looker", "grafana", "superset"}
_LEAST = 60
# ORDER BY leaves open which of two rows comes first
_TIED = {"superset: a custom metric"}


def _ordered(case: Case) -> bool:
    return is_ordered(case.sql) and case.name not in _TIED


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.name)
def test_statement_of_a_tool_gives_what_postgresql_gives(
    alice: psycopg.Connection, plain: psycopg.Connection, case: Case
) -> None:
    """Names, type numbers, modifiers, the command's tag and every row; Describe says the same before."""
    ordered = _ordered(case)
    expected = extended(plain, case.sql, case.values)
    assert described(alice, case.sql) == expected.columns
    assert differences(extended(alice, case.sql, case.values), expected, ordered=ordered) == []
    if not case.values:  # the simple protocol binds none
        assert differences(simple(alice, case.sql), expected, ordered=ordered) == []


def test_statements_of_tools_give_the_same_over_another_source(
    gateway: WireGateway, plain: psycopg.Connection
) -> None:
    """Over DuckDB the types and rows are PostgreSQL's too."""
    with gateway.connect(dataset="ward") as ward:
        found = {
            case.name: differences(
                extended(ward, case.sql, case.values),
                extended(plain, case.sql, case.values),
                ordered=_ordered(case),
            )
            for case in _CASES
        }
    assert {name: told for name, told in found.items() if told} == {}


@pytest.mark.parametrize("case", _REFUSED, ids=lambda case: case.name)
def test_statement_of_a_tool_is_refused_though_it_is_honest(
    alice: psycopg.Connection, plain: psycopg.Connection, case: Case
) -> None:
    """PostgreSQL answers it and the gateway does not yet: whoever changes that moves it to the others."""
    assert extended(plain, case.sql).rows
    with pytest.raises(psycopg.Error) as refused:
        alice.execute(case.sql)
    assert (refused.value.diag.message_detail or "").startswith(f"{case.refused}: ")


def test_statements_are_of_every_tool() -> None:
    """There are at least sixty, no two with one name, and some of each tool."""
    assert len({case.name for case in _CASES}) == len(_CASES) >= _LEAST
    assert {case.tool for case in _CASES} == _TOOLS


def test_difference_is_found_when_there_is_one() -> None:
    """Another name, type, modifier, tag, count of rows, order or value is noticed; a last digit is not."""
    one = Result("SELECT 2", (Column("n", 1700, -1),), (("1.00",), ("2",)))
    assert differences(one, one, ordered=True) == []
    last = Result(one.tag, one.columns, (("1.0000000000001",), ("2",)))
    assert differences(one, last, ordered=True) == []
    for column in (Column("m", 1700, -1), Column("n", 20, -1), Column("n", 1700, 6)):
        assert differences(one, Result(one.tag, (column,), one.rows), ordered=True)
    assert differences(one, Result("SELECT 1", one.columns, one.rows[:1]), ordered=True)
    turned = Result(one.tag, one.columns, one.rows[::-1])
    assert differences(one, turned, ordered=True)
    assert differences(one, turned, ordered=False) == []
    for wrong in ("1.0001", None):
        assert differences(one, Result(one.tag, one.columns, ((wrong,), ("2",))), ordered=False)
