"""The auditor's history of a trust group: everything that a member received, and nothing else."""

import random
from collections.abc import Sequence
from fractions import Fraction

import pytest
from fix_ledger import ALICE, BOB, Bank, limits
from release_cache.log_entries import ACCOUNTS, Desk, entry, scope, slot

from gateway.overlap.history import History
from gateway.regions.scope import ReleaseScope
from gateway.release_cache.audit_history import FARTHEST, Histories
from gateway.release_cache.cache import ReleaseCache
from gateway.release_cache.entry import CacheEntry, spread_of
from gateway.release_cache.events import ColumnsShared, ContentStored

A, B, BOTH = frozenset({"alice"}), frozenset({"bob"}), frozenset({"alice", "bob"})


@pytest.fixture
def desk(bank: Bank) -> Desk:
    bank.open_ledger(limits(1000))
    bank.open_account(ALICE, limits(1000))
    bank.open_account(BOB, limits(1000))
    return Desk(bank)


@pytest.fixture
def cache(desk: Desk) -> ReleaseCache:
    return desk.cache()


def said(history: History) -> list[tuple[str, object, Fraction]]:
    """The question, the counts and the spread of each entry, in their order."""
    return [
        (one.query_id, None if one.counts is None else one.counts.tolist(), one.spread)
        for one in history
    ]


def narrow(number: int) -> ReleaseScope:
    return scope(1920 + number, 1930 + number)


def test_history_of_a_group_is_what_its_members_were_given(desk: Desk, cache: ReleaseCache) -> None:
    """Bought by one, told to another: each knows their own, both together all of it."""
    one, two, three = entry(1, narrow(1)), entry(2, narrow(2)), entry(3, narrow(3))
    assert desk.buy(0, one)
    assert desk.buy(1, two, "bob")
    assert desk.buy(2, three)
    assert desk.tell(3, ColumnsShared(one.release, (0,), (), ACCOUNTS["bob"]), 4)
    cache.refresh()
    questions = {
        members: {each[0] for each in said(cache.history(members))} for members in (A, B, BOTH)
    }
    assert questions == {A: {"q-1", "q-3"}, B: {"q-1", "q-2"}, BOTH: {"q-1", "q-2", "q-3"}}
    assert said(cache.history(frozenset({"carol"}))) == []


def test_history_has_the_counts_when_they_were_released(desk: Desk, cache: ReleaseCache) -> None:
    """Not before the answer, and for no group that was not told the slot that they are of."""
    one = entry(1, slots=(slot(20, "cost"), slot(5, "units")))
    assert desk.buy(0, one)
    assert desk.tell(1, ColumnsShared(one.release, (0,), (), ACCOUNTS["bob"]), 2)
    cache.refresh()
    assert [each[1] for each in said(cache.history(A))] == [None]
    desk.answer(one, 41, slot=1)
    cache.refresh()
    assert [each[1] for each in said(cache.history(A))] == [41]
    assert [each[1] for each in said(cache.history(B))] == [None]
    assert desk.tell(3, ColumnsShared(one.release, (1,), (), ACCOUNTS["bob"]), 3)
    cache.refresh()
    assert [each[1] for each in said(cache.history(B))] == [41]


def test_history_has_the_spread_of_what_was_told(desk: Desk, cache: ReleaseCache) -> None:
    """The buyer sees a person as exactly as the best slot; others as exactly as the best that they were told."""
    coarse, fine = slot(20, "cost"), slot(5, "units")
    assert spread_of(fine) < spread_of(coarse)
    one = entry(1, slots=(coarse, fine))
    assert desk.buy(0, one)
    assert desk.tell(1, ColumnsShared(one.release, (), (0,), ACCOUNTS["bob"]), 2)
    cache.refresh()
    assert [each[2] for each in said(cache.history(A))] == [spread_of(fine)]
    assert [each[2] for each in said(cache.history(B))] == [FARTHEST]
    assert desk.tell(2, ColumnsShared(one.release, (0,), (), ACCOUNTS["bob"]), 3)
    cache.refresh()
    assert [each[2] for each in said(cache.history(B))] == [spread_of(coarse)]


def test_history_forgets_nothing(desk: Desk, cache: ReleaseCache) -> None:
    """Neither age nor a refresh nor a failed source takes anything out of it."""
    assert desk.buy(0, entry(1, narrow(1)))
    desk.answer(entry(1), 41)
    assert desk.buy(2, entry(2, narrow(2)))
    desk.lose(entry(2))
    desk.pass_minutes(60 * 24 * 365)
    desk.refresh()
    cache.refresh()
    assert [each[0] for each in said(cache.history(A))] == ["q-1", "q-2"]


def play(histories: Histories, seed: int, groups: Sequence[frozenset[str]]) -> None:
    """Four hundred things that happen, the same for one seed; these groups are asked about now and then."""
    chance = random.Random(seed)  # noqa: S311  # no secret
    bought: list[CacheEntry] = []
    for number in range(400):
        kind = chance.choice(("bought", "told", "answered"))
        who = chance.choice(("alice", "bob", "carol"))
        if kind == "bought" or not bought:
            slots = tuple(slot(chance.randint(1, 40)) for _ in range(chance.randint(1, 3)))
            one = entry(number, narrow(chance.randint(0, 60)), slots=slots)
            bought.append(one)
            histories.bought(one, who)
        elif kind == "told":
            one = chance.choice(bought)
            histories.add_recipient(one.release, who, [chance.randrange(len(one.slots))])
        else:
            one = chance.choice(bought)
            counts = (chance.randint(-5, 500),)
            at = chance.choice((None, 0))
            histories.answered(ContentStored(one.release, counts, at, Fraction(2), whole=True))
        if chance.random() < 0.2:
            histories.of(chance.choice(groups))


@pytest.mark.parametrize("seed", range(8))
def test_history_is_the_same_whenever_it_is_built(seed: int) -> None:
    """With every event, now and then, or only at the end: same entries, same order, same counts and spreads."""
    groups = (A, B, BOTH)
    late, early = Histories(), Histories()
    play(early, seed, groups)
    play(late, seed, (frozenset({"nobody"}),) * len(groups))  # chance is spent in the same way
    for members in groups:
        assert said(late.of(members)) == said(early.of(members))
        assert said(late.of(members))
    assert said(late.of(A)) != said(late.of(B))
