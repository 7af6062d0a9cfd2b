"""Sequences of questions: what dashboards ask passes, what singles people out does not."""

from dataclasses import replace
from fractions import Fraction

from laws import for_each
from overlap.sequences import Asked, sequences
from overlap.walk import DEFAULTS, SPREAD, SWITCHED_OFF, parts, walked

from gateway.errors import Code, OverlapRefused
from gateway.overlap.auditor import History, NewQuery, PriorRelease, audit
from gateway.policy.policy import UnreadableConditions

HONEST, ATTACKS = sequences("honest.sql"), sequences("attacks.sql")


@for_each("case", HONEST)
def test_auditor_lets_ordinary_questions_pass(case: Asked) -> None:
    """What people ask of a dashboard is not choked by the default settings."""
    walk = walked(case, DEFAULTS)
    assert walk.refusal is None, (walk.asked, str(walk.refusal), walk.refusal.hint)


@for_each("case", HONEST)
def test_auditor_lets_each_ordinary_question_pass_first(case: Asked) -> None:
    """No part of a question looks like an attack on another part of it, whatever conditions may be unreadable."""
    for rules in (DEFAULTS, replace(DEFAULTS, opaque=UnreadableConditions.COUNT_AS_UNKNOWN)):
        for one in case.asked:
            walk = walked(replace(case, asked=(one,)), rules)
            assert walk.refusal is None, (one, str(walk.refusal))


@for_each("case", ATTACKS)
def test_auditor_stops_an_attack_at_its_last_step_or_before(case: Asked) -> None:
    """What would single somebody out is refused, and says what to do."""
    walk = walked(case, DEFAULTS)
    assert walk.refusal is not None
    assert walk.refusal.code in {Code.DIFFERENCING, Code.SMALL_GROUP, Code.UNREADABLE_CONDITION}
    assert walk.refusal.detail
    assert walk.refusal.hint


_READ_WHERE_OTHERS_ARE_UNKNOWN = frozenset(
    {
        "a threshold that VALUES have, compared in WHERE",
        "thresholds of several rows of VALUES, compared in WHERE",
        "the same rows twice, with INTERSECT",
        "a truth value in a function that nothing reads",
        "a row that exists because it is itself",
    }
)


def test_attack_is_read_where_unreadable_conditions_would_pass() -> None:
    """These forms are compared like the conditions that they amount to, and are no opaque conditions."""
    rules = replace(DEFAULTS, opaque=UnreadableConditions.COUNT_AS_UNKNOWN)
    found = [one for one in ATTACKS if one.title in _READ_WHERE_OTHERS_ARE_UNKNOWN]
    assert len(found) == len(_READ_WHERE_OTHERS_ARE_UNKNOWN)
    for case in found:
        refusal = walked(case, rules).refusal
        assert refusal is not None, case.title
        assert refusal.code is Code.DIFFERENCING, case.title


@for_each("case", ATTACKS)
def test_attack_goes_through_when_every_rule_is_switched_off(case: Asked) -> None:
    """Nothing but the rules stops the attacks: without them each goes to its end."""
    walk = walked(case, SWITCHED_OFF)
    assert walk.refusal is None
    assert walk.asked == len(case.asked)


def test_there_are_as_many_sequences_as_promised() -> None:
    """At least 60 that pass, at least 40 that do not, and none twice."""
    assert len({case.title for case in HONEST}) >= 60
    assert len({case.title for case in ATTACKS}) >= 40
    assert len({case.asked for case in (*HONEST, *ATTACKS)}) == len(HONEST) + len(ATTACKS)


_WITHOUT_ONE = "SELECT COUNT(*) FROM patients WHERE birth_year <> 1961"
_EVERYBODY = "SELECT COUNT(*) FROM patients"


def _refused_after(spread: Fraction, times: int = 1) -> bool:
    """Whether everybody may be asked for at the default price after so many answers without one year."""
    history = History()
    [without], [everybody] = parts("clinic", _WITHOUT_ONE), parts("clinic", _EVERYBODY)
    for number in range(times):
        history.add(PriorRelease(f"q{number}.r1.1", f"q{number}", without.scope, None, spread))
    try:
        audit([NewQuery(everybody.scope, SPREAD)], history, DEFAULTS)
    except OverlapRefused as refusal:
        return refusal.code is Code.DIFFERENCING
    return False


def test_answer_at_next_to_no_price_closes_nothing() -> None:
    """What its noise hides is no difference: nobody locks a group out of its totals for a thousandth of the price."""
    assert _refused_after(SPREAD)
    assert not _refused_after(SPREAD * 10_000)


def test_many_answers_at_next_to_no_price_are_seen_together() -> None:
    """Their mean tells what one of them does not."""
    assert not _refused_after(SPREAD * 100, times=2)
    assert _refused_after(SPREAD * 100, times=100)


def test_answer_at_next_to_no_price_closes_no_table_of_large_noise() -> None:
    """The new answer may be inexact itself: it still shows nobody beside an answer that is far less exact."""
    history = History()
    [without], [everybody] = parts("clinic", _WITHOUT_ONE), parts("clinic", _EVERYBODY)
    history.add(PriorRelease("q1.r1.1", "q1", without.scope, None, SPREAD * 10_000))
    audit([NewQuery(everybody.scope, SPREAD * 1_000)], history, DEFAULTS)
