"""Reporting ranges of a policy: the width of the ranges for each aggregate of a release.

Ranges change how results look; the noise protects persons. A value computed in another way, such as a sum
divided by a count, may be finer; the rule only says that no single result of the column is.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from gateway.catalog.domains import Interval, domain_width
from gateway.catalog.tables import Column, ColumnRef, Dataset
from gateway.catalog.types import Family
from gateway.catalog.values import InvalidValue, read_number
from gateway.errors import Code, NotPermitted
from gateway.plan.aggregates import Aggregate, Measure
from gateway.plan.scalars import Case, Ref, Scalar
from gateway.policy.field_types import seconds_of
from gateway.policy.model import PolicyModel
from gateway.policy.policy import ReportedRanges
from gateway.policy.validate import Complaints, FieldPath
from gateway.policy.yaml import quote_word
from gateway.units import format_decimal

_NUMBERS: Final = frozenset({Family.WHOLE, Family.EXACT, Family.FLOAT})
_RANGED: Final = _NUMBERS | {Family.DATE, Family.TIMESTAMP}
_UNITS: Final = {Family.DATE: " days", Family.TIMESTAMP: " seconds"}
_COUNTS: Final = frozenset({"count", "regr_count"})
_SQUARES: Final = frozenset({"var_pop", "var_samp", "variance", "covar_pop", "covar_samp"}) | {
    "regr_sxx",
    "regr_syy",
    "regr_sxy",
}
_AMOUNTS: Final = frozenset({"sum", "avg", "min", "max", "percentile_cont", "percentile_disc"}) | {
    "mode",
    "dp_top",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "regr_avgx",
    "regr_avgy",
    "regr_intercept",
}


def ranges_of(plan: Aggregate, reported: ReportedRanges) -> tuple[Fraction | None, ...]:
    """For each measure of a release the width of its ranges, None if it is shown as it is.

    A refusal, if a column with ranges has none for this aggregate.
    """
    return tuple(_width(measure, reported) for _, measure in plan.measures)


def range_notices(plan: Aggregate, ranges: tuple[Fraction | None, ...]) -> Iterator[str]:
    """Notices for the analyst about ranges."""
    for (_, measure), width in zip(plan.measures, ranges, strict=False):
        if width is not None:
            unit = _UNITS.get(measure.type.family, "")
            yield f"`{measure}` is reported in ranges of {format_decimal(width)}{unit}"


def read_reported(model: PolicyModel, dataset: Dataset, complaints: Complaints) -> ReportedRanges:
    """The ranges of the file, checked against the columns."""
    columns: dict[ColumnRef, Fraction] = {}
    for table_name, table in model.tables.items():
        for name, column in table.columns.items():
            reference = ColumnRef(table_name, name)
            declared = dataset.find(reference)
            if column.report is None or declared is None:
                continue
            path = ("tables", table_name, "columns", name, "report")
            if table.public:
                message = "a public table is shown as it is: its columns have no `report`"
                complaints.add(path, message, at_key=True)
                continue
            width = _read(column.report.ranges, declared, (*path, "ranges"), complaints)
            if width is not None:
                columns[reference] = width
    counted = model.answers.report
    return ReportedRanges(None if counted is None else Fraction(counted.count), columns)


def _read(written: str, column: Column, path: FieldPath, complaints: Complaints) -> Fraction | None:
    family = column.type.family
    if family not in _RANGED:
        hint = "numbers, dates and timestamps can be"
        complaints.add(path[:-1], f"`{column.type}` cannot be reported in ranges", hint)
        return None
    try:
        width = seconds_of(written) if family is Family.TIMESTAMP else read_number(written)
    except InvalidValue as error:
        complaints.add(path, str(error))
        return None
    domain = column.domain
    step = domain.step if isinstance(domain, Interval) else column.type.resolution
    if width <= 0:
        complaints.add(path, "`ranges` must be above zero")
        return None
    if step is not None and width % step:
        message = f"ranges of {quote_word(written)} are no whole number of steps of the column"
        complaints.add(path, message, f"a multiple of {float(step):g}")
        return None
    if isinstance(domain, Interval) and width > domain_width(domain.low, domain.high) > 0:
        complaints.warn(path, "these ranges are wider than the whole domain")
    return width


def _width(measure: Measure, reported: ReportedRanges) -> Fraction | None:
    if measure.function in _COUNTS:
        return reported.count
    released = frozenset[ColumnRef]().union(*(_released_columns(one) for one in measure.arguments))
    if measure.function == "sum" and not released:
        return reported.count  # of numbers that stand in the statement: a count
    ranged = {one: reported.columns[one] for one in released if one in reported.columns}
    if not ranged:
        return None
    # fail closed: of several columns the coarsest ranges
    widest = max(ranged.values())
    if measure.function in _AMOUNTS:
        return widest
    if measure.function in _SQUARES:
        return widest**2
    names = ", ".join(f"`{one}`" for one in sorted(ranged))
    raise NotPermitted(
        Code.OPERATION_NOT_PERMITTED,
        f"results of {names} are reported in ranges, and `{measure.function}` cannot be reported in ranges",
        "use COUNT, SUM, AVG, a percentile or a standard deviation",
    )


def _released_columns(scalar: Scalar) -> frozenset[ColumnRef]:
    """The columns whose values appear in the value: not those that only a condition reads."""
    if scalar.type.family is Family.BOOLEAN:
        return frozenset()
    if isinstance(scalar, Ref):
        return scalar.field.origins
    parts = scalar.results if isinstance(scalar, Case) else scalar.parts
    return frozenset[ColumnRef]().union(*(_released_columns(one) for one in parts))
