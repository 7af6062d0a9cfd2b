"""Without its anchor, or on another state, the journal refuses to continue."""

from pathlib import Path

import pytest
from fix_journal import Heard, end_connections
from fix_ledger import ALICE, Bank, audit
from fix_state import AUDIT_SECRET, StateServer

from gateway.budget.charge import Idempotency
from gateway.config import Settings
from gateway.errors import BackendUnavailable, Code, OperatorError
from gateway.events import AnchorLost
from gateway.state.anchor import Anchor
from gateway.state.open import StateUrls, open_anchor, open_state

ONCE = Idempotency("key", "digest")


def test_question_is_refused_when_the_anchor_cannot_be_written_and_its_charge_stays(
    own: Bank, tmp_path: Path, heard: Heard
) -> None:
    """Without an anchor nobody is answered; what was charged stays charged; with the anchor back
    everything goes on, and a question that is repeated with its key is anchored before its receipt.
    """
    away = tmp_path.with_name(f"{tmp_path.name}-away")
    tmp_path.rename(away)
    with pytest.raises(BackendUnavailable) as caught:
        own.ask("0.1", query_id="charged", once=ONCE)
    assert caught.value.code is Code.ANCHOR_UNAVAILABLE
    assert any(isinstance(event, AnchorLost) for event in heard)
    with pytest.raises(BackendUnavailable):
        own.ask("0.1", query_id="again", once=ONCE)
    away.rename(tmp_path)
    receipt = own.ask("0.1", query_id="once more", once=ONCE)
    assert receipt.repeated
    books = audit(own.engine)
    anchor = Anchor(tmp_path / "anchor", AUDIT_SECRET)
    anchored = anchor.read()
    anchor.close()
    assert anchored is not None
    assert anchored.position.seq >= books.charged_at["charged"]
    assert anchored.facts[f"account:{ALICE}"].value["spent"] == "1/10"
    assert len(books.charges) == 1


def test_question_is_refused_when_neither_anchor_nor_connection_is_there(
    own: Bank, tmp_path: Path, state_server: StateServer, state_urls: StateUrls
) -> None:
    """A new connection is compared with the anchor; when that cannot be read, it is an outage."""
    away = tmp_path.with_name(f"{tmp_path.name}-away")
    end_connections(state_server, str(state_urls.application.database))
    own.journal._anchor.close()
    tmp_path.rename(away)
    with pytest.raises(BackendUnavailable) as caught:
        own.ask("0.1")
    assert caught.value.code is Code.ANCHOR_UNAVAILABLE
    away.rename(tmp_path)
    own.ask("0.1")
    assert len(audit(own.engine).charges) == 1


def test_question_is_refused_when_another_file_took_the_anchors_place(
    own: Bank, tmp_path: Path
) -> None:
    """An anchor that is not ours is an outage, not an answer and not a crash."""
    (tmp_path / "anchor").rename(tmp_path / "kept")
    (tmp_path / "anchor").write_bytes(b"not an anchor\n")
    with pytest.raises(BackendUnavailable) as caught:
        own.ask("0.1")
    assert caught.value.code is Code.ANCHOR_UNAVAILABLE
    (tmp_path / "kept").replace(tmp_path / "anchor")
    own.ask("0.1")


def test_state_whose_anchor_cannot_be_read_is_refused_with_one_clear_error(
    state_settings: Settings,
) -> None:
    """An anchor path that leads nowhere is said at the start, in one line for the operator."""
    settings = state_settings.model_copy(update={"audit_anchor": Path("/nowhere/at/all/anchor")})
    with pytest.raises(OperatorError, match="/nowhere/at/all"), open_state(settings, AUDIT_SECRET):
        raise AssertionError("it opened")


def test_journal_writes_nothing_to_a_state_that_fell_behind_while_it_ran(
    own: Bank, state_server: StateServer, state_urls: StateUrls
) -> None:
    """When the connection is lost and the state behind it is older, every question is refused, the
    second as well as the first.
    """
    own.ask("0.1")
    database = str(state_urls.application.database)
    with state_server.superuser(database) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "DELETE FROM trail_records WHERE seq = (SELECT max(seq) FROM trail_records)"
        )
    end_connections(state_server, database)
    for _ in range(3):
        with pytest.raises(BackendUnavailable) as caught:
            own.ask("0.1")
        assert caught.value.code is Code.STATE_UNAVAILABLE
    assert len(audit_of_trail(state_server, database)) == 3


def audit_of_trail(server: StateServer, database: str) -> list[object]:
    with server.superuser(database) as connection:
        return list(connection.execute("SELECT seq FROM trail_records"))


def test_open_anchor_is_where_the_settings_say(state_settings: Settings, tmp_path: Path) -> None:
    """The anchor may lie outside the home, where whoever loses the home does not lose it too."""
    assert open_anchor(state_settings, AUDIT_SECRET).path == tmp_path / "anchor"
    elsewhere = state_settings.model_copy(update={"audit_anchor": tmp_path / "far" / "a"})
    assert open_anchor(elsewhere, AUDIT_SECRET).path == tmp_path / "far" / "a"
