"""Texts in blocks: what comes out is what went in, whatever it is."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.columnar.texts import BLOCK, Block, Packing, TextRows, Texts, array_bytes, array_text

TEXTS = st.one_of(
    st.none(),
    st.text(max_size=6),
    st.sampled_from(["", "\0", "\xff", "ÿ", "\ud800", '"', "\\", ",", "NULL"]),
)


@given(st.lists(TEXTS, max_size=9))
def test_column_comes_back_as_it_was(texts: list[str | None]) -> None:
    """Any texts, NULL and empty ones apart, in their order; one by one, too."""
    packed = Texts.of(iter(texts))
    assert list(packed) == texts
    assert [packed[place] for place in range(len(packed))] == texts
    assert packed.has_missing == (None in texts)


@pytest.mark.parametrize("many", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_table_comes_back_as_it_was_when_it_is_packed_as_it_comes(many: int) -> None:
    """However many rows there are, and however many come at a time."""
    rows = tuple((str(row), None if row % 3 else "") for row in range(many))
    packing = Packing()
    for first in range(0, many, 512):
        some = [
            [None if one is None else one.encode() for one in column]
            for column in zip(*rows[first : first + 512], strict=True)
        ]
        packing.add(some, len(some[0]))
    packed = packing.packed()
    assert packed == rows
    assert len(packed) == many
    assert packed == TextRows.of(rows)
    assert packed[:3] == rows[:3]
    assert [packed[place] for place in (0, -1) if many] == [
        rows[place] for place in (0, -1) if many
    ]
    assert [count for count, _ in packed.parts(2)] == [
        min(2 * BLOCK, many - first) for first in range(0, many, 2 * BLOCK)
    ]
    assert packed.first(1) == tuple(row[:1] for row in rows)


def test_tables_differ_when_one_cell_does() -> None:
    """The control: what is equal is compared cell by cell."""
    rows = (("1", None), ("2", ""))
    assert TextRows.of(rows) != (("1", None), ("2", None))
    assert TextRows.of(rows) != rows[:1]
    assert Texts.of(["1"]) != ["2"]


def test_table_without_columns_keeps_its_rows() -> None:
    """`SELECT FROM patients` has as many as it has."""
    packing = Packing()
    packing.add([], 3)
    assert packing.packed() == ((), (), ())
    assert [count for count, _ in packing.packed().parts()] == [3]


@pytest.mark.parametrize("value", [b"\xe9", b"\xff", b"a\xffb", b"\xed\xa0\x80"])
def test_bytes_that_are_no_text_are_not_taken(value: bytes) -> None:
    """Neither what is no UTF-8, nor what would become two texts."""
    with pytest.raises(UnicodeDecodeError):
        Block.read([b"a", value])
    assert Block.read([b"a", "é\xff".encode(), None]).texts() == ["a", "é\xff", None]


def test_table_takes_a_tenth_of_what_as_many_texts_take() -> None:
    """The reason for all this: of short texts, the bytes and one more for each."""
    rows = 50_000
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        packed = Texts.of(map(str, range(rows)))
        packed_bytes = tracemalloc.get_traced_memory()[0] - before
        plain = list(packed)
        plain_bytes = tracemalloc.get_traced_memory()[0] - before - packed_bytes
    finally:
        tracemalloc.stop()
    assert len(plain) == rows
    assert packed_bytes * 8 < plain_bytes


def test_array_has_a_replacement_for_the_character_of_code_zero() -> None:
    """PostgreSQL has no such character, and one text with it must not make a whole table unreadable."""
    assert array_text(["a\0b", None]) == '{"a\ufffdb",NULL}'
    assert array_bytes([b"a\0b"]) == '{"a\ufffdb"}'.encode()
