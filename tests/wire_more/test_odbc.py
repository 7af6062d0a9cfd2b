"""psqlODBC: what Excel, Tableau and Power BI do by it, with the settings that they have."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from wire_more.clients import HERE, client, read, run
from wire_more.running import RunningGateway

Steps = list[dict[str, Any]]
Ask = Callable[..., Steps]
REGIONS = "SELECT region, count(*) AS n FROM patients GROUP BY region ORDER BY region"
YEARS = "SELECT birth_year, count(*) AS n FROM patients GROUP BY birth_year ORDER BY birth_year"
FOR_EVER = "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b"
# how results are read: at once, in the manner of Tableau, and without prepared statements of the server
MANNERS: dict[str, dict[str, str]] = {
    "at once": {},
    "declaring": {"UseDeclareFetch": "1", "Fetch": "100"},
    "declaring little": {"UseDeclareFetch": "1", "Fetch": "2", "UseServerSidePrepare": "0"},
    "without preparing": {"UseServerSidePrepare": "0"},
    "plain types": {"BoolsAsChar": "0", "TextAsLongVarchar": "0", "MaxVarcharSize": "4096"},
    "failing whole transactions": {"Protocol": "7.4-1"},
}


@pytest.fixture(scope="module")
def odbc(served: RunningGateway) -> Ask:
    python = client("odbc", "bin", "python")

    def ask(*steps: list[Any]) -> Steps:
        program = [python, HERE / "odbc" / "statements.py"]
        told: Steps = read(run(program, served.environment(), given=json.dumps(steps)))
        return told

    return ask


def test_catalog_functions_show_tables_and_columns(odbc: Ask) -> None:
    """SQLTables and SQLColumns, as they fill the lists of a tool."""
    public = {"schema": "public"}
    tables, columns, every = odbc(
        ["tables", {**public, "tableType": "TABLE"}],
        ["columns", {**public, "table": "visits"}],
        ["tables", {"catalog": "clinic", "schema": "%", "table": "%"}],
    )
    names = ["calls", "patients", "regions", "visits"]
    assert [row[:4] for row in tables["rows"]] == [
        ["clinic", "public", name, "TABLE"] for name in names
    ]
    assert [row[1:3] for row in every["rows"] if row[1] == "public"] == [
        ["public", name] for name in names
    ]
    # catalog, schema, table, name, number of the type, its name
    assert [(row[3], row[5]) for row in columns["rows"]] == [
        ("visit_id", "int8"),
        ("patient_id", "int8"),
        ("diagnosis", "text"),
        ("cost", "numeric"),
        ("visit_date", "date"),
    ]
    assert columns["rows"][3][6:9:2] == [12, 2]


def test_catalog_functions_show_keys_and_types(odbc: Ask) -> None:
    """SQLPrimaryKeys, SQLForeignKeys, SQLStatistics, SQLSpecialColumns and SQLGetTypeInfo."""
    patients = {"table": "patients", "schema": "public"}
    primary, to, of, statistics, types = odbc(
        ["primaryKeys", patients],
        ["foreignKeys", {"foreignTable": "visits", "foreignSchema": "public"}],
        ["foreignKeys", patients],
        ["statistics", patients],
        ["getTypeInfo", {}],
    )
    assert [row[:5] for row in primary["rows"]] == [
        ["clinic", "public", "patients", "patient_id", 1]
    ]
    assert [row[1:4] + row[5:8] for row in to["rows"]] == [
        ["public", "patients", "patient_id", "public", "visits", "patient_id"]
    ]
    assert [row[6] for row in of["rows"]] == ["calls", "visits"]
    assert to["rows"] == of["rows"][1:]
    assert [(row[2], row[3], row[8]) for row in statistics["rows"]] == [
        ("patients", 0, "patient_id")
    ]
    assert {"int8", "text", "numeric", "date", "float8", "bool"} <= {
        row[0] for row in types["rows"]
    }


@pytest.mark.parametrize("manner", MANNERS)
def test_results_are_read_in_every_manner(odbc: Ask, served: RunningGateway, manner: str) -> None:
    """The same rows, whether at once or by cursors, in autocommit and in a transaction."""
    steps: list[list[Any]] = []
    for autocommit in (True, False):
        steps += [
            ["connect", MANNERS[manner], autocommit],
            ["execute", REGIONS],
            ["execute", YEARS],
        ]
        steps += [["fetch", YEARS, 3], ["execute", REGIONS]]
    told = odbc(*steps)
    regions = _listed(served.true("SELECT region, count(*) FROM patients GROUP BY 1 ORDER BY 1"))
    years = _listed(served.true("SELECT birth_year, count(*) FROM patients GROUP BY 1 ORDER BY 1"))
    for _, first, second, third, fourth in (told[:5], told[5:]):
        assert first["rows"] == fourth["rows"] == regions
        assert first["shape"] == [["region", "str"], ["n", "int"]]
        assert second["rows"] == years
        assert third["rows"] == years[:3]


@pytest.mark.parametrize("manner", MANNERS)
def test_parameters_are_data_in_every_manner(
    odbc: Ask, served: RunningGateway, manner: str
) -> None:
    """Texts, numbers, days; bound by the server or written into the text by the driver."""
    _, texts, exact, lists, nasty, shown = odbc(
        ["connect", MANNERS[manner], True],
        [
            "execute",
            "SELECT count(*) FROM patients WHERE region = ? AND birth_year > ?",
            "north",
            1950,
        ],
        [
            "execute",
            "SELECT count(*) FROM visits WHERE cost < ? AND visit_date < ?",
            ["decimal", "1500.25"],
            ["date", "2022-01-01"],
        ],
        ["execute", "SELECT count(*) FROM patients WHERE region IN (?,?,?)", "north", "west", "x"],
        ["execute", "SELECT count(*) FROM visits WHERE diagnosis = ?", "it's \\ $1 \u20ac"],
        ["execute", "SELECT ? || 'x', count(*) FROM patients", "w\u00f6rd"],
    )
    sql = "SELECT count(*) FROM {}"
    assert texts["rows"] == _listed(
        served.true(sql.format("patients WHERE region = 'north' AND birth_year > 1950"))
    )
    assert exact["rows"] == _listed(
        served.true(sql.format("visits WHERE cost < 1500.25 AND visit_date < '2022-01-01'"))
    )
    assert lists["rows"] == _listed(
        served.true(sql.format("patients WHERE region IN ('north', 'west')"))
    )
    assert nasty["rows"] == [[0]]
    assert shown["rows"] == [["w\u00f6rdx", 20_000]]


def test_values_have_their_types(odbc: Ask) -> None:
    """As Python has what the driver makes of them."""
    sql = (
        "SELECT count(*) > 3 AS b, sum(cost) AS s, count(*)::float8 AS f, min(visit_date) AS d,"
        " TIMESTAMP '2024-02-29 12:30:00' AS t, NULL AS nothing FROM visits"
    )
    _, told = odbc(["connect", {"BoolsAsChar": "0"}, True], ["execute", sql])
    kinds = [kind for _, kind in told["shape"]]
    assert kinds == ["bool", "Decimal", "float", "date", "datetime", "str"]
    [[truth, _, count, first, moment, nothing]] = told["rows"]
    assert (truth, count, first, nothing) == (True, 120_000.0, "2020-01-01", None)
    assert moment == "2024-02-29 12:30:00"


def test_several_statements_give_their_results_in_turn(odbc: Ask) -> None:
    """SQLMoreResults, over questions and what is none."""
    [told] = odbc(["execute", "SELECT 1; SELECT count(*) FROM patients"])
    assert told["results"] == [[[1]], [[20_000]]]


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("autocommit", [True, False])
def test_errors_are_told_and_leave_the_connection(
    odbc: Ask, manner: str, *, autocommit: bool
) -> None:
    """SQLSTATE and text of a refusal; after it, and after a rollback, the connection goes on."""
    _, rows, _, after, unknown, _, again = odbc(
        ["connect", MANNERS[manner], autocommit],
        ["execute", "SELECT * FROM patients"],
        ["rollback"],
        ["execute", "SELECT count(*) FROM patients"],
        ["execute", "SELECT count(salary) FROM patients WHERE region = ?", "north"],
        ["rollback"],
        ["execute", "SELECT count(*) FROM visits"],
    )
    state, text = rows["error"]
    assert state == "42501"
    assert "individual rows are never returned" in text
    assert "GW110: the query would return one row for each protected row" in text
    assert unknown["error"][0] in {"42703", "42S22"}  # the driver's own number for the same
    assert 'column "salary" does not exist' in unknown["error"][1]
    assert after["rows"] == [[20_000]]
    assert again["rows"] == [[120_000]]


def test_statement_stops_when_it_is_told_to(odbc: Ask) -> None:
    """SQLCancel from another thread."""
    stopped, after = odbc(["cancel", FOR_EVER], ["execute", "SELECT count(*) FROM patients"])
    assert stopped["error"][0] in {"57014", "HY008"}
    assert after["rows"] == [[20_000]]


def _listed(rows: list[tuple[object, ...]]) -> list[list[object]]:
    return [list(row) for row in rows]
