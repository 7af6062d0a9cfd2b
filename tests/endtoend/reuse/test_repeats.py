"""The quote of a repeat is kept only while it is the one that planning would make; what could change it is planned anew."""

from collections.abc import Callable
from typing import Any

import pytest
from endtoend.reuse.datasets import PURE, Opened, Place

from gateway.admin.actions import grant, refresh_data
from gateway.budget.account import Limits
from gateway.errors import BackendUnavailable, Code, NotPermitted, Refusal
from gateway.policy.in_force import Cause
from gateway.requests.request import CacheUse
from gateway.stages import finish, quote
from gateway.trail.seal import Seal
from gateway.units import Delta, Epsilon

_SUM = "SELECT region, SUM(income) AS s FROM patients GROUP BY region ORDER BY region"
_OTHER = "SELECT COUNT(*) FROM patients WHERE birth_year > 1950"
_NAMED_PRICE = "0.0005"
Calls = list[str]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Which queries were planned, and which were finished on the twin, in order."""
    found: Calls = []

    def counted(module: Any, name: str) -> None:  # noqa: ANN401 - a module
        work: Callable[..., object] = getattr(module, name)

        def count(*given: object, **named: object) -> object:
            found.append(name)
            return work(*given, **named)

        monkeypatch.setattr(module, name, count)

    counted(quote, "plan_query")
    counted(finish, "run_with_guards")
    return found


def _asked_three_times(place: Place, calls: Calls) -> None:
    """Bought, given again, and from then on kept."""
    for _ in range(3):
        place.ask(_SUM)
    calls.clear()


def test_repeat_is_neither_planned_nor_computed_again(place: Place, calls: Calls) -> None:
    """Nothing happened in between: the answer differs in its number alone, and its record is written."""
    place.ask(_SUM)
    first = place.ask(_SUM)
    assert calls == ["plan_query", "run_with_guards"] * 2
    again = place.ask(_SUM)
    assert calls == ["plan_query", "run_with_guards"] * 2
    assert again.query_id != first.query_id
    assert (again.rows, again.intervals, again.columns) == (
        first.rows,
        first.intervals,
        first.columns,
    )
    assert (again.notices, again.reused, again.price) == (first.notices, first.reused, first.price)
    assert not again.charged
    past = place.asking.own.questions(place.subject("alice"), 2, None)
    assert [one.outcome for one in past] == ["reused", "reused"]


def _later(place: Place) -> None:
    """The entry becomes too old."""
    place.later(7.1)


def _earlier(place: Place) -> None:
    """The clock goes back, before the quote was made."""
    place.later(-0.001)


def _buy(place: Place) -> None:
    """An event of the same subject."""
    place.ask(_OTHER)


def _buy_as_another(place: Place) -> None:
    """An event of another subject."""
    place.ask(_OTHER, "carol")


def _tell_another(place: Place) -> None:
    """Another subject is given the same entry."""
    place.ask(_SUM, "dave")


def _refresh(place: Place) -> None:
    """An operator says that the data is new."""
    foundation = place.opened.foundation
    refresh_data(foundation.journal, foundation.trail, place.dataset, actor="dave", now=place.clock)


def _grant(place: Place) -> None:
    """An operator changes the limits of an account on the path."""
    foundation = place.opened.foundation
    limits = Limits(Epsilon.parse("9000"), Delta.parse("0"))
    account = f"analyst:alice@{place.dataset}"
    grant(foundation.journal, foundation.trail, account, limits, actor="dave", now=place.clock)


def _prove(place: Place) -> None:
    """The source's catalog proves something else: here, nothing."""
    dataset = place.asking.served.all()[place.dataset]
    known = dataset.proofs._known
    assert known is not None
    facts = type(known[1])({}, known[1].misfits)
    assert facts.proven != known[1].proven
    dataset.proofs._known = (known[0], facts)


@pytest.mark.parametrize(
    "change",
    [_later, _earlier, _buy, _buy_as_another, _tell_another, _refresh, _grant, _prove],
    ids=lambda one: one.__name__.strip("_"),
)
def test_repeat_is_planned_again_when_something_moved_that_its_quote_rests_on(
    pure: Place, calls: Calls, change: Callable[[Place], None]
) -> None:
    """One case for each: an event, an epoch, the clock in both directions, an account, a proof."""
    _asked_three_times(pure, calls)
    change(pure)
    calls.clear()
    pure.ask(_SUM)
    assert "plan_query" in calls


@pytest.mark.parametrize(
    "asked",
    [
        {"who": "carol"},
        {"who": "bob"},  # another row rule: another statement
        {"epsilon": _NAMED_PRICE},
        {"fresh": True},
        {"sql": f"{_SUM} DESC"},
    ],
    ids=["subject", "row rule", "price", "fresh", "text"],
)
def test_repeat_of_one_query_is_no_repeat_of_another(
    pure: Place, calls: Calls, asked: dict[str, Any]
) -> None:
    """The quote is that of the subject, the rows that they may read, the statement, the price and `fresh`."""
    _asked_three_times(pure, calls)
    pure.ask(**{"sql": _SUM, **asked})
    assert calls.count("plan_query") == 1


def test_repeat_is_kept_until_its_entry_is_too_old(pure: Place, calls: Calls) -> None:
    """The negative control of the clock: a day less changes nothing, and no day keeps an entry young."""
    _asked_three_times(pure, calls)
    pure.later(6.9)
    assert pure.ask(_SUM).reused is CacheUse.SAME
    assert not calls
    pure.later(0.2)
    assert pure.ask(_SUM).reused is None


def test_repeat_is_refused_when_the_policy_permits_it_no_more(few: Opened, calls: Calls) -> None:
    """A decision is made for every query; and another policy plans every query anew."""
    place = few.place(PURE)
    _asked_three_times(place, calls)
    place.change_policy('subject.role == "researcher"', 'subject.role == "nobody"')
    with pytest.raises(NotPermitted):
        place.ask(_SUM)
    place.change_policy('subject.role == "nobody"', 'subject.role == "researcher"')
    assert place.ask(_SUM).reused is CacheUse.SAME
    assert "plan_query" in calls


def test_repeat_is_planned_again_when_subjects_have_other_attributes(
    few: Opened, calls: Calls
) -> None:
    """A row rule reads the attribute: the rows are others, and so is the answer."""
    place = few.place(PURE)
    for _ in range(3):
        place.ask(_SUM, "bob")
    first = place.ask(_SUM, "bob")
    calls.clear()
    file = few.home / "policies" / "subjects.yaml"
    text = file.read_text()
    file.write_text(text.replace("region: north", "region: south"))
    assert few.policies.reload(Cause("dave", "a test")).changed
    try:
        again = place.ask(_SUM, "bob")
    finally:
        file.write_text(text)
        few.policies.reload(Cause("dave", "a test"))
    assert "plan_query" in calls
    assert again.reused is None
    assert again.rows != first.rows


def test_repeat_is_refused_when_the_stored_content_was_changed(
    pure: Place, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The contents are asked for each time: what this process has let go of is read and checked again."""
    _asked_three_times(pure, calls)
    first = pure.ask(_SUM)
    cache = pure.asking.services.caches[pure.dataset]
    cache._contents.clear()
    with monkeypatch.context() as patch:
        patch.setattr(Seal, "content", lambda *_: "another seal")
        with pytest.raises(BackendUnavailable) as refused:
            pure.ask(_SUM)
    assert refused.value.code is Code.EARLIER_FORGED
    assert pure.ask(_SUM).rows == first.rows
    assert calls == ["run_with_guards"]  # over the contents that were read anew


def test_repeat_is_refused_when_the_log_was_changed(pure: Place, calls: Calls) -> None:
    """A process that found a forged event answers nothing more of the dataset, not even what it has at hand."""
    _asked_three_times(pure, calls)
    cache = pure.asking.services.caches[pure.dataset]
    cache._forged = "an event was changed"
    try:
        with pytest.raises(Refusal) as refused:
            pure.ask(_SUM)
    finally:
        cache._forged = None
    assert refused.value.code is Code.EARLIER_FORGED
    assert not calls


@pytest.mark.parametrize(
    "column",
    ["now()", "round(SUM(income)) + extract(year FROM now())", "random()"],
    ids=["without noise", "with noise", "chance"],
)
def test_answer_of_a_repeat_is_computed_each_time_when_it_may_differ(
    pure: Place, calls: Calls, column: str
) -> None:
    """A function over released values is PostgreSQL's each time; only columns and their order are kept."""
    text = f"SELECT region, SUM(income) AS s, {column} AS more FROM patients GROUP BY region"
    for _ in range(3):
        pure.ask(text)
    calls.clear()
    pure.ask(text)
    assert "run_with_guards" in calls
    assert "plan_query" not in calls


def test_query_with_a_stage_is_planned_each_time(pure: Place, calls: Calls) -> None:
    """What is staged for a later release is computed and audited again."""
    text = "SELECT COUNT(*) FROM patients WHERE income > (SELECT AVG(income) FROM patients)"
    for _ in range(3):
        pure.ask(text)
    calls.clear()
    pure.ask(text)
    assert "plan_query" in calls


def test_repeat_is_planned_again_when_an_entry_that_it_does_not_take_is_too_old(
    pure: Place, calls: Calls
) -> None:
    """Better entries of others would cost too much; without them the first plan may be another, and may be charged."""
    both = "SELECT SUM(income), SUM(birth_year) FROM patients"
    for column in ("income", "birth_year"):
        assert pure.ask(f"SELECT SUM({column}) FROM patients", "alice").charged
    pure.later(1)
    first = pure.ask(both, "dave", fresh=True)
    for _ in range(2):
        again = pure.ask(both, "dave")
        assert (again.reused, again.rows, again.charged) == (
            CacheUse.SAME,
            first.rows,
            Epsilon.zero(),
        )
    calls.clear()
    pure.later(5.9)
    pure.ask(both, "dave")
    assert not calls
    pure.later(0.2)  # those of the others are too old, and dave's are not
    assert pure.ask(both, "dave").rows == first.rows
    assert "plan_query" in calls


def test_what_is_kept_is_let_go_of_when_the_policies_were_read_again(
    few: Opened, calls: Calls
) -> None:
    """A gateway that reloads its policies often does not keep what the old ones showed."""
    place = few.place(PURE)
    _asked_three_times(place, calls)
    repeats = few.asking.services.repeats
    _, before = repeats._caches[place.dataset]
    place.change_policy("max: 10000", "max: 9999")
    place.ask(_SUM)
    _, after = repeats._caches[place.dataset]
    assert after is not before
    assert repeats.of(place.asking.served.all()[place.dataset]) is after
