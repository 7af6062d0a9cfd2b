"""What a connection is told of an answer, at each detail: price, quota, margins, and what the answer is not."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

import pytest
from endtoend.clinic_gateway import AskedGateway, a_gateway, shown
from endtoend.clinic_policy import SUBJECTS, noisy_policies
from endtoend.conftest import Sources
from fix_servers import SharedServers
from laws import for_each

from gateway.binding.probes import PROBED
from gateway.cancellation import CancelEvent
from gateway.intervals.digits import margin_text
from gateway.requests.request import Answer, Notice, NoticeDetail, Request, UnsupportedItems
from gateway.units import Epsilon

BRIEF, FULL, OFF = NoticeDetail.BRIEF, NoticeDetail.FULL, NoticeDetail.OFF
_REGIONS = "SELECT region, COUNT(*) AS n, AVG(income) AS mean FROM patients GROUP BY region"
_REUSED = r"answered from earlier results of \d{4}-\d\d-\d\d \d\d:\d\d UTC: nothing was charged"
_WIDER = "the 95 % margin is larger than the value in "
_RANGED = "`count(*)` is reported in ranges of 10"


@dataclass(frozen=True)
class Told:
    """A gateway with noise, and what its connections are told."""

    gateway: AskedGateway

    def notices(
        self, sql: str, detail: NoticeDetail, dataset: str = "laplace", subject: str = "alice"
    ) -> Sequence[Notice]:
        request = Request(sql, dataset, notices=detail, unsupported=UnsupportedItems.NULL)
        asking, who = self.gateway.asking, self.gateway.subjects[subject]
        return asking.release(who, request, CancelEvent()).notices

    def answer(self, sql: str, dataset: str = "laplace") -> Answer:
        return self.gateway.answer(sql, dataset, unsupported=UnsupportedItems.NULL)

    def brief(self, sql: str, dataset: str = "laplace") -> Notice:
        """The one notice of an answer that was given before."""
        self.answer(sql, dataset)
        (notice,) = self.notices(sql, BRIEF, dataset)
        return notice


@pytest.fixture(scope="module")
def told(sources: Sources, servers: SharedServers) -> Iterator[Told]:
    """Datasets with noise in both currencies, and one with a monthly limit and results in ranges."""
    policies = noisy_policies("0.5", "50", "1000")
    own = "    budget: {epsilon: 1000}\n"
    assert own in policies["ranged"]
    monthly = "    budget: {epsilon: 1000, window: {every: month, epsilon: 200}}\n"
    policies["ranged"] = policies["ranged"].replace(own, monthly, 1)
    places = (sources.plain, sources.duckdb, sources.listed)
    urls = {name.upper(): shown(url) for name, url in zip(policies, places, strict=True)}
    subjects = SUBJECTS + "".join(
        f"{name}: {{role: researcher, purposes: [care-quality]}}\n" for name in ("zoe", "yan")
    )
    with a_gateway(policies, urls, servers, subjects) as opened:
        yield Told(opened)


def _margins(answer: Answer) -> dict[str, str]:
    """The largest margin of each column, from the intervals that REST shows."""
    widest: dict[str, float] = {}
    for column, ends in zip(answer.columns, answer.intervals.columns, strict=True):
        if ends is not None and ends.there.any():
            widest[column.name] = float(max((ends.high - ends.low)[ends.there])) / 2
    return {name: margin_text(margin) for name, margin in widest.items()}


@pytest.mark.parametrize("dataset", ["laplace", "gaussian"])
def test_brief_notice_tells_price_quota_and_margins(told: Told, dataset: str) -> None:
    """In one line; margins are those of the intervals over REST, and the quota is what is left after the charge."""
    (notice,) = told.notices(_REGIONS, BRIEF, dataset, "zoe")
    margins = _margins(told.gateway.answer(_REGIONS, dataset, "zoe"))
    delta = "" if dataset == "laplace" else r"(, delta \S+)?"
    expected = (
        rf"price: epsilon 0\.5{delta}; left: epsilon 999\.5 of 1000; largest 95 % margins:"
        rf" `n` ±{re.escape(margins['n'])}, `mean` ±{re.escape(margins['mean'])}"
    )
    assert re.fullmatch(expected, notice.message)
    assert notice.detail == ()


def test_quota_has_the_window_of_the_policy(told: Told) -> None:
    """Of the analyst's own account alone; it is what REST shows."""
    (notice,) = told.notices(_REGIONS, BRIEF, "ranged", "yan")
    assert "; left: epsilon 999.5 of 1000, 199.5 of 200 this month; " in notice.message
    who = told.gateway.subjects["yan"]
    own = next(
        one
        for one in told.gateway.asking.accounts(who, "ranged")
        if one.account == "analyst:yan@ranged"
    )
    assert own.window is not None
    left = str(own.epsilon_remaining), str(own.window.epsilon_remaining)
    assert left == ("999.5", "199.5")
    assert "dataset:" not in notice.message


def test_reuse_is_in_the_brief_line_in_the_place_of_the_price(told: Told) -> None:
    """With the words that REST has, and a quota that did not move."""
    sql = "SELECT COUNT(*) AS again FROM patients"
    answer = told.answer(sql)
    before = re.search(r"left: epsilon (\S+) of", told.brief(sql).message)
    notice = told.brief(sql)
    assert before is not None
    assert re.fullmatch(
        rf"{_REUSED}; left: epsilon {re.escape(before[1])} of 1000;"
        rf" largest 95 % margins: `again` ±{_margins(answer)['again']}",
        notice.message,
    )
    assert notice.message.startswith(told.answer(sql).notices[0])


def test_full_detail_has_the_line_and_every_notice_of_its_own(told: Told) -> None:
    """The summary first, with the date of an earlier answer in the place of a price, then what else REST says, in its order."""
    sql = "SELECT birth_year, COUNT(*) AS n, array_agg(income) AS a FROM patients GROUP BY 1"
    for dataset in ("laplace", "ranged"):
        told.answer(sql, dataset)
        rest = told.answer(sql, dataset).notices
        first, *others = told.notices(sql, FULL, dataset)
        [reused] = [one for one in rest if one.startswith("answered from")]
        assert first.message.startswith(f"{reused}; left: ")
        assert "price" not in first.message
        assert [one.message for one in others] == [one for one in rest if one != reused]
        assert all(one.detail == one.hint == () for one in (first, *others))


def test_brief_notice_keeps_what_the_answer_is_not_and_advice(told: Told) -> None:
    """As DETAIL and HINT of the one notice, in the words of REST; the message has neither."""
    sql = "SELECT birth_year, COUNT(*) AS n, array_agg(income) AS a FROM patients GROUP BY 1"
    notice = told.brief(sql)
    rest = told.answer(sql).notices
    assert notice.detail == tuple(one for one in rest if one.startswith("column `a` is NULL"))
    assert notice.hint == tuple(one for one in rest if one.startswith(_WIDER))
    assert notice.detail
    assert notice.hint
    assert {notice.message.split(";")[0], *notice.detail, *notice.hint} == set(rest)
    ranged = told.brief(_REGIONS, "ranged")
    assert ranged.detail == (_RANGED,)


# A statement, its dataset, and the beginning of what it says when the connection wants to be told nothing.
DIFFERENT = [
    ("SELECT COUNT(*) AS n, array_agg(income) AS a FROM patients", "laplace", "column `a` is NULL"),
    ("SELECT 1 FROM patients LIMIT 1", "laplace", PROBED),
    ("SELECT COUNT(*) AS n FROM patients", "ranged", _RANGED),
    ("SELECT COUNT(*) AS n, AVG(income) AS m FROM patients", "laplace", ""),
    ("SELECT birth_year, COUNT(*) AS n FROM patients GROUP BY 1", "laplace", ""),
]


@for_each("case", DIFFERENT)
def test_off_leaves_what_makes_the_answer_another_one(
    told: Told, case: tuple[str, str, str]
) -> None:
    """Price, margins, reuse and advice are silent; a NULL item, a probe and a range are not, at any detail."""
    sql, dataset, begins = case
    for _ in range(2):  # measured, then reused
        said = told.notices(sql, OFF, dataset)
        assert [one.message.startswith(begins) for one in said] == [True] * bool(begins)
        assert all(one.detail == one.hint == () for one in said)
    told_of = [
        line for one in told.notices(sql, BRIEF, dataset) for line in (one.message, *one.detail)
    ]
    assert any(line.startswith(begins) for line in told_of)


# What measures nothing tells of no price, quota or margin.
SILENT = [
    "SELECT version()",
    "SELECT region, population FROM regions",
    "SELECT DISTINCT region FROM patients",
    "SELECT epsilon_remaining FROM gateway.budget",
    "SELECT COUNT(*) FROM patients LIMIT 0",
]


@for_each("sql", SILENT)
def test_statement_that_measures_nothing_says_nothing(told: Told, sql: str) -> None:
    """At no detail: catalog queries of tools would bury the notices of answers."""
    assert [told.notices(sql, detail) for detail in NoticeDetail] == [()] * 3


def test_column_without_a_formula_has_no_margin_and_says_so(told: Told) -> None:
    """Windows and sums over releases are simulated over REST, where the rows are known; ends are no column to measure."""
    sql = (
        "SELECT region, COUNT(*) AS n, sum(count(*)) OVER (ORDER BY region) AS running,"
        " DP_INTERVAL_LOW(n) AS lo, DP_INTERVAL_HIGH(n) AS hi FROM patients GROUP BY region"
    )
    line = told.brief(sql).message
    assert re.search(r"largest 95 % margins: `n` ±\d+; no margin for `running`$", line)


def test_choice_has_its_ranks_or_reaches_both_ends(told: Told) -> None:
    """A median has a distance in rows; the interval of MAX leans, and the margin reaches its farther end."""
    sql = "SELECT MEDIAN(birth_year) AS m, MAX(birth_year) AS x, STDDEV(income) AS s FROM patients"
    request = Request(sql, "laplace", epsilon=Epsilon.parse("50"), notices=BRIEF)
    asking, who = told.gateway.asking, told.gateway.subjects["alice"]
    answer = asking.answer(who, request, CancelEvent())
    (notice,) = asking.release(who, request, CancelEvent()).notices
    line = notice.message
    ((_, greatest, deviation),) = answer.rows
    (_, x_ends, s_ends) = answer.intervals[0]
    assert f"`m` {answer.columns[0].rank_error} ranks, " in line
    for name, text, ends in (("x", greatest, x_ends), ("s", deviation, s_ends)):
        assert text is not None
        assert ends is not None
        reach = max(float(text) - ends[0], ends[1] - float(text))
        assert f"`{name}` ±{margin_text(reach)}" in line


def test_column_without_a_group_is_left_out(told: Told) -> None:
    """Where no group is found there is no cell; the answer says so by having no row."""
    sql = "SELECT name, COUNT(*) AS n FROM patients WHERE birth_year = 1931 GROUP BY name"
    assert len(told.answer(sql).rows) == 0
    assert re.fullmatch(rf"{_REUSED}; left: epsilon \S+ of 1000", told.brief(sql).message)


def test_many_columns_are_cut_and_counted(told: Told) -> None:
    """Eight are named; the line stays one that a person reads."""
    items = ", ".join(f"COUNT(*) + {number} AS c{number}" for number in range(11))
    line = told.brief(f"SELECT {items} FROM patients").message
    assert "`c7` ±" in line
    assert "`c8`" not in line
    assert line.endswith(", and 3 more columns")
    one_more = ", ".join(f"COUNT(*) + {number} AS c{number}" for number in range(9))
    assert told.brief(f"SELECT {one_more} FROM patients").message.endswith(", and 1 more column")


def test_detail_of_one_connection_does_not_stay_with_the_answer(told: Told) -> None:
    """A repeat is kept with its tables; how much is told is the connection's own."""
    told.answer(_REGIONS)
    full = len(told.answer(_REGIONS).notices)  # one of them is in the summary
    shapes = [
        [len(told.notices(_REGIONS, detail)) for detail in order]
        for order in ((OFF, BRIEF, FULL), (FULL, OFF, BRIEF), (BRIEF, FULL, OFF))
    ]
    assert shapes == [[0, 1, full], [full, 0, 1], [1, full, 0]]


def test_notices_do_not_move_the_budget(told: Told) -> None:
    """They are read from the account, and charge it nothing."""
    told.answer(_REGIONS)
    left = {
        re.search(r"left: epsilon (\S+) of", notice.message)[1]  # type: ignore[index]  # it fails, then
        for _ in range(3)
        for notice in told.notices(_REGIONS, BRIEF)
    }
    assert len(left) == 1
    assert 0 < float(left.pop()) < inf
