"""What every request reads: the same as SQLAlchemy reads, over connections that are looked at before."""

import time
from datetime import timedelta

import psycopg
import pytest
from fix_auth import Door
from fix_state import StateServer
from sqlalchemy import event, text
from sqlalchemy.exc import OperationalError

from gateway.auth.key_store import find_key, read_key, translate_state_errors
from gateway.errors import BackendUnavailable, Code, Unauthenticated
from gateway.state import connections as connect
from gateway.state.connections import UNREACHABLE, engine_for
from gateway.state.open import StateUrls

_DAY = timedelta(days=1)


def test_key_is_read_alike_in_both_ways(door: Door) -> None:
    """Used or not, with an end or without, revoked or unknown: every field is the same."""
    used, ends, revoked = (door.create("alice", lasts).key.id for lasts in (None, _DAY, None))
    door.revoke(revoked)
    door.authenticator().authenticate(
        door.create("bob").key.reveal(), address="10.0.0.1", front_end="rest"
    )
    engine = door.state.engine
    for _ in range(3):
        for key in (used, ends, revoked, "aaaaaaaaaaaa", "'; --"):
            with engine.connect() as connection:
                assert read_key(engine, key) == find_key(connection, key)
    found = read_key(engine, revoked)
    assert found is not None
    assert found.revoked_at == door.clock.now


def test_key_revoked_by_another_process_is_refused_at_once(
    door: Door, state_urls: StateUrls
) -> None:
    """Nothing of a key is remembered between two requests, whoever revoked it."""
    key = door.create().key
    authenticator = door.authenticator()
    for _ in range(3):
        assert authenticator.authenticate(key.reveal(), address="a", front_end="rest") == "ALICE"
    elsewhere = engine_for(state_urls.application, pooled=False)
    with elsewhere.begin() as connection:
        connection.execute(
            text("INSERT INTO key_revocations VALUES (:id, now(), 'os:op')"), {"id": key.id}
        )
    elsewhere.dispose()
    with pytest.raises(Unauthenticated):
        authenticator.authenticate(key.reveal(), address="a", front_end="rest")


def test_connection_is_lent_again_as_it_was(door: Door) -> None:
    """Whoever gets the connection next has transactions, and sees what was committed meanwhile."""
    engine = door.state.engine
    for _ in range(3):
        read_key(engine, "aaaaaaaaaaaa")
        with engine.connect() as connection:
            driver = connection.connection.driver_connection
            assert isinstance(driver, psycopg.Connection)
            assert not driver.autocommit
            connection.execute(text("SELECT 1"))
            assert driver.info.transaction_status is psycopg.pq.TransactionStatus.INTRANS


def test_connection_that_ended_in_the_pool_is_replaced(
    door: Door, state_server: StateServer, state_urls: StateUrls
) -> None:
    """A server that was restarted meanwhile costs nobody a request; without a look it would."""
    engine = door.state.engine
    for _ in range(2):
        read_key(engine, "aaaaaaaaaaaa")
        _end_connections(state_server, state_urls)
        assert read_key(engine, "aaaaaaaaaaaa") is None
        _end_connections(state_server, state_urls)
        with engine.connect() as connection:
            assert connection.execute(text("SELECT 1")).scalar_one() == 1
    event.remove(engine, "checkout", connect._require_alive)
    _end_connections(state_server, state_urls)
    with pytest.raises(UNREACHABLE):
        read_key(engine, "aaaaaaaaaaaa")
    assert read_key(engine, "aaaaaaaaaaaa") is None  # what broke is not lent again


def test_state_that_breaks_under_a_read_is_unavailable(
    door: Door, state_server: StateServer, state_urls: StateUrls
) -> None:
    """Whether the driver says it or SQLAlchemy, the caller is told to try again."""
    engine = door.state.engine
    read_key(engine, "aaaaaaaaaaaa")
    event.remove(engine, "checkout", connect._require_alive)
    _end_connections(state_server, state_urls)
    with pytest.raises(BackendUnavailable) as refused, translate_state_errors():
        read_key(engine, "aaaaaaaaaaaa")
    assert refused.value.code is Code.STATE_UNAVAILABLE
    assert isinstance(refused.value.__cause__, psycopg.OperationalError)
    assert not isinstance(refused.value.__cause__, OperationalError)


def _end_connections(server: StateServer, urls: StateUrls) -> None:
    """Return when the server has none left."""
    database = str(urls.application.database)
    with server.superuser() as connection:
        for _ in range(500):
            left = connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                (database,),
            ).fetchall()
            if not left:
                return
            time.sleep(0.02)
    raise AssertionError("connections stay")
