"""From exact groups to noisy ones: all that leaves has noise of its own, and nothing tells of what was found."""

from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import permutations

import pytest
from noise.streams import Stream
from sensitivity.analyses import analysed

from gateway.exact import ExactTable
from gateway.noise.add_noise import MismatchedDraws, NoisyTable, add_noise, sort_key
from gateway.noise.allocation import Distribution, ReleaseNoise, price_noise
from gateway.noise.entropy import Entropy
from gateway.noise.mechanism import DiscreteLaplace
from gateway.sensitivity.analysis import EnumeratedGroups, ThresholdGroups

PRICE, DELTA = Fraction(1), Fraction(1, 10**6)
DEAR = Fraction(10**9)
REGIONS = "SELECT region, COUNT(*), AVG(income) FROM patients GROUP BY region"
FOUND = "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis"


def _release(sql: str, price: Fraction = PRICE) -> ReleaseNoise:
    [made] = price_noise([analysed(sql)], Distribution.LAPLACE, price, DELTA)
    return made


@dataclass
class Counting:
    """A stream that counts how often it was asked."""

    name: str
    asked: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._stream = Stream(self.name)

    def bits(self, count: int) -> int:
        self.asked["bits"] += 1
        return self._stream.bits(count)

    def bytes(self, count: int) -> bytes:
        self.asked["bytes"] += 1
        return self._stream.bytes(count)


@dataclass(frozen=True)
class Recorded(DiscreteLaplace):
    """Noise that says how many draws it was asked for."""

    asked: list[int] = field(default_factory=list)

    def draw(self, count: int, entropy: Entropy) -> list[int]:
        del entropy
        self.asked.append(count)
        return list(range(100, 100 + count))


def _exact(keys: list[tuple[str | None, ...]], *columns: list[int]) -> ExactTable:
    return ExactTable(tuple(keys), tuple(map(tuple, columns)))


def test_enumerated_groups_come_back_all_in_order_whatever_was_found() -> None:
    """Empty groups come back with noise, cells outside are dropped, and the order is the enumeration's."""
    release = _release(REGIONS)
    groups = release.analysis.groups
    assert isinstance(groups, EnumeratedGroups)
    width = len(release.noises)
    outside = _exact(
        [("west",), ("nowhere",), ("north",)],
        *[[10**9 * (place + 1)] * 3 for place in range(width)],
    )
    nothing = _exact([], *[[] for _ in range(width)])
    for exact, there in ((outside, {("west",), ("north",)}), (nothing, set())):
        table = add_noise(exact, release, Stream("enumerated"))
        assert table.keys == groups.keys
        for place, column in enumerate(table.measured):
            assert len(column) == len(groups.keys)
            for key, value in zip(table.keys, column, strict=True):
                raw = 10**9 * (place + 1) if key in there else 0
                assert abs(value - raw) < 60 * release.noises[place].std
    empty = add_noise(nothing, release, Stream("empty"))
    assert any(value for column in empty.measured for value in column), "empty groups have noise"


def test_every_integer_gets_a_draw_of_its_own_when_it_leaves() -> None:
    """Each measurement draws once for each group, and no two integers of an answer share a draw."""
    release = _release(REGIONS)
    recorded = Recorded(Fraction(1))
    watched = replace(release, noises=(recorded,) * len(release.noises))
    width = len(release.noises)
    table = add_noise(_exact([], *[[] for _ in range(width)]), watched, Stream("own"))
    assert recorded.asked == [len(table.keys)] * width
    assert all(column == tuple(range(100, 100 + len(column))) for column in table.measured)


@pytest.mark.parametrize("groups", [5, 200])
def test_released_integers_are_all_different_draws_when_noise_is_wide(groups: int) -> None:
    """With noise of 2^60 a repeated draw cannot be chance (below 1e-12): none is repeated, within or between."""
    release = _found_release(DiscreteLaplace(Fraction(2**60)))
    release = replace(release, shown_from=-(2**80))
    exact = _exact([(f"d{place}",) for place in range(groups)], *[[0] * groups] * 2)
    entropy = Counting("different")
    seen: list[int] = []
    for _ in range(3):
        table = add_noise(exact, release, entropy)
        seen += [value for column in table.measured for value in column]
    assert len(seen) == len(set(seen)) == 3 * 2 * groups
    assert sum(entropy.asked.values()) > 0


def _found_release(noise: DiscreteLaplace) -> ReleaseNoise:
    release = _release(FOUND)
    assert isinstance(release.analysis.groups, ThresholdGroups)
    assert len(release.noises) == 2
    return replace(release, noises=(noise,) * 2)


def test_thresholded_groups_are_hidden_below_the_threshold_and_shown_from_it() -> None:
    """Without noise to speak of: a group is there from the threshold on, with the other columns in its row."""
    release = _release(FOUND, DEAR)
    assert isinstance(release.analysis.groups, ThresholdGroups)
    units, least = release.analysis.groups.units, release.shown_from
    assert least is not None
    counts = [least - 1, least, least + 1, 0, 10**6]
    names = ["below", "at", "above", "nobody", "crowd"]
    columns = [[0] * 5, [0] * 5]
    columns[units] = counts
    columns[1 - units] = [1, 2, 3, 4, 5]
    table = add_noise(_exact([(one,) for one in names], *columns), release, Stream("shown"))
    assert table.keys == (("above",), ("at",), ("crowd",))
    assert table.measured[units] == (least + 1, least, 10**6)
    assert table.measured[1 - units] == (3, 2, 5)


def test_threshold_looks_at_the_noisy_count_when_a_group_is_near_it() -> None:
    """No group is shown whose noisy count is below the threshold, and some of each kind are on both sides."""
    release = _release(FOUND)
    assert isinstance(release.analysis.groups, ThresholdGroups)
    units, least = release.analysis.groups.units, release.shown_from
    assert least is not None
    groups = 300
    columns = [[5] * groups, [5] * groups]
    columns[units] = [least] * groups
    exact = _exact([(f"d{place}",) for place in range(groups)], *columns)
    table = add_noise(exact, release, Stream("near"))
    assert 50 < len(table.keys) < 250
    assert min(table.measured[units]) >= least


@pytest.mark.parametrize("order", list(permutations(range(4)))[:8])
def test_groups_are_sorted_by_key_when_the_source_answers_in_any_order(
    order: tuple[int, ...],
) -> None:
    """The order of the source is not seen: NULL comes last, texts by their code points."""
    release = _release(FOUND, DEAR)
    keys: list[tuple[str | None, ...]] = [("Z",), ("a",), ("é",), (None,)]
    exact = _exact([keys[place] for place in order], *[[10**6] * 4] * 2)
    assert add_noise(exact, release, Stream("sorted")).keys == tuple(keys)


def test_keys_of_every_type_have_an_order_when_some_are_null() -> None:
    """Values sort by themselves, column by column."""
    keys: list[tuple[int | Fraction | bool | None, ...]] = [
        (1, None),
        (1, Fraction(1, 2)),
        (0, True),
    ]
    assert sorted(keys, key=sort_key) == [keys[2], keys[1], keys[0]]


@pytest.mark.parametrize("sql", [REGIONS, FOUND])
def test_a_duplicated_group_is_refused_when_the_source_gives_one(sql: str) -> None:
    """One group twice would have two draws for one value."""
    release = _release(sql)
    width = len(release.noises)
    with pytest.raises(MismatchedDraws, match="twice"):
        add_noise(_exact([("north",), ("north",)], *[[1, 1]] * width), release, Stream("twice"))


@pytest.mark.parametrize("sql", [REGIONS, FOUND])
@pytest.mark.parametrize("off", [-1, 1])
def test_a_missing_or_surplus_measurement_is_refused(sql: str, off: int) -> None:
    """What was not priced has no noise, so nothing leaves."""
    release = _release(sql)
    width = len(release.noises) + off
    with pytest.raises(MismatchedDraws, match="measurements"):
        add_noise(_exact([("north",)], *[[1]] * width), release, Stream("surplus"))


@dataclass(frozen=True)
class Short(DiscreteLaplace):
    """Noise that draws one too few."""

    def draw(self, count: int, entropy: Entropy) -> list[int]:
        del entropy
        return [0] * (count - 1)


@pytest.mark.parametrize("sql", [REGIONS, FOUND])
def test_a_column_without_a_draw_for_each_integer_is_refused(sql: str) -> None:
    """Nothing leaves without noise, and no row is cut off in silence."""
    release = _release(sql)
    width = len(release.noises)
    short = replace(release, noises=(Short(Fraction(1)),) * width)
    with pytest.raises(MismatchedDraws, match="draws"):
        add_noise(_exact([("north",), ("a",)], *[[1, 1]] * width), short, Stream("short"))


def test_a_release_without_its_threshold_is_refused() -> None:
    """Groups that are found in the data leave by a threshold or not at all."""
    release = replace(_release(FOUND), shown_from=None)
    with pytest.raises(MismatchedDraws, match="threshold"):
        add_noise(_exact([("a",)], [10**6], [10**6]), release, Stream("none"))


def test_tables_show_no_value_in_their_repr() -> None:
    """A log that prints a table prints no number of it."""
    secret = 987_654_321
    exact = _exact([("north",)], [secret])
    noisy = NoisyTable((("north",),), ((secret,),), ())
    assert str(secret) not in repr(exact) + repr(noisy)
    assert "north" not in repr(exact)
