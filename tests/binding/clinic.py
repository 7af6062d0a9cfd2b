"""A dataset to bind against: two tables of persons, two public ones, as a policy would declare them."""

from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction

from gateway.catalog.domains import Anything, Domain, Interval, Values
from gateway.catalog.json_values import JsonSource
from gateway.catalog.tables import Column, Dataset, Protection, Table
from gateway.catalog.types import parse_type
from gateway.catalog.unused_types import UnusedColumn

_ONE = Fraction(1)


def _column(name: str, of: str, domain: Domain | None = None, *, nullable: bool = True) -> Column:
    return Column(name, parse_type(of), domain or Anything(), nullable=nullable)


_INCOME = Interval(Fraction(0), Fraction(200_000), _ONE)
_COST = Interval(Fraction(0), Fraction(5_000), Fraction(1, 100))
_DAYS = Interval(date(2020, 1, 1), date(2026, 12, 31), _ONE)
_TIMES = Interval(datetime(2020, 1, 1), datetime(2026, 12, 31), _ONE)  # noqa: DTZ001 - without zone

_HEIGHT = Interval(Fraction(0), Fraction(300), Fraction(1, 10))


def _path(*keys: str) -> JsonSource:
    return JsonSource("details", keys, 1_000, is_binary=True)


CLINIC = Dataset(
    "clinic",
    "patient",
    (
        Table(
            "patients",
            (
                _column("patient_id", "bigint"),
                _column("region", "text", Values(("north", "east", "south", "west"))),
                _column("birth_year", "integer", Interval(1920, 2020, _ONE)),
                _column("income", "numeric", _INCOME),
                _column("smoker", "boolean"),
                _column("name", "text"),
            ),
            Protection("patient_id", 1, 1),
        ),
        Table(
            "visits",
            (
                _column("visit_id", "bigint"),
                _column("patient_id", "bigint"),
                _column("diagnosis", "text"),
                _column("cost", "numeric(12,2)", _COST),
                _column("visit_date", "date", _DAYS),
                _column("admitted", "timestamp without time zone", _TIMES),
                _column("weight", "double precision", Interval(_ONE, Fraction(300), _ONE)),
            ),
            Protection("patient_id", 10, 4),
        ),
        Table(
            "regions",
            (
                _column("region", "text"),
                _column("capital", "text"),
                _column("population", "integer"),
            ),
        ),
        Table(
            "intakes",
            (
                _column("patient_id", "bigint"),
                replace(_column("drinks", "boolean"), json=_path("drinks")),
                replace(_column("height", "numeric(5,1)", _HEIGHT), json=_path("body", "height")),
                replace(_column("note", "text"), json=_path("note")),
                replace(_column("seen", "date", _DAYS), json=_path("seen")),
                replace(_column("score", "double precision", _HEIGHT), json=_path("score")),
            ),
            Protection("patient_id", 10, 4),
            unused=(UnusedColumn("details", "jsonb"), UnusedColumn("address", "inet")),
        ),
        Table("codes", (_column("code", "text"), _column("chapter", "text"))),
    ),
)
