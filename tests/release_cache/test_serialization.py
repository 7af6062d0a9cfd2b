"""Sheets and contents as they are kept: what is read is what was written, and nothing else is read."""

import json
import random
import zlib
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from fractions import Fraction
from uuid import UUID

import pytest
from release_cache.visits import SMOKERS, Question, any_question, born

from gateway.catalog.values import Value
from gateway.json_form import Json
from gateway.noise.combined_noise import combine_draws
from gateway.noise.convolution import SummedNoise
from gateway.noise.exponential import Selection
from gateway.noise.mechanism import DiscreteGaussian, DiscreteLaplace
from gateway.release_cache import serialization as saved
from gateway.release_cache.entry import CachedChoice, CacheEntry, Content, spread_of
from gateway.release_cache.serialization import (
    InvalidEntry,
    content_of_text,
    content_text,
    entry_json,
    entry_of_json,
)

_VALUES: tuple[Value | None, ...] = (
    None, True, False, 0, 1, -(2**70), Fraction(1), Fraction(-7, 3), "", "1", "ünïcode \0 '\"",
    date(1, 1, 1), date(2026, 2, 28), datetime(2026, 2, 28, 13, 14, 15, 999_999),  # noqa: DTZ001 - without zone
    datetime(2026, 2, 28, tzinfo=UTC), UUID(int=2**127 + 1),
)  # fmt: skip
_LAPLACE = DiscreteLaplace(Fraction(10, 3))


def _entry() -> CacheEntry:
    question = Question(
        ("region", "month"), (SMOKERS, born(2003, 2009)), ("avg(v.cost)", "max(v.cost)"), 24
    )
    found = question.entry("q.r1.1")
    mixed = combine_draws((), _LAPLACE, (), DiscreteLaplace(Fraction(7)))[1]
    slots = tuple(replace(one, noises=(mixed, SummedNoise(_LAPLACE, 3))) for one in found.slots)
    choices = (*found.choices, CachedChoice("0", Selection(Fraction(9, 7)), Fraction(1, 9)))
    return replace(found, slots=slots, choices=choices)


def _through_text(said: Json) -> Json:
    read: Json = json.loads(json.dumps(said))
    return read


def test_an_entry_is_read_as_it_was_written() -> None:
    """Scopes, noises, choices and prices, each of its type."""
    for entry in (_entry(), replace(_entry(), delta=Fraction(1, 10**9), touched=("a", "b"))):
        assert entry_of_json(_through_text(entry_json(entry))) == entry


@pytest.mark.parametrize("seed", range(10))
def test_entries_of_any_question_are_read_as_they_were_written(seed: int) -> None:
    """Whatever was asked."""
    chance = random.Random(seed)  # noqa: S311 - questions of a test
    for _ in range(10):
        entry = any_question(chance, chance.choice((2, 24))).entry("q.r1.1")
        assert entry_of_json(_through_text(entry_json(entry))) == entry


def test_a_content_is_read_as_it_was_written() -> None:
    """Keys of every type, integers of any size, what was chosen and the spans; a truth is no number."""
    keys = tuple((one, at % 3 == 0) for at, one in enumerate(_VALUES))
    many = len(keys)
    content = Content(
        keys,
        (tuple(range(many)), tuple(-(3**at) for at in range(60, 60 + many))),
        (tuple("x" if one is None else one for one in _VALUES), (5,) * many),
        (((Fraction(1, 3), Fraction(5)),) * many, ()),
    )
    found = content_of_text(content_text(content))
    assert found == content
    assert [list(map(type, one)) for one in found.keys] == [list(map(type, one)) for one in keys]


@pytest.mark.parametrize(
    "content",
    [
        Content(((),), ((7,),)),
        Content((), ((), ())),
        Content((), (), ((),), ((),)),
        Content((("a",),), (), ((1,),), ((),)),
    ],
)
def test_a_content_without_keys_or_groups_is_read_as_it_was_written(content: Content) -> None:
    """One group, or none at all."""
    assert content_of_text(content_text(content)) == content


def test_ten_thousand_groups_are_kept_small() -> None:
    """Ten columns of them are read as they were written, in less than a megabyte."""
    chance = random.Random(1)  # noqa: S311 - integers of a test
    keys = tuple((f"region {at // 100}", at % 100) for at in range(10_000))
    columns = tuple(tuple(chance.randint(-500, 5_000) for _ in keys) for _ in range(10))
    content = Content(keys, columns)
    text = content_text(content)
    assert content_of_text(text) == content
    assert len(text) < 1_000_000


def _with(change: Callable[[dict[str, Json]], object]) -> Json:
    said = _through_text(entry_json(_entry()))
    assert isinstance(said, dict)
    change(said)
    return said


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(_with(lambda said: said.update(v=2)), id="another version"),
        pytest.param(_with(lambda said: said.update(more=1)), id="more"),
        pytest.param(_with(lambda said: said.pop("plain")), id="less"),
        pytest.param(_with(lambda said: said.update(plain=1)), id="no truth"),
        pytest.param(_with(lambda said: said.update(at="2026-01-01T00:00:00")), id="no zone"),
        pytest.param(_with(lambda said: said.update(at="noon")), id="no moment"),
        pytest.param(_with(lambda said: said.update(epoch=True)), id="no epoch"),
        pytest.param(_with(lambda said: said.update(asked_at="0.1")), id="no price"),
        pytest.param(_with(lambda said: said.update(slots={})), id="no slots"),
        pytest.param(_with(lambda said: said.update(slots=[{"digest": "x"}])), id="half a slot"),
        pytest.param(
            _with(
                lambda said: said.update(choices=[{"digest": "x", "other": "1/2", "cost": "1/2"}])
            ),
            id="another choice",
        ),
        pytest.param(
            _with(
                lambda said: said.update(choices=[{"digest": "x", "pure": "0/2", "cost": "1/2"}])
            ),
            id="no scale",
        ),
        pytest.param([], id="a list"),
        pytest.param(None, id="nothing"),
    ],
)
def test_anything_else_is_no_entry(said: Json) -> None:
    """Other versions, other names, other types."""
    with pytest.raises(InvalidEntry):
        entry_of_json(said)


def _packed(said: object) -> str:
    return b64encode(zlib.compress(json.dumps(said).encode())).decode()


_SAID = {"v": 1, "groups": 1, "keys": [], "columns": [], "chosen": [], "spans": []}


def _keyed(value: object, at: int) -> str:
    return _packed({**_SAID, "keys": [{"values": [value], "at": [at]}]})


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("{}", id="not packed"),
        pytest.param(_packed({**_SAID, "v": 2}), id="another version"),
        pytest.param(_packed({**_SAID, "columns": [[1.5]]}), id="no whole number"),
        pytest.param(_packed({**_SAID, "columns": [[True]]}), id="a truth"),
        pytest.param(_packed({**_SAID, "columns": [[1, 2]]}), id="more numbers than groups"),
        pytest.param(_packed({**_SAID, "keys": [[1]]}), id="no column"),
        pytest.param(_keyed(["x", "1"], 0), id="no value"),
        pytest.param(_keyed(["fraction", "1/0"], 0), id="no ratio"),
        pytest.param(_keyed(1.5, 0), id="a float"),
        pytest.param(_keyed("x", 1), id="a place that is not there"),
        pytest.param(_keyed("x", -1), id="a place from the end"),
        pytest.param(
            _packed({**_SAID, "chosen": [{"values": [None], "at": [0]}]}), id="nothing chosen"
        ),
        pytest.param(_packed({**_SAID, "spans": [["1/2"]]}), id="no span"),
        pytest.param(_packed(_SAID)[:-8] + "AAAAAA==", id="cut off"),
    ],
)
def test_anything_else_is_no_content(text: str) -> None:
    """What was not written by us, or was changed, is refused."""
    with pytest.raises(InvalidEntry):
        content_of_text(text)


def test_a_content_that_unpacks_to_more_than_there_can_be_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A few kilobytes that would fill the memory are not unpacked to the end."""
    text = content_text(Content(((),) * 100_000, ((0,) * 100_000,)))
    assert content_of_text(text).columns == ((0,) * 100_000,)
    monkeypatch.setattr(saved, "_MOST_BYTES", 100_000)
    with pytest.raises(InvalidEntry):
        content_of_text(text)


def test_the_spread_of_a_slot_is_that_of_its_best_measurement() -> None:
    """The variance of the noise over the square of how far one unit moves it; a quarter of it of a sum of two ends."""
    slot = _entry().slots[0]
    noises = (DiscreteGaussian(Fraction(50)), _LAPLACE)
    found = spread_of(replace(slot, noises=noises, most=5))
    assert found == Fraction(200, 9) / 25 / 4
    assert spread_of(replace(slot, noises=(_LAPLACE,), most=5)) == 4 * found
