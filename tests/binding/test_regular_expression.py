"""Regular expressions over values that are known."""

import re
from itertools import product

import pytest
from laws import for_each

from gateway.binding.regular_expression import read_regular_expression, read_similar
from gateway.errors import Refusal

_TEXTS = ["".join(signs) for length in range(5) for signs in product("ab1", repeat=length)]
_PATTERNS = (
    *(
        "a",
        "^a",
        "a$",
        "^a|b$",
        "(a|b)*1",
        "^(a|b)*1?$",
        "[ab]+1",
        "^[^ab]",
        "a{2}",
        "^a{2,}",
        "^a{0,1}b",
    ),
    *(
        r"\d",
        r"^\D+$",
        r"\w1",
        "a.b",
        "^(?:ab)+$",
        "(a*)*1",
        "a+?b",
        "^[a-b1]*$",
        "[]a]",
        r"a\.b",
        "",
        "a|",
    ),
)


@for_each("pattern", _PATTERNS)
def test_pattern_matches_as_another_reader_says(pattern: str) -> None:
    """What both read alike matches the same texts: all of three signs, up to four in a row."""
    read = read_regular_expression(pattern)
    assert [one for one in _TEXTS if read.is_in(one)] == [
        one
        for one in _TEXTS
        if re.search(pattern.replace("[]a]", r"[\]a]").replace("$", r"\Z"), one)
    ]


def test_case_is_folded_and_similar_is_of_the_whole_text() -> None:
    """`~*` folds the letters of ASCII; SIMILAR TO has `%` and `_`, and its dots are dots."""
    assert read_regular_expression("NOR", folded=True).is_in("the North")
    assert not read_regular_expression("NOR").is_in("north")
    similar = read_similar("n_r%(x|h)")
    assert [one for one in ("north", "nrrh", "norx", "a north", "n.rh") if similar.is_in(one)] == [
        "north", "nrrh", "norx", "n.rh",
    ]  # fmt: skip
    assert not read_similar("a.c").is_in("abc")
    assert read_similar("a.c").is_in("a.c")
    assert read_similar(r"\w+\s\d%").is_in("room 7b")
    assert not read_similar(r"\w+").is_in("two words")
    for pattern in (r"n\orth", "n(?:or)th"):
        with pytest.raises(Refusal):
            read_similar(pattern)


@for_each(
    "pattern",
    [
        r"(a)\1",
        "(?=a)",
        "(?i)a",
        "***:a",
        "(a",
        "a)",
        "*a",
        "a**",
        "a{2}{3}",
        "[a",
        "[[.a.]]",
        r"\ma",
        "a{300}",
    ],
)
def test_pattern_that_is_not_read_is_refused(pattern: str) -> None:
    """Look-around, references, directives and what does not end."""
    with pytest.raises(Refusal):
        read_regular_expression(pattern)


def test_pattern_takes_bounded_time() -> None:
    """Repetitions within repetitions are followed as places, and end in a refusal where they are too many."""
    assert not read_regular_expression("^((a*)*)*b$").is_in("a" * 200)
    with pytest.raises(Refusal):
        read_regular_expression("((a{100}){100}){100}")
    long = read_regular_expression("(a?){200}(a*a*a*a*)*b")
    with pytest.raises(Refusal):
        long.is_in("a" * 20_000)


def test_letters_beyond_ascii_are_not_guessed() -> None:
    """Which letters are letters is a matter of the locale."""
    with pytest.raises(Refusal):
        read_regular_expression(r"\w").is_in("ä")
    assert read_regular_expression("^ä.$").is_in("äö")
