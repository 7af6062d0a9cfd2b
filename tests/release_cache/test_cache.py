"""The release cache of a process: which entries can be reused, who received them, and who paid."""

import threading
from datetime import timedelta

import pytest
from fix_ledger import ALICE, BOB, CLINIC, NOON, Bank, limits
from release_cache.log_entries import ACCOUNTS, ALWAYS, Desk, content, entry, scope, slot

from gateway.release_cache.cache import CachePosition, ReleaseCache, ReleaseCaches
from gateway.release_cache.events import ColumnsShared


@pytest.fixture
def desk(bank: Bank) -> Desk:
    bank.open_ledger(limits(1000))
    bank.open_account(ALICE, limits(1000))
    bank.open_account(BOB, limits(1000))
    return Desk(bank)


@pytest.fixture
def cache(desk: Desk) -> ReleaseCache:
    return desk.cache()


def found(cache: ReleaseCache, minutes: int = 0, shape: str = "patients") -> list[str]:
    """The questions whose entries may be given again that were bought so many minutes after noon, or later."""
    since = NOON + timedelta(minutes=minutes)
    return [one.query_id for one in cache.entries(shape, since=since)]


def test_cache_has_the_newest_entries_first_when_they_are_young_enough(
    desk: Desk, cache: ReleaseCache
) -> None:
    """Of one shape, not older than was asked for; one that was bought at that moment is young enough."""
    for number in range(4):
        assert desk.buy(cache.refresh().ordinal, entry(number, at=desk.bank.now))
        desk.pass_minutes(10)
    assert desk.buy(4, entry(9, scope(shape="visits"), at=desk.bank.now))
    assert cache.refresh() == CachePosition(5, 0)
    assert found(cache) == ["q-3", "q-2", "q-1", "q-0"]
    assert found(cache, 20) == ["q-3", "q-2"]
    assert found(cache, 21) == ["q-3"]
    assert found(cache, 31) == []
    assert found(cache, shape="visits") == ["q-9"]
    assert found(cache, shape="nothing") == []


def test_cache_keeps_entries_by_age_when_clocks_differ(desk: Desk, cache: ReleaseCache) -> None:
    """What a gateway with a slow clock bought stands where it belongs, and is too old when it is."""
    for number, minutes in enumerate((10, 5, 20, 1)):
        bought = entry(number, at=NOON + timedelta(minutes=minutes))
        assert desk.buy(cache.refresh().ordinal, bought)
    cache.refresh()
    assert found(cache) == ["q-2", "q-0", "q-1", "q-3"]
    assert found(cache, 5) == ["q-2", "q-0", "q-1"]


def test_cache_gives_nothing_again_from_before_a_refresh(desk: Desk, cache: ReleaseCache) -> None:
    """A new epoch begins empty; who was told what, and the history, stay."""
    assert desk.buy(0, entry(1))
    desk.answer(entry(1), 41)
    assert desk.refresh() == 1
    assert cache.refresh() == CachePosition(3, 1)
    assert found(cache) == []
    assert desk.buy(3, entry(2, epoch=1))
    cache.refresh()
    assert found(cache) == ["q-2"]
    assert cache.knows(frozenset({"alice"}), "q-1.r1.1", (0,))


def test_cache_drops_what_was_lost(desk: Desk, cache: ReleaseCache) -> None:
    """A entry without content is not offered; a view that was made before stays as it was."""
    assert desk.buy(0, entry(1))
    assert desk.buy(1, entry(2))
    cache.refresh()
    before = cache.entries("patients", since=NOON)
    desk.lose(entry(1))
    assert cache.pending("q-1.r1.1")
    cache.refresh()
    assert not cache.pending("q-1.r1.1")
    assert found(cache) == ["q-2"]
    assert [one.query_id for one in before] == ["q-2", "q-1"]
    assert before[1].query_id == before[-1].query_id == "q-1"
    assert [one.query_id for one in before[:1]] == ["q-2"]


def test_cache_gives_an_entry_up_when_it_was_awaited_too_long(
    desk: Desk, cache: ReleaseCache
) -> None:
    """Nobody says when a process was killed between charge and answer: after a time the caller stops waiting, and what
    came of it all the same is found again.
    """
    killed, slow = entry(1), entry(2)
    assert desk.buy(0, killed)
    assert desk.buy(1, slow)
    later = entry(3, at=desk.pass_minutes(5))
    assert desk.buy(2, later)
    desk.answer(later, 1)
    cache.refresh()

    def awaited(minutes: int) -> list[str]:
        since = NOON + timedelta(minutes=minutes)
        entries = cache.entries("patients", since=NOON, awaited_since=since)
        return [one.query_id for one in entries]

    assert cache.pending(killed.release)
    assert cache.content(killed.release) is None
    assert awaited(0) == ["q-3", "q-2", "q-1"]
    assert awaited(1) == awaited(60) == ["q-3"]
    desk.answer(slow, 7)
    cache.refresh()
    assert awaited(1) == ["q-3", "q-2"]


def test_cache_has_the_content_when_it_is_there(desk: Desk, cache: ReleaseCache) -> None:
    """Nothing before the answer; then the noisy integers, from memory and from the state alike."""
    one = entry(1)
    assert desk.buy(0, one)
    cache.refresh()
    assert cache.content(one.release) is None
    desk.answer(one, 41, -7)
    expected = content(41, -7)
    assert cache.content(one.release) == expected
    assert cache.content(one.release) is cache.content(one.release)
    assert desk.cache().content(one.release) == expected
    assert (
        ReleaseCache(desk.bank.engine, desk.bank.trail.seal, "clinic", most_cells=1).content(
            one.release
        )
        == expected
    )


def test_group_knows_what_its_members_bought_and_were_told(desk: Desk, cache: ReleaseCache) -> None:
    """The buyer knows all of an entry; others the parts they were told; a group what its members know together."""
    one = entry(1, slots=(slot(20), slot(7, "cost"), slot(9, "age")))
    assert desk.buy(0, one)
    assert desk.tell(1, ColumnsShared(one.release, (0,), (), ACCOUNTS["bob"]), 2)
    assert desk.tell(2, ColumnsShared(one.release, (2,), (1,), ACCOUNTS["bob"]), 3, "alice")
    cache.refresh()
    alice, bob, both = frozenset({"alice"}), frozenset({"bob"}), frozenset({"alice", "bob"})
    assert cache.knows(alice, one.release, (0, 1, 2), (0,))
    assert cache.knows(bob, one.release, (0,))
    assert cache.knows(bob, one.release)
    assert not cache.knows(bob, one.release, (0, 1))
    assert not cache.knows(bob, one.release, (), (1,))
    assert cache.knows(both, one.release, (0, 1))
    assert not cache.knows(frozenset({"carol"}), one.release, (0,))
    assert not cache.knows(alice, "q-9.r1.1")


def test_accounts_stand_for_what_they_gave_for(desk: Desk, cache: ReleaseCache) -> None:
    """The buyer's accounts for every part, those that were charged later for the parts that were told then."""
    one = entry(1, slots=(slot(20), slot(7, "cost")))
    assert desk.buy(0, one)
    assert desk.tell(1, ColumnsShared(one.release, (1,), (0,), frozenset({BOB})), 2)
    cache.refresh()
    assert cache.paid_slot(one.release, 0) == {ALICE, CLINIC}
    assert cache.paid_slot(one.release, 1) == {ALICE, CLINIC, BOB}
    assert cache.paid_choice(one.release, 0) == {ALICE, CLINIC, BOB}
    assert cache.paid_choice(one.release, 1) == {ALICE, CLINIC}
    assert cache.paid_slot("q-9.r1.1", 0) == frozenset()


def test_cache_stands_still_while_a_history_is_looked_through(
    desk: Desk, cache: ReleaseCache
) -> None:
    """Whoever holds it may ask the cache everything; what others read waits until it is let go of."""
    assert desk.buy(0, entry(1))
    cache.refresh()
    reader = threading.Thread(target=cache.refresh)
    alice = frozenset({"alice"})
    with cache.still:
        assert desk.buy(1, entry(2, scope(1960, 1969)))
        reader.start()
        reader.join(0.05)
        assert [one.query_id for one in cache.history(alice)] == ["q-1"]
        assert not cache.knows(alice, "q-2.r1.1")
    reader.join()
    assert [one.query_id for one in cache.history(alice)] == ["q-1", "q-2"]


def test_caches_are_one_for_each_dataset(desk: Desk) -> None:
    """Threads that ask for a dataset at once get the same cache."""
    caches = ReleaseCaches(desk.bank.engine, desk.bank.trail.seal)
    made: list[ReleaseCache] = []
    threads = [
        threading.Thread(target=lambda: made.append(caches["clinic"]), args=()) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8
    assert len(set(map(id, made))) == 1
    assert caches["labs"] is not caches["clinic"]


def test_cache_is_whole_when_threads_read_while_others_write(
    desk: Desk, cache: ReleaseCache
) -> None:
    """Readers see every entry up to what `refresh` said, in order, however many write meanwhile."""
    problems: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen = cache.refresh()
            there = list(cache.entries("patients", since=ALWAYS))
            numbers = [int(one.query_id.removeprefix("q-")) for one in there]
            if numbers != list(range(len(numbers) - 1, -1, -1)) or len(numbers) < seen.ordinal:
                problems.append((seen, numbers))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(60):
        assert desk.buy(number, entry(number, at=desk.pass_minutes(1)))
    done.set()
    for reader in readers:
        reader.join()
    assert problems == []
    assert cache.refresh() == CachePosition(60, 0)
