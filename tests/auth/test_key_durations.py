"""Durations are read as people type them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import for_each

from gateway.auth.keys import LONGEST, parse_duration
from gateway.errors import Code, OperatorError


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("90d", timedelta(days=90)),
        ("12h", timedelta(hours=12)),
        ("30m", timedelta(minutes=30)),
        ("4w", timedelta(weeks=4)),
        ("3653d", LONGEST),
    ],
)
def test_duration_is_read(text: str, duration: timedelta) -> None:
    """A whole number and a unit are a time span."""
    assert parse_duration(text) == duration


@for_each(
    "text",
    [
        *("", "90", "d", "0d", "-1d", "+1d", "1.5d", "90 d", " 90d", "90d\n", "90D", "1y", "1s"),
        *("09d", "1d1h", "1e3d", "\u0661d", "3654d", "522w", "9" * 20 + "d", "9" * 5000 + "m"),
    ],
)
def test_duration_is_refused_when_it_is_not_one(text: str) -> None:
    """Anything else, and more than ten years, is one clear error."""
    with pytest.raises(OperatorError) as caught:
        parse_duration(text)
    assert caught.value.code is Code.ARGUMENT_INVALID
    assert len(str(caught.value)) < 150


@given(st.text(max_size=12))
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    """No text leads to anything but a positive span or the one error."""
    try:
        assert timedelta(0) < parse_duration(text) <= LONGEST
    except OperatorError:
        return
