"""API keys: one form, random, never shown; their durations, and the verifiers that PostgreSQL itself would store."""

import base64
import hashlib
import re
from datetime import UTC, datetime, timedelta

import pytest
from fix_state import StateServer
from hypothesis import given
from hypothesis import strategies as st
from laws import for_each

from gateway.auth.key_store import KeyOrder
from gateway.auth.keys import (
    LONGEST,
    Salt,
    decoy_verifiers,
    is_key_id,
    new_key,
    new_salt,
    parse_duration,
    parse_key,
    verifier_of,
)
from gateway.errors import Code, OperatorError

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


def test_verifier_equals_what_libpq_makes_of_the_same_password(state_server: StateServer) -> None:
    """PostgreSQL's own client library derives the same keys from key, salt and iterations."""
    key = new_key()
    with state_server.superuser() as connection:
        theirs = connection.pgconn.encrypt_password(
            key.reveal().encode(), b"alice", b"scram-sha-256"
        ).decode()
    mechanism, parameters, keys = theirs.split("$")
    iterations, salt = parameters.split(":")
    verifier = verifier_of(key, Salt(base64.b64decode(salt), int(iterations)))
    assert mechanism == "SCRAM-SHA-256"
    assert keys == ":".join(
        base64.b64encode(part).decode() for part in (verifier.stored_key, verifier.server_key)
    )
    assert verifier.key_id == key.id


def test_salts_are_fresh_and_long_enough() -> None:
    """Every new salt differs; 16 bytes and the standard's 4096 iterations."""
    salts = [new_salt() for _ in range(100)]
    assert len({salt.salt for salt in salts}) == 100
    assert {(len(salt.salt), salt.iterations) for salt in salts} == {(16, 4096)}


def test_unknown_name_has_a_salt_like_anybody() -> None:
    """The salt of an unknown name stays the same, differs by name and secret, and looks real."""
    secret = b"s" * 32
    assert decoy_verifiers("mallory", secret) == decoy_verifiers("mallory", secret)
    assert decoy_verifiers("mallory", secret) != decoy_verifiers("malory", secret)
    assert decoy_verifiers("mallory", secret) != decoy_verifiers("mallory", b"t" * 32)
    assert len(decoy_verifiers("\udcff", secret).salt.salt) == len(new_salt().salt)
    assert decoy_verifiers("mallory", secret).salt.iterations == new_salt().iterations


def test_verifier_shows_no_key_in_its_repr() -> None:
    """The derived keys stay out of logs too."""
    verifier = verifier_of(new_key(), new_salt())
    assert verifier.stored_key.hex() not in repr(verifier)
    assert repr(verifier.stored_key) not in repr(verifier)
    assert repr(verifier.server_key) not in repr(verifier)
