"""Random catalogs of two tables of persons and a public one, their rows, and statements over them."""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Final, TypeVar

from property.bounded_releases import Asked, statement
from property.small_worlds import Row, Stored, World

from gateway.catalog.domains import Anything, Domain, Interval, Values
from gateway.catalog.tables import Column, Dataset, Protection, Table
from gateway.catalog.types import ColumnType, Family, parse_type
from gateway.errors import Refusal

_T = TypeVar("_T")
_ONE: Final = Fraction(1)
_UNITS: Final[dict[str, tuple[str, ...]]] = {
    "bigint": ("1", "2", "3", "-9223372036854775808", "9223372036854775807", "0", "7"),
    "text": ("a", "A", "a ", "ä", "a\u0308", "", "~", "😀", "1", "01", "null"),
    "uuid": tuple(f"{one:08x}-0000-4000-8000-000000000000" for one in (0, 1, 2, 2**32 - 1, 10)),
    "date": ("2020-01-01", "infinity", "-infinity", "0001-01-01", "9999-12-31", "2024-02-29"),
    "numeric(12,2)": ("0", "0.01", "-0.01", "1.10", "9999999999.99", "5"),
}
_TIMES: Final = (
    *("2020-01-01 00:00:00", "2024-02-29 13:14:15.678901", "infinity", "-infinity"),
    *("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "2026-03-02 12:00:00"),
)
_VALUES: Final[dict[str, tuple[str, ...]]] = {
    "smallint": ("0", "1", "-1", "32767", "-32768", "7"),
    "integer": ("0", "1", "-1", "2147483647", "-2147483648", "12", "13"),
    "bigint": ("0", "1", "-1", "9223372036854775807", "-9223372036854775808", "36"),
    "numeric(10,2)": ("0", "0.01", "1.10", "-99999999.99", "99999999.99", "3.30", "?NaN|"),
    "numeric": ("0", "1.0", "1", "9e27", "-9e27", "0.3333333333", "?NaN|", "?Infinity|", "12.3"),
    "double precision": ("0", "-0.0", "NaN", "Infinity", "1e308", "5e-324", "0.1", "-3.7", "80"),
    "real": ("0", "-0.0", "NaN", "-Infinity", "3e38", "1e-45", "0.1", "-3.7", "80"),
    "text": ("", "a", "A", "a ", "ä", "a\u0308", "~", "|", "😀", "12", "1e3", "2024-02-29"),
    "character varying(8)": ("", "a", "A", "ab", "ÄÖÜ", "-7", "%", "\\"),
    "character(3)": ("a", "A", "ab", "abc", "ä", "-7"),
    "boolean": ("true", "false"),
    "date": ("2020-01-01", "2024-02-29", "infinity", "-infinity", "0001-01-01", "9999-12-31"),
    "timestamp without time zone": _TIMES,
    "timestamp with time zone": tuple(one if "inf" in one else f"{one}+00" for one in _TIMES),
    "uuid": _UNITS["uuid"],
}
_AT: Final = datetime(2020, 1, 1)  # noqa: DTZ001 - without zone
_ENDS: Final[dict[Family, tuple[Interval, ...]]] = {
    Family.WHOLE: (
        Interval(-5, 12, _ONE),
        Interval(0, 1, _ONE),
        Interval(-1000, 30_000, Fraction(10)),
    ),
    Family.EXACT: (
        *(Interval(Fraction(-3), Fraction(99), Fraction(1, 100)), Interval(_ONE, _ONE, _ONE)),
        Interval(Fraction(1, 4), Fraction(81, 4), _ONE),
    ),
    Family.FLOAT: (
        *(
            Interval(Fraction(0), Fraction(1), Fraction(1, 1000)),
            Interval(_ONE, Fraction(80), _ONE),
        ),
        Interval(Fraction(-(10**6)), Fraction(10**6), Fraction(1, 20)),
    ),
    Family.DATE: (Interval(date(2020, 1, 1), date(2026, 12, 31), _ONE),),
}


def catalog(seed: int) -> Dataset:
    """Tables `t1` and `t2` of persons, and `codes`, which is public."""
    chance = random.Random(seed)  # noqa: S311 - a catalog of a test
    unit = chance.choice(list(_UNITS))
    tables = []
    for name in ("t1", "t2"):
        columns = [Column("u", parse_type(unit))]
        for place, of in enumerate(chance.sample(list(_VALUES), 7)):
            columns.append(_column(chance, f"c{place}", parse_type(of)))
        columns.append(Column("x", parse_type("integer"), Interval(-9, 50, _ONE)))
        columns.append(Column("k", parse_type("text")))
        rows, groups = chance.choice((1, 2, 5)), chance.choice((1, 2, 3))
        tables.append(Table(name, tuple(columns), Protection("u", rows, groups)))
    codes = (Column("code", parse_type("text")), Column("n", parse_type("integer")))
    return Dataset("odd", "person", (*tables, Table("codes", codes)))


def _column(chance: random.Random, name: str, of: ColumnType) -> Column:
    domains: list[Domain] = [Anything(), *_ENDS.get(of.family, ())]
    if of.family is Family.TEXT:
        domains.append(Values(("a", "A", "ab")))
    if of.family is Family.WHOLE:
        domains.append(Values((0, 1, 7)))
    if str(of) == "timestamp without time zone":
        domains.append(Interval(_AT, datetime(2026, 12, 31), _ONE))  # noqa: DTZ001 - see above
    if str(of) == "timestamp with time zone":
        domains.append(Interval(_AT.replace(tzinfo=UTC), datetime(2026, 12, 31, tzinfo=UTC), _ONE))
    return Column(name, of, chance.choice(domains))


def populated(dataset: Dataset, seed: int) -> tuple[World, World]:
    """Persons, and the same with one more."""
    chance = random.Random(seed)  # noqa: S311 - a world of a test
    kind = str(dataset.tables[0].columns[0].type)
    units: list[Stored] = [None, *_UNITS[kind]]
    added = units.pop(chance.randrange(1, len(units)))
    rows: dict[str, list[Row]] = {"codes": [(one, "3") for one in ("a", "A", "~", "ä")]}
    more: dict[str, Sequence[Row]] = {}
    for table in dataset.tables[:2]:
        own = [
            _row(chance, table, one) for one in units for _ in range(chance.choice((0, 1, 2, 9)))
        ]
        rows[table.name] = own
        many = [_row(chance, table, added) for _ in range(chance.choice((0, 4, 60, 60)))]
        alike = chance.choices(many, k=20) if many else []
        more[table.name] = [*many, *alike]
    before = World(rows, keyed=False, dataset=dataset)
    return before, before.more(more)


def _row(chance: random.Random, table: Table, unit: Stored) -> Row:
    made: list[Stored] = [unit]
    for column in table.columns[1:]:
        among = _VALUES[str(column.type)]
        few = among[: chance.choice((2, len(among)))]
        made.append(None if chance.random() < 0.1 else chance.choice(few))
    return tuple(made)


def statements(dataset: Dataset, seed: int, many: int) -> Iterator[Asked]:
    """Those of so many that are not refused."""
    chance = random.Random(seed)  # noqa: S311 - statements of a test
    for _ in range(many):
        try:
            yield statement(_Saying(chance, dataset).statement(), dataset)
        except Refusal:
            continue


class _Saying:
    def __init__(self, chance: random.Random, dataset: Dataset) -> None:
        self._chance = chance
        self._tables = dataset.tables[:2]

    def statement(self) -> str:
        table = self._pick(self._tables)
        source, names = self._source(table)
        keys = [self._key(names) for _ in range(self._pick((0, 1, 1, 2)))]
        measures = [self._measure(names) for _ in range(self._pick((1, 2, 3)))]
        where = f" WHERE {self._condition(names)}" if self._chance.random() < 0.3 else ""
        group = f" GROUP BY {', '.join(str(one + 1) for one in range(len(keys)))}" if keys else ""
        return f"SELECT {', '.join([*keys, *measures])} FROM {source}{where}{group}"

    def _source(  # noqa: PLR0911 - one answer for each kind
        self, table: Table
    ) -> tuple[str, dict[str, ColumnType]]:
        names = {one.name: one.type for one in table.columns[1:]}
        some, other = self._pick(list(names)), self._pick(list(names))
        name, whole = table.name, parse_type("bigint")
        order = f"PARTITION BY u ORDER BY {some}"
        match self._chance.randrange(9):
            case 0:
                return f"(SELECT *, ROW_NUMBER() OVER ({order}) AS w FROM {name}) q", {
                    **names,
                    "w": whole,
                }
            case 1:
                inner = f"SELECT *, LAG({other}) OVER ({order} DESC) AS w FROM {name}"
                return f"({inner}) q", {**names, "w": names[other]}
            case 2:
                frame = "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING"
                inner = f"SELECT *, SUM(x) OVER ({order} {frame}) AS w FROM {name}"
                return f"({inner}) q", {**names, "w": whole}
            case 3:
                inner = f"SELECT u, {some} AS g, COUNT(*) AS w, MIN({other}) AS m, SUM(x) AS s FROM {name}"
                made = {"g": names[some], "w": whole, "m": names[other], "s": whole}
                return f"({inner} GROUP BY u, {some}) q", made
            case 4:
                two = next(one for one in self._tables if one is not table)
                more = {"k2": parse_type("text"), "x2": parse_type("integer")}
                inner = f"SELECT {name}.*, {two.name}.k AS k2, {two.name}.x AS x2 FROM {name}"
                joined = self._pick(("JOIN", "LEFT JOIN"))
                return f"({inner} {joined} {two.name} ON {name}.u = {two.name}.u) q", {
                    **names,
                    **more,
                }
            case 5:
                inner = f"SELECT u, k, x FROM {name} UNION ALL SELECT u, k, -x FROM t2"
                return f"({inner}) q", {"k": names["k"], "x": names["x"]}
            case 6:
                inner = f"SELECT * FROM {name} a WHERE EXISTS (SELECT 1 FROM t2 b WHERE b.u = a.u"
                return f"({inner} AND b.x > a.x)) q", names
            case 7:
                inner = (
                    f"SELECT {name}.*, codes.n FROM {name} LEFT JOIN codes ON codes.code = {name}.k"
                )
                return f"({inner}) q", {**names, "n": parse_type("integer")}
            case _:
                return name, names

    def _key(self, names: dict[str, ColumnType]) -> str:
        name = self._pick(list(names))
        match names[name].family, self._chance.randrange(4):
            case _, 0 | 1:
                return name
            case Family.TEXT, _:
                return self._pick((f"LOWER({name})", f"COALESCE({name}, '~')", f"LENGTH({name})"))
            case ((Family.DATE | Family.TIMESTAMP), _):
                return self._pick((f"EXTRACT(year FROM {name})", f"DATE_TRUNC('month', {name})"))
            case ((Family.WHOLE | Family.EXACT | Family.FLOAT), _):
                return self._pick(
                    (f"{name} + 1", f"{name} / 3", f"-{name}", f"CAST({name} AS integer)")
                )
            case _:
                return f"{name} IS NULL"

    def _measure(self, names: dict[str, ColumnType]) -> str:
        name = self._pick(list(names))
        numbers = [
            one
            for one, of in names.items()
            if of.family in {Family.WHOLE, Family.EXACT, Family.FLOAT}
        ]
        number = self._pick(numbers)
        made = self._pick((
            *("COUNT(*)", f"COUNT({name})", f"COUNT(DISTINCT {name})", f"SUM({number})"),
            *(f"AVG({number})", f"SUM({number} * {number})", f"SUM(GREATEST(LEAST({number}, 9), -9))"),
        ))  # fmt: skip
        if self._chance.random() < 0.2:
            made += f" FILTER (WHERE {self._condition(names)})"
        return made

    def _condition(self, names: dict[str, ColumnType]) -> str:
        name = self._pick(list(names))
        match names[name].family:
            case Family.WHOLE | Family.EXACT | Family.FLOAT:
                return self._pick((f"{name} > 0", f"{name} IN (1, 7)", f"{name} / {name} = 1"))
            case Family.TEXT:
                return self._pick((f"{name} LIKE '%a%'", f"{name} < 'a'", f"{name} <> 'ä'"))
            case Family.BOOLEAN:
                return f"NOT {name}"
            case _:
                return f"{name} IS NOT NULL"

    def _pick(self, among: Sequence[_T]) -> _T:
        return self._chance.choice(among)
