"""What the section `answers` of a policy does to answers: small groups blank, cells clamped, replies on a grid.

Noise is nothing but where it is what a test is about.

What is small is `audit.min_units`, so a group that is known to be small is not asked about a second time: questions
about such a group alone go to datasets that were asked nothing else.
"""

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from endtoend.clinic_gateway import AskedGateway, a_gateway, clinic_in_duckdb, shown
from endtoend.clinic_policy import policy
from fix_servers import SharedServers

from gateway.cancellation import CancelEvent
from gateway.errors import Code, Refusal
from gateway.requests.request import Answer, Request
from gateway.stages.reply_grid import Pace

_LEAST = 20  # north has 36, east 24, south 20, west 12, and nowhere 4
_BLANK = {"west", None}
_MS = 1_000_000


def _with(text: str, answers: str, least: int = _LEAST) -> str:
    return text.replace("min_units: 1,", f"min_units: {least},") + f"answers: {answers}\n"


@pytest.fixture(scope="module")
def gateway(
    tmp_path_factory: pytest.TempPathFactory, servers: SharedServers
) -> Iterator[AskedGateway]:
    """One dataset for each way of answering; `rough` and `clamped` have noise of about 1.

    `west`, `south` and `staged` are as `blank`, for one question each.
    """
    folder: Path = tmp_path_factory.mktemp("results")
    priced = {"groups": 10_000, "price": "1", "budget": "1000"}
    policies = {
        "all": _with(policy("all", "ALL", "laplace", groups=10_000), "{}", least=1),
        **{
            name: _with(
                policy(name, name.upper(), "laplace", groups=10_000), "{suppress_small: true}"
            )
            for name in ("blank", "west", "south", "staged")
        },
        "found": _with(policy("found", "FOUND", "gaussian", groups=1), "{suppress_small: true}"),
        "rough": _with(policy("rough", "ROUGH", "laplace", **priced), "{clamp_results: false}", 1),  # type: ignore[arg-type]  # by name
        "clamped": _with(policy("clamped", "CLAMPED", "laplace", **priced), "{}", 1),  # type: ignore[arg-type]  # by name
        "slow": _with(policy("slow", "SLOW", "laplace", groups=1), "{reply_grid_ms: 250}", 1),
        "slower": _with(
            policy("slower", "SLOWER", "laplace", groups=1), "{reply_grid_ms: 4000}", 1
        ),
    }
    sources = {
        name.upper(): shown(clinic_in_duckdb(folder / f"{name}.duckdb")) for name in policies
    }
    with a_gateway(policies, sources, servers) as opened:
        yield opened


# ---- small groups ----

_PEOPLE = """
SELECT region, COUNT(*) AS n, AVG(income) AS mean, SUM(income) / COUNT(*) AS ratio,
    COALESCE(COUNT(*), 0) AS filled, COUNT(*) > 5 AS many
FROM patients GROUP BY region ORDER BY region
"""


def _by_key(answer: Answer) -> dict[str | None, tuple[tuple[str | None, ...], tuple[object, ...]]]:
    return {
        row[0]: (row[1:], own[1:]) for row, own in zip(answer.rows, answer.intervals, strict=True)
    }


def test_small_groups_are_blank_and_keep_their_keys(gateway: AskedGateway) -> None:
    """Every aggregate of a group below `min_units` is NULL without an interval; the others are as they were."""
    every, blank = gateway.answer(_PEOPLE, "all"), gateway.answer(_PEOPLE, "blank")
    there, left = _by_key(every), _by_key(blank)
    assert list(left) == list(there)
    assert blank.columns == every.columns
    for key, (cells, intervals) in left.items():
        if key in _BLANK:
            assert cells == (None, None, None, "0", None)
            assert set(intervals) == {None}
        else:
            assert cells == there[key][0]
            assert intervals[0] is not None
    # the negative control: they are not blank where the policy does not say so
    assert all(there[key][0][0] is not None for key in _BLANK)


def test_small_groups_are_told_by_their_persons_not_by_their_rows(gateway: AskedGateway) -> None:
    """Twelve persons with many visits are few persons; the count of persons is measured besides."""
    sql = """SELECT p.region, COUNT(*) AS n FROM visits v JOIN patients p ON p.patient_id = v.patient_id
        GROUP BY p.region"""
    people = "SELECT p.region, COUNT(DISTINCT p.patient_id) FROM visits v JOIN patients p ON p.patient_id = v.patient_id GROUP BY 1"
    rows = {row[0]: row[1] for row in gateway.answer(sql, "all").rows}
    many = {row[0]: int(row[1] or 0) for row in gateway.answer(people, "all").rows}
    left = {row[0]: row[1] for row in gateway.answer(sql, "blank").rows}
    assert left == {key: rows[key] if many[key] >= _LEAST else None for key in rows}
    assert any(many[key] < _LEAST <= int(rows[key] or 0) for key in rows)


def test_small_groups_are_blank_when_a_person_is_in_many(gateway: AskedGateway) -> None:
    """More months than a person counts in: there persons count in parts, and so does `min_units`."""
    sql = "SELECT DATE_TRUNC('month', visit_date) AS month, COUNT(*) FROM visits GROUP BY 1"
    every, blank = gateway.answer(sql, "all").rows, gateway.answer(sql, "blank").rows
    assert len(blank) == len(every) > 16
    assert {row[1] for row in blank} == {None}
    assert max(int(row[1] or 0) for row in every) > 0


@pytest.mark.parametrize(
    ("keys", "source"),
    [
        ("region, smoker", "patients"),
        ("EXTRACT(year FROM visit_date), EXTRACT(month FROM visit_date)", "visits"),
    ],
)
def test_small_groups_are_blank_in_every_grouping_set(
    gateway: AskedGateway, keys: str, source: str
) -> None:
    """A group and a total are small by their own persons; keys, and what tells the sets apart, stay."""
    sql = f"""SELECT {keys}, GROUPING({keys}), {{}} FROM {source} GROUP BY CUBE ({keys})"""
    people = gateway.answer(sql.format("COUNT(DISTINCT patient_id)"), "all").rows
    every = gateway.answer(sql.format("COUNT(*)"), "all").rows
    blank = gateway.answer(sql.format("COUNT(*)"), "blank")
    small = [int(row[3] or 0) < _LEAST for row in people]
    assert [row[:3] for row in blank.rows] == [row[:3] for row in every]
    assert [row[3] for row in blank.rows] == [
        None if little else row[3] for row, little in zip(every, small, strict=True)
    ]
    assert [own[3] is None for own in blank.intervals] == small
    assert set(small) == {True, False}


def test_small_groups_have_no_ends_of_intervals_either(gateway: AskedGateway) -> None:
    """What a statement asks for about a blank cell is as blank as the cell."""
    sql = """SELECT region, COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low, DP_INTERVAL_HIGH(n) AS high
        FROM patients GROUP BY region"""
    for row in gateway.answer(sql, "blank").rows:
        assert [cell is None for cell in row[1:]] == [row[0] in _BLANK] * 3
    assert all(None not in row[1:] for row in gateway.answer(sql, "all").rows)


@pytest.mark.parametrize(("region", "blank"), [("west", True), ("south", False)])
def test_total_is_blank_when_it_is_over_few_persons(
    gateway: AskedGateway, region: str, *, blank: bool
) -> None:
    """A statement without GROUP BY is a group like any other; `min_units` persons are enough."""
    sql = f"SELECT COUNT(*), AVG(income) FROM patients WHERE region = '{region}'"
    (row,) = gateway.answer(sql, region).rows
    assert [cell is None for cell in row] == [blank, blank]


def test_small_groups_are_nothing_to_what_is_computed_from_them(gateway: AskedGateway) -> None:
    """PostgreSQL's NULL: HAVING drops them, outer aggregates skip them, and they join nothing."""
    having = "SELECT region FROM patients GROUP BY region HAVING COUNT(*) > 0"
    assert {row[0] for row in gateway.answer(having, "blank").rows} == {"north", "east", "south"}
    assert {row[0] for row in gateway.answer(having, "all").rows} >= {"west", None}
    outer = "SELECT SUM(n), COUNT(n), COUNT(*) FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t"
    assert gateway.answer(outer, "blank").rows == (("80", "3", "5"),)
    assert gateway.answer(outer, "all").rows == (("96", "5", "5"),)
    staged = """SELECT COUNT(*) FROM patients
        WHERE birth_year > (SELECT AVG(birth_year) FROM patients WHERE region = 'west')"""
    assert gateway.answer(staged, "staged").rows == ((None,),)


def test_listed_keys_alone_cost_nothing_when_small_groups_are_blank(gateway: AskedGateway) -> None:
    """Without an aggregate there is nothing to blank, and nothing is measured for it."""
    answer = gateway.answer("SELECT region FROM patients GROUP BY region", "blank")
    assert {row[0] for row in answer.rows} == {"north", "east", "south", "west", None}
    assert not answer.charged


def test_found_groups_are_as_without_the_setting(gateway: AskedGateway) -> None:
    """Groups that are found in the data are shown whole or not at all."""
    rows = gateway.answer("SELECT region, COUNT(*) FROM patients GROUP BY region", "found").rows
    assert {row[0]: row[1] for row in rows} == {
        "north": "36",
        "east": "24",
    }  # more than the threshold


# ---- clamping ----

# more than 70 of these years have nobody: that none of them is below 0 has a probability below 1e-9
_YEARS = "SELECT birth_year, COUNT(*) AS n FROM patients GROUP BY birth_year"


def test_cells_are_in_their_domain_when_results_are_clamped(gateway: AskedGateway) -> None:
    """No count below 0; the interval is formed before, and says where the value is all the same."""
    answer = gateway.answer(_YEARS, "clamped")
    assert min(int(row[1] or 0) for row in answer.rows) == 0
    centres = [sum(own[1]) / 2 for own in answer.intervals if own[1] is not None]
    assert len(centres) == 101
    assert min(centres) < 0


def test_cells_are_what_the_noise_made_of_them_when_results_are_not_clamped(
    gateway: AskedGateway,
) -> None:
    """Counts below 0 are shown, in the middle of their intervals."""
    answer = gateway.answer(_YEARS, "rough")
    assert min(int(row[1] or 0) for row in answer.rows) < 0
    for row, own in zip(answer.rows, answer.intervals, strict=True):
        assert own[1] is not None
        assert abs(sum(own[1]) / 2 - int(row[1] or 0)) <= 0.5  # a count is shown as a whole number


# ---- the grid ----


@dataclass
class Waited:
    """A clock that stands still while somebody works, and what was waited for."""

    now: int = 0
    moments: list[int] = field(default_factory=list)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        assert not event.is_set()
        self.now += round(seconds * 1000) * _MS
        self.moments.append(self.now // _MS)
        return False


def _waiting(gateway: AskedGateway, waited: Waited) -> AskedGateway:
    installation = gateway.asking.services
    pace = Pace(lambda: waited.now, waited.wait)
    return replace(
        gateway, asking=replace(gateway.asking, services=replace(installation, pace=pace))
    )


_COUNT = "SELECT COUNT(*) FROM patients"


@pytest.mark.parametrize(
    ("dataset", "sql", "subject", "moment"),
    [
        ("slow", _COUNT, "alice", 250),
        ("slower", _COUNT, "alice", 4000),
        ("slow", "SELECT 1", "alice", 250),
        # permitted, and refused by what it would measure
        ("slow", "SELECT AVG(EXP(birth_year)) FROM patients", "alice", 250),
        # nobody learns whose grid it would have been
        ("slow", "SELECT * FROM patients", "alice", 4000),
        ("slow", _COUNT, "eve", 4000),
        ("nowhere", _COUNT, "eve", 4000),
        ("all", _COUNT, "eve", 4000),
    ],
)
def test_reply_leaves_on_the_grid_of_its_dataset_or_on_the_longest(
    gateway: AskedGateway, dataset: str, sql: str, subject: str, moment: int
) -> None:
    """Answers and refusals of permitted questions on the dataset's, all others on the longest in force."""
    waited = Waited()
    with suppress(Refusal):
        _waiting(gateway, waited).answer(sql, dataset, subject)
    assert waited.moments == [moment]


@pytest.mark.parametrize(("sql", "moment"), [(_COUNT, 250), ("SELECT * FROM patients", 4000)])
def test_estimate_leaves_on_the_grid(gateway: AskedGateway, sql: str, moment: int) -> None:
    """What was bound for somebody else before is understood sooner, and no estimate tells that."""
    waited = Waited()
    asking = _waiting(gateway, waited).asking
    with suppress(Refusal):
        asking.estimate(gateway.subjects["alice"], Request(sql, dataset="slow"))
    assert waited.moments == [moment]


def test_reply_leaves_at_once_when_its_dataset_has_no_grid(gateway: AskedGateway) -> None:
    """The negative control: who may ask a dataset without a grid waits for nobody else's."""
    waited = Waited()
    assert _waiting(gateway, waited).answer(_COUNT, "all").rows == (("96",),)
    assert waited.moments == []


def test_record_of_a_question_is_written_when_it_is_replied_to(gateway: AskedGateway) -> None:
    """Who looks at their own history again and again does not see when the work was done."""
    seen: list[list[str]] = []
    alice = gateway.subjects["alice"]

    class Looks(Waited):
        def wait(self, event: threading.Event, seconds: float) -> bool:
            seen.append([one.query_id for one in gateway.asking.own.questions(alice, 5, None)])
            return super().wait(event, seconds)

    answer = _waiting(gateway, Looks()).answer(_COUNT, "slow")
    assert answer.query_id not in seen[0]
    assert answer.query_id in {one.query_id for one in gateway.asking.own.questions(alice, 5, None)}


def test_cancelled_question_is_told_so_when_its_answer_was_ready(gateway: AskedGateway) -> None:
    """It was cancelled while it waited for the grid: same refusal, at the same time, as if it was not ready."""
    cancelled = CancelEvent()

    class Cancels(Waited):
        def wait(self, event: threading.Event, seconds: float) -> bool:
            cancelled.set()
            return super().wait(event, seconds)

    waited = Cancels()
    asking = _waiting(gateway, waited).asking
    with pytest.raises(Refusal) as caught:
        asking.answer(gateway.subjects["alice"], Request(_COUNT, dataset="slow"), cancelled)
    assert caught.value.code is Code.SOURCE_CANCELLED
    assert caught.value.query_id
    assert waited.moments == [250]
