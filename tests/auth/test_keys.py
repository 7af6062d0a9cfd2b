"""Keys have one form, are random, and do not show themselves."""

import hashlib
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.auth.key_store import KeyOrder
from gateway.auth.keys import is_key_id, new_key, parse_key

FORM = re.compile(r"gwk_[a-z2-7]{12}_[A-Za-z0-9_-]{43}")


def test_key_has_its_form_and_comes_back_from_its_text() -> None:
    """A key is `gwk_<id>_<secret>`, and its text leads back to the same key."""
    for _ in range(200):
        key = new_key()
        assert FORM.fullmatch(key.reveal())
        assert parse_key(key.reveal()) == key
        assert is_key_id(key.id)


def test_keys_differ_in_every_part() -> None:
    """No two keys share their id or their secret."""
    keys = [new_key() for _ in range(500)]
    assert len({key.id for key in keys}) == 500
    assert len({key.digest() for key in keys}) == 500


def test_key_shows_its_secret_in_no_repr() -> None:
    """Neither a key nor an order for one prints what it protects."""
    key = new_key()
    secret = key.secret.get_secret_value()
    order = KeyOrder("alice", "os:op", datetime.now(UTC), key=key)
    for shown in (repr(key), str(key), f"{key}", repr(order), repr(vars(order))):
        assert secret not in shown
        assert key.id in shown
    assert secret in key.reveal()


def test_digest_is_of_the_secret_alone() -> None:
    """What is stored is the plain SHA-256 of the secret's text."""
    key = new_key()
    assert key.digest() == hashlib.sha256(key.secret.get_secret_value().encode()).digest()


@given(st.text(max_size=80))
def test_other_text_is_no_key(text: str) -> None:
    """Nothing that lacks the form is taken for a key."""
    assert (parse_key(text) is not None) == (FORM.fullmatch(text) is not None)


@pytest.mark.parametrize("added", ["\n", " ", "=", "A", "\u0660", "\0"])
def test_key_with_anything_added_is_no_key(added: str) -> None:
    """A key is recognised as a whole, not by a part."""
    text = new_key().reveal()
    assert parse_key(text) is not None
    assert parse_key(added + text) is None
    assert parse_key(text + added) is None
    assert parse_key(text.replace("gwk_", "GWK_")) is None
    assert parse_key(text.replace("gwk_", "gwk-")) is None
