"""What charts of Superset ask, as its browser puts them together; the query of each kind of chart.

A chart knows which of its columns are compared, and how DuckDB says the same of the clinic's rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

Query = dict[str, Any]

_NO_TIME: Final = "No filter"
_2023: Final = "2023-01-01 : 2024-01-01"
_IN_2023: Final = "visit_date >= '2023-01-01' AND visit_date < '2024-01-01'"


def axis(grain: str, column: str = "visit_date") -> Query:
    """A time axis by some grain."""
    said = {"timeGrain": grain, "columnType": "BASE_AXIS", "expressionType": "SQL"}
    return {**said, "sqlExpression": column, "label": column}


def simple(aggregate: str, column: str) -> Query:
    """A metric that is picked from lists."""
    label = f"{aggregate}({column})"
    said = {"expressionType": "SIMPLE", "aggregate": aggregate, "label": label}
    return {**said, "column": {"column_name": column}}


def by_hand(expression: str, label: str) -> Query:
    """A metric or a column that somebody wrote."""
    return {"expressionType": "SQL", "sqlExpression": expression, "label": label}


def during(time: str = _NO_TIME) -> Query:
    """The filter of time that every chart with a column of time has."""
    return {"filters": [{"col": "visit_date", "op": "TEMPORAL_RANGE", "val": time}]}


def spread_out(index: str, columns: list[str], metric: str) -> Query:
    """Rows become columns, as charts over time want them."""
    options = {"index": [index], "columns": columns, "drop_missing_columns": False}
    options["aggregates"] = {metric: {"operator": "mean"}}
    return {"operation": "pivot", "options": options}


@dataclass(frozen=True)
class Chart:
    """One query of a chart; `keys` are the columns of its data that `true` has, in order.

    `within` is how far numbers may be apart: medians and extremes come from ranges of values, not from rows.
    """

    kind: str
    table: str
    query: Mapping[str, Any]
    keys: tuple[str, ...]
    true: str
    within: float = 1e-6


# a group whose name is not known beforehand is not shown for a few persons, whatever the price
_FREQUENT: Final = {"col": "diagnosis", "op": "IN", "val": ["asthma", "allergy", "injury"]}
_ARE_FREQUENT: Final = "diagnosis IN ('asthma', 'allergy', 'injury')"
_NEAR: Final = 2.0
_DIAGNOSES: Final = "SELECT diagnosis, count(*) FROM visits GROUP BY 1"
_COST: Final = simple("AVG", "cost")
_INCOME: Final = simple("AVG", "income")
_PEOPLE: Final = simple("COUNT_DISTINCT", "patient_id")
_PER_MONTH: Final = "SELECT epoch_ms(date_trunc('month', visit_date)), {} FROM visits {} GROUP BY 1"
_TOP: Final = "(SELECT diagnosis FROM visits GROUP BY 1 ORDER BY count(*) DESC LIMIT 5)"

CHARTS: Final = (
    Chart(
        "table",
        "visits",
        {"columns": ["diagnosis"], "metrics": ["count", simple("SUM", "cost")], **during()}
        | {"orderby": [["count", False]]},
        ("diagnosis", "count", "SUM(cost)"),
        "SELECT diagnosis, count(*), sum(cost) FROM visits GROUP BY 1",
    ),
    Chart(
        "table, how many rows",
        "visits",
        {"columns": ["diagnosis"], "metrics": ["count"], "is_rowcount": True, "row_limit": 0},
        ("rowcount",),
        f"SELECT count(*) FROM ({_DIAGNOSES})",
    ),
    Chart(
        "big_number_total",
        "visits",
        {"columns": [], "metrics": ["count"], **during(_2023)},
        ("count",),
        f"SELECT count(*) FROM visits WHERE {_IN_2023}",
    ),
    Chart(
        "big_number",
        "visits",
        {"columns": [axis("P1M")], "metrics": ["count"], **during()}
        | {"post_processing": [spread_out("visit_date", [], "count"), {"operation": "flatten"}]},
        ("visit_date", "count"),
        _PER_MONTH.format("count(*)", ""),
    ),
    Chart(
        "echarts_timeseries_bar",
        "visits",
        {"columns": [axis("P1Y"), "diagnosis"], "metrics": ["count"], "granularity": "visit_date"}
        | {"series_columns": ["diagnosis"], "series_limit": 5, "series_limit_metric": "count"}
        | {"orderby": [["count", False]], **during()},
        ("visit_date", "diagnosis", "count"),
        "SELECT epoch_ms(date_trunc('year', visit_date)), diagnosis, count(*) FROM visits"
        f" WHERE diagnosis IN {_TOP} GROUP BY 1, 2",
    ),
    Chart(
        "echarts_timeseries_bar, others together",
        "visits",
        {"columns": ["diagnosis"], "metrics": ["count"], "series_columns": ["diagnosis"]}
        | {"series_limit": 5, "series_limit_metric": "count", **during()}
        | {"group_others_when_limit_reached": True},
        ("diagnosis", "count"),
        f"SELECT CASE WHEN diagnosis IN {_TOP} THEN diagnosis ELSE 'Others' END, count(*) FROM visits GROUP BY 1",
    ),
    Chart(
        "echarts_timeseries_line",
        "visits",
        {"columns": [axis("P1W")], "metrics": [_COST], **during(_2023)},
        ("visit_date", "AVG(cost)"),
        "SELECT epoch_ms(date_trunc('week', visit_date)), avg(cost) FROM visits"
        f" WHERE {_IN_2023} GROUP BY 1",
    ),
    Chart(
        "echarts_timeseries_line, an hour each",
        "visits",
        {"columns": [axis("PT1H")], "metrics": ["count"], **during("2023-01-01 : 2023-03-01")},
        ("visit_date", "count"),
        "SELECT epoch_ms(visit_date::timestamp), count(*) FROM visits"
        " WHERE visit_date >= '2023-01-01' AND visit_date < '2023-03-01' GROUP BY 1",
    ),
    Chart(
        "echarts_timeseries_line, beside the year before",
        "visits",
        {"columns": [axis("P1M")], "metrics": ["count"], "time_offsets": ["1 year ago"]}
        | during(_2023),
        ("visit_date", "count"),
        _PER_MONTH.format("count(*)", f"WHERE {_IN_2023}"),
    ),
    Chart(
        "pie",
        "patients",
        {"columns": ["region"], "metrics": ["count"], "orderby": [["count", False]]},
        ("region", "count"),
        "SELECT region, count(*) FROM patients GROUP BY 1",
    ),
    Chart(
        "echarts_area",
        "visits",
        {"columns": [axis("P1M"), "diagnosis"], "metrics": [simple("SUM", "cost")]}
        | {
            "filters": [
                {"col": "diagnosis", "op": "IN", "val": ["asthma", "allergy"]},
                *during("2024-01-01 : 2025-01-01")["filters"],
            ]
        },
        ("visit_date", "diagnosis", "SUM(cost)"),
        "SELECT epoch_ms(date_trunc('month', visit_date)), diagnosis, sum(cost) FROM visits"
        " WHERE diagnosis IN ('asthma', 'allergy') AND year(visit_date) = 2024 GROUP BY 1, 2",
    ),
    Chart(
        "pivot_table_v2",
        "patients",
        {"columns": ["region", by_hand("birth_year / 10 * 10", "decade")]}
        | {"metrics": ["count", _INCOME]},
        ("region", "decade", "count", "AVG(income)"),
        "SELECT region, birth_year // 10 * 10, count(*), avg(income) FROM patients GROUP BY 1, 2",
    ),
    Chart(
        "box_plot",
        "visits",
        {"columns": [axis("P1M"), "diagnosis"], "metrics": [_COST], **during()}
        | {
            "post_processing": [
                {
                    "operation": "boxplot",
                    "options": {"whisker_type": "tukey", "groupby": ["diagnosis"]}
                    | {"metrics": ["AVG(cost)"]},
                }
            ],
            "filters": [_FREQUENT],
        },
        ("diagnosis", "AVG(cost)__count"),
        "SELECT diagnosis, count(DISTINCT date_trunc('month', visit_date)) FROM visits"
        f" WHERE {_ARE_FREQUENT} GROUP BY 1",
    ),
    Chart(
        "treemap_v2",
        "patients",
        {"columns": ["region", "birth_year"], "metrics": ["count"], "orderby": [["count", False]]},
        ("region", "birth_year", "count"),
        "SELECT region, birth_year, count(*) FROM patients GROUP BY 1, 2",
    ),
    Chart(
        "heatmap_v2",
        "patients",
        {"columns": ["birth_year", "region"], "metrics": [_INCOME]}
        | {"orderby": [["birth_year", True], ["region", False]]}
        | {"post_processing": [{"operation": "rank", "options": {"metric": "AVG(income)"}}]},
        ("birth_year", "region", "AVG(income)"),
        "SELECT birth_year, region, avg(income) FROM patients GROUP BY 1, 2",
    ),
    Chart(
        "sunburst_v2",
        "visits",
        {"columns": ["diagnosis", by_hand("EXTRACT(YEAR FROM visit_date)", "year")]}
        | {"metrics": ["count"], "filters": [_FREQUENT]},
        ("diagnosis", "year", "count"),
        "SELECT diagnosis, year(visit_date), count(*) FROM visits"
        f" WHERE {_ARE_FREQUENT} GROUP BY 1, 2",
    ),
    Chart(
        "time_table",
        "visits",
        {"granularity": "visit_date", "is_timeseries": True, "columns": []}
        | {"metrics": ["count", simple("SUM", "cost"), _PEOPLE], "time_range": _2023}
        | {"extras": {"time_grain_sqla": "P1M"}},
        ("__timestamp", "count", "SUM(cost)", "COUNT_DISTINCT(patient_id)"),
        _PER_MONTH.format("count(*), sum(cost), count(DISTINCT patient_id)", f"WHERE {_IN_2023}"),
    ),
    Chart(
        "funnel",
        "visits",
        {"columns": ["diagnosis"], "metrics": [_PEOPLE], "orderby": [[_PEOPLE, False]]},
        ("diagnosis", "COUNT_DISTINCT(patient_id)"),
        "SELECT diagnosis, count(DISTINCT patient_id) FROM visits GROUP BY 1",
    ),
    Chart(
        "bubble_v2",
        "patients",
        {"columns": ["region"], "metrics": ["count", _INCOME, simple("MIN", "birth_year")]},
        ("region", "count", "AVG(income)", "MIN(birth_year)"),
        "SELECT region, count(*), avg(income), min(birth_year) FROM patients GROUP BY 1",
    ),
    Chart(
        "big_number_total, by hand",
        "visits",
        {
            "columns": [],
            "metrics": [
                by_hand("SUM(CASE WHEN cost > 1000 THEN 1 ELSE 0 END) * 100.0 / COUNT(*)", "share"),
                by_hand("COUNT(DISTINCT patient_id)", "people"),
                simple("MAX", "cost"),
            ],
        },
        ("share", "people", "MAX(cost)"),
        "SELECT count(*) FILTER (cost > 1000) * 100 / count(*), count(DISTINCT patient_id), max(cost)"
        " FROM visits",
        _NEAR,
    ),
    Chart(
        "table, with every kind of filter",
        "visits",
        {"columns": ["diagnosis"], "metrics": ["count"]}
        | {
            "filters": [
                {"col": "diagnosis", "op": "LIKE", "val": "a%"},
                {"col": "cost", "op": ">=", "val": "10"},
                {"col": "diagnosis", "op": "IS NOT NULL"},
            ],
            "extras": {
                "having": "COUNT(*) > 3000",
                "where": "cost < 4000 and visit_date > '2021-01-01'",
            },
        },
        ("diagnosis", "count"),
        "SELECT diagnosis, count(*) FROM visits WHERE diagnosis LIKE 'a%' AND cost >= 10"
        " AND cost < 4000 AND visit_date > '2021-01-01' GROUP BY 1 HAVING count(*) > 3000",
    ),
    Chart(
        "table, of medians",
        "visits",
        {"columns": ["diagnosis"]}
        | {"metrics": [by_hand("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY cost)", "median")]}
        | {"filters": [_FREQUENT]},
        ("diagnosis", "median"),
        f"SELECT diagnosis, quantile_cont(cost, 0.5) FROM visits WHERE {_ARE_FREQUENT} GROUP BY 1",
        _NEAR,
    ),
    Chart(
        "values of a filter",
        "visits",
        {"columns": ["diagnosis"], "metrics": [], "orderby": [["diagnosis", True]]},
        ("diagnosis",),
        "SELECT DISTINCT diagnosis FROM visits",
    ),
    Chart(
        "ends of a filter",
        "visits",
        {"columns": [], "metrics": [simple("MIN", "cost"), simple("MAX", "cost")]},
        ("MIN(cost)", "MAX(cost)"),
        "SELECT min(cost), max(cost) FROM visits",
        _NEAR,
    ),
)

# of these the browser or Superset itself would compute something of persons' rows
OF_ROWS: Final[Mapping[str, Query]] = {
    "table": {"columns": ["diagnosis", "cost"], "metrics": None},
    "histogram_v2": {
        "columns": ["cost"],
        "metrics": None,
        "post_processing": [
            {"operation": "histogram", "options": {"column": "cost", "groupby": [], "bins": 10}}
        ],
    },
}
