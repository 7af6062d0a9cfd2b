"""With `gateway.unsupported = 'null'` items that cannot be answered are NULL, and the rest is answered."""

from collections.abc import Mapping
from time import thread_time
from typing import Any

import psycopg
import pytest
from endtoend.clinic_gateway import AskedGateway
from endtoend.conftest import Poor
from endtoend.plain_postgresql import plain_result

from gateway.binding.select_items import SelectList
from gateway.errors import Code, Refusal
from gateway.requests.request import Answer, Estimate, Request, UnsupportedItems
from gateway.trail.search import RecordFilter, latest_records

_NULL = UnsupportedItems.NULL
# Soda's one SELECT of all metrics: three of its items cannot be answered
_WIDE = """SELECT COUNT(*), AVG(income) AS m, COUNT(CASE WHEN name ~ '^[A-Z]' THEN 1 END),
    SUM(LENGTH(name)) AS letters, array_agg(income), COUNT(region) FROM patients"""
_ANSWERED = "SELECT COUNT(*), AVG(income) AS m, COUNT(region) FROM patients"


def _ask(
    gateway: AskedGateway, text: str, dataset: str = "laplace", subject: str = "alice"
) -> Answer:
    return gateway.answer(text, dataset, subject, unsupported=_NULL)


def _estimate(gateway: AskedGateway, text: str) -> Estimate:
    request = Request(text, "laplace", unsupported=_NULL)
    return gateway.asking.estimate(gateway.subjects["alice"], request)


def _code(gateway: AskedGateway, text: str, unsupported: UnsupportedItems = _NULL) -> str:
    with pytest.raises(Refusal) as refused:
        gateway.answer(text, "laplace", unsupported=unsupported)
    return refused.value.code.value


def _last(gateway: AskedGateway) -> Mapping[str, Any]:
    with gateway.foundation.engine.connect() as connection:
        return latest_records(connection, 1, RecordFilter(subject="alice"))[0]


def test_items_that_cannot_be_answered_are_null_and_the_rest_is_answered(
    gateway: AskedGateway, plain: psycopg.Connection
) -> None:
    """Names and types are PostgreSQL's for the text as it was written; values of the others are those without the items."""
    answer = _ask(gateway, _WIDE)
    expected = plain_result(plain, _WIDE)
    assert tuple((one.name, one.type) for one in answer.columns) == expected.columns
    count, mean, *nulls, known = answer.rows[0]
    assert nulls == [None, None, None]
    assert (count, mean, known) == gateway.answer(_ANSWERED, "laplace").rows[0]


def test_notices_name_the_column_and_the_reason_of_each_null(gateway: AskedGateway) -> None:
    """Each says the column, the code and the text; items that are answered have none."""
    notices = _ask(gateway, _WIDE).notices
    assert [one.partition(": ")[0].split(" is NULL")[0] for one in notices] == [
        "column `count`",
        "column `letters`",
        "column `array_agg`",
    ]
    for notice, code in zip(notices, ("GW105", "GW301", "GW118"), strict=True):
        assert code in notice


def test_item_that_is_answered_beside_an_aggregate_is_answered(gateway: AskedGateway) -> None:
    """A query in brackets is one item of each row by itself, and one of all rows beside an aggregate: it stays."""
    visits = gateway.answer("SELECT COUNT(*) FROM visits", "laplace").rows[0][0]
    for text, answered in {
        "SELECT COUNT(*), SUM(LENGTH(name)) AS n, (SELECT COUNT(*) FROM visits) FROM patients": (True, False, True),
        "SELECT (SELECT COUNT(*) FROM visits) AS count, array_agg(income), COUNT(*) FROM patients ORDER BY 3": (True, False, True),
        "SELECT COUNT(*), (SELECT array_agg(cost) FROM visits), (SELECT COUNT(*) FROM visits) FROM patients": (True, False, True),
    }.items():  # fmt: skip
        row = _ask(gateway, text).rows[0]
        assert tuple(one is not None for one in row) == answered, text
        assert visits in row, text
    # without an aggregate that is answered, the rows would be those of persons
    assert (
        _code(gateway, "SELECT SUM(LENGTH(name)), (SELECT COUNT(*) FROM visits) FROM patients")
        == "GW301"
    )


def test_notice_tells_what_the_item_alone_is_refused_with(gateway: AskedGateway) -> None:
    """The reason of a NULL is no more than the refusal of the item by itself."""
    (notice,) = _ask(gateway, "SELECT COUNT(*), SUM(LENGTH(name)) AS n FROM patients").notices
    with pytest.raises(Refusal) as alone:
        gateway.answer("SELECT SUM(LENGTH(name)) AS n FROM patients", "laplace")
    assert str(alone.value) in notice
    assert alone.value.hint in notice


def test_statement_is_refused_as_before_without_the_setting(gateway: AskedGateway) -> None:
    """The setting is opt-in."""
    assert _code(gateway, _WIDE, UnsupportedItems.REFUSE) == "GW105"


@pytest.mark.parametrize(
    ("text", "code"),
    {
        "WHERE": ("SELECT COUNT(*), AVG(income) FROM patients WHERE name ~ '^A'", "GW105"),
        "FROM": ("SELECT COUNT(*), AVG(income) FROM nowhere", "GW603"),
        "GROUP BY": ("SELECT md5(name), COUNT(*) FROM patients GROUP BY md5(name)", "GW106"),
        "GROUP BY by a number": ("SELECT md5(name), COUNT(*) FROM patients GROUP BY 1", "GW106"),
        "GROUP BY by a name": ("SELECT md5(name) AS k, COUNT(*) FROM patients GROUP BY k", "GW106"),
        "ORDER BY by a number": (
            "SELECT region, SUM(LENGTH(name)), COUNT(*) FROM patients GROUP BY region ORDER BY 2",
            "GW301",
        ),
        "ORDER BY by a name": (
            "SELECT region, SUM(LENGTH(name)) AS s, COUNT(*) FROM patients GROUP BY region ORDER BY s",
            "GW301",
        ),
        "HAVING": (
            "SELECT region, COUNT(*) FROM patients GROUP BY region HAVING SUM(LENGTH(name)) > 1",
            "GW301",
        ),
        "every item": ("SELECT SUM(LENGTH(name)), array_agg(income) FROM patients", "GW118"),
        "every item but literals": ("SELECT 1 AS one, SUM(LENGTH(name)) FROM patients", "GW301"),
        "every item but keys": (
            "SELECT region, SUM(LENGTH(name)) FROM patients GROUP BY region",
            "GW301",
        ),
        "rows": ("SELECT patient_id, region FROM patients", "GW110"),
        "rows beside an aggregate": ("SELECT income, COUNT(*) FROM patients", "GW604"),
        "an error of SQL": ("SELECT COUNT(*), 1 + 'x', array_agg(income) FROM patients", "GW604"),
        "the whole": ("SELECT DISTINCT COUNT(*), array_agg(income) FROM patients", "GW118"),
        "a part of a union": (
            "SELECT COUNT(*), array_agg(income) FROM patients UNION ALL SELECT 1, NULL",
            "GW118",
        ),
        "a subquery": (
            "SELECT a, b FROM (SELECT COUNT(*) AS a, array_agg(income) AS b FROM patients) t",
            "GW118",
        ),
        "several rows of one": (
            "SELECT COUNT(*), unnest(array_agg(income)) FROM patients",
            "GW118",
        ),
    }.values(),
)
def test_refusal_that_concerns_no_item_stays(gateway: AskedGateway, text: str, code: str) -> None:
    """FROM, WHERE, keys, order and the whole statement are refused as without the setting."""
    assert _code(gateway, text) == code
    assert _code(gateway, text, UnsupportedItems.REFUSE) == code


def test_hidden_and_unknown_columns_read_the_same(gateway: AskedGateway) -> None:
    """A table that the policy hides from bob is as NULL as one that never was, with the same text; alice has it."""
    text = "SELECT COUNT(*), (SELECT COUNT(*) FROM {}) AS x FROM patients"
    hidden, unknown = (
        _ask(gateway, text.format(name), subject="bob") for name in ("calls", "never")
    )
    assert (hidden.rows[0][1], unknown.rows[0][1]) == (None, None)
    assert hidden.notices[0].replace("calls", "never") == unknown.notices[0]
    assert [one.columns[1].type for one in (hidden, unknown)] == ["text", "text"]
    assert _ask(gateway, text.format("calls")).rows[0][1] is not None


def test_text_with_a_written_null_has_no_notice(gateway: AskedGateway) -> None:
    """What is kept of repeats of the one is not the answer of the other, though both bind to the same text."""
    text = "SELECT COUNT(*), {} FROM patients WHERE birth_year = 1945"
    nulled = text.format("array_agg(income) AS a")
    written = text.format('CAST(NULL AS numeric[]) AS "a"')
    for _ in range(2):
        assert len(_ask(gateway, nulled).notices) == 1
        assert _ask(gateway, written).notices == ()


def test_work_of_a_refusal_is_bounded(gateway: AskedGateway) -> None:
    """Items that cost much for their text, in a list that is read, and a long text: the first refusal of the whole."""
    joins = " ".join(f"JOIN patients p{n} ON p{n}.patient_id = p.patient_id" for n in range(60))
    means = ", ".join(f"AVG(p.income + {n})" for n in range(60))
    wide = f"SELECT COUNT(*), {means}, array_agg(p.income) FROM patients p"
    assert SelectList.read(f"{wide} {joins}") is not None
    conditions = " AND ".join(f"income <> {n}" for n in range(500))
    for text in (f"{wide} {joins}", f"{wide} WHERE {conditions}"):
        began = thread_time()
        assert _code(gateway, text) == "GW118"
        assert thread_time() - began < 5


def test_budget_refuses_the_statement_and_no_item(poor: Poor) -> None:
    """An account that cannot pay has no statement without some of its items."""
    gateway = poor.gateway
    wide = "SELECT COUNT(*), array_agg(income) FROM patients WHERE birth_year > {}"
    for year in (1930, 1940):
        assert _ask(gateway, wide.format(year), "poor").rows[0][1] is None
    with pytest.raises(Refusal) as refused:
        _ask(gateway, wide.format(1950), "poor")
    assert refused.value.code is Code.BUDGET_EXHAUSTED


def test_groups_keep_their_rows_where_an_item_is_null(
    gateway: AskedGateway, plain: psycopg.Connection
) -> None:
    """Every group comes back with its answered items."""
    text = "SELECT region, COUNT(*) AS n, array_agg(income) AS a FROM patients GROUP BY region ORDER BY region"
    answer = _ask(gateway, text)
    rows = plain_result(plain, "SELECT region, COUNT(*) FROM patients GROUP BY 1 ORDER BY 1").rows
    assert [row[:2] for row in answer.rows] == [tuple(row) for row in rows]
    assert all(row[2] is None for row in answer.rows)


def test_estimate_and_price_are_those_of_the_rest(gateway: AskedGateway) -> None:
    """The estimate says the same notices, and the price and margins of the statement without the items."""
    wide, rest = _estimate(gateway, _WIDE), _estimate(gateway, _ANSWERED)
    assert wide.notices == _ask(gateway, _WIDE).notices
    assert (wide.price, wide.delta) == (rest.price, rest.delta)
    assert [wide.columns[place].expected_margin_95 for place in (0, 1, 5)] == [
        one.expected_margin_95 for one in rest.columns
    ]


def test_record_says_which_items_were_null(gateway: AskedGateway) -> None:
    """The trail has the text as it came, and each column that is NULL with the code of its refusal."""
    _ask(gateway, _WIDE)
    record = _last(gateway)
    assert record["sql"] == _WIDE
    assert record["attributes"]["null"] == [
        {"column": "count", "code": "GW105"},
        {"column": "letters", "code": "GW301"},
        {"column": "array_agg", "code": "GW118"},
    ]
    gateway.answer(_ANSWERED, "laplace")
    assert "null" not in _last(gateway)["attributes"]


def test_parameters_of_other_items_keep_their_values(gateway: AskedGateway) -> None:
    """Items with parameters stay; what they say of the others is kept."""
    text = "SELECT COUNT(*), array_agg(income), COUNT(*) FILTER (WHERE region = $1) FROM patients"
    answer = gateway.answer(text, "laplace", parameters=("north",), unsupported=_NULL)
    plain = gateway.answer("SELECT COUNT(*) FROM patients WHERE region = 'north'", "laplace")
    assert answer.rows[0][2] == plain.rows[0][0]
    with pytest.raises(Refusal) as refused:
        gateway.answer(
            "SELECT COUNT(*), array_agg(income + $1) FROM patients",
            "laplace",
            parameters=("1",),
            unsupported=_NULL,
        )
    assert refused.value.code is Code.PERSON_AS_VALUE
