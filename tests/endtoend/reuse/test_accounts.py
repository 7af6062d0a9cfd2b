"""Cost sharing of cached answers: each subject pays once from its own account, nobody twice."""

from fractions import Fraction

import pytest
from endtoend.reuse.clinics import PRICE
from endtoend.reuse.datasets import MODEST, Houses, Place

from gateway.errors import Code, Refusal
from gateway.requests.request import Answer, CacheUse

_PRICE = Fraction(PRICE)
_SUM = "SELECT SUM(income) AS s FROM patients"
_REGIONS = "SELECT region, COUNT(*) AS n, SUM(income) AS s FROM patients GROUP BY region"


def _cell(answer: Answer, column: str, region: str) -> str | None:
    names = [one.name for one in answer.columns]
    (row,) = (row for row in answer.rows if row[names.index("region")] == region)
    return row[names.index(column)]


@pytest.mark.parametrize("another", ["carol", "dave"])
def test_another_analyst_gets_the_same_numbers_and_pays_once(place: Place, another: str) -> None:
    """The dataset's ledger gives nothing; their own account gives the release's price, the first time."""
    first = place.ask(_SUM)
    for _ in range(3):
        told = place.ask(_SUM, another)
        assert told.reused is CacheUse.SAME
        assert told.rows == first.rows
        assert place.spent(another) == _PRICE
    assert place.spent("alice") == _PRICE
    assert place.spent_by_all() == _PRICE


def test_another_analyst_pays_for_the_columns_they_are_told(place: Place) -> None:
    """Whoever asks for one of three measures pays for that one, and for the others when they want them."""
    place.ask("SELECT SUM(income) AS s, SUM(birth_year) AS y FROM patients")
    place.ask(_SUM, "dave")
    part = place.spent("dave")
    assert 0 < part < _PRICE
    place.ask("SELECT SUM(income) AS s, SUM(birth_year) AS y FROM patients", "dave")
    assert place.spent("dave") == _PRICE
    assert place.spent_by_all() == _PRICE


def test_analyst_who_cannot_pay_is_not_told_what_is_there(houses: Houses) -> None:
    """An own account bounds what one analyst learns, whoever paid the ledger for it."""
    place = houses.place(MODEST)
    place.ask(_SUM)
    other = "SELECT SUM(birth_year) FROM patients"
    place.ask(other, "carol")
    assert place.ask(_SUM, "dave").reused is CacheUse.SAME
    with pytest.raises(Refusal) as caught:
        place.ask(other, "dave")
    assert caught.value.code is Code.BUDGET_EXHAUSTED
    assert place.spent("dave") == _PRICE
    assert place.spent_by_all() == 2 * _PRICE


def test_analyst_never_pays_more_than_was_offered(place: Place) -> None:
    """What somebody else paid dearly for is not pressed upon whoever asks at the default price: it is measured for that."""
    dear = place.ask(_SUM, epsilon="5")
    own = place.ask(_SUM, "dave")
    assert own.charged.value == place.spent("dave") == _PRICE
    assert own.rows != dear.rows
    # who offers as much is given it
    assert place.ask(_SUM, "dave", epsilon="5").rows == dear.rows
    assert place.spent_by_all() == 5 + _PRICE


def test_subject_with_a_row_rule_is_not_told_about_other_rows(place: Place) -> None:
    """The rule is part of what is asked: everybody's total is not the total of one's own region."""
    everybody = place.ask(_SUM)
    own = place.ask(_SUM, "bob")
    assert own.reused is None
    assert own.rows != everybody.rows
    assert place.spent_by_all() == 2 * _PRICE
    # and the other way round
    again = place.ask(_SUM)
    assert again.rows == everybody.rows


def test_subject_with_a_row_rule_is_told_the_group_that_the_rule_leaves(place: Place) -> None:
    """The same rows by whatever way are the same answer: the rule here is a filter of somebody else's there."""
    groups = place.ask(_REGIONS)
    own = place.ask(_SUM, "bob")
    assert own.reused is CacheUse.FILTER
    assert own.rows == ((_cell(groups, "s", "north"),),)
    mine = place.ask(_REGIONS, "bob")
    assert _cell(mine, "n", "north") == _cell(groups, "n", "north")
    assert place.spent_by_all() == _PRICE
    assert 0 < place.spent("bob") <= _PRICE


def test_subject_without_rules_is_refused_what_is_there(place: Place) -> None:
    """Whether it was answered before is no concern of those who may not ask."""
    before = _refused(place)
    place.ask(_SUM)
    assert _refused(place) == before


def _refused(place: Place) -> tuple[Code, str, str | None]:
    with pytest.raises(Refusal) as caught:
        place.ask(_SUM, "eve")
    return caught.value.code, caught.value.detail, caught.value.hint


def test_key_that_comes_again_is_the_answer_of_its_question(place: Place) -> None:
    """The first time it is bought; with the key again it is the same answer by its number; without, it is reused."""
    key = (f"again {place.dataset}", "what it asked")
    first = place.ask(_SUM, idempotency=key)
    assert first.charged.value == _PRICE
    kept = place.ask(_SUM, idempotency=key)
    assert (kept.query_id, kept.rows) == (first.query_id, first.rows)
    assert not kept.charged
    again = place.ask(_SUM)
    assert (again.reused, again.rows) == (CacheUse.SAME, first.rows)
    assert again.query_id != first.query_id
    assert place.spent() == place.spent_by_all() == _PRICE


def test_key_of_a_question_that_was_answered_before_costs_nothing(place: Place) -> None:
    """Reuse comes first: with a key or without, there is nothing to pay, however often."""
    first = place.ask(_SUM)
    for _ in range(2):
        told = place.ask(_SUM, idempotency=(f"late {place.dataset}", "what it asked"))
        assert told.rows == first.rows
        assert not told.charged
    assert place.spent() == place.spent_by_all() == _PRICE


def test_key_of_a_fresh_answer_is_charged_once(place: Place) -> None:
    """`fresh` pays anew, but not for the same key."""
    first = place.ask(_SUM)
    key = (f"fresh {place.dataset}", "what it asked")
    fresh = [place.ask(_SUM, idempotency=key, fresh=True) for _ in range(2)]
    assert fresh[0].rows == fresh[1].rows != first.rows
    assert place.spent_by_all() == 2 * _PRICE


def test_top_up_in_pure_epsilon_costs_the_root_of_the_difference_of_squares(pure: Place) -> None:
    """From 0.5 to 0.7 it is 0.49: more than the difference, less than a new purchase."""
    pure.ask(_SUM, epsilon="0.5")
    more = pure.ask(_SUM, epsilon="0.7").charged.value
    assert round(float(more), 2) == 0.49
    assert 0.7 - 0.5 < more < 0.7
