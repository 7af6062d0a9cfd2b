"""One value, one text, on one line that any terminal can show."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import for_each

from gateway.json_form import Json
from gateway.policy.subjects import Subject
from gateway.trail.chain import canonical_json
from gateway.trail.search import json_line

ANY_TEXT = st.text(st.characters(exclude_categories=[]))
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)
NASTY = [
    "\x1b[2J\x1b]0;owned\x07",
    "one\nseq 2\r\nthree",
    "\u2028\u2029\x85\x0b\x0c",
    "\u202etxet\u2066\u200f",
    "\ud800",
    "\udfff\ud800",
    "\x00",
    "\x7f",
    "\\\x7f",
    "\x80\x9f",
    '","seq":1,"x":"',
    "é😀",
]


def utf16(value: object) -> object:
    """What a JSON text can say: two halves of a sign that stand together are that sign."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass")
    if isinstance(value, Mapping):
        return {utf16(key): utf16(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [utf16(member) for member in value]
    return (type(value), value)


@given(value=ANY_JSON)
def test_canonical_text_is_one_printable_line_whatever_was_written(value: Json) -> None:
    """No character of an analyst's can break a line, move a cursor or turn the text around."""
    text = canonical_json(value)
    assert text.isascii()
    assert text.isprintable()


@given(value=ANY_JSON)
def test_canonical_text_says_the_value_when_it_is_read(value: Json) -> None:
    """Nothing is lost: the text reads as the value it was made from."""
    assert utf16(json.loads(canonical_json(value))) == utf16(value)


@given(one=ANY_JSON, other=ANY_JSON)
def test_canonical_text_differs_when_the_values_do(one: Json, other: Json) -> None:
    """Two values never share a text, so a record cannot be exchanged for another."""
    assert (canonical_json(one) == canonical_json(other)) == (utf16(one) == utf16(other))


@pytest.mark.parametrize(
    ("one", "other"), [(1, "1"), (True, 1), (None, "null"), ([], {}), (0, False)]
)
def test_canonical_text_differs_when_values_only_look_alike(one: Json, other: Json) -> None:
    """A number is not its digits, nor truth a number."""
    assert canonical_json(one) != canonical_json(other)


@given(keys=st.lists(ANY_TEXT, unique=True, max_size=6), data=st.data())
def test_canonical_text_is_the_same_when_keys_come_in_another_order(
    keys: list[str], data: st.DataObject
) -> None:
    """The order in which something was put together does not show."""
    shuffled = data.draw(st.permutations(keys))
    assert canonical_json(dict.fromkeys(keys, 1)) == canonical_json(dict.fromkeys(shuffled, 1))


@for_each("text", NASTY)
def test_canonical_text_is_one_printable_line_when_the_text_is_nasty(text: str) -> None:
    """The worst of them by name, as a value and as a key."""
    for value in (text, {text: text}, [text]):
        written = canonical_json(value)
        assert written.isascii()
        assert written.isprintable()
        assert json.loads(written) == value


def test_canonical_text_stays_as_it_is() -> None:
    """Golden: records that were written must verify for ever, so this text may never change."""
    value: Json = {
        "v": 1,
        "sql": "SELECT 'é', '\x1b[31m' -- \"\\\n\u2028\x00\x7f😀\ud800/",
        "at": "2026-01-31T12:00:00.000001+00:00",
        "taken": ({"b": None, "a": True}, -7, 10**20, ()),
        "": {},
    }
    assert canonical_json(value) == (
        '{"":{},"at":"2026-01-31T12:00:00.000001+00:00",'
        "\"sql\":\"SELECT '\\u00e9', '\\u001b[31m' -- \\\"\\\\\\n\\u2028\\u0000\\u007f"
        '\\ud83d\\ude00\\ud800/",'
        '"taken":[{"a":true,"b":null},-7,100000000000000000000,[]],"v":1}'
    )


@for_each(
    "value",
    [
        0.1,
        1.0,
        float("nan"),
        float("inf"),
        b"bytes",
        bytearray(b"x"),
        memoryview(b"x"),
        {1: "x"},
        {None: "x"},
        {True: "x"},
        {"x": {2: "y"}},
        {"set"},
        object(),
        1j,
        [0.5],
        {"deep": [{"er": 0.5}]},
    ],
)
def test_canonical_text_is_refused_when_a_value_has_more_than_one(value: Json) -> None:
    """Floats, bytes and keys that are not text are bugs of ours, and never get into a record."""
    with pytest.raises(TypeError, match="has no canonical form"):
        canonical_json(value)


def test_canonical_text_takes_the_attributes_of_a_subject() -> None:
    """What the policy hands over, read-only mappings and tuples, is what a question's record says."""
    subject = Subject("alice", MappingProxyType({"role": "researcher", "purposes": ("care", "x")}))
    assert canonical_json({"attributes": subject.attributes}) == (
        '{"attributes":{"purposes":["care","x"],"role":"researcher"}}'
    )


@given(body=st.dictionaries(ANY_TEXT, ANY_JSON, max_size=4))
def test_exported_line_is_printable_and_says_the_record(body: dict[str, Any]) -> None:
    """An export has as many lines as records, each of printable ASCII."""
    record = {"seq": 7, **{key: value for key, value in body.items() if key not in {"seq", "mac"}}}
    line = json_line(record)
    assert line.isascii()
    assert line.isprintable()
    assert utf16(json.loads(line)) == utf16(record)
