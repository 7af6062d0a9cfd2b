"""Conditions select the same rows as in a database, row by row."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from random import Random

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import for_each
from regions.ward import has, scope
from samples import draws

from gateway.regions.cells import contains
from gateway.regions.scope import GroupKey

_SEED = 7
_COUNT = 400
_REGIONS = ("north", "east", "south", "west")
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - without a zone, as the column is
_DAY = 86_400_000_000
_MICROSECOND = timedelta(microseconds=1)

Row = tuple[object, ...]


def _patients() -> list[Row]:
    random = Random(_SEED)  # noqa: S311 - rows to look at, no secrets
    heights = [100, 101, 104, 105, 149, 150, 151, 199, 200, 219, 220, None]
    incomes = ["0", "0.0000001", "4.9999999", "5", "5.25", "6", "9", "9.5", "10", "200000", None]
    return [
        (
            random.choice(_REGIONS),
            random.choice(["f", "m", None]),
            random.choice([1920, 1921, 1939, 1940, 1949, 1950, 1951, 1999, 2000, 2019, 2020]),
            random.choice(heights),
            random.choice(incomes),
            random.choice([True, False, None]),
            random.choice(["alice", "Alice", "bob", "carol", "", None]),
        )
        for _ in range(_COUNT)
    ]


def _visits() -> list[Row]:
    random = Random(_SEED)  # noqa: S311 - rows to look at, no secrets
    days = ["2020-01-01", "2023-12-31", "2024-01-01", "2024-02-29", "2024-03-01", "2026-12-31"]
    days += ["2024-03-03", "2024-03-04", "2024-03-31", "2024-04-01"]
    times = ["00:00:00", "00:00:00.000001", "04:59:59.999999", "05:00:00", "05:00:30", "23:59:59"]
    last = "2026-12-31 00:00:00"
    return [
        (
            random.choice(["0", "0.01", "9.99", "10", "999.99", "1000", "1999.99", "5000", None]),
            random.choice(days),
            random.choice([min(f"{random.choice(days)} {random.choice(times)}", last), None]),
            random.choice([1.0, 69.999999, 69.9999999, 70.0, 70.5, 71.0, 300.0, None]),
            random.choice([-3, 0, 4, 5, None]),
        )
        for _ in range(_COUNT)
    ]


def _fine(value: object) -> int | None:
    """Of what has values everywhere: twice the millionths, and the odd cells between them."""
    if value is None:
        return None
    millionths = Fraction(str(value)) * 1_000_000
    whole = millionths.numerator // millionths.denominator
    return 2 * whole + (whole != millionths)


def _cents(value: object) -> int | None:
    return None if value is None else int(Fraction(str(value)) * 100)


def _day(value: object) -> int:
    return date.fromisoformat(str(value)).toordinal() - date(1970, 1, 1).toordinal()


def _moment(value: object) -> int | None:
    if value is None:
        return None
    return (datetime.fromisoformat(str(value)) - _EPOCH) // _MICROSECOND


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _name(value: object) -> str | None:
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


_Cell = Callable[[object], int | str | None]
_PATIENTS: dict[str, tuple[str, _Cell]] = {
    "region": ("varchar", _name),
    "sex": ("varchar", _name),
    "birth_year": ("integer", _whole),
    "height": ("integer", _whole),
    "income": ("decimal(18,7)", _fine),
    "smoker": ("boolean", _name),
    "name": ("varchar", _name),
}
_VISITS: dict[str, tuple[str, _Cell]] = {
    "cost": ("decimal(12,2)", _cents),
    "visit_date": ("date", _day),
    "admitted": ("timestamp", _moment),
    "weight": ("double", _fine),
    "ward": ("integer", _whole),
}


def _with_differences(row: dict[str, int | str | None]) -> dict[str, int | str | None]:
    """The same with the differences of its times: days, and seconds as of what has values everywhere."""
    admitted, day = row.get("visits.admitted"), row.get("visits.visit_date")
    seconds, days = None, None
    if isinstance(admitted, int) and isinstance(day, int):
        seconds, days = 2 * (admitted - day * _DAY), admitted // _DAY - day
    name = "visits.admitted{} - visits.visit_date"
    return {**row, name.format(""): seconds, name.format("::date"): days}


class Table:
    """Rows in DuckDB, and the cells they are in."""

    def __init__(
        self, name: str, columns: Mapping[str, tuple[str, _Cell]], rows: list[Row]
    ) -> None:
        self.name = name
        self._columns = columns
        self._rows = rows

    @cached_property
    def cells(self) -> list[dict[str, int | str | None]]:
        return [
            _with_differences(
                {
                    f"{self.name}.{column}": cell(value)
                    for (column, (_, cell)), value in zip(self._columns.items(), row, strict=True)
                }
            )
            for row in self._rows
        ]

    @cached_property
    def _engine(self) -> duckdb.DuckDBPyConnection:
        engine = duckdb.connect()
        # it rewrites `date_trunc(…, x) <> c` to what is true for NULL, where c is no beginning of a period
        engine.execute("SET disabled_optimizers = 'expression_rewriter'")
        listed = ", ".join(f"{column} {of}" for column, (of, _) in self._columns.items())
        engine.execute(f"CREATE TABLE {self.name} (place integer, {listed})")
        placed = [(place, *row) for place, row in enumerate(self._rows)]
        # row by row takes a second
        marks = ", ".join([f"({', '.join('?' * len(placed[0]))})"] * len(placed))
        engine.execute(
            f"INSERT INTO {self.name} VALUES {marks}", [value for row in placed for value in row]
        )
        return engine

    def where(self, condition: str) -> set[int]:
        found = self._engine.execute(f"SELECT place FROM {self.name} WHERE {condition}")
        return {place for (place,) in found.fetchall()}

    def values(self, expression: str) -> Iterator[tuple[int, object]]:
        found = self._engine.execute(f"SELECT place, {expression} FROM {self.name}")
        yield from found.fetchall()


PATIENTS = Table("patients", _PATIENTS, _patients())
VISITS = Table("visits", _VISITS, _visits())


def _differing(table: Table, condition: str) -> set[int] | None:
    """The rows about which the region and the database disagree; None where the region is not read."""
    made = scope(f"SELECT COUNT(*) FROM {table.name} WHERE {condition}")
    if made.unreadable:
        return None
    mine = {place for place, row in enumerate(table.cells) if has(made.region, row)}
    return mine ^ table.where(condition)


_COMPARING = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
_NULLS = st.sampled_from(["IS NULL", "IS NOT NULL"])


def _compared(what: str, *constants: object) -> st.SearchStrategy[str]:
    return st.builds(
        lambda sign, value, turned: (
            f"{value} {sign} {what}" if turned else f"{what} {sign} {value}"
        ),
        _COMPARING,
        st.sampled_from(constants),
        st.booleans(),
    )


def _among(what: str, *constants: object) -> st.SearchStrategy[str]:
    listed = st.lists(st.sampled_from([*constants, "NULL"]), min_size=1, max_size=4)
    return st.builds(
        lambda word, given: f"{what} {word} ({', '.join(map(str, given))})",
        st.sampled_from(["IN", "NOT IN"]),
        listed,
    )


def _between(what: str, *constants: object) -> st.SearchStrategy[str]:
    one = st.sampled_from(constants)
    word = st.sampled_from(["BETWEEN", "NOT BETWEEN"])
    return st.builds(lambda how, low, high: f"{what} {how} {low} AND {high}", word, one, one)


def _apart(what: str, *constants: object) -> st.SearchStrategy[str]:
    word = st.sampled_from(["IS DISTINCT FROM", "IS NOT DISTINCT FROM"])
    one = st.sampled_from([*constants, "NULL"])
    return st.builds(lambda how, value: f"{what} {how} {value}", word, one)


def _every(what: str, *constants: object) -> st.SearchStrategy[str]:
    return st.one_of(
        _compared(what, *constants),
        _among(what, *constants),
        _between(what, *constants),
        _apart(what, *constants),
        _NULLS.map(lambda word: f"{what} {word}"),
    )


_YEARS = (1919, 1920, 1921, 1949.5, 1950, 2020, 2021)
_ATOMS = st.one_of(
    _every("birth_year", *_YEARS),
    _compared("birth_year + 1", 1921, 1950, 1951),
    _compared("2026 - birth_year", 6, 75.5, 76, 106),
    _compared("birth_year % 2", 0, 1),
    _compared("floor(birth_year / 10.0)", 192, 194.5, 195, 202),
    _every("height", 99, 100, 101.5, 105, 150, 219, 220),
    _compared("- height", -150, -100.5),
    _compared("height * 2", 201, 300),
    _compared("height % 5", 0, 1),
    _every("income", 0, 5, 5.25, 9, 9.5, 200000),
    _compared("floor(income)", 4, 5, 5.5, 9),
    _compared("ceil(income)", 5, 5.5, 6),
    _compared("income - 1", 4, 4.25),
    _compared("3 - income", -2, -2.25),
    _compared("income * 2", 10, 10.5),
    _compared("coalesce(income, 7)", 5, 7, 9),
    _every("region", "'north'", "'south'", "'west'", "'nowhere'").filter(lambda one: "BETW" not in one),
    _among("sex", "'f'", "'m'"),
    _apart("sex", "'f'"),
    _among("name", "'alice'", "'bob'", "''"),
    _apart("name", "'alice'", "'Bob'"),
    _among("upper(region)", "'NORTH'", "'west'"),
    st.sampled_from(["smoker", "smoker = false", "smoker IS NOT TRUE", "smoker IS NULL", "true", "NULL"]),
).filter(lambda one: not any(f"{sign} 'n" in one for sign in ("<", ">")) or "<>" in one)  # fmt: skip

_VISIT_ATOMS = st.one_of(
    _every("visit_date", "DATE '2020-01-01'", "DATE '2024-01-01'", "DATE '2024-03-01'"),
    _compared("visit_date", "TIMESTAMP '2024-03-01 12:00:00'", "TIMESTAMP '2024-03-01 00:00:00'"),
    _compared("extract(year FROM visit_date)", 2023.5, 2024, 2026),
    _compared("extract(month FROM visit_date)", 2, 3),
    _compared("date_trunc('month', visit_date)", "DATE '2024-03-01'", "DATE '2024-03-02'"),
    _compared("date_trunc('week', visit_date)", "DATE '2024-03-04'", "DATE '2024-03-05'"),
    _compared("visit_date + 1", "DATE '2024-03-01'"),
    _compared("visit_date - DATE '2024-01-01'", -1, 0, 60),
    _every("admitted", "TIMESTAMP '2024-03-01 05:00:00'", "TIMESTAMP '2024-03-01 00:00:00.000001'"),
    _compared("extract(year FROM admitted)", 2024, 2023.5),
    _compared("extract(hour FROM admitted)", 4, 5),
    _compared("extract(month FROM admitted)", 3),
    _compared("date_trunc('minute', admitted)", "TIMESTAMP '2024-03-01 05:00:00'", "TIMESTAMP '2024-03-01 05:00:30'"),
    _compared("date_trunc('month', admitted)", "TIMESTAMP '2024-03-01 00:00:00'"),
    _compared("CAST(admitted AS date)", "DATE '2024-03-01'"),
    _compared("admitted + INTERVAL '1 day'", "TIMESTAMP '2024-03-02 05:00:00'"),
    _every("cost", 0, 9.99, 10, 999.995, 5000),
    _compared("floor(cost / 1000)", 0, 1, 1.5),
    _compared("ceil(cost)", 10, 10.5),
    _every("weight", 69.999999, 70, 70.5),
    _compared("floor(weight)", 69, 70),
    _every("ward", -3, 0, 4.5, 5),
    _NULLS.map(lambda word: f"admitted {word}"),
    _compared("admitted", "visit_date", "visit_date + 3", "visit_date + INTERVAL '36 hours'"),
    _compared("visit_date - 1", "admitted", "admitted - INTERVAL '1 day'"),
    _compared("admitted - visit_date", "INTERVAL '5 hours'", "INTERVAL '60 days'"),
    _compared("CAST(admitted AS date)", "visit_date", "visit_date + 60"),
    _compared("CAST(admitted AS date) - visit_date", -1, 0, 59.5, 60),
    _compared("(extract(epoch FROM admitted) - extract(epoch FROM visit_date)) / 3600", 5, 24.5),
    _compared("60 - (CAST(admitted AS date) - visit_date)", 0, 1),
    _compared("date_trunc('day', admitted)", "visit_date"),
    _NULLS.map(lambda word: f"(admitted > visit_date) {word}"),
)  # fmt: skip


def _conditions(atoms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pair = st.tuples(inner, inner)
        return st.one_of(
            pair.map(lambda one: f"({one[0]} AND {one[1]})"),
            pair.map(lambda one: f"({one[0]} OR {one[1]})"),
            inner.map(lambda one: f"(NOT {one})"),
            inner.map(lambda one: f"(({one}) IS NOT TRUE)"),
            inner.map(lambda one: f"(({one}) IS FALSE)"),
            inner.map(lambda one: f"coalesce({one}, true)"),
            pair.map(lambda one: f"(CASE WHEN {one[0]} THEN {one[1]} ELSE false END)"),
            pair.map(lambda one: f"(CASE WHEN {one[0]} THEN 1 WHEN {one[1]} THEN 2 END <> 1)"),
        )

    return st.recursive(atoms.map(lambda one: f"({one})"), larger, max_leaves=5)


@settings(max_examples=draws(250), deadline=None)
@given(_conditions(_ATOMS))
def test_region_of_patients_has_the_rows_that_get_through(condition: str) -> None:
    """Whatever is asked of patients, the region and the database agree on every row."""
    assert not _differing(PATIENTS, condition)


@settings(max_examples=draws(250), deadline=None)
@given(_conditions(_VISIT_ATOMS))
def test_region_of_visits_has_the_rows_that_get_through(condition: str) -> None:
    """Times, amounts and floats are cut where the database cuts them."""
    assert not _differing(VISITS, condition)


@settings(max_examples=draws(200), deadline=None)
@given(_ATOMS, _VISIT_ATOMS.filter(lambda one: "hour" not in one))
def test_single_conditions_are_read(patients: str, visits: str) -> None:
    """None of the forms above is one that nobody understands."""
    assert _differing(PATIENTS, patients) == set()
    assert _differing(VISITS, visits) == set()


def test_comparison_with_the_database_finds_a_region_that_is_wrong() -> None:
    """Another condition disagrees with the database on some row: the comparison can fail."""
    for condition, other in (
        ("income > 5", "income >= 5"),
        ("sex <> 'm'", "sex IS DISTINCT FROM 'm'"),
        ("name = 'alice'", "name = 'Alice'"),
    ):
        region = scope(f"SELECT COUNT(*) FROM patients WHERE {condition}").region
        mine = {place for place, row in enumerate(PATIENTS.cells) if has(region, row)}
        assert mine == PATIENTS.where(condition)
        assert mine != PATIENTS.where(other)


_KEYS = [
    (PATIENTS, "region"),
    (PATIENTS, "sex"),
    (PATIENTS, "smoker"),
    (PATIENTS, "birth_year"),
    (PATIENTS, "birth_year % 3"),
    (PATIENTS, "2020 - birth_year"),
    (PATIENTS, "floor(birth_year / 10.0)"),
    (PATIENTS, "height"),
    (PATIENTS, "upper(region)"),
    (PATIENTS, "coalesce(sex, 'none')"),
    (PATIENTS, "income > 5"),
    (PATIENTS, "CASE WHEN income > 9 THEN 'much' WHEN income > 5 THEN 'some' ELSE 'little' END"),
    (PATIENTS, "CASE WHEN income IS NULL THEN 'none' WHEN income < 5 THEN 'little' END"),
    (PATIENTS, "CASE WHEN birth_year < 1950 THEN 'old' ELSE 'young' END"),
    (VISITS, "visit_date"),
    (VISITS, "date_trunc('month', visit_date)"),
    (VISITS, "extract(month FROM visit_date)"),
    (VISITS, "date_trunc('month', admitted)"),
    (VISITS, "date_trunc('week', admitted)"),
    (VISITS, "CAST(admitted AS date)"),
    (VISITS, "floor(cost / 1000)"),
    (VISITS, "floor(weight)"),
    (VISITS, "CASE WHEN cost < 10 THEN 0 WHEN cost < 1000 THEN 10 END"),
]


@for_each(("table", "expression"), _KEYS, ids=[one for _, one in _KEYS])
def test_cells_of_a_key_have_the_rows_with_its_value(table: Table, expression: str) -> None:
    """For each listed value of a key its cells are those of the rows that have it, and of no others."""
    [key] = scope(f"SELECT {expression}, COUNT(*) FROM {table.name} GROUP BY 1").keys
    assert key.axis is not None
    assert key.values is not None
    assert key.cells is not None
    for place, value in table.values(expression):
        cell = table.cells[place][key.axis.name]
        held = [
            mine for mine, cells in zip(key.values, key.cells, strict=True) if contains(cells, cell)
        ]
        listed = _as_listed(value, key)
        # what lies between two declared values has no group
        assert held == [listed] * (listed in key.values)


def _as_listed(value: object, key: GroupKey) -> object:
    """The value as the listing has it: a day among moments is its midnight."""
    moments = any(isinstance(one, datetime) for one in key.values or ())
    if moments and isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)  # noqa: DTZ001 - without a zone
    return value
