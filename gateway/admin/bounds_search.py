"""`policy bounds`: bounds of columns, found with noise and paid for.

A domain cannot be read from the data: its ends would be exact values of persons. A search asks for two values near the
ends of a column over a wide domain that the type or the operator gives, and again over what it found, until the ends
are fine enough. Each round is a question of the reserved subject `operator` that goes the way of every question.

All rounds but the last ask for MIN and MAX: the mechanism aims as many rows within the data as its noise needs, however
few rows there are. A quantile of 99.5 % that misses by more than the last 0.5 % of the rows would be anywhere above
them. The last round asks for quantiles, which leave out the outliers of a large table; there the domain is narrow.

Why the suggestions are private: a round differs from an analyst's question by its policy alone. There the column has
the wide domain, which no row decides, and one rule lets the operator aggregate it. The pipeline bounds persons'
contributions, draws the values by the exponential mechanism, charges the ledger before the source computes, and
records the question; it refuses what does not fit. The domain of the next round, when to stop, and the rounded ends
are functions of released values and of the type (post-processing). So all rounds together cost at most the declared
epsilon, and rounds that are not needed are not paid.

INVARIANT: nothing of the source is read here but answers of the pipeline. The number of rounds that a price is split
over depends on the type and the first domain, never on rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from math import ceil, floor, log10
from types import MappingProxyType
from typing import Final

from gateway.admin.domain_edits import DomainEdit
from gateway.catalog.domains import Bound, Interval, domain_width
from gateway.catalog.tables import Column, ColumnRef, Dataset, Table
from gateway.catalog.types import ColumnType, Family
from gateway.catalog.values import InvalidValue, Value, read_number, read_value
from gateway.digest import digest
from gateway.errors import Code, OperatorError
from gateway.policy.conditions.condition import compile_condition
from gateway.policy.files.load import LoadedPolicies
from gateway.policy.policy import Effect, Operation, Policy, Rule
from gateway.policy.subjects import Subject
from gateway.sensitivity.choices import MOST_BUCKETS
from gateway.units import Epsilon

OPERATOR: Final = Subject("operator")
"""A name that no subject can have: its account is that of searches alone."""
TAILS: Final = ("0.005", "0.995")
_RULE: Final = "policy-bounds"
_TIMES: Final = {
    Family.DATE: ("1900-01-01", "2100-12-31"),
    Family.TIMESTAMP: ("1900-01-01 00:00:00", "2100-12-31 00:00:00"),
}
_WIDEST: Final = 10**9
_NUMBERS: Final = frozenset({Family.WHOLE, Family.EXACT, Family.FLOAT})
_FINE: Final = 100  # so many buckets across what was found are fine enough
_LONG_DAYS: Final = 90
_DAY_S: Final = 86_400
_MOST_ROUNDS: Final = 3
_USUAL_STEP: Final = Fraction(1, 100)


@dataclass(frozen=True)
class Search:
    """One column and the domain that its ends are looked for in; so many rounds are left."""

    table: str
    column: Column
    domain: Interval
    left: int = 1

    @property
    def reference(self) -> ColumnRef:
        return ColumnRef(self.table, self.column.name)

    @property
    def sql(self) -> str:
        """The question of a round."""
        name = ".".join(f'"{part}"' for part in self.table.split("."))
        column = f'"{self.column.name}"'
        ends = f"MIN({column}), MAX({column})"
        if self.left == 1:
            order = f"WITHIN GROUP (ORDER BY {column})"
            ends = ", ".join(f"percentile_disc({tail}) {order}" for tail in TAILS)
        return f"SELECT {ends} FROM {name}"  # noqa: S608 - a question; the gateway writes the source's SQL

    @property
    def where(self) -> str:
        """The domain, for the trail."""
        return f"{_text(self.domain.low)} to {_text(self.domain.high)}"

    @property
    def bucket(self) -> Fraction:
        """No bucket of a round is wider: there are between half of the most and the most."""
        return 2 * self.domain.width / MOST_BUCKETS + self.domain.step

    def narrowed(self, low: Bound, high: Bound) -> "Search | None":
        """The search in the next round; None if what was found is fine enough."""
        width = domain_width(low, high)
        if self.left == 1 or self.bucket <= max(width / _FINE, self.domain.step * 2):
            return None
        whole, step = self.domain, self.domain.step
        before = floor((domain_width(whole.low, low) - self.bucket) / step)
        behind = floor((domain_width(high, whole.high) - self.bucket) / step)
        domain = Interval(
            _moved(whole.low, max(before, 0) * step),
            _moved(whole.high, -max(behind, 0) * step),
            step,
        )
        return replace(self, domain=domain, left=self.left - 1)

    def suggestion(self, low: Bound, high: Bound) -> DomainEdit:
        """The domain to declare: its ends are rounded outwards to short texts, and a type without steps gets one."""
        of, step = self.column.type, None
        if of.family in _NUMBERS:
            ends = _short_numbers(_fraction(low), _fraction(high), self.domain)
            if of.resolution is None:
                step = _decimal(_common_step(*map(read_number, ends)))
        else:
            ends = _short_times(low, high)
            step = "1s" if of.family is Family.TIMESTAMP else None
        return DomainEdit(self.reference, *ends, step)


def new_search(dataset: Dataset, written: str, given: tuple[str, str] | None) -> Search:
    """A search for the column written as `table.column`, from `given` bounds or those of its type."""
    table, column = _column(dataset, written)
    of = column.type
    ends = given or _widest(of)
    if ends is None:
        raise OperatorError(
            Code.ARGUMENT_INVALID,
            f"`{written}` is `{of}`, which has no bounds",
            "bounds are found for numbers, dates and timestamps",
        )
    try:
        low, high = (_bound(read_value(end, of)) for end in ends)
        reversed_ = domain_width(low, high) <= 0
    except (InvalidValue, TypeError) as error:
        raise OperatorError(Code.ARGUMENT_INVALID, f"--between: {error}") from None
    if reversed_:
        raise OperatorError(Code.ARGUMENT_INVALID, "--between: the bounds are reversed")
    domain = _domain(low, high, _step(of, low, high))
    return Search(table.name, column, domain, _rounds(domain))


def assumed_policies(loaded: LoadedPolicies, dataset: str, search: Search) -> LoadedPolicies:
    """The policies of a round: the column has the domain of the search, and the operator alone may ask, for it alone.

    Budget, prices and contribution bounds are those of the policy, but no histogram of norms is sold: all rounds together
    have one price. The digest is one of its own, so that the trail tells
    rounds from the files.
    """
    policy = loaded.policies[dataset]
    protected = [table.name for table in policy.dataset.tables if not table.public]
    rule = Rule(
        _RULE,
        Effect.PERMIT,
        compile_condition("true"),
        frozenset(protected),
        MappingProxyType({Operation.AGGREGATE: frozenset({search.reference})}),
        budget=policy.privacy.budget,
    )
    assumed = replace(
        policy,
        dataset=_with_domain(policy, search),
        rules=(rule,),
        clipping=replace(policy.clipping, price=Epsilon.zero()),
    )
    told = f"{loaded.digest} {search.reference} {search.domain.low} {search.domain.high}"
    return replace(
        loaded,
        policies=MappingProxyType({dataset: assumed}),
        subjects=MappingProxyType({OPERATOR.name: OPERATOR}),
        digest=digest(told),
        warnings=(),
    )


def released_bounds(search: Search, row: Sequence[str | None]) -> tuple[Bound, Bound] | None:
    """The two ends in an answer; None if it has none."""
    values = [_released(text, search.column.type) for text in row if text is not None]
    if len(values) != len(TAILS):
        return None
    low, high = values
    return (low, high) if domain_width(low, high) >= 0 else (high, low)


def _released(text: str, of: ColumnType) -> Bound:
    """An end as PostgreSQL writes it; the middle of a bucket need not be a value of the type."""
    if of.family not in _NUMBERS:
        return _bound(read_value(text, of))
    number = read_number(text)
    return round(number) if of.family is Family.WHOLE else number


def _with_domain(policy: Policy, search: Search) -> Dataset:
    def column(one: Column) -> Column:
        return replace(one, domain=search.domain) if one.name == search.column.name else one

    def table(one: Table) -> Table:
        if one.name != search.table:
            return one
        return replace(one, columns=tuple(map(column, one.columns)))

    return replace(policy.dataset, tables=tuple(map(table, policy.dataset.tables)))


def _column(dataset: Dataset, written: str) -> tuple[Table, Column]:
    name, _, column = written.rpartition(".")
    table = dataset.table(name)
    found = None if table is None else table.column(column)
    if table is None or found is None:
        raise OperatorError(
            Code.ARGUMENT_INVALID,
            f"the policy has no column `{written}`",
            "write TABLE.COLUMN as the policy does",
        )
    if table.public:
        raise OperatorError(
            Code.ARGUMENT_INVALID,
            f"`{name}` is a public table",
            "look at its values, nobody has to be protected from that",
        )
    if found.immutable:
        raise OperatorError(
            Code.ARGUMENT_INVALID,
            f"`{written}` is `immutable`: the budget is counted by its domain, which cannot be searched for",
            "declare its domain by what is known of the column",
        )
    return table, found


def _rounds(domain: Interval) -> int:
    """How many rounds the price is split over: each narrows the domain by thousands."""
    steps = max(float(domain.width / domain.step), 2.0)
    return max(1, min(_MOST_ROUNDS, ceil(log10(steps) / log10(MOST_BUCKETS / 4))))


def _widest(of: ColumnType) -> tuple[str, str] | None:
    """The domain of a type where nobody says more."""
    if of.family in _TIMES:
        return _TIMES[of.family]
    if of.family not in _NUMBERS:
        return None
    most = _WIDEST if of.bound is None else min(_WIDEST, floor(of.bound) - 1)
    return str(-most), str(most)


def _step(of: ColumnType, low: Bound, high: Bound) -> Fraction:
    """A step of the search: seconds of times, the type's own of the others, a millionth of the width of floats."""
    if of.family is Family.TIMESTAMP:
        return Fraction(1)
    if of.resolution is not None:
        return of.resolution
    width = domain_width(low, high)
    return Fraction(10) ** floor(log10(width) - 12)


def _domain(low: Bound, high: Bound, step: Fraction) -> Interval:
    """The interval, a little longer if the step does not divide it."""
    over = domain_width(low, high) % step
    return Interval(low, _moved(high, step - over) if over else high, step)


def _moved(value: Bound, way: Fraction) -> Bound:
    """A value so many numbers, days or seconds away; the way is whole for all but decimals."""
    if isinstance(value, datetime):
        return value + timedelta(seconds=int(way))
    if isinstance(value, date):
        return value + timedelta(days=int(way))
    return value + (int(way) if isinstance(value, int) else way)


def _bound(value: Value) -> Bound:
    if isinstance(value, int | Fraction | date) and not isinstance(value, bool):
        return value
    raise InvalidValue("this is no bound")


def _text(value: Bound) -> str:
    return _decimal(Fraction(value)) if isinstance(value, int | Fraction) else value.isoformat()


def _fraction(value: Bound) -> Fraction:
    return Fraction(value) if isinstance(value, int | Fraction) else Fraction(0)


def _short_numbers(low: Fraction, high: Fraction, domain: Interval) -> tuple[str, str]:
    """Two digits of the width are enough: what is beyond is cut, and rounding outwards cuts less."""
    width = high - low or max(abs(high), domain.step)
    unit = max(Fraction(10) ** (floor(log10(width)) - 1), domain.step)
    return _decimal(floor(low / unit) * unit), _decimal(ceil(high / unit) * unit)


def _common_step(low: Fraction, high: Fraction) -> Fraction:
    """A hundredth, or the decimal digit that divides the distance of the ends."""
    step = _USUAL_STEP
    while (high - low) % step:
        step /= 10
    return step


def _decimal(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else f"{float(number):.12g}"


def _short_times(low: Bound, high: Bound) -> tuple[str, str]:
    """Whole months of a long time, whole days of a short one."""
    if not isinstance(low, date) or not isinstance(high, date):
        raise InvalidValue("this is no time")
    first = low.date() if isinstance(low, datetime) else low
    last = high.date() if isinstance(high, datetime) else high
    if (last - first).days > _LONG_DAYS:
        first = first.replace(day=1)
        after = (last.replace(day=28) + timedelta(days=4)).replace(day=1)
        last = after - timedelta(days=1)
    elif isinstance(high, datetime):
        last += timedelta(days=1)
    return first.isoformat(), last.isoformat()
