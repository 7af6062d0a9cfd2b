"""Apache Superset: a connection, datasets, charts of every kind and SQL Lab, by its REST interface."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from wire_more.running import RunningGateway
from wire_more.superset.charts import CHARTS, OF_ROWS, Chart
from wire_more.superset.running import Superset, a_superset, message

OF_SEVERAL = (
    "WITH c AS (SELECT region, count(*) AS n FROM patients GROUP BY region)"
    " SELECT sum(n) AS n, count(*) AS regions FROM c"
)


@pytest.fixture(scope="module")
def superset(
    served: RunningGateway, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Superset]:
    home: Path = tmp_path_factory.mktemp("superset")
    with a_superset(served, home) as running:
        yield running


def test_database_is_known(superset: Superset) -> None:
    """Its catalog, schemas and tables, as the lists of the browser have them."""
    place = f"/database/{superset.database}"
    assert superset.get(f"{place}/catalogs/")["result"] == ["clinic"]
    schemas = superset.get(f"{place}/schemas/")["result"]
    assert {"public", "gateway"} <= set(schemas)
    tables = superset.get(f"{place}/tables/?q=(schema_name:public)")["result"]
    assert [table["value"] for table in tables] == ["calls", "patients", "regions", "visits"]
    about = superset.get(f"{place}/table_metadata/?name=visits&schema=public")
    assert about["foreignKeys"][0]["referred_table"] == "patients"


def test_dataset_knows_its_columns(superset: Superset) -> None:
    """Types, and which column is time, so that charts know what to offer."""
    about = superset.get(f"/dataset/{superset.datasets['visits']}")["result"]
    assert [(one["column_name"], one["type"], one["is_dttm"]) for one in about["columns"]] == [
        ("visit_id", "BIGINT", False),
        ("patient_id", "BIGINT", False),
        ("diagnosis", "TEXT", False),
        ("cost", "NUMERIC(12, 2)", False),
        ("visit_date", "DATE", True),
    ]
    assert about["main_dttm_col"] == "visit_date"


@pytest.mark.parametrize("chart", CHARTS, ids=[chart.kind for chart in CHARTS])
def test_chart_shows_what_is_in_the_clinic(
    superset: Superset, served: RunningGateway, chart: Chart
) -> None:
    """Its data without an error, and the same rows as the clinic's own say."""
    answer = superset.chart(superset.datasets[chart.table], chart.query)
    assert answer.status_code == 200, answer.text
    [result] = answer.json()["result"]
    assert result["error"] is None
    shown = [tuple(row[key] for key in chart.keys) for row in result["data"]]
    assert shown
    true = served.true(chart.true)
    assert len(shown) == len(true)
    for ours, theirs in zip(
        sorted(shown, key=str), sorted(map(_plain, true), key=str), strict=True
    ):
        assert all(_near(one, other, chart.within) for one, other in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("kind", OF_ROWS)
def test_chart_tells_why_it_has_no_data(superset: Superset, kind: str) -> None:
    """What wants rows of persons is refused in words that reach who looks at the chart."""
    _says_why(message(superset.chart(superset.datasets["visits"], OF_ROWS[kind])))


def test_samples_tell_why_there_are_none(superset: Superset) -> None:
    """The list of rows below a chart."""
    asked = {"columns": ["diagnosis", "cost"], "metrics": []}
    _says_why(message(superset.chart(superset.datasets["visits"], asked, "samples")))


@pytest.mark.parametrize(("table", "column"), [("visits", "diagnosis"), ("patients", "birth_year")])
def test_filter_offers_values(
    superset: Superset, served: RunningGateway, table: str, column: str
) -> None:
    """All values of a column that may be grouped by."""
    place = f"/datasource/table/{superset.datasets[table]}/column/{column}/values/"
    true = served.true(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL")
    offered = [one for one in superset.get(place)["result"] if one is not None]
    assert sorted(offered) == sorted(value for (value,) in true)  # type: ignore[type-var]  # of one type


def test_dataset_may_be_a_query(superset: Superset, served: RunningGateway) -> None:
    """A query of aggregates as a dataset: charts ask about it what they like."""
    dataset = superset.dataset_of(
        "SELECT region, birth_year, count(*) AS n FROM patients GROUP BY 1, 2", "counted"
    )
    metric = {"expressionType": "SQL", "sqlExpression": "SUM(n)", "label": "total"}
    answer = superset.chart(dataset, {"columns": ["region"], "metrics": [metric]})
    [result] = answer.json()["result"]
    shown = {row["region"]: row["total"] for row in result["data"]}
    assert shown == served.counts("patients", "region")


def test_dataset_may_join_persons(superset: Superset, served: RunningGateway) -> None:
    """Superset looks at one row of a new query, which nobody gets: it is made without rows, and given them then.

    Charts over it then ask for aggregates of the joined rows.
    """
    joined = (
        "SELECT p.region, v.diagnosis, v.cost FROM visits v"
        " JOIN patients p ON p.patient_id = v.patient_id"
    )
    dataset = superset.dataset_of(f"{joined} WHERE 1 = 0", "joined")
    superset.rewrite(dataset, joined)
    answer = superset.chart(dataset, {"columns": ["region"], "metrics": ["count"]})
    [result] = answer.json()["result"]
    true = served.true(
        "SELECT region, count(*) FROM visits JOIN patients USING (patient_id) GROUP BY 1"
    )
    assert {row["region"]: row["count"] for row in result["data"]} == dict(true)  # type: ignore[arg-type]  # pairs


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT count(*) AS n FROM visits", [{"n": 120_000}]),
        ("SELECT 1; SELECT count(*) AS n FROM patients", [{"n": 20_000}]),
        ("SELECT max(population) AS most FROM regions", [{"most": 1_590_000}]),
        (OF_SEVERAL, [{"n": 20_000, "regions": 4}]),
    ],
)
def test_sql_lab_answers(superset: Superset, sql: str, rows: list[dict[str, object]]) -> None:
    """What somebody types; of several statements Superset shows the last."""
    answer = superset.lab(sql)
    assert answer.status_code == 200, answer.text
    assert answer.json()["data"] == rows


def test_sql_lab_tells_why_it_does_not_answer(superset: Superset) -> None:
    """A refusal with its reason and what to do, an error of PostgreSQL's in its words."""
    _says_why(message(superset.lab("SELECT * FROM patients")))
    assert 'column "salary" does not exist' in message(
        superset.lab("SELECT avg(salary) FROM patients")
    )
    assert "GW104" in message(superset.lab("EXPLAIN ANALYZE SELECT count(*) FROM patients"))


def test_sql_lab_explains(superset: Superset) -> None:
    """EXPLAIN tells the price and how wide an answer would be."""
    told = superset.lab("EXPLAIN SELECT count(*) FROM visits").json()["data"]
    assert told[0]["QUERY PLAN"].startswith("Private Aggregate  (price: epsilon 1e30")


def _says_why(text: str) -> None:
    assert "individual rows are never returned" in text
    assert "GW110: the query would return one row for each protected row" in text
    assert "use an aggregate, such as SELECT COUNT(*)" in text


def _plain(row: tuple[object, ...]) -> tuple[object, ...]:
    """As JSON has the values."""
    return tuple(float(one) if isinstance(one, Decimal) else one for one in row)


def _near(one: object, other: object, within: float) -> bool:
    if isinstance(one, float | int) and isinstance(other, float | int):
        return abs(one - other) <= within
    return one == other
