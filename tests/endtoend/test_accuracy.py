"""Accuracy in, epsilon out: the price that is found is charged and told, keeps its promise, and is the smallest that does."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import pytest
from endtoend.clinic_gateway import AskedGateway, a_gateway, clinic_in_duckdb, shown
from endtoend.clinic_policy import policy
from endtoend.clinic_rows import rows
from fix_servers import SharedServers
from queries import analyzed

from gateway.cancellation import CancelEvent
from gateway.errors import Code, SyntaxRefused
from gateway.pricing.accuracy import add_margins
from gateway.pricing.price import accounts_on_path, estimate_price, noise_for_price
from gateway.requests.request import Accuracy, Answer, Estimate, Request
from gateway.trail.search import all_records
from gateway.units import Epsilon

_DATASETS = {"laplace": "laplace", "gaussian": "gaussian", "found": "gaussian"}
_COUNT = "SELECT COUNT(*) FROM patients"
_SUM = "SELECT SUM(income) FROM patients"
_SHAPES = (
    _COUNT,
    "SELECT region, COUNT(*), SUM(birth_year) / 1000.0 AS s FROM patients GROUP BY region",
    "SELECT region, AVG(birth_year) + 3 AS x, COUNT(smoker) - 7 AS n FROM patients GROUP BY region",
    "SELECT n * 2 AS m FROM (SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis) t WHERE n > 5",
    "SELECT region, smoker, COUNT(*) FROM patients GROUP BY ROLLUP (region, smoker)",
    "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY income), MIN(birth_year) FROM patients",
)
_ACCURACIES = (
    {"margin": "40", "rows": "100"},
    {"margin": "25.5", "confidence": "0.99", "rows": "1000"},
    {"relative": "0.1", "floor": "3000", "confidence": "0.8", "rows": "50"},
)


@pytest.fixture(scope="module")
def gateway(
    tmp_path_factory: pytest.TempPathFactory, servers: SharedServers
) -> Iterator[AskedGateway]:
    """Groups are listed in `laplace` and `gaussian`, and found in `found`; questions may cost 1000."""
    folder = tmp_path_factory.mktemp("accuracy")
    policies = {
        name: policy(
            name, name.upper(), mechanism, groups=1 if name == "found" else 10_000, price="1000",
            budget="1e6",
        ).replace("default: 1000", "default: 1").replace("clip: {default: 1024, price: 0}", "clip: {default: 16, price: 0}")
        for name, mechanism in _DATASETS.items()
    }  # fmt: skip
    environment = {
        name.upper(): shown(clinic_in_duckdb(folder / f"{name}.duckdb")) for name in policies
    }
    with a_gateway(policies, environment, servers) as opened:
        yield opened


def _request(sql: str, dataset: str, accuracy: dict[str, str]) -> Request:
    return Request(sql, dataset=dataset, accuracy=Accuracy.parse(accuracy))


def _estimated(gateway: AskedGateway, sql: str, dataset: str, accuracy: dict[str, str]) -> Estimate:
    return gateway.asking.estimate(gateway.subjects["alice"], _request(sql, dataset, accuracy))


def _answered(gateway: AskedGateway, sql: str, dataset: str, accuracy: dict[str, str]) -> Answer:
    request = _request(sql, dataset, accuracy)
    return gateway.asking.answer(gateway.subjects["alice"], request, CancelEvent())


def _said(accuracy: dict[str, str], sql: str) -> dict[str, str]:
    """How far quantiles are off is said in ranks, so there is no part of a value."""
    if "PERCENTILE" not in sql or "margin" in accuracy:
        return accuracy
    return {"margin": "60", "confidence": "0.8"}


def _below(price: Epsilon) -> Epsilon:
    """The next smaller decimal of three digits."""
    power = Fraction(1, 10**9)
    while price.value / power >= 1000:
        power *= 10
    digits = price.value / power
    assert digits.denominator == 1, "a price has three digits"
    return Epsilon(Fraction(999, 10) * power if digits == 100 else (digits - 1) * power)


@pytest.mark.parametrize("accuracy", _ACCURACIES, ids=str)
@pytest.mark.parametrize("sql", _SHAPES)
@pytest.mark.parametrize("dataset", _DATASETS)
def test_price_is_the_smallest_that_keeps_the_promise(
    gateway: AskedGateway, dataset: str, sql: str, accuracy: dict[str, str]
) -> None:
    """Margins are within the target in every noisy column; at the next smaller price one is not."""
    accuracy = _said(accuracy, sql)
    target = Accuracy.parse(accuracy).target
    found = _estimated(gateway, sql, dataset, accuracy)
    assert max(_promised(found)) <= target
    smaller = _at(gateway, _request(sql, dataset, accuracy), _below(found.price))
    assert max(_promised(smaller)) > target


def _promised(estimate: Estimate) -> list[float]:
    found = [one.promised_margin for one in estimate.columns if one.promised_margin is not None]
    assert found
    return found


def _at(gateway: AskedGateway, request: Request, price: Epsilon) -> Estimate:
    """What the formulas come to at a price that was not found by them."""
    services, alice = gateway.asking.services, gateway.subjects["alice"]
    query = analyzed(services, alice, replace(request, epsilon=price), services.now())
    cost = accounts_on_path(services.journal, query)[0].ledger.cost(price)
    bought_ = noise_for_price(query, cost)
    return add_margins(estimate_price(query, bought_), query, bought_)


@pytest.mark.parametrize("dataset", _DATASETS)
def test_price_falls_with_the_accuracy(gateway: AskedGateway, dataset: str) -> None:
    """A wider margin is never dearer, a higher confidence never cheaper; a relative error is that part of its floor."""

    def price(**accuracy: str) -> Epsilon:
        return _estimated(gateway, _COUNT, dataset, accuracy).price

    margins = [price(margin=one) for one in ("0.5", "1", "7", "7.9", "30", "31", "1000", "1e12")]
    assert margins == sorted(margins, reverse=True)
    assert margins[2] == margins[3] > margins[4] > margins[5]  # noise is whole numbers
    assert margins[-1] == Epsilon.parse("0.000001")
    confidences = [
        price(margin="30", confidence=one) for one in ("0.5", "0.9", "0.95", "0.99", "0.9999")
    ]
    assert confidences == sorted(confidences)
    assert confidences[0] < confidences[-1]
    assert price(relative="0.03", floor="1000") == price(margin="30")


@pytest.mark.parametrize("sql", _SHAPES[:2])
@pytest.mark.parametrize("dataset", _DATASETS)
def test_price_that_was_found_is_charged_and_told(
    gateway: AskedGateway, dataset: str, sql: str
) -> None:
    """The estimate, the answer and the account say the same, and the intervals are within the margin."""
    accuracy = {"margin": "50"}
    found = _estimated(gateway, sql, dataset, accuracy)
    before = _spent(gateway, dataset)
    answer = _answered(gateway, sql, dataset, accuracy)
    assert answer.price == answer.charged == found.price
    assert _spent(gateway, dataset).value - before.value == found.price.value
    there = [one for row in answer.intervals for one in row if one is not None]
    assert len(there) == len(answer.rows) * len(_promised(found))
    # the ends are rounded outward, each by a thousandth of the margin at most
    assert max((high - low for low, high in there), default=0) <= 100 * 1.001
    named = gateway.asking.estimate(
        gateway.subjects["alice"], Request(sql, dataset=dataset, epsilon=found.price)
    )
    assert [one.expected_margin_95 for one in named.columns] == [
        one.promised_margin for one in found.columns
    ]


def _spent(gateway: AskedGateway, dataset: str) -> Epsilon:
    accounts = gateway.asking.accounts(gateway.subjects["alice"], dataset)
    [analyst] = [one for one in accounts if one.account.startswith("analyst:")]
    return analyst.epsilon_spent


@pytest.mark.parametrize("dataset", ["laplace", "gaussian"])
def test_cells_are_within_the_margin_as_often_as_promised(
    gateway: AskedGateway, dataset: str
) -> None:
    """Of 2,500 cells at 80 % more than 595 are off with a chance below 1e-6; at half the margin they are.

    The exact counts are those of the rows that the source was filled with.
    """
    sql = "SELECT region, birth_year, COUNT(*) AS n FROM patients GROUP BY region, birth_year"
    counts: Counter[tuple[object, ...]] = Counter(
        (None if region is None else str(region), str(year))
        for _, region, year, *_ in rows()["patients"]
    )
    off, half_off, cells = 0, 0, 0
    while cells < 2_500:
        answer = _answered(gateway, sql, dataset, {"margin": "40", "confidence": "0.8"})
        for (region, year, n), (*_, interval) in zip(answer.rows, answer.intervals, strict=True):
            assert n is not None
            assert interval is not None
            # before the count was moved to 0, where it was below
            told = (interval[0] + interval[1]) / 2
            error = abs(told - counts[region, year])
            cells, off, half_off = cells + 1, off + (error > 40), half_off + (error > 20)
    assert off <= 595 * cells / 2_500
    assert half_off > 595 * cells / 2_500


@pytest.mark.parametrize(
    ("sql", "accuracy", "said"),
    [
        ("SELECT AVG(income) FROM patients", {"margin": "9"}, "`rows` is missing"),
        (
            "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY income) AS p FROM patients",
            {"relative": "0.1", "floor": "5"},
            "`margin` is missing: the accuracy of `p` is measured in ranks",
        ),
        *(
            (f"SELECT {one} AS x FROM patients", {"margin": "1"}, "the accuracy of `x` cannot be predicted, because it depends")
            for one in ("1.0 * COUNT(smoker) / COUNT(*)", "COUNT(*) * COUNT(smoker)", "1.0 / COUNT(*)")
        ),
        (
            "SELECT COUNT(*) / 7 AS x FROM patients",
            {"margin": "9"},
            "or truncates a quotient of whole numbers",
        ),
        (
            "SELECT region, SUM(COUNT(*)) OVER () AS x FROM patients GROUP BY region",
            {"margin": "1"},
            "the accuracy of `x` cannot be predicted, because it combines several aggregations",
        ),
        (
            "SELECT SUM(n) FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t",
            {"margin": "1"},
            "the accuracy of the result cannot be predicted",
        ),
        (
            "SELECT region FROM patients GROUP BY region HAVING COUNT(*) > 10",
            {"margin": "1"},
            "no column of the result is noisy",
        ),
        (_SUM, {"margin": "400"}, "needs an `epsilon` of "),
        (_SUM, {"margin": "0.5"}, "no price reaches a margin of 0.5"),
    ],
)  # fmt: skip
def test_question_is_refused_when_its_accuracy_cannot_be_promised(
    gateway: AskedGateway, sql: str, accuracy: dict[str, str], said: str
) -> None:
    """What is missing is named, nothing is charged, and the record says so; the estimate is refused alike."""
    policies = ("laplace", "gaussian")
    for dataset in policies:
        before, records = _spent(gateway, dataset), _refusals(gateway)
        for ask in (_answered, _estimated):
            with pytest.raises(SyntaxRefused) as refusal:
                ask(gateway, sql, dataset, accuracy)
            assert refusal.value.code is Code.BAD_REQUEST
            assert said in refusal.value.detail
        assert _spent(gateway, dataset) == before
        assert _refusals(gateway) == records + 1


def _refusals(gateway: AskedGateway) -> int:
    with gateway.foundation.engine.connect() as connection:
        return sum(one["kind"] == "refused" for one in all_records(connection))


def test_refusal_says_needed_and_allowed_price_when_it_is_too_dear(gateway: AskedGateway) -> None:
    """One is told what it would take."""
    with pytest.raises(SyntaxRefused) as refusal:
        _answered(gateway, _SUM, "laplace", {"margin": "60", "confidence": "0.9"})
    assert refusal.value.detail == (
        "a margin of 60 at a confidence of 0.9 needs an `epsilon` of 7620, "
        "but a query may cost at most 1000"
    )


def test_refusal_is_recorded_when_the_price_that_is_named_is_too_dear(
    gateway: AskedGateway,
) -> None:
    """Like that of an accuracy which takes as much."""
    before, request = _refusals(gateway), Request(_COUNT, "laplace", epsilon=Epsilon.parse("1001"))
    with pytest.raises(SyntaxRefused, match="at most 1000"):
        gateway.asking.answer(gateway.subjects["alice"], request, CancelEvent())
    assert _refusals(gateway) == before + 1


def test_question_is_refused_when_it_names_a_price_too(gateway: AskedGateway) -> None:
    """Whichever way it came in."""
    request = replace(_request(_COUNT, "laplace", {"margin": "9"}), epsilon=Epsilon.parse("1"))
    with pytest.raises(SyntaxRefused, match="`epsilon` and `accuracy` are both given"):
        gateway.asking.estimate(gateway.subjects["alice"], request)


def test_accuracy_is_of_no_matter_when_nothing_is_measured(gateway: AskedGateway) -> None:
    """Keys that the policy lists cost nothing."""
    sql = "SELECT region FROM patients GROUP BY region"
    answer = _answered(gateway, sql, "laplace", {"margin": "1"})
    assert (answer.price, len(answer.rows)) == (Epsilon.zero(), 5)
    passing = _answered(gateway, "SELECT 1", "laplace", {"margin": "1"})
    assert passing.rows == (("1",),)
