"""A result that is mostly noise says so, with the price that would help; a good one says nothing."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

import pytest
from endtoend.clinic_gateway import AskedGateway, a_gateway, shown
from endtoend.clinic_policy import noisy_policies
from endtoend.conftest import Sources
from fix_servers import SharedServers

from gateway.cancellation import CancelEvent
from gateway.requests.request import Answer, Notice, NoticeDetail, Request
from gateway.units import Epsilon

_YEARS = "SELECT birth_year, COUNT(*) AS n FROM patients GROUP BY birth_year"
_ENOUGH = 5
_WIDER = "the 95 % margin is larger than the value in "


@pytest.fixture(scope="module")
def cheap(sources: Sources, servers: SharedServers) -> Iterator[AskedGateway]:
    """Two datasets whose answers have the usual noise, in either currency; a question may cost at most 1."""
    policies = noisy_policies("0.05", "1", "100")
    places = zip(policies, (sources.plain, sources.duckdb, sources.listed), strict=True)
    urls = {name.upper(): shown(url) for name, url in places}
    with a_gateway(policies, urls, servers) as opened:
        yield opened


def _ask(
    gateway: AskedGateway,
    text: str,
    dataset: str = "laplace",
    epsilon: str = "",
    *,
    fresh: bool = False,
) -> Answer:
    price = Epsilon.parse(epsilon) if epsilon else None
    request = Request(text, dataset, epsilon=price, fresh=fresh)
    return gateway.asking.answer(gateway.subjects["alice"], request, CancelEvent())


def _told(answer: Answer) -> list[str]:
    return [one for one in answer.notices if one.startswith(_WIDER)]


@pytest.mark.parametrize("dataset", ["laplace", "gaussian"])
def test_column_of_mostly_noise_is_told_with_its_cells(cheap: AskedGateway, dataset: str) -> None:
    """The notice counts the cells whose interval reaches further than their value, from the noise alone."""
    answer = _ask(cheap, _YEARS, dataset)
    (notice,) = _told(answer)
    many = re.search(r"in (\d+) of (\d+) cells of `n`", notice)
    assert many is not None
    # counts below 0 are shown as 0, and their intervals are those of what was drawn
    assert int(many[2]) == len(answer.rows) == 101
    assert int(many[1]) > 60
    assert notice.endswith("ask for fewer or larger groups")


@pytest.mark.parametrize("dataset", ["laplace", "gaussian"])
def test_price_that_is_told_brings_the_margin_to_the_mean(
    cheap: AskedGateway, dataset: str
) -> None:
    """At the epsilon of the notice the margin is at most what it says, and not much less; it is allowed."""
    helped = 0
    # which counts come out small is chance: of thirty there may be none for which a price helps
    for year in 20 * list(range(1921, 1951)):
        if helped > _ENOUGH:
            break
        text = f"SELECT COUNT(*) AS n FROM patients WHERE birth_year < {year}"
        for notice in _told(_ask(cheap, text, dataset, fresh=True)):
            found = re.search(r"epsilon (\S+) would bring it to (\S+),", notice)
            if found is None:
                continue
            helped += 1
            margin = float(found[2])
            assert Fraction("0.05") < Fraction(found[1]) <= 1
            low, high = _ask(cheap, text, dataset, found[1], fresh=True).intervals[0][0] or (0, 0)
            # counts are whole, and the margin of the notice has three digits
            assert 0.8 * margin - 1 <= (high - low) / 2 <= 1.01 * margin + 1
    assert helped


def test_price_above_the_policys_is_not_told(cheap: AskedGateway) -> None:
    """Where no allowed epsilon helps, the notice says what to ask instead."""
    (notice,) = _told(_ask(cheap, "SELECT COUNT(*) FROM patients WHERE name = 'x'")) or [""]
    assert "epsilon" not in notice or float(notice.split("epsilon ")[1].split()[0]) <= 1
    fine = "SELECT visit_date, COUNT(*) FROM visits GROUP BY visit_date"
    (notice,) = _told(_ask(cheap, fine))
    assert "epsilon" not in notice


def test_results_that_are_not_noise_say_nothing(cheap: AskedGateway, gateway: AskedGateway) -> None:
    """Neither a count with a small margin, nor public rows, nor an answer without noise."""
    assert not _told(_ask(cheap, "SELECT COUNT(*) FROM patients", epsilon="1"))
    assert not _told(_ask(cheap, "SELECT region, population FROM regions"))
    assert not _told(gateway.answer(_YEARS, "listed"))


def test_results_in_ranges_and_choices_say_nothing(cheap: AskedGateway) -> None:
    """What is reported in ranges is not told more finely; a median has no margin to compare."""
    assert not _told(_ask(cheap, _YEARS, "ranged"))
    assert not _told(
        _ask(cheap, "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY birth_year) FROM patients")
    )


def test_every_front_end_says_the_same_and_a_repeat_too(cheap: AskedGateway) -> None:
    """The notices of a deferred statement, which the wire sends, are those of the answer, in the same words: at the
    full detail each by itself, at the brief one as its hint, and none where the connection wants none.
    """
    text = "SELECT smoker, COUNT(*) AS n FROM patients WHERE birth_year < 1960 GROUP BY smoker"
    first = _told(_ask(cheap, text))
    assert first
    assert _told(_ask(cheap, text)) == first

    def told(detail: NoticeDetail) -> Sequence[Notice]:
        request = Request(text, "laplace", notices=detail)
        return cheap.asking.release(cheap.subjects["alice"], request, CancelEvent()).notices

    full = [one.message for one in told(NoticeDetail.FULL)]
    assert [one for one in full if one.startswith(_WIDER)] == first
    (brief,) = told(NoticeDetail.BRIEF)
    assert list(brief.hint) == first
    assert told(NoticeDetail.OFF) == ()
