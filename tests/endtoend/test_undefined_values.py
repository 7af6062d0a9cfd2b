"""Numbers that have no value: NULL with a notice where noise or an empty listed group is to blame, else refused unpaid."""

from collections.abc import Mapping
from typing import Any

import pytest
from endtoend.clinic_gateway import AskedGateway
from sqlglot import exp

from gateway.binding import guards
from gateway.errors import Refusal
from gateway.requests.request import Request
from gateway.results.constants import UNDEFINED, run_with_guards
from gateway.stages import finish as answering
from gateway.stages import quote
from gateway.trail.record import RecordKind
from gateway.trail.search import RecordFilter, latest_records

# each is undefined for an empty group and defined for others; the first column after the keys is what is computed
_UNDEFINED = {
    "quotient": "SUM(income) / COUNT(*)",
    "whole quotient": "100 / COUNT(*)",
    "remainder": "7 % COUNT(*)",
    "mod": "mod(7, COUNT(*))",
    "quotient of a double": "CAST(7 AS double precision) / COUNT(*)",
    "quotient of an interval": "interval '1 day' / COUNT(*)",
    "logarithm": "ln(COUNT(*))",
    "logarithm to a base": "log(2.0, COUNT(*))",
    "root": "sqrt(COUNT(*) - 1)",
    "power": "power(COUNT(*), -2)",
    "operator of a power": "COUNT(*) ^ -0.5",
    "exponential": "exp(1000 - 1000 * SIGN(COUNT(*)))",
    "cast": "CAST((1 - SIGN(COUNT(*))) * 1000000 AS smallint)",
    "cast of a text": "CAST(CASE WHEN COUNT(*) = 0 THEN 'none' ELSE '1' END AS integer)",
    "cast of a key": "CAST(COALESCE(NULLIF(SUBSTRING(CAST(COUNT(*) AS text), 1, 1), '0'), region) AS integer)",
    "whole sum": "CAST((1 - SIGN(COUNT(*))) * 9 AS integer) + 2147483640",
    "whole product": "(1 - SIGN(COUNT(*)))::smallint * 4::smallint * 32767::smallint",
    "window": "COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY region, smoker)",
}
_CONSTANT = {
    "quotient": "SELECT COUNT(*), 1 / 0 FROM patients",
    "in a group": "SELECT region, SUM(income) / 0 FROM patients GROUP BY region",
    "HAVING": "SELECT region, COUNT(*) FROM patients GROUP BY region HAVING COUNT(*) > 1 / 0",
    "ORDER BY": "SELECT region, COUNT(*) FROM patients GROUP BY region ORDER BY COUNT(*) / 0",
    "staged": "SELECT COUNT(*) FROM patients WHERE birth_year > (SELECT COUNT(*) / 0 FROM patients)",
    "rows of a subquery": """SELECT COUNT(*) FROM patients WHERE birth_year >
        (SELECT COUNT(*) FROM patients GROUP BY region)""",
    "tiles": "SELECT region, COUNT(*), ntile(0) OVER () FROM patients GROUP BY region",
    "most rows": "SELECT COUNT(*) FROM patients, regions CROSS JOIN generate_series(1, 1000000000) s(n)",
}


# one of them is even, so the statement as it is written raises; the keys are dates
_DIVIDED = """WITH a AS (SELECT visit_date AS m, COUNT(*) AS n, COUNT(*) - COUNT(*) AS zero FROM visits
    WHERE visit_date BETWEEN '2024-12-01' AND '2024-12-02' GROUP BY 1)
    SELECT {} AS x, 1 / zero AS none FROM a"""
_BESIDE = (
    *(
        "m - date '2024-01-01'",
        "m - min(m) OVER ()",
        "m - (SELECT min(m) FROM a)",
        "date '2024-12-31' - m",
    ),
    *(
        "m + time '12:00'",
        "m + 7",
        "m - interval '1 day'",
        "m - timestamp '2024-01-01 00:00'",
        "n * 2 - 1",
    ),
    "(m - date '2024-01-01') * n",
)


def _records(gateway: AskedGateway, since: int) -> list[Mapping[str, Any]]:
    """What the trail says of questions, the oldest first."""
    with gateway.foundation.engine.connect() as connection:
        found = latest_records(connection, 50, RecordFilter(subject="alice"))
    return [one for one in found if one["seq"] > since]


def _last(gateway: AskedGateway) -> int:
    return max((int(one["seq"]) for one in _records(gateway, -1)), default=-1)


def _by_group(computed: str) -> str:
    return f"SELECT region, smoker, COUNT(*), {computed} AS x FROM patients GROUP BY region, smoker"


@pytest.mark.parametrize("computed", _UNDEFINED.values(), ids=_UNDEFINED)
def test_number_that_an_empty_listed_group_has_not_is_null_with_a_notice(
    gateway: AskedGateway, computed: str
) -> None:
    """The groups that are there keep what PostgreSQL computes, and of the same type."""
    answer = gateway.answer(_by_group(computed), "listed")
    empty = [row for row in answer.rows if row[2] == "0"]
    others = [row for row in answer.rows if row[2] != "0"]
    assert empty
    assert others
    assert all(row[3] is None for row in empty)
    assert all(row[3] is not None for row in others)
    assert UNDEFINED in answer.notices
    plain = gateway.answer(f"{_by_group(computed)} HAVING COUNT(*) > 0", "listed")
    assert [one.type for one in answer.columns] == [one.type for one in plain.columns]
    assert others == list(plain.rows)
    assert UNDEFINED not in plain.notices


@pytest.mark.parametrize("dataset", ["listed", "laplace"])
@pytest.mark.parametrize("beside", _BESIDE)
def test_dates_beside_an_undefined_number_keep_their_values(
    gateway: AskedGateway, dataset: str, beside: str
) -> None:
    """A division by a released 0 makes NULL of itself, and of nothing beside it."""
    answer = gateway.answer(_DIVIDED.format(beside), dataset)
    assert answer.rows or dataset == "laplace"
    assert all(row[0] is not None and row[1] is None for row in answer.rows)
    assert UNDEFINED in answer.notices or not answer.rows


def test_guard_that_raises_is_refused_before_the_charge(
    gateway: AskedGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rehearsal tries the guards over examples of keys, whose dates are not known before."""

    def too_narrow(what: exp.Expression) -> exp.Expression:
        text = exp.Cast(this=exp.Paren(this=what.copy()), to=exp.DataType.build("text"))
        return exp.Cast(this=text, to=exp.DataType.build("numeric"))

    monkeypatch.setattr(guards, "_as_number", too_narrow)
    before = _last(gateway)
    sql = """SELECT m - min(m) OVER () AS x, 1 / (n % 2) AS y FROM
        (SELECT visit_date AS m, COUNT(*) AS n FROM visits WHERE visit_date < '2025-02-03' GROUP BY 1) AS a"""
    with pytest.raises(Refusal, match="invalid input syntax for type numeric") as refused:
        gateway.answer(sql, "laplace")
    assert "ask without one of them" in refused.value.hint
    assert [one["kind"] for one in _records(gateway, before)] == [RecordKind.REFUSED]


def test_key_that_no_example_fits_is_not_refused(gateway: AskedGateway) -> None:
    """What fails for the examples with and without guards may have a value for every key of the data."""
    answer = gateway.answer(
        "SELECT to_date(region || '1', '\"' || region || '\"Y') AS x, 1 / (COUNT(*) % 2 - 5) FROM patients GROUP BY region",
        "laplace",
    )
    assert answer.columns


def test_number_without_a_value_is_staged_as_null(gateway: AskedGateway) -> None:
    """A later release compares with NULL, and the answer says so."""
    answer = gateway.answer(
        """SELECT COUNT(*) FROM patients WHERE income >
        (SELECT SUM(income) / COUNT(*) FROM patients WHERE birth_year < 1930 AND birth_year > 1931)""",
        "listed",
    )
    assert [tuple(row) for row in answer.rows] == [("0",)]
    assert UNDEFINED in answer.notices


@pytest.mark.parametrize("dataset", ["listed", "laplace"])
@pytest.mark.parametrize("sql", _CONSTANT.values(), ids=_CONSTANT)
def test_statement_that_has_no_value_whatever_is_released_costs_nothing(
    gateway: AskedGateway, dataset: str, sql: str
) -> None:
    """PostgreSQL's own error comes before the charge; an estimate says the same."""
    if dataset == "laplace" and "GROUP BY region)" in sql:
        pytest.skip("how many groups are found in the data is known to nobody before")
    before = _last(gateway)
    with pytest.raises(Refusal) as refused:
        gateway.answer(sql, dataset)
    assert [one["kind"] for one in _records(gateway, before)] == [RecordKind.REFUSED]
    with pytest.raises(Refusal) as estimated:
        gateway.asking.estimate(gateway.subjects["alice"], Request(sql, dataset=dataset))
    assert estimated.value.code is refused.value.code


def test_quotient_is_paid_for_and_lost_when_guards_and_rehearsal_are_missing(
    gateway: AskedGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was so once: charged, and then the error of a division by zero."""
    right = run_with_guards

    def unguarded(sql: Any, *others: Any) -> Any:  # noqa: ANN401 - as the function takes them
        return right(type(sql)(sql.ctes, sql.body, sql.recursive), *others)

    monkeypatch.setattr(answering, "run_with_guards", unguarded)
    monkeypatch.setattr(quote, "rehearse", lambda *_: None)
    before = _last(gateway)
    with pytest.raises(Refusal, match="division by zero"):
        gateway.answer(_by_group("SUM(income) / COUNT(*)"), "listed")
    assert [one["kind"] for one in _records(gateway, before)] == [
        RecordKind.CHARGED,
        RecordKind.FAILED,
    ]
