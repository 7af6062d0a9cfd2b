"""What is stored of a key is what PostgreSQL itself would store."""

import base64

from fix_state import StateServer

from gateway.auth.keys import Salt, decoy_verifiers, new_key, new_salt, verifier_of


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
