"""Statements that read staged constants, where histograms of norms are sold: none ends in a bug of ours, whatever its parts are."""

from fractions import Fraction
from random import Random
from typing import Final

import pytest
from endtoend.reuse.datasets import CLIPPED, CLIPPED_ZCDP, Houses, Place
from endtoend.reuse.test_exact_histograms import scope
from endtoend.reuse.test_norm_histograms import BOTH, PRICE, bought
from samples import draws

from gateway.errors import Code, Refusal
from gateway.requests.request import Answer

_VALUES: Final = ("(SELECT AVG(cost) FROM visits)", "(SELECT 5)", "(SELECT COUNT(*) FROM regions)")
_CONDITIONS: Final = (
    "cost > {}",
    "cost * {} > 700",
    "EXISTS (SELECT 1 FROM patients p WHERE p.patient_id = v.patient_id AND p.income > {})",
    "diagnosis IN (SELECT region FROM regions)",
    "diagnosis NOT IN (SELECT diagnosis FROM visits GROUP BY diagnosis HAVING COUNT(*) > 1)",
    "extract(year FROM visit_date) > 2022",
)
_SOURCES: Final = (
    "visits v",
    "(SELECT * FROM visits v WHERE {where}) v",
    "(SELECT *, {value} AS other FROM visits v) v",
    "(SELECT *, diagnosis IN (SELECT region FROM regions) AS known FROM visits v) v",
    (
        "(SELECT patient_id, diagnosis, COUNT(*) FILTER (WHERE cost > {value}) AS cost,"
        " MAX(visit_date) AS visit_date FROM visits GROUP BY patient_id, diagnosis) v"
    ),
    (
        "(SELECT patient_id, diagnosis, SUM(CASE WHEN cost > {value} THEN 1 ELSE 0 END) AS cost,"
        " MIN(visit_date) AS visit_date FROM visits GROUP BY patient_id, diagnosis) v"
    ),
    (
        "(SELECT patient_id, diagnosis, cost, visit_date FROM visits v WHERE {where} UNION ALL"
        " SELECT patient_id, diagnosis, cost, visit_date FROM visits) v"
    ),
    "(SELECT *, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY visit_id) AS place FROM visits v WHERE {where}) v",
    (
        "visits v LEFT JOIN (SELECT patient_id AS who, income FROM patients WHERE income > {value}) p"
        " ON p.who = v.patient_id"
    ),
)
_KEYS: Final = (
    "diagnosis",
    "extract(year FROM visit_date)",
    "CASE WHEN cost > {value} THEN 'dear' ELSE 'cheap' END",
    "cost > {value}",
    "CUBE (diagnosis, cost > {value})",
)
_MEASURES: Final = (
    "COUNT(*)",
    "SUM(cost)",
    "AVG(cost)",
    "COUNT(*) FILTER (WHERE cost > {value})",
    "SUM(CASE WHEN cost > {value} THEN 1 ELSE 0 END)",
)
_DERIVED: Final = (
    "SELECT diagnosis, COUNT(*) AS n FROM (SELECT * FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)) q"
    " GROUP BY diagnosis"
)
_MEMBERS: Final = (
    "SELECT known, COUNT(*) AS n FROM (SELECT diagnosis IN (SELECT region FROM regions) AS known FROM visits) q"
    " GROUP BY known"
)
_SELECTED: Final = (
    "SELECT diagnosis, COUNT(*) AS n FROM visits WHERE {} GROUP BY diagnosis",
    ("cost > (SELECT 5)", "diagnosis IN (SELECT region FROM regions)"),
)


@pytest.fixture(params=[CLIPPED, CLIPPED_ZCDP])
def place(request: pytest.FixtureRequest, houses: Houses) -> Place:
    kind: str = request.param
    return houses.place(kind)


@pytest.fixture
def exact(place: Place) -> Place:
    place.change_policy("clip: {price: 2}", "clip: {price: 2, exact: true}")
    return place


def grouped(answer: Answer) -> dict[str, float]:
    """The clips of the groups; those of the constants beside them are others."""
    return {one.over: one.limit for one in answer.clipped if " by " in one.over}


def statement(chance: Random) -> str:
    """A statement that reads staged constants in some of its parts."""

    def filled(text: str) -> str:
        where = chance.choice(_CONDITIONS).format(chance.choice(_VALUES))
        return text.format(value=chance.choice(_VALUES), where=where)

    measures = ", ".join(map(filled, chance.sample(_MEASURES, 2)))
    condition = filled(chance.choice(("", " WHERE {where}", " WHERE cost < {value}")))
    keys = filled(chance.choice(("", *_KEYS)))
    grouped = f" GROUP BY {keys}" if keys else ""
    return f"SELECT {measures} FROM {filled(chance.choice(_SOURCES))}{condition}{grouped}"


def estimated(place: Place, *, seed: str) -> tuple[int, list[str]]:
    """How many of these statements have an estimate, and what is wrong with the others."""
    chance, priced, wrong = Random(f"{seed} {place.dataset[0]}"), 0, list[str]()  # noqa: S311 - a reproducible stream
    for _ in range(draws(200, fewest=40)):
        sql = statement(chance)
        try:
            priced += place.estimate(sql).price.value > 0
        except Refusal as refusal:
            if refusal.code is Code.INTERNAL:
                wrong.append(sql)
    return priced, wrong


def test_random_statements_with_staged_parts_have_an_estimate(place: Place) -> None:
    """An estimate looks for the histograms that the statement would buy, and for what its releases reveal."""
    priced, wrong = estimated(place, seed="all rows")
    assert not wrong
    assert priced > draws(200, fewest=40) // 3


def test_random_statements_with_staged_parts_have_an_estimate_where_histograms_are_exact(
    exact: Place,
) -> None:
    """There the conditions of the statement are among the rows of its histogram, too."""
    priced, wrong = estimated(exact, seed="selected rows")
    assert not wrong
    assert priced > draws(200, fewest=40) // 3


@pytest.mark.parametrize("sql", [_DERIVED, _MEMBERS])
def test_rows_that_follow_from_a_staged_constant_have_the_declared_clip(
    place: Place, sql: str
) -> None:
    """Nothing is bought for them. The same statement without the constant, the negative control, buys its histogram."""
    place.ask("SELECT AVG(cost) AS a FROM visits", epsilon="1")
    before = len(bought(place).histograms)
    answer = place.ask(sql)
    if sql is _MEMBERS:
        assert answer.charged.value == PRICE
        assert len(bought(place).histograms) == before
    assert grouped(answer) == grouped(place.ask(sql, "carol", epsilon="1"))
    plain = _DERIVED.replace("(SELECT AVG(cost) FROM visits)", "700")
    assert grouped(place.ask(plain)) != grouped(place.ask(plain, "carol", epsilon="1"))
    assert len(bought(place).histograms) > before


@pytest.mark.parametrize("condition", _SELECTED[1])
def test_rows_that_a_staged_constant_selects_share_the_histogram_of_all_rows(
    exact: Place, condition: str
) -> None:
    """Which rows they are is audited after the charge. The condition on a literal has a histogram of its own."""
    answer = exact.ask(_SELECTED[0].format(condition))
    assert answer.charged.value == BOTH
    assert scope(answer).rows is None
    [sold] = bought(exact).histograms
    assert not sold["sql"].endswith(", filtered")
    assert exact.ask(_SELECTED[0].format("cost > 5")).charged.value == BOTH
    assert [one["sql"].endswith(", filtered") for one in bought(exact).histograms].count(True) == 1
    assert exact.spent() == Fraction(2) * BOTH
