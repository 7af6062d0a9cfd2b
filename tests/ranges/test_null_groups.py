"""NULL groups are left out where the key is NULL exactly where a column is whose policy says `nulls: none`."""

from dataclasses import replace

from binding.clinic import CLINIC
from laws import for_each

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.catalog.tables import Dataset
from gateway.ranges.null_groups import hidden_null_groups

_HIDING = {"region", "birth_year", "visit_date", "admitted", "diagnosis", "income"}


def hiding(names: set[str]) -> Dataset:
    """The dataset of the cases, whose columns of these names have no groups for NULL."""
    tables = tuple(
        replace(
            table,
            columns=tuple(
                replace(one, hides_nulls=True) if one.name in names else one
                for one in table.columns
            ),
        )
        for table in CLINIC.tables
    )
    return replace(CLINIC, tables=tables)


def hidden(sql: str, names: set[str]) -> frozenset[int]:
    bound = bind(sql, hiding(names))
    assert isinstance(bound, Cut)
    return hidden_null_groups(bound.releases[-1].plan)


_OUTER = "FROM visits v LEFT JOIN patients p ON v.patient_id = p.patient_id AND p.smoker"


@for_each(
    ("sql", "places"),
    [
        ("SELECT region, COUNT(*) FROM patients GROUP BY 1", {0}),
        ("SELECT smoker, region, COUNT(*) FROM patients GROUP BY 1, 2", {1}),
        ("SELECT diagnosis, COUNT(*) FROM visits GROUP BY 1", {0}),
        ("SELECT birth_year / 10 * 10, COUNT(*) FROM patients GROUP BY 1", {0}),
        ("SELECT date_trunc('month', visit_date::timestamp), COUNT(*) FROM visits GROUP BY 1", {0}),
        ("SELECT r, COUNT(*) FROM (SELECT region AS r FROM patients) q GROUP BY 1", {0}),
        ("SELECT CASE WHEN region = 'north' THEN 1 END, COUNT(*) FROM patients GROUP BY 1", set()),
        ("SELECT NULLIF(region, 'north'), COUNT(*) FROM patients GROUP BY 1", set()),
        ("SELECT diagnosis::integer, COUNT(*) FROM visits GROUP BY 1", set()),
        ("SELECT 100 / (birth_year - 1950), COUNT(*) FROM patients GROUP BY 1", set()),
        (f"SELECT p.region, COUNT(*) {_OUTER} GROUP BY 1", set()),
        (f"SELECT v.diagnosis, COUNT(*) {_OUTER} GROUP BY 1", {0}),
        ("SELECT COUNT(*) FROM patients", set()),
    ],
)
def test_null_group_is_left_out_only_for_null_of_the_column(sql: str, places: set[int]) -> None:
    """Other NULLs have their group: of a CASE, a cast that fails, a division by zero, a row without a partner."""
    assert hidden(sql, _HIDING) == frozenset(places)
    assert hidden(sql, set()) == frozenset()  # negative control
