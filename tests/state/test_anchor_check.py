"""A state that is not the one of the last run is refused before anything is answered on it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from fix_ledger import ALICE, Bank, limits
from fix_state import AUDIT_SECRET, StateServer, settings_on
from psycopg import sql

from gateway.admin.instance import open_foundation
from gateway.config import Settings
from gateway.errors import Code, OperatorError
from gateway.state.anchor import Anchor
from gateway.state.open import OWNER, StateUrls, open_state
from gateway.trail.chain import ChainKey
from gateway.trail.record import Trail


@contextmanager
def gateway(settings: Settings) -> Iterator[Bank]:
    with open_state(settings, AUDIT_SECRET) as state:
        yield Bank(state.journal, Trail(ChainKey(AUDIT_SECRET)), state.engine)


def spend(settings: Settings, *names: str) -> None:
    with gateway(settings) as bank:
        bank.open_ledger(limits(100))
        bank.open_account(ALICE, limits(100))
        for name in names:
            bank.ask("0.5", query_id=name)


def refusal(settings: Settings) -> OperatorError:
    with pytest.raises(OperatorError) as caught, open_state(settings, AUDIT_SECRET):
        raise AssertionError("it opened")
    return caught.value


def copy_of(server: StateServer, urls: StateUrls, name: str) -> None:
    with server.superuser() as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER {}").format(
                sql.Identifier(name),
                sql.Identifier(str(urls.application.database)),
                sql.Identifier(OWNER),
            )
        )


def drop(server: StateServer, name: str) -> None:
    with server.superuser() as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def test_state_is_opened_when_it_is_the_one_that_was_left(state_settings: Settings) -> None:
    """A negative control: the same state, or one that is ahead of its anchor, opens."""
    spend(state_settings, "a")
    anchor = (state_settings.home / "anchor").read_bytes()
    spend(state_settings, "b")
    spend(state_settings, "c")
    (state_settings.home / "anchor").write_bytes(anchor)
    spend(state_settings, "d")


def test_state_is_refused_when_it_is_older_than_its_anchor(
    state_server: StateServer, state_urls: StateUrls, state_settings: Settings
) -> None:
    """A copy made before the last charge would give that charge's budget out again."""
    older = f"{state_urls.application.database}_older"
    spend(state_settings, "a")
    copy_of(state_server, state_urls, older)
    try:
        spend(state_settings, "b")
        urls = StateUrls(state_urls.application.set(database=older), None)
        refused = refusal(settings_on(urls, state_settings.home))
    finally:
        drop(state_server, older)
    assert refused.code is Code.STATE_BEHIND_ANCHOR
    assert "ends at trail record 4" in refused.detail
    assert "records 5" in refused.detail
    assert "restore" in refused.hint


def test_state_is_refused_when_it_was_lost(
    state_server: StateServer, state_settings: Settings
) -> None:
    """An empty database beside an anchor that has seen something is not a new beginning."""
    spend(state_settings, "a")
    with state_server.database() as empty:
        refused = refusal(settings_on(empty, state_settings.home))
    assert refused.code is Code.STATE_BEHIND_ANCHOR
    assert "ends at trail record 0" in refused.detail


def tamper(server: StateServer, urls: StateUrls, statement: str) -> None:
    """As a superuser who switches the triggers off."""
    with server.superuser(str(urls.application.database)) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(statement.encode())


@pytest.mark.parametrize("cut", [1, 2, 4])
def test_state_is_refused_when_its_trail_was_truncated(
    state_server: StateServer, state_urls: StateUrls, state_settings: Settings, cut: int
) -> None:
    """One record less is enough, and none left is no better."""
    spend(state_settings, "a", "b")
    tamper(
        state_server,
        state_urls,
        f"DELETE FROM trail_records WHERE seq > (SELECT max(seq) - {cut} FROM trail_records)",
    )
    assert refusal(state_settings).code is Code.STATE_BEHIND_ANCHOR


def test_state_is_refused_when_its_trail_was_rewritten_with_the_same_length(
    state_server: StateServer, state_urls: StateUrls, state_settings: Settings, tmp_path: Path
) -> None:
    """Another history of as many records, chained with the right key, is still another history."""
    with state_server.database() as urls:
        other_home = tmp_path / "other"
        other_home.mkdir()
        spend(settings_on(urls, other_home), "a", "another")
        spend(state_settings, "a", "b")
        refused = refusal(settings_on(urls, state_settings.home))
        assert refused.code is Code.STATE_BEHIND_ANCHOR
        assert "trail record 5 differs from the one" in refused.detail
        with gateway(settings_on(urls, other_home)) as bank:
            bank.ask("0.5", query_id="longer than the other")
        refused = refusal(settings_on(urls, state_settings.home))
        assert refused.code is Code.STATE_BEHIND_ANCHOR
    del state_urls


def test_state_is_refused_when_its_anchor_has_another_key(state_settings: Settings) -> None:
    """With another audit key the anchor says nothing, and that is said."""
    spend(state_settings, "a")
    with (
        pytest.raises(OperatorError) as caught,
        open_state(state_settings, b"another audit key of 32 bytes..."),
    ):
        raise AssertionError("it opened")
    assert caught.value.code is Code.AUDIT_KEY_MISMATCH


@pytest.mark.parametrize("anchor", [b"", b"\0" * 4096], ids=["empty", "zeros"])
def test_state_is_refused_when_its_anchor_holds_nothing(
    state_settings: Settings, anchor: bytes
) -> None:
    """An anchor is never empty: a file without a line is one that lost its lines."""
    spend(state_settings, "a")
    (state_settings.home / "anchor").write_bytes(anchor)
    assert refusal(state_settings).code in {Code.AUDIT_KEY_MISMATCH, Code.TRAIL_BROKEN}


def test_state_refused_once_is_refused_again(
    state_server: StateServer, state_urls: StateUrls, state_settings: Settings
) -> None:
    """Refusing changes nothing: neither state nor anchor, and the next start is refused, too."""
    spend(state_settings, "a")
    anchor = state_settings.home / "anchor"
    before = anchor.read_bytes()
    tamper(state_server, state_urls, "DELETE FROM trail_records WHERE seq = 4")
    for _ in range(2):
        assert refusal(state_settings).code is Code.STATE_BEHIND_ANCHOR
        assert anchor.read_bytes() == before


def entries_gone(connection: psycopg.Connection) -> None:
    connection.execute("DELETE FROM ledger_entries")
    connection.execute("DELETE FROM charges")


def balance_lowered(connection: psycopg.Connection) -> None:
    connection.execute("UPDATE ledger_entries SET amount = '1/1000', spent_after = '1/1000'")


def nothing_changed(connection: psycopg.Connection) -> None:
    del connection


@pytest.mark.parametrize("change", [entries_gone, balance_lowered, nothing_changed])
def test_ledger_is_refused_when_it_says_less_than_its_anchor(
    state_server: StateServer,
    state_urls: StateUrls,
    state_settings: Settings,
    change: Callable[[psycopg.Connection], None],
) -> None:
    """A trail that is whole beside a ledger that is not: the balances the anchor knows are gone."""
    spend(state_settings, "a", "b")
    (state_settings.home / "audit.key").write_bytes(AUDIT_SECRET)
    with state_server.superuser(str(state_urls.application.database)) as connection:
        connection.execute("SET session_replication_role = replica")
        change(connection)
    with open_foundation(state_settings) as foundation:
        if change is nothing_changed:
            foundation.require_ledger_kept()
            return
        with pytest.raises(OperatorError) as refused:
            foundation.require_ledger_kept()
    assert refused.value.code is Code.STATE_BEHIND_ANCHOR


def test_anchor_of_the_settings_is_the_one_that_is_asked(
    state_server: StateServer, state_settings: Settings, tmp_path: Path
) -> None:
    """GATEWAY_AUDIT_ANCHOR moves the anchor, and it is still what decides."""
    elsewhere = tmp_path / "elsewhere"
    settings = state_settings.model_copy(update={"audit_anchor": elsewhere})
    spend(settings, "a")
    assert not (settings.home / "anchor").exists()
    anchor = Anchor(elsewhere, AUDIT_SECRET)
    assert anchor.read() is not None
    anchor.close()
    with state_server.database() as empty:
        lost = settings_on(empty, settings.home, audit_anchor=elsewhere)
        assert refusal(lost).code is Code.STATE_BEHIND_ANCHOR
