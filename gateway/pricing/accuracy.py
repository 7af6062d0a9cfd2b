"""Accuracy in, epsilon out: the smallest price that keeps the promised accuracy in every noisy cell.

Error formulas, which contain no data, give the error of each column at a price. The search runs over decimals of three
digits: the promise holds at the price that is found and fails at the next smaller one. Approximate margins, which are
cheap, tell where the search starts; exact margins decide.

INVARIANT: the price depends only on the query, the policy and the rate of the ledger. It is charged like a named price:
an accuracy that needs more than the policy allows is refused.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Final

from gateway.errors import Code, SyntaxRefused
from gateway.intervals.expected_error import Error, ExpectedDual, error_of
from gateway.intervals.margins import exact_margin, near_margin
from gateway.noise.combined_noise import AnyNoise
from gateway.plan.formulas import Each
from gateway.pricing.price import AnalyzedQuery, accounts_on_path, noise_at
from gateway.requests.request import Accuracy, Estimate
from gateway.results.rollup import PricedRelease
from gateway.sensitivity.grouping_sets import GroupingSet
from gateway.state.journal import Journal
from gateway.units import Epsilon

_DIGITS: Final = 900  # decimals of three digits between two powers of ten
_SMALLEST: Final = -6  # the power of ten that prices begin with
_PRICES: Final = 12 * _DIGITS
_INSTEAD: Final = "give `epsilon` instead of `accuracy`"

Margin = Callable[[AnyNoise, Fraction], int]


@dataclass(frozen=True, slots=True)
class Promise:
    """A column in the rows of one grouping set, and its error formula."""

    column: int
    level: GroupingSet
    error: Error


class Trial:
    """The promises, compared with the noise that a price buys."""

    def __init__(
        self,
        accuracy: Accuracy,
        promises: Iterable[Promise],
        noise: Callable[[Epsilon], PricedRelease],
    ) -> None:
        self._accuracy = accuracy
        self._noise = noise
        self._promises = list({_alike(one): one for one in promises}.values())

    def broken(self, price: Epsilon, margin: Margin) -> Promise | None:
        """A promise that the price does not keep; None if it keeps all."""
        release = self._noise(price)
        levels: dict[int, ExpectedDual] = {}
        for one in self._promises:
            ahead = levels.get(id(one.level))
            if ahead is None:
                ahead = _ahead(release, one.level, self._accuracy, margin)
                levels[id(one.level)] = ahead
            if not ahead.within(one.error, self._accuracy.target):
                self._promises.remove(one)  # what fails at one price is likely to fail at the next
                self._promises.insert(0, one)
                return one
        return None

    def cheapest(self) -> Epsilon | None:
        """The smallest price that keeps all promises; None where no price does."""
        near = bisect_left(
            range(_PRICES), True, key=lambda place: self.broken(_price(place), near_margin) is None
        )
        found = _least(lambda place: self.broken(_price(place), exact_margin) is None, near)
        return None if found is None else _price(found)


def price_for_accuracy(query: AnalyzedQuery, journal: Journal) -> AnalyzedQuery:
    """The query at the price that its accuracy needs; unchanged, if none was asked for or nothing is measured."""
    accuracy = query.question.request.accuracy
    if accuracy is None:
        return query
    if query.epsilon is not None:
        raise SyntaxRefused(
            Code.BAD_REQUEST, "`epsilon` and `accuracy` are both given", "give only one of them"
        )
    if not query.measures:
        return query
    ledger = accounts_on_path(journal, query)[0].ledger
    place, promises = _promises(query, accuracy)

    def noise(price: Epsilon) -> PricedRelease:
        return noise_at(query, ledger.cost(price))[place]

    price = Trial(accuracy, promises, noise).cheapest()
    if price is None:
        raise _refused(f"no price reaches {accuracy}")
    # an answer that is more exact than requested keeps the promise too
    price = max(price, query.policy.privacy.lowest_price)
    highest = query.policy.privacy.highest_price
    if price > highest:
        raise SyntaxRefused(
            Code.BAD_REQUEST,
            f"{accuracy} needs an `epsilon` of {price}, but a query may cost at most {highest}",
            "request less accuracy, or fewer aggregates in one query",
        )
    return replace(query, epsilon=price)


def add_margins(
    estimate: Estimate, query: AnalyzedQuery, releases: Sequence[PricedRelease]
) -> Estimate:
    """The estimate with the margin of each column at the requested confidence."""
    accuracy = query.question.request.accuracy
    if accuracy is None or not query.measures:
        return estimate
    place, promises = _promises(query, accuracy)
    margins: dict[int, float] = {}
    for one in promises:
        ahead = _ahead(releases[place], one.level, accuracy, exact_margin)
        margins[one.column] = max(ahead.margin_of(one.error), margins.get(one.column, 0.0))
    columns = tuple(
        replace(one, promised_margin=margins.get(column))
        for column, one in enumerate(estimate.columns)
    )
    return replace(estimate, columns=columns)


def _ahead(
    release: PricedRelease, level: GroupingSet, accuracy: Accuracy, margin: Margin
) -> ExpectedDual:
    # choices do not add up: those of a grouping set are of the part that has its own keys, which comes last
    choices = release.parts[level.drawn[-1].part].choices
    return ExpectedDual(release.noises(level), choices, accuracy.confidence, accuracy.rows, margin)


def _promises(query: AnalyzedQuery, accuracy: Accuracy) -> tuple[int, tuple[Promise, ...]]:
    """Of which release the rows are, and every noisy column in every grouping set; or what is missing for it."""
    cut = query.cut
    if cut.traced is None or cut.traced.others:
        raise _refused(
            "the accuracy of the result cannot be predicted, because its rows combine several aggregations"
        )
    cells = cut.traced.cells
    place = [step.name for step in cut.releases].index(cells.name)
    release = query.releases[place]
    promises: list[Promise] = []
    columns = zip(cut.result or (), cells.forms, cells.noisy, strict=True)
    for number, (column, form, noisy) in enumerate(columns):
        if not noisy:
            continue
        if form is None:
            raise _refused(
                f"the accuracy of `{column.name}` cannot be predicted, because it combines several aggregations"
                " or truncates a quotient of whole numbers"
            )
        parts = form.forms if isinstance(form, Each) else (form,)
        for level, part in product(release.levels, parts):
            error = error_of(part, level.formulas, release.ranges)
            promises.append(Promise(number, level, _required(column.name, error, accuracy)))
    if not promises:
        raise _refused("no column of the result is noisy")
    return place, tuple(promises)


def _required(column: str, error: Error | None, accuracy: Accuracy) -> Error:
    """The error, when all that it depends on was said."""
    if error is None:
        raise _refused(
            f"the accuracy of `{column}` cannot be predicted, because it depends on the data"
        )
    if error.means and accuracy.rows is None:
        raise _refused(
            f"`rows` is missing: the accuracy of `{column}` depends on the rows in a group",
            "add `rows`, the least number of rows in a group",
        )
    if error.choice is not None and accuracy.margin is None:
        raise _refused(
            f"`margin` is missing: the accuracy of `{column}` is measured in ranks",
            "add `margin`, the number of ranks that the result may be off",
        )
    return error


def _refused(detail: str, hint: str = _INSTEAD) -> SyntaxRefused:
    return SyntaxRefused(Code.BAD_REQUEST, detail, hint)


def _alike(promise: Promise) -> tuple[object, ...]:
    """Equal for those that hold at the same prices."""
    return promise.error, tuple((one.part, one.together) for one in promise.level.drawn)


def _price(place: int) -> Epsilon:
    power, digits = divmod(place, _DIGITS)
    return Epsilon((100 + digits) * Fraction(10) ** (power + _SMALLEST - 2))


def _least(holds: Callable[[int], bool], near: int) -> int | None:
    """The smallest place that holds, where those above it hold too; found fast near `near`."""
    low, high, step = near - 1, near, 1
    if near < _PRICES and holds(near):
        while low >= 0 and holds(low):
            low, high, step = low - 2 * step, low, 2 * step
        low = max(low, -1)
    else:
        low, high = near, near + 1
        while high < _PRICES and not holds(high):
            low, high, step = high, high + 2 * step, 2 * step
        high = min(high, _PRICES)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high if high < _PRICES else None
