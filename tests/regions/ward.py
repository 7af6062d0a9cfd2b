"""A dataset for these tests: tables of persons that reach each other, columns with and without domains and NULL."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from fractions import Fraction

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.bounding.time_zone import fold_moments
from gateway.catalog.domains import Anything, Domain, Interval, Values
from gateway.catalog.tables import Column, ColumnClass, ColumnRef, Dataset, Protection, Table
from gateway.catalog.types import parse_type
from gateway.plan.aggregates import Aggregate
from gateway.policy.decide import Rows, filter_rows
from gateway.regions.cells import contains
from gateway.regions.region import Region
from gateway.regions.scope import ReleaseScope, scope_of
from gateway.sensitivity.analysis import EnumeratedGroups
from gateway.sensitivity.analyze import analyze_release

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
_ONE = Fraction(1)
_QUASI = ColumnClass.QUASI


def column(
    name: str,
    of: str,
    domain: Domain | None = None,
    *,
    nullable: bool = True,
    column_class: ColumnClass | None = None,
    joins: ColumnRef | None = None,
) -> Column:
    return Column(name, parse_type(of), domain or Anything(), column_class, nullable, joins=joins)


PATIENTS = Table(
    "patients",
    (
        column("patient_id", "bigint"),
        column("region", "text", Values(("north", "east", "south", "west")), nullable=False),
        column("sex", "text", Values(("f", "m"))),
        column("birth_year", "integer", Interval(1920, 2020, _ONE), nullable=False),
        column("height", "integer", Interval(100, 220, Fraction(5))),
        column("income", "numeric", Interval(Fraction(0), Fraction(200_000), _ONE)),
        column("smoker", "boolean"),
        column("name", "text", column_class=_QUASI),
    ),
    Protection("patient_id", 1, 1),
)
VISITS = Table(
    "visits",
    (
        column("visit_id", "bigint"),
        column("patient_id", "bigint", joins=ColumnRef("patients", "patient_id")),
        column("diagnosis", "text"),
        column("cost", "numeric(12,2)", Interval(Fraction(0), Fraction(5_000), Fraction(1, 100))),
        column(
            "visit_date",
            "date",
            Interval(date(2020, 1, 1), date(2026, 12, 31), _ONE),
            nullable=False,
            column_class=_QUASI,
        ),
        column(
            "admitted",
            "timestamp without time zone",
            Interval(datetime(2020, 1, 1), datetime(2026, 12, 31), _ONE),  # noqa: DTZ001 - without zone
        ),
        column("weight", "double precision", Interval(_ONE, Fraction(300), _ONE)),
        column("ward", "integer"),
    ),
    Protection("patient_id", 10, 4),
)
LABS = Table(
    "labs",
    (column("person", "bigint"), column("value", "integer", Interval(0, 50, _ONE))),
    Protection("person", 5, 2),
)
REGIONS = Table(
    "regions", (column("region", "text"), column("capital", "text"), column("people", "integer"))
)
WARD = Dataset("ward", "patient", (PATIENTS, VISITS, LABS, REGIONS))


def plan_of(sql: str, dataset: Dataset = WARD, rows: Mapping[str, Rows] | None = None) -> Aggregate:
    bound = bind(sql, dataset)
    assert isinstance(bound, Cut)
    plan = fold_moments(bound.releases[-1].plan, NOON)
    assert isinstance(plan, Aggregate)
    return filter_rows(plan, dataset, rows) if rows else plan


def scope(
    sql: str, dataset: Dataset = WARD, rows: Mapping[str, Rows] | None = None
) -> ReleaseScope:
    """What a statement is about."""
    plan = plan_of(sql, dataset, rows)
    found = analyze_release(plan, pairs=True, enumerated_groups=10_000, min_units=10)
    listed = found.groups if isinstance(found.groups, EnumeratedGroups) else None
    constants = {f"_{kind}{place}": f"id-{kind}{place}" for kind in "rspf" for place in range(9)}
    return scope_of(plan, listed, constants)


def where(condition: str, table: str = "patients") -> Region:
    """The rows for which a condition is true."""
    return scope(f"SELECT COUNT(*) FROM {table} WHERE {condition}").region


def has(region: Region, row: Mapping[str, int | str | None]) -> bool:
    """Whether a row, given by the cells it is in, is in the region."""
    return any(all(contains(cells, row[name]) for name, cells in box.parts) for box in region.boxes)
