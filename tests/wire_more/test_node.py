"""node-postgres with its cursors and streams, by a small program of node."""

from collections.abc import Callable
from typing import Any

import pytest
from wire_more.clients import HERE, client, program, read, run
from wire_more.running import RunningGateway

Ask = Callable[[str], Any]
BIGINT, TEXT, NUMERIC = 20, 25, 1700


@pytest.fixture(scope="module")
def node(served: RunningGateway) -> Ask:
    modules = client("node", "node_modules")

    def ask(about: str) -> Any:  # noqa: ANN401  # whatever the program tells
        environment = {**served.environment(), "NODE_PATH": str(modules), "TZ": "Europe/Berlin"}
        return read(run([program("node"), HERE / "node" / "asked.js", about], environment))

    return ask


@pytest.fixture(scope="module")
def statements(node: Ask) -> Any:  # noqa: ANN401  # see above
    return node("statements")


@pytest.fixture(scope="module")
def refusals(node: Ask) -> Any:  # noqa: ANN401  # see above
    return node("refusals")


def test_statement_without_parameters(statements: Any, served: RunningGateway) -> None:  # noqa: ANN401  # see above
    """Objects, arrays, names and types of columns, the tag."""
    true = served.true("SELECT region, count(*) FROM patients GROUP BY 1 ORDER BY 1")
    assert [(row["region"], int(row["n"])) for row in statements["rows"]] == true
    assert [tuple(row) for row in statements["arrays"]] == [
        (region, str(count)) for region, count in true
    ]
    assert statements["fields"] == [["region", TEXT], ["n", BIGINT], ["mean", NUMERIC]]
    assert statements["command"] == ["SELECT", 4]
    assert statements["several"] == [[{"a": 1}], [{"n": "20000"}]]


def test_statement_with_parameters(statements: Any, served: RunningGateway) -> None:  # noqa: ANN401  # see above
    """Lists as arrays and one by one, without blanks; a day is that of the client's place."""
    [(count,)] = served.true(
        "SELECT count(*) FROM patients WHERE region IN ('north', 'west') AND birth_year > 1950"
        " AND birth_year NOT IN (1960, 1970)"
    )
    midnight_in_berlin = "2024-02-28T23:00:00.000Z"
    assert statements["given"] == [
        {"n": count, "t": True, "d": midnight_in_berlin, "nothing": None}
    ]


def test_named_statement_is_prepared_once(statements: Any, served: RunningGateway) -> None:  # noqa: ANN401  # see above
    """Executed with other values each time."""
    sql = (
        "SELECT count(*) FROM visits WHERE visit_date < '{}-01-01'"
        " AND diagnosis IN ('asthma', 'allergy')"
    )
    true = [str(served.true(sql.format(year))[0][0]) for year in (2021, 2022, 2023)]
    assert statements["named"] == true


def test_cursors_and_streams_read_by_and_by(node: Ask, served: RunningGateway) -> None:
    """All rows in order; one that is left early or refused leaves the connection as it was."""
    cursors = node("cursors")
    years = served.true("SELECT birth_year, count(*) FROM patients GROUP BY 1 ORDER BY 1")
    shown = [{"birth_year": year, "n": str(count)} for year, count in years]
    assert cursors["rows"] == shown[30:]
    assert cursors["counted"] == [10, 10, 10, 10, 10, 10, 10, 1]
    assert cursors["first"] == shown[:2]
    assert cursors["streamed"] == shown[80:]
    assert cursors["refusal"]["code"] == "42501"
    assert cursors["after"] == [{"n": "20000"}]


def test_statements_stop_when_they_are_told_to(node: Ask) -> None:
    """By `cancel` of another client, and by the time that a client allows."""
    stopping = node("stopping")
    assert stopping["cancelled"]["code"] == stopping["late"]["code"] == "57014"
    assert stopping["cancelled"]["message"] == "canceling statement due to user request"
    assert stopping["name"] == [{"application_name": "node"}]
    assert stopping["after"] == [{"n": "20000"}]


@pytest.mark.parametrize("about", ["rows", "prepared"])
def test_refusal_has_its_fields(refusals: Any, about: str) -> None:  # noqa: ANN401  # see above
    """By both protocols alike."""
    told = refusals[about]
    assert (told["name"], told["severity"], told["code"]) == ("error", "ERROR", "42501")
    assert told["message"] == "individual rows are never returned"
    assert told["detail"] == "GW110: the query would return one row for each protected row"
    assert told["hint"].startswith("use an aggregate")


def test_errors_of_postgresql_are_its_own(refusals: Any) -> None:  # noqa: ANN401  # see above
    """A value that is none, which does no harm to the next statement; an unknown function, with its place."""
    assert refusals["value"]["code"] == "22P02"
    assert refusals["value"]["message"] == 'invalid input syntax for type integer: "x"'
    assert refusals["again"] == [{"n": "20000"}]
    assert (refusals["function"]["code"], refusals["function"]["position"]) == ("42883", "8")


def test_transaction_fails_and_is_rolled_back(refusals: Any) -> None:  # noqa: ANN401  # see above
    """A refusal fails the transaction until its end."""
    assert refusals["inside"]["code"] == "42501"
    assert refusals["failed"]["code"] == "25P02"
    assert refusals["after"] == [{"n": "20000"}]


def test_pool_asks_many_at_once(node: Ask) -> None:
    """Each of twenty questions over four connections gets its own answer."""
    assert node("together") == [20_000 + one for one in range(20)]
