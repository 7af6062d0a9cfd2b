"""Groups: all of them where domains say which there are, and only then."""

from datetime import datetime

import duckdb
import pytest
from binding.clinic import CLINIC
from laws import for_each
from sensitivity.analyses import analysed, keys_of

from gateway.catalog.domains import Interval, Values
from gateway.sensitivity.analysis import EnumeratedGroups, ThresholdGroups
from gateway.sensitivity.measurement import Rows, Units


def _single(expression: str, table: str = "visits", where: str = "") -> list[object] | None:
    keys = keys_of(f"SELECT {expression}, COUNT(*) FROM {table} {where} GROUP BY 1")
    return None if keys is None else [one for (one,) in keys]


def test_statement_without_keys_has_one_group() -> None:
    """The whole table is a group, also when it is empty."""
    assert keys_of("SELECT COUNT(*) FROM patients") == ((),)


def test_declared_set_is_listed_in_order_with_null_last() -> None:
    """Every value comes back, and NULL for what is outside of the set."""
    expected = ["east", "north", "south", "west", None]
    assert _single("region", "patients") == expected


def test_filter_on_a_key_leaves_out_what_it_excludes() -> None:
    """WHERE narrows the groups, and takes NULL away."""
    where = "WHERE region IN ('west', 'east') AND birth_year BETWEEN 1999 AND 2001"
    assert _single("region", "patients", where) == ["east", "west"]
    assert _single("birth_year", "patients", where) == [1999, 2000, 2001]


_HOUR = "extract(hour FROM admitted)"
_MONTH = "date_trunc('month', visit_date)::date"


@for_each(
    "key, table, where, kept",
    [
        ("region", "patients", "region <> 'east'", "north south west"),
        ("region", "patients", "region NOT IN ('east', 'west')", "north south"),
        ("region", "patients", "NOT (region = 'east' OR region = 'west')", "north south"),
        ("region", "patients", "region = 'east' OR region = 'west'", "east west"),
        ("region", "patients", "region = 'east' OR region IS NULL", "east None"),
        ("region", "patients", "region IS NULL", "None"),
        ("region", "patients", "region IS DISTINCT FROM 'east'", "north south west None"),
        ("region", "patients", "region LIKE '%th'", "north south"),
        ("region", "patients", "length(region) = 4", "east west"),
        ("region", "patients", "CASE WHEN region = 'east' THEN false ELSE true END", "north south west None"),
        ("region", "patients", "coalesce(region, 'east') = 'east'", "east None"),
        ("upper(region)", "patients", "region <> 'east'", "NORTH SOUTH WEST"),
        ("left(region, 1)", "patients", "region NOT LIKE '%t'", "n s"),
        ("coalesce(region, '?')", "patients", "region <> 'east'", "north south west"),
        ("birth_year % 4", "patients", "birth_year % 4 <> 2", "0 1 3"),
        ("birth_year / 10", "patients", "birth_year / 10 IN (195, 196) OR birth_year / 10 = 201", "195 196 201"),
        ("birth_year / 50", "patients", "birth_year < 1950 OR birth_year > 2010", "38 40"),
        (_HOUR, "visits", f"{_HOUR} BETWEEN 22 AND 23", "22 23"),
        (_HOUR, "visits", f"{_HOUR} NOT BETWEEN 2 AND 22", "0 1 23"),
        (f"CASE WHEN {_HOUR} < 8 THEN 'a' WHEN {_HOUR} < 16 THEN 'b' ELSE 'c' END", "visits", f"{_HOUR} >= 10", "b c"),
        # a date and the timestamp of its midnight are one value
        (_MONTH, "visits", f"{_MONTH} IS NOT DISTINCT FROM timestamp '2020-05-01' OR {_MONTH} = '2020-07-01'", "2020-05-01 2020-07-01"),
        (_MONTH, "visits", f"{_MONTH} IN (timestamp '2020-05-01', date '2020-07-01')", "2020-05-01 2020-07-01"),
        (f"({_MONTH} IS DISTINCT FROM timestamp '2020-05-01')::int", "visits", f"{_MONTH} < '2020-06-01'", "0 1"),
        ("extract(year FROM date_bin('1 day', admitted, '2020-01-01'))", "visits",
            "extract(year FROM date_bin('1 day', admitted, '2020-01-01')) <> 2023", "2020 2021 2022 2024 2025 2026"),
        # beside what narrows the column, or takes its NULL away
        ("birth_year", "patients", "birth_year BETWEEN 1950 AND 1953 AND birth_year <> 1951", "1950 1952 1953"),
        ("birth_year", "patients", "birth_year > 1949 AND birth_year < 1954 AND NOT birth_year = 1951", "1950 1952 1953"),
        ("birth_year", "patients", "birth_year IN (1950, 1951, 1952) AND birth_year <> 1951", "1950 1952"),
        ("birth_year", "patients", "birth_year IN (1950, 1955)", "1950 1955"),
        ("birth_year % 4", "patients", "birth_year IS NOT NULL AND birth_year % 4 <> 2", "0 1 3"),
        (_HOUR, "visits", f"admitted IS NOT NULL AND {_HOUR} NOT BETWEEN 2 AND 22", "0 1 23"),
        ("region", "patients", "region IN ('east', 'west') AND region <> 'east'", "west"),
        ("region", "patients", "region = 'north' AND region = 'east'", ""),
        ("region", "patients", "region = 'nowhere' OR region = 'elsewhere'", ""),
        ("region", "patients", "region = 'nowhere'", ""),
        ("region", "patients", "region = 'east' AND region IS NULL", ""),
        ("birth_year", "patients", "birth_year > 1950 AND birth_year < 1950", ""),
        # where rows come from
        ("b", "(SELECT birth_year AS b FROM patients WHERE birth_year <> 1951) t", "b < 1954 AND b > 1949", "1950 1952 1953"),
        ("b", "(SELECT patient_id, birth_year AS b FROM patients WHERE birth_year <> 1951 GROUP BY 1, 2) t",
            "b < 1954 AND b > 1949", "1950 1952 1953"),
        ("birth_year", "visits v JOIN patients p ON p.patient_id = v.patient_id AND p.birth_year <> 1951",
            "birth_year < 1954 AND birth_year > 1949", "1950 1952 1953"),
    ],
)  # fmt: skip
def test_condition_over_a_key_leaves_out_the_values_that_it_excludes(
    key: str, table: str, where: str, kept: str
) -> None:
    """However it is written: what is false or NULL for a value leaves no group of it."""
    found = _single(key, table, f"WHERE {where}")
    assert found is not None
    assert [str(one) for one in found if one is not None or "None" in kept] == kept.split()
    if None in found:
        assert "None" in kept or "extract" in key


@for_each(
    "key, table, where, every",
    [
        # of another column, of two keys' columns, or of what is not decided
        ("region", "patients", "smoker OR region = 'east'", 5),
        ("region", "patients", "name <> 'x'", 5),
        ("region", "patients", "region < 'north'", 4),
        # rows without a partner have no region, whatever the joined rows have
        ("region", ("visits v LEFT JOIN (SELECT * FROM patients WHERE region <> 'east') p"
            " ON p.patient_id = v.patient_id AND p.region <> 'west'"), "TRUE", 5),
        # a day has times for which this is true
        ("extract(year FROM admitted)", "visits", "admitted > '2026-12-30 12:00' OR admitted < '2020-01-02'", 8),
        # the steps of the domain are no fact about rows
        ("CASE WHEN income < 100 THEN 'a' ELSE 'b' END", "patients", "income = 199.5 OR income = 333.7", 2),
    ],
)  # fmt: skip
def test_condition_that_is_not_decided_keeps_all_groups(
    key: str, table: str, where: str, every: int
) -> None:
    """No group with a row that passes is left out."""
    found = _single(key, table, f"WHERE {where}")
    assert found is not None
    assert len(found) == every


def test_condition_over_two_keys_keeps_all_combinations() -> None:
    """Listed groups stay all combinations of the values of each key."""
    sql = "SELECT region, smoker, COUNT(*) FROM patients WHERE {} GROUP BY 1, 2"
    both = keys_of(sql.format("region <> 'east' OR smoker"))
    each = keys_of(sql.format("region <> 'east' AND smoker IS NOT TRUE"))
    assert both is not None
    assert each is not None
    assert (len(both), len(each)) == (15, 6)


def test_several_keys_are_crossed_in_order() -> None:
    """The groups are all pairs, sorted by the first key and then the second."""
    keys = keys_of("SELECT region, smoker, COUNT(*) FROM patients GROUP BY 1, 2")
    assert keys is not None
    assert len(keys) == 5 * 3
    assert keys[:3] == (("east", False), ("east", True), ("east", None))


@for_each(
    ("expression", "table", "size"),
    [
        ("birth_year / 10 * 10", "patients", 11),
        ("birth_year % 4", "patients", 4),
        ("FLOOR(birth_year / 10.0) * 10", "patients", 11),
        ("CASE WHEN income > 9 THEN 'much' ELSE 'little' END", "patients", 2),
        ("COALESCE(region, 'none')", "patients", 5),
        ("UPPER(region)", "patients", 4),
        ("smoker AND income > 5", "patients", 2),
        ("FLOOR(cost / 1000)", "visits", 6),
        ("WIDTH_BUCKET(cost, 0, 5000, 5)", "visits", 6),
        ("CASE WHEN cost < 10 THEN 0 WHEN cost < 20 THEN 10 END", "visits", 2),
        ("EXTRACT(year FROM visit_date)", "visits", 7),
        ("EXTRACT(month FROM admitted)", "visits", 12),
        ("EXTRACT(hour FROM admitted)", "visits", 24),
        ("EXTRACT(isodow FROM visit_date)", "visits", 7),
        ("DATE_TRUNC('month', visit_date)", "visits", 84),
        ("DATE_TRUNC('quarter', admitted)", "visits", 28),
        ("DATE_TRUNC('week', admitted)", "visits", 366),
        ("CAST(admitted AS date)", "visits", 2557),
        ("visit_date", "visits", 2557),
        ("EXTRACT(year FROM visit_date) * 100 + EXTRACT(month FROM visit_date)", "visits", 84),
    ],
)
def test_key_is_listed_when_it_follows_from_a_domain(
    expression: str, table: str, size: int
) -> None:
    """Every value the key can have is there, and nothing else but NULL."""
    found = _single(expression, table)
    assert found is not None
    assert len([one for one in found if one is not None]) == size


def test_month_is_listed_as_the_moment_it_begins() -> None:
    """`date_trunc` gives timestamps, as PostgreSQL does."""
    found = _single("DATE_TRUNC('year', admitted)", where="WHERE admitted < TIMESTAMP '2022-02-02'")
    assert found is not None
    assert found[:3] == [datetime(year, 1, 1) for year in (2020, 2021, 2022)]  # noqa: DTZ001


@for_each(
    ("expression", "table"),
    [
        ("diagnosis", "visits"),
        ("name", "patients"),
        ("LENGTH(name)", "patients"),
        ("income", "patients"),
        ("cost", "visits"),
        ("admitted", "visits"),
        ("income / 7", "patients"),
        ("LOWER(diagnosis)", "visits"),
        ("COALESCE(diagnosis, 'none')", "visits"),
        ("CASE WHEN cost > 5 THEN diagnosis ELSE 'cheap' END", "visits"),
        ("visit_date - current_date", "visits"),
    ],
)
def test_key_is_found_in_the_data_when_its_values_are_not_known_or_too_many(
    expression: str, table: str
) -> None:
    """What cannot be listed is thresholded."""
    assert _single(expression, table) is None


def test_groups_are_thresholded_when_one_key_is_not_listed_or_there_are_too_many() -> None:
    """The limit is on all groups, and one key that is not known is enough."""
    assert keys_of("SELECT region, name, COUNT(*) FROM patients GROUP BY 1, 2") is None
    sql = "SELECT region, birth_year, COUNT(*) FROM patients GROUP BY 1, 2"
    assert isinstance(analysed(sql, most=5 * 102).groups, EnumeratedGroups)
    assert isinstance(analysed(sql, most=5 * 102 - 1).groups, ThresholdGroups)


def test_threshold_uses_a_count_of_units_that_was_asked() -> None:
    """The hidden count is added only where nobody asked for one."""
    hidden = analysed("SELECT diagnosis, COUNT(*) FROM visits GROUP BY 1")
    assert [type(one.quantity) for one in hidden.measurements] == [Rows, Units]
    assert hidden.groups == ThresholdGroups(1, 10)
    asked = analysed("SELECT diagnosis, COUNT(DISTINCT patient_id) FROM visits GROUP BY 1")
    assert len(asked.slots) == 1
    assert asked.groups == ThresholdGroups(0, 10)
    rows = analysed("SELECT name, COUNT(*) FROM patients GROUP BY 1", min_units=0)
    assert len(rows.slots) == 1
    assert rows.groups == ThresholdGroups(0, 2)
    filtered = "SELECT name, COUNT(*) FILTER (WHERE smoker) FROM patients GROUP BY 1"
    assert len(analysed(filtered).slots) == 2


@pytest.mark.parametrize(
    ("sql", "groups"),
    [
        ("SELECT COUNT(*) FROM visits", 1),
        ("SELECT diagnosis, COUNT(*) FROM visits GROUP BY 1", 4),
        ("SELECT CASE WHEN cost > 5 THEN 'a' ELSE 'b' END, COUNT(*) FROM visits GROUP BY 1", 2),
        ("SELECT region, COUNT(*) FROM visits JOIN patients USING (patient_id) GROUP BY 1", 1),
        (
            """SELECT region, COUNT(*) FROM visits v LEFT JOIN patients p
            ON p.patient_id = v.patient_id AND v.cost > 5 GROUP BY 1""",
            4,
        ),
        (
            """SELECT region, diagnosis, COUNT(*) FROM visits JOIN patients USING (patient_id)
            GROUP BY 1, 2""",
            4,
        ),
    ],
)
def test_unit_is_in_as_many_groups_as_its_keys_allow(sql: str, groups: int) -> None:
    """One where all keys come from the only row of a unit, else what is declared, or all there are."""
    assert analysed(sql).groups_per_unit == groups


_IN_BOTH = [
    ("birth_year / 10 * 10", "patients"),
    ("birth_year % 7 - 3", "patients"),
    ("ABS(birth_year - 1960)", "patients"),
    ("CASE WHEN birth_year < 1950 THEN 'old' ELSE region END", "patients"),
    ("WIDTH_BUCKET(birth_year, 1925, 2005, 8)", "patients"),
    ("NULLIF(region, 'north')", "patients"),
    ("LOWER(region)", "patients"),
    ("EXTRACT(week FROM visit_date)", "visits"),
    ("EXTRACT(dow FROM visit_date)", "visits"),
    ("EXTRACT(isodow FROM visit_date)", "visits"),
    ("EXTRACT(doy FROM visit_date)", "visits"),
    ("EXTRACT(quarter FROM visit_date)", "visits"),
    ("EXTRACT(isoyear FROM visit_date)", "visits"),
    ("EXTRACT(decade FROM visit_date)", "visits"),
    ("EXTRACT(century FROM visit_date)", "visits"),
    ("visit_date + 3", "visits"),
    ("DATE_TRUNC('week', visit_date)", "visits"),
    ("DATE_TRUNC('quarter', visit_date)", "visits"),
    ("FLOOR(cost / 1000)", "visits"),
]
_UNLIKE_DUCKDB = {"WIDTH_BUCKET"}


@for_each(("expression", "table"), _IN_BOTH)
def test_listed_key_has_every_value_that_a_database_computes(expression: str, table: str) -> None:
    """Over all values of the domains, a database finds no group that is not listed."""
    found = _single(expression, table)
    assert found is not None
    if expression.startswith(tuple(_UNLIKE_DUCKDB)):
        assert found[:-1] == list(range(10))
        return
    with duckdb.connect() as database:
        _fill(database, table)
        # DuckDB divides whole numbers with `//`, and calls the rest by PostgreSQL's names
        spelled = expression.replace(" / 10 ", " // 10 ")
        rows = database.execute(
            f"SELECT DISTINCT CAST({spelled} AS VARCHAR) FROM {table}"
        ).fetchall()
    listed = {_shown(one) for one in found}
    assert {_plain(one) for (one,) in rows} <= listed


def _fill(database: duckdb.DuckDBPyConnection, table: str) -> None:
    if table == "patients":
        database.execute(
            "CREATE TABLE patients AS SELECT * FROM (SELECT CAST(range AS INTEGER) AS birth_year"
            " FROM range(1920, 2021)), (SELECT unnest(['north', 'east', 'south', 'west', NULL]) AS region)"
        )
        return
    database.execute(
        "CREATE TABLE visits AS SELECT CAST(range AS DATE) AS visit_date,"
        " CAST(random() * 5000 AS DECIMAL(12, 2)) AS cost"
        " FROM range(DATE '2020-01-01', DATE '2027-01-01', INTERVAL 1 DAY)"
    )


def _shown(value: object) -> object:
    if isinstance(value, datetime) and not value.hour:
        return value.date().isoformat()
    return None if value is None else str(value)


def _plain(text: str | None) -> str | None:
    return None if text is None else text.removesuffix(".0").removesuffix(" 00:00:00")


def test_domains_of_these_tests_are_those_that_are_filled_in() -> None:
    """The database above holds all values that the policy declares."""
    birth_year = CLINIC.tables[0].column("birth_year")
    region = CLINIC.tables[0].column("region")
    assert birth_year is not None
    assert region is not None
    assert isinstance(birth_year.domain, Interval)
    assert (birth_year.domain.low, birth_year.domain.high) == (1920, 2020)
    assert isinstance(region.domain, Values)
    assert set(region.domain) == {"north", "east", "south", "west"}
