"""Intervals and rank errors of what is chosen: quantiles whose ends are asked for, MIN, MAX, and places of counts."""

from collections.abc import Mapping
from fractions import Fraction

import psycopg
import pytest
from endtoend.clinic_gateway import AskedGateway

from gateway.cancellation import CancelEvent
from gateway.errors import Code, Refusal
from gateway.requests.request import Accuracy, Answer, Request
from gateway.units import Epsilon

_M = "percentile_disc(0.5) WITHIN GROUP (ORDER BY income) AS m"
_BOTH = "DP_INTERVAL_LOW(m) AS lo, DP_INTERVAL_HIGH(m) AS hi"
# the column m, and the ends of its interval
ENDED = [
    f"SELECT {_M}, {_BOTH} FROM patients",
    f"SELECT region, {_M}, COUNT(*), {_BOTH} FROM patients GROUP BY region",
    f"SELECT * FROM (SELECT {_M}, {_BOTH} FROM patients) t WHERE lo <= hi",
    f"SELECT m * 2 - 5 AS m, DP_INTERVAL_LOW(m * 2 - 5) AS lo, DP_INTERVAL_HIGH(m * 2 - 5) AS hi FROM (SELECT {_M} FROM patients) t",
    f"SELECT region, smoker, {_M}, {_BOTH} FROM patients GROUP BY ROLLUP (region, smoker)",
    f"SELECT MIN(income) AS m, {_BOTH} FROM patients",
    f"SELECT region, MAX(birth_year) AS m, {_BOTH} FROM patients GROUP BY region",
]  # fmt: skip


def _asked(gateway: AskedGateway, sql: str, dataset: str = "listed", epsilon: str = "3") -> Answer:
    """At a price at which noise is seen."""
    request = Request(sql, dataset=dataset, epsilon=Epsilon.parse(epsilon))
    return gateway.asking.answer(gateway.subjects["alice"], request, CancelEvent())


@pytest.mark.parametrize("dataset", ["listed", "laplace", "gaussian"])
@pytest.mark.parametrize("sql", ENDED)
def test_ends_are_those_of_the_interval_of_what_is_chosen(
    gateway: AskedGateway, sql: str, dataset: str
) -> None:
    """What the two functions give stands in the answer's intervals as well, around the cell."""
    answer = _asked(gateway, sql, dataset)
    names = [one.name for one in answer.columns]
    m, low, high = names.index("m"), names.index("lo"), names.index("hi")
    for row, intervals in zip(answer.rows, answer.intervals, strict=True):
        lo, hi, value = (float(row[place] or "nan") for place in (low, high, m))
        assert intervals[m] == (lo, hi)
        assert lo <= value <= hi
    if dataset != "laplace":
        assert answer.rows


def test_intervals_of_choices_hold_the_exact_values(
    gateway: AskedGateway, plain: psycopg.Connection
) -> None:
    """Of 60 answers at 95 % at most 15 miss, or a chance of 10^-7 is bad luck; a third of the domain is not in them."""
    exact = plain.execute(
        "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY income),"
        " percentile_cont(0.8) WITHIN GROUP (ORDER BY income), min(income), max(income) FROM patients"
    ).fetchone()
    assert exact is not None
    sql = (
        "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY income) AS a,"
        " percentile_cont(0.8) WITHIN GROUP (ORDER BY income) AS b, MIN(income), MAX(income),"
        " DP_INTERVAL_LOW(a), DP_INTERVAL_HIGH(a), DP_INTERVAL_LOW(b), DP_INTERVAL_HIGH(b) FROM patients"
    )
    missed, elsewhere = [0] * 4, 0
    for time in range(60):
        answer = _asked(gateway, sql, ("listed", "gaussian")[time % 2], "30")
        [intervals] = answer.intervals
        for place, value in enumerate(exact):
            interval = intervals[place]
            assert interval is not None
            missed[place] += not interval[0] <= float(value) <= interval[1]
            elsewhere += not interval[0] <= float(exact[1 - place % 2]) <= interval[1] and place < 2
    assert max(missed) <= 15
    assert elsewhere > 60  # negative control: an interval of one quantile does not hold another


def test_ends_of_a_quantile_take_their_part_of_the_price(gateway: AskedGateway) -> None:
    """The statement costs what was offered; each end is a choice more, so all of them miss more."""
    alone, one, both = (
        _asked(gateway, f"SELECT {_M}{ends} FROM patients")
        for ends in ("", ", DP_INTERVAL_LOW(m)", f", {_BOTH}")
    )
    assert alone.charged == one.charged == both.charged
    errors = [answer.columns[0].rank_error or 0 for answer in (alone, one, both)]
    assert 0 < errors[0] < errors[1] < errors[2]
    assert alone.intervals == ((None,),)
    [[interval, _]] = one.intervals
    assert interval is not None
    assert interval[1] == 200_000


@pytest.mark.parametrize(
    ("sql", "many"),
    [
        ("SELECT DP_TOP(region, 3) FROM patients", 1),
        ("SELECT unnest(DP_TOP(region, 2)) AS r FROM patients", 1),
        ("SELECT t.p FROM (SELECT percentile_cont(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY income) AS p FROM patients) t", 1),
        ("SELECT MODE() WITHIN GROUP (ORDER BY region), MODE() WITHIN GROUP (ORDER BY smoker) FROM patients", 2),
        ("SELECT region FROM patients WHERE region IS NOT NULL GROUP BY region ORDER BY COUNT(*) DESC LIMIT 2", 1),
    ],
)  # fmt: skip
def test_rank_errors_are_told_of_arrays_and_of_the_most_frequent(
    gateway: AskedGateway, sql: str, many: int
) -> None:
    """With the answer and with the estimate; of an array it is the largest among its elements."""
    request = Request(sql, dataset="listed", epsilon=Epsilon.parse("3"))
    said = gateway.asking.estimate(gateway.subjects["alice"], request)
    answer = _asked(gateway, sql)
    errors = [one.rank_error for one in answer.columns]
    assert errors == [one.expected_rank_error_95 for one in said.columns]
    assert len(errors) == many
    assert all(error is not None and error > 0 for error in errors)
    assert {one.mechanism for one in answer.columns} == {"exponential"}
    assert {one for row in answer.intervals for one in row} == {None}


def test_rank_error_of_an_array_is_that_of_its_elements(gateway: AskedGateway) -> None:
    """The same fractions side by side cost the same, and the largest of their rank errors is that of the array."""
    shares: Mapping[str, str] = {"ARRAY[0.3, 0.99]": "array", "0.3": "a", "0.99": "b"}
    columns = [f"percentile_disc({of}) WITHIN GROUP (ORDER BY income)" for of in shares]
    together = _asked(gateway, f"SELECT {columns[0]} FROM patients").columns
    apart = _asked(gateway, f"SELECT {columns[1]}, {columns[2]} FROM patients").columns
    assert together[0].rank_error == max(one.rank_error or 0 for one in apart)


def test_accuracy_of_an_array_is_that_of_each_element(gateway: AskedGateway) -> None:
    """The price that keeps all of them within so many ranks is found, and no smaller one is."""
    for sql in (
        "SELECT DP_TOP(region, 2) FROM patients",
        "SELECT percentile_cont(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY income) FROM patients",
    ):
        request = Request(sql, dataset="listed", accuracy=Accuracy(margin=Fraction(9)))
        said = gateway.asking.estimate(gateway.subjects["alice"], request)
        assert [one.promised_margin for one in said.columns] == [9]


@pytest.mark.parametrize(
    "what",
    ["MIN(visit_date)", "MODE() WITHIN GROUP (ORDER BY weight > 9)", "MAX(cost) - MIN(cost)"],
)
def test_what_can_have_no_interval_is_refused_before_it_is_paid_for(
    gateway: AskedGateway, what: str
) -> None:
    """Dates are no numbers, what is most frequent has no order, and two choices hold at 90 % together."""
    with pytest.raises(Refusal) as refused:
        _asked(gateway, f"SELECT {what}, DP_INTERVAL_LOW({what}) FROM visits")
    assert refused.value.code is Code.FUNCTION_UNSUPPORTED
