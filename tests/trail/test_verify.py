"""Somebody with every right in the database, and without the audit key, is always found out."""

import pytest
from fix_gateway import (
    ALICE,
    BOB,
    CLINIC,
    KEY,
    Past,
    Tamperer,
    superuser_engine,
)
from fix_state import AUDIT_SECRET, StateServer, settings_on
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from laws import for_each
from sqlalchemy import create_engine, text

from gateway.state.anchor import GENESIS
from gateway.state.open import State, StateUrls, open_state
from gateway.trail import verify as verify_module
from gateway.trail import verify_spending as spent
from gateway.trail.chain import ChainKey, canonical_json
from gateway.trail.record import ActRecord, RecordKind, Trail
from gateway.trail.verify import Verdict, fits_head, verify

OTHER_KEY = ChainKey(b"another audit key, also 32 bytes")
FIRST, MIDDLE = 1, 20


def test_trail_verifies_when_nobody_touched_it(past: Past, tamperer: Tamperer) -> None:
    """A trail of every kind of record verifies, with its anchor and without."""
    assert tamperer.verdict() == Verdict(past.last, past.last)
    assert tamperer.verdict(anchor=False) == Verdict(past.last, None)


def test_past_has_every_kind_of_record_a_gateway_writes(tamperer: Tamperer) -> None:
    """The trail that is tampered with below is a mixed one."""
    kinds = {row["kind"] for row in tamperer.rows("SELECT DISTINCT kind FROM trail_records")}
    assert kinds == {
        *("ledger_opened", "account_opened", "limits_set", "key_created", "key_revoked"),
        *("charged", "answered", "refused", "failed", "login_refused"),
        *("subject_suspended", "subject_resumed"),
    }
    count = tamperer.value("SELECT count(*) FROM trail_records")
    assert isinstance(count, int)
    assert count >= 40


@pytest.mark.parametrize("batch", [1, 7])
def test_trail_verifies_when_it_is_read_in_small_batches(
    tamperer: Tamperer, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    """Where one batch ends and the next begins makes no difference, nor hides one."""
    monkeypatch.setattr(verify_module, "_STREAMED", {"yield_per": batch})
    monkeypatch.setattr(spent, "_BATCH", batch)
    assert tamperer.verdict().intact
    tamperer.run(
        "UPDATE ledger_entries SET amount = '1/11' WHERE account = :a AND ordinal = 2", a=ALICE
    )
    assert not tamperer.verdict().intact


def test_trail_is_intact_when_nothing_was_ever_recorded(state: State) -> None:
    """An empty trail verifies, and any key fits it."""
    with state.engine.connect() as connection:
        assert verify(connection, KEY, None) == Verdict(0, None)
        assert fits_head(connection, OTHER_KEY)


# ---- one record ----


@pytest.mark.parametrize("place", ["first", "middle", "last"])
@pytest.mark.parametrize(
    "change",
    [
        "body = replace(body, ':', ': ')",
        r"body = body || ' '",
        "body = ''",
        "body = '{}'",
        "body = 'no json'",
        "body = body || 'é'",
        "mac = translate(mac, '0123456789abcdef', '123456789abcdef0')",
        "mac = repeat('0', 64)",
        "at = at + interval '1 microsecond'",
        "at = at - interval '1 month'",
        "at = 'infinity'",
        "at = '-infinity'",
        "at = '0044-03-15 12:00:00 BC'",
        "at = '12026-01-01'",
        "kind = 'answered '",
        "subject = 'mallory'",
        "subject = coalesce(subject, '') || '\u202e'",
        "dataset = 'other'",
        "query_id = 'q-9999'",
    ],
)
def test_changed_record_is_named_when_any_part_of_it_is_altered(
    past: Past, tamperer: Tamperer, place: str, change: str
) -> None:
    """Whatever is changed in a record, text or column, that record is the first bad one."""
    seq = {"first": FIRST, "middle": MIDDLE, "last": past.last}[place]
    assert tamperer.run(f"UPDATE trail_records SET {change} WHERE seq = :seq", seq=seq) == 1
    found = tamperer.verdict()
    assert found.first_bad == seq, found
    assert f"record {seq} " in str(found.problem)
    assert found.records == seq - 1


def test_changed_record_is_named_when_its_subject_is_taken_away(tamperer: Tamperer) -> None:
    """A record cannot be hidden from a search by emptying the column that is searched."""
    seq = tamperer.value("SELECT min(seq) FROM trail_records WHERE kind = 'charged'")
    tamperer.run("UPDATE trail_records SET subject = NULL WHERE seq = :seq", seq=seq)
    assert tamperer.verdict().first_bad == seq


@pytest.mark.parametrize("column", ["at", "kind", "body", "mac"])
def test_changed_record_is_named_when_a_column_is_emptied(tamperer: Tamperer, column: str) -> None:
    """Whoever also changes the tables' definitions does not stop the verification either."""
    tamperer.run(f"ALTER TABLE trail_records ALTER {column} DROP NOT NULL")
    tamperer.run(f"UPDATE trail_records SET {column} = NULL WHERE seq = :seq", seq=MIDDLE)
    assert tamperer.verdict().first_bad == MIDDLE


# ---- records taken out, moved, doubled, put in ----


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_missing_record_is_named_when_one_is_deleted(
    past: Past, tamperer: Tamperer, place: str
) -> None:
    """A record that was taken out is named, also the last one."""
    seq = {"first": FIRST, "middle": MIDDLE, "last": past.last}[place]
    tamperer.run("DELETE FROM trail_records WHERE seq = :seq", seq=seq)
    assert tamperer.verdict().first_bad == seq


def test_missing_record_is_named_when_several_are_deleted(tamperer: Tamperer) -> None:
    """Of several holes the first is named."""
    tamperer.run("DELETE FROM trail_records WHERE seq IN (7, 8, 9, 25)")
    assert tamperer.verdict().first_bad == 7


def test_missing_records_are_found_when_all_are_deleted(past: Past, tamperer: Tamperer) -> None:
    """An emptied trail is not mistaken for a new one."""
    tamperer.run("TRUNCATE trail_records")
    found = tamperer.verdict()
    assert (found.first_bad, found.records, found.anchored) == (1, 0, past.last)


@pytest.mark.parametrize("cut", [1, 5])
def test_truncated_trail_is_found_when_its_end_is_cut_off(
    past: Past, tamperer: Tamperer, cut: int
) -> None:
    """The anchor knows how long the trail was."""
    tamperer.run("DELETE FROM trail_records WHERE seq > :last", last=past.last - cut)
    assert tamperer.verdict().first_bad == past.last - cut + 1


def test_truncated_trail_is_not_found_when_there_is_no_anchor(
    past: Past, tamperer: Tamperer
) -> None:
    """Negative control: the anchor is what finds a cut; the last record here is a refused log-in."""
    tamperer.run("DELETE FROM trail_records WHERE seq = :last", last=past.last)
    assert tamperer.verdict(anchor=False).intact


def test_hole_is_named_when_the_records_after_it_are_renumbered(tamperer: Tamperer) -> None:
    """Closing the hole does not help: a record's number is under its MAC."""
    tamperer.run("DELETE FROM trail_records WHERE seq = :seq", seq=MIDDLE)
    _renumber(tamperer, above=MIDDLE, by=-1)
    assert tamperer.verdict().first_bad == MIDDLE


def test_swapped_records_are_named_when_they_change_numbers(tamperer: Tamperer) -> None:
    """Two records that trade their numbers, text and MAC and all, break the chain at the first."""
    tamperer.run(
        "UPDATE trail_records SET seq = CASE seq WHEN 11 THEN 1030 ELSE 1011 END WHERE seq IN (11, 30)"
    )
    tamperer.run("UPDATE trail_records SET seq = seq - 1000 WHERE seq > 1000")
    assert tamperer.verdict().first_bad == 11


def test_swapped_records_are_named_when_only_their_texts_are_swapped(tamperer: Tamperer) -> None:
    """Numbers and MACs stay, everything else trades places: named all the same."""
    tamperer.run(
        "UPDATE trail_records a SET (at, kind, subject, dataset, query_id, body) ="
        " (b.at, b.kind, b.subject, b.dataset, b.query_id, b.body) FROM trail_records b"
        " WHERE a.seq IN (11, 30) AND b.seq IN (11, 30) AND a.seq <> b.seq"
    )
    assert tamperer.verdict().first_bad == 11


def test_doubled_record_is_named_when_it_keeps_its_number(tamperer: Tamperer) -> None:
    """A record that is there twice is named, whatever lets it be there twice."""
    tamperer.run("ALTER TABLE trail_records DROP CONSTRAINT pk_trail_records")
    tamperer.run("INSERT INTO trail_records SELECT * FROM trail_records WHERE seq = :s", s=MIDDLE)
    found = tamperer.verdict()
    assert (found.first_bad, found.problem) == (MIDDLE, f"record {MIDDLE} is there twice")


def test_doubled_record_is_named_when_it_gets_the_next_number(tamperer: Tamperer) -> None:
    """A charge that is repeated further down, with everything renumbered, is a forgery."""
    _renumber(tamperer, above=MIDDLE, by=1)
    _copy(tamperer, MIDDLE, MIDDLE + 1)
    assert tamperer.verdict().first_bad == MIDDLE + 1


@pytest.mark.parametrize("mac", ["the record's before", "its own guess", "another key's"])
def test_forged_record_is_named_when_it_is_put_in(past: Past, tamperer: Tamperer, mac: str) -> None:
    """Nobody without the key writes a record that counts, not even at the end."""
    seq = past.last + 1
    body = canonical_json({"v": 1, "kind": "login_refused"})
    head = past.anchored.position
    macs = {
        "the record's before": head.mac,
        "its own guess": "f" * 64,
        "another key's": OTHER_KEY.link(head, body).mac,
    }
    _copy(tamperer, past.last, seq)
    tamperer.run(
        "UPDATE trail_records SET body = :body, mac = :mac WHERE seq = :seq",
        body=body,
        mac=macs[mac],
        seq=seq,
    )
    assert tamperer.verdict().first_bad == seq


@pytest.mark.parametrize("seq", [0, -5])
def test_forged_record_is_named_when_it_stands_before_the_first(
    tamperer: Tamperer, seq: int
) -> None:
    """Records before the beginning are as forged as any."""
    tamperer.run("ALTER TABLE trail_records DROP CONSTRAINT ck_trail_records_seq")
    _copy(tamperer, 1, seq)
    assert tamperer.verdict().first_bad == seq


def test_forged_record_is_found_when_it_has_no_number(past: Past, tamperer: Tamperer) -> None:
    """A record without a number does not stop the verification."""
    tamperer.run("ALTER TABLE trail_records DROP CONSTRAINT pk_trail_records")
    tamperer.run("ALTER TABLE trail_records ALTER seq DROP NOT NULL")
    tamperer.run("UPDATE trail_records SET seq = NULL WHERE seq = 5")
    assert tamperer.verdict().first_bad == 5
    tamperer.run("UPDATE trail_records SET seq = 5 WHERE seq IS NULL")
    _copy(tamperer, 5, None)
    assert tamperer.verdict().first_bad == past.last + 1


# ---- everything anew ----


def test_rewritten_trail_is_found_when_it_is_chained_with_another_key(tamperer: Tamperer) -> None:
    """A whole new chain under another key is found at its first record."""
    _rechain(tamperer, OTHER_KEY, after=0)
    assert tamperer.verdict().first_bad == 1
    assert tamperer.verdict(anchor=False).first_bad == 1


def test_rewritten_trail_is_found_when_its_end_is_chained_with_another_key(
    tamperer: Tamperer,
) -> None:
    """So is the part of a chain from where the other key was used."""
    _rechain(tamperer, OTHER_KEY, after=MIDDLE)
    assert tamperer.verdict().first_bad == MIDDLE + 1


def test_rewritten_trail_is_found_when_the_audit_key_was_stolen(
    past: Past, tamperer: Tamperer
) -> None:
    """With the right key the chain is perfect, and the anchor has seen another one."""
    seq = tamperer.value("SELECT min(seq) FROM trail_records WHERE kind = 'login_refused'")
    tamperer.run(
        "UPDATE trail_records SET body = replace(body, '198.51.100.7', '198.51.100.8')"
        " WHERE seq = :seq",
        seq=seq,
    )
    _rechain(tamperer, KEY, after=0)
    assert tamperer.verdict(anchor=False).intact  # the control: nothing else would have noticed
    found = tamperer.verdict()
    assert found.first_bad == past.last
    assert "anchor" in str(found.problem)


def test_rewritten_trail_is_found_when_it_is_longer_than_the_anchor_knows(
    past: Past, tamperer: Tamperer
) -> None:
    """Records added after a rewrite do not hide it: the anchored one is looked at where it stands."""
    tamperer.run(
        "UPDATE trail_records SET body = replace(body, '198.51.100.7', '198.51.100.8')"
        " WHERE seq = :seq",
        seq=past.last,
    )
    for more in (1, 2):
        _copy(tamperer, past.last, past.last + more)
    _rechain(tamperer, KEY, after=0)
    assert tamperer.verdict(anchor=False).intact
    assert tamperer.verdict().first_bad == past.last


# ---- the tables beside the trail ----

_ENTRY = "account = 'analyst:alice@clinic' AND ordinal = 2"
_LAST_ENTRY = f"account = '{CLINIC}' AND ordinal = (SELECT max(ordinal) FROM ledger_entries)"
_CHARGE = "query_id = 'q-0001'"
_TAMPERED_TABLES = {
    # what was spent
    "an amount in the past": f"UPDATE ledger_entries SET amount = '1/100' WHERE {_ENTRY}",
    "an amount written otherwise": f"UPDATE ledger_entries SET amount = '2/20' WHERE {_ENTRY}",
    "a balance in the past": f"UPDATE ledger_entries SET spent_after = '1/100' WHERE {_ENTRY}",
    "a delta": f"UPDATE ledger_entries SET delta = '1/9' WHERE {_ENTRY}",
    "a balance of delta": f"UPDATE ledger_entries SET delta_after = '1/9' WHERE {_ENTRY}",
    "the balance that counts": (
        "UPDATE ledger_entries SET spent_after = '0/1' WHERE account = 'analyst:bob@clinic'"
        " AND ordinal = (SELECT max(ordinal) FROM ledger_entries WHERE account = 'analyst:bob@clinic')"
    ),
    "the moment of an entry": f"UPDATE ledger_entries SET at = at - interval '1 month' WHERE {_ENTRY}",
    "no moment at all": f"UPDATE ledger_entries SET at = '-infinity' WHERE {_ENTRY}",
    "the question of an entry": f"UPDATE ledger_entries SET query_id = 'q-0001' WHERE {_ENTRY}",
    "the account of an entry": f"UPDATE ledger_entries SET account = 'x' WHERE {_ENTRY}",
    "the number of an entry": f"UPDATE ledger_entries SET ordinal = 99 WHERE {_ENTRY}",
    "the cell of an entry": f"UPDATE ledger_entries SET cell = 'north' WHERE {_ENTRY}",
    "no entry": f"DELETE FROM ledger_entries WHERE {_ENTRY}",
    "no last entries": (
        "DELETE FROM ledger_entries e WHERE ordinal ="
        " (SELECT max(ordinal) FROM ledger_entries x WHERE x.account = e.account)"
    ),
    "no entries": "DELETE FROM ledger_entries",
    "an entry without a record": (
        "INSERT INTO ledger_entries SELECT account, cell, 99, 'q-0001', at, amount, spent_after,"
        " delta, delta_after FROM ledger_entries WHERE account = 'analyst:bob@clinic' AND ordinal = 1"
    ),
    "an entry in a cell of its own": (
        "INSERT INTO ledger_entries SELECT account, 'north', ordinal, query_id, at, amount,"
        " spent_after, delta, delta_after FROM ledger_entries"
        " WHERE account = 'analyst:bob@clinic' AND ordinal = 1"
    ),
    "an entry of nobody": (
        "INSERT INTO ledger_entries SELECT 'analyst:mallory@clinic', cell, 1, query_id, at, amount,"
        " spent_after, delta, delta_after FROM ledger_entries"
        " WHERE account = 'analyst:bob@clinic' AND ordinal = 1"
    ),
    "the subject of a charge": f"UPDATE charges SET subject = 'mallory' WHERE {_CHARGE}",
    "the price of a charge": f"UPDATE charges SET price = '1/999' WHERE {_CHARGE}",
    "the amount of a charge": f"UPDATE charges SET amount = '1/999' WHERE {_CHARGE}",
    "the delta of a charge": f"UPDATE charges SET delta = '1/999' WHERE {_CHARGE}",
    "no charge": f"DELETE FROM charges WHERE {_CHARGE}",
    "a charge of nobody": (
        "INSERT INTO charges SELECT 'q-9999', at, subject, ledger, price, amount, delta,"
        f" measurements FROM charges WHERE {_CHARGE}"
    ),
    # what may be spent
    "a higher cap": (
        "UPDATE account_limits SET epsilon = '100/1' WHERE account = 'analyst:bob@clinic'"
    ),
    "a newer, higher cap": (
        "INSERT INTO account_limits SELECT account, ordinal + 1, at, actor, '100/1', delta"
        " FROM account_limits WHERE account = 'dataset:clinic'"
    ),
    "another price": "UPDATE ledger_rates SET rate = '1/1000000' WHERE ledger = 'dataset:labs'",
    "no price": "DELETE FROM ledger_rates WHERE ledger = 'dataset:labs'",
    "somebody else's price": "UPDATE ledger_rates SET actor = 'mallory'",
    "more delta": "UPDATE account_limits SET delta = '1/2' WHERE account = 'dataset:labs'",
    "no window": (
        "UPDATE account_limits SET window_every = NULL, window_epsilon = NULL"
        " WHERE window_every IS NOT NULL"
    ),
    "a wider window": (
        "UPDATE account_limits SET window_epsilon = '100/1' WHERE window_every IS NOT NULL"
    ),
    "no lowered cap": "DELETE FROM account_limits WHERE account = 'analyst:alice@clinic' AND ordinal = 2",
    "somebody else's act": "UPDATE account_limits SET actor = 'mallory' WHERE ordinal = 2",
    "an account moved out of its team": (
        "UPDATE accounts SET parent = NULL WHERE name = 'analyst:alice@clinic'"
    ),
    "an account moved to another ledger": (
        "UPDATE accounts SET ledger = 'dataset:labs' WHERE name = 'analyst:bob@clinic'"
    ),
    "an account of nobody": (
        "INSERT INTO accounts SELECT 'analyst:mallory@clinic', ledger, parent, opened_at"
        " FROM accounts WHERE name = 'analyst:bob@clinic'"
    ),
    "another currency": "UPDATE ledgers SET currency = 'pure' WHERE name = 'dataset:labs'",
    "another unit": "UPDATE ledgers SET unit = 'visit' WHERE name = 'dataset:labs'",
    "another source": "UPDATE ledgers SET source = 'postgresql://b' WHERE name = 'dataset:labs'",
    # who may ask
    "a revocation taken back": "DELETE FROM key_revocations",
    "a revocation of nobody": (
        "INSERT INTO key_revocations SELECT id, created_at, 'os:op' FROM api_keys"
        " WHERE id NOT IN (SELECT id FROM key_revocations) LIMIT 1"
    ),
    "a key for somebody else": "UPDATE api_keys SET subject = 'chemist' WHERE subject = 'alice'",
    "a key that does not expire": (
        "UPDATE api_keys SET expires_at = NULL WHERE expires_at IS NOT NULL"
    ),
    "a key that expires at the end of time": (
        "UPDATE api_keys SET expires_at = 'infinity' WHERE expires_at IS NOT NULL"
    ),
    "a key of nobody": (
        "INSERT INTO api_keys SELECT 'aaaaaaaaaaaa', subject, secret_hash, stored_key, server_key,"
        " created_at, created_by FROM api_keys LIMIT 1"
    ),
    "no key": "DELETE FROM api_keys WHERE subject = 'bob'",
}


@pytest.mark.parametrize("what", _TAMPERED_TABLES)
def test_altered_table_is_found_when_it_does_not_say_what_the_trail_says(
    past: Past, tamperer: Tamperer, what: str
) -> None:
    """Balances, caps and keys are worth no more than the records that explain them."""
    assert tamperer.run(_TAMPERED_TABLES[what]) >= 1
    found = tamperer.verdict()
    assert not found.intact
    assert found.records == past.last  # the chain itself is whole
    assert found.first_bad is None


def test_altered_entry_is_named_with_its_record_when_the_ledger_is_tampered_with(
    tamperer: Tamperer,
) -> None:
    """Who reads the verdict knows which record and which account to look at."""
    tamperer.run(
        "UPDATE ledger_entries SET amount = '1/100' WHERE account = :a AND ordinal = 3", a=BOB
    )
    seq = tamperer.value(
        "SELECT seq FROM trail_records WHERE kind = 'charged' AND query_id ="
        " (SELECT query_id FROM ledger_entries WHERE account = :a AND ordinal = 3)",
        a=BOB,
    )
    assert tamperer.verdict().problem == (
        f"record {seq} charged `{BOB}`, its entry 3 in the ledger says otherwise"
    )


def test_altered_record_is_named_first_when_the_ledger_is_altered_too(tamperer: Tamperer) -> None:
    """A broken chain is the graver finding: what it says about the ledger cannot be believed."""
    tamperer.run("UPDATE ledger_entries SET spent_after = '0/1'")
    tamperer.run("UPDATE trail_records SET body = body || ' ' WHERE seq = 33")
    assert tamperer.verdict().first_bad == 33


# ---- any byte ----


@given(data=st.data())
@hypothesis_settings(max_examples=40, deadline=None)
def test_changed_record_is_named_when_any_character_of_it_is_another(
    past: Past, data: st.DataObject
) -> None:
    """There is no character of any record that could be another one."""
    seq = data.draw(st.integers(1, past.last))
    with past.tampering() as tamperer:
        body = str(tamperer.value("SELECT body FROM trail_records WHERE seq = :seq", seq=seq))
        place = data.draw(st.integers(0, len(body) - 1))
        sign = data.draw(
            st.characters(exclude_characters=["\0", body[place]], exclude_categories=["Cs"])
        )
        tamperer.run(
            "UPDATE trail_records SET body = :body WHERE seq = :seq",
            body=body[:place] + sign + body[place + 1 :],
            seq=seq,
        )
        found = tamperer.verdict()
    assert (found.first_bad, found.records) == (seq, seq - 1)


# ---- what verification does not promise, and the quick look at every start ----


def test_verification_ignores_notes_that_decide_nothing(tamperer: Tamperer) -> None:
    """Negative control: when a key was last used is a convenience, no record explains it."""
    tamperer.run("INSERT INTO key_uses SELECT id, created_at FROM api_keys LIMIT 1")
    assert tamperer.verdict().intact


def test_head_fits_its_own_key_alone(past: Past, tamperer: Tamperer) -> None:
    """The look that is taken at every start tells the right key from another one."""
    connection = tamperer.connection
    assert fits_head(connection, KEY)
    assert not fits_head(connection, OTHER_KEY)
    assert not fits_head(connection, ChainKey(AUDIT_SECRET + b"\n"))


@pytest.mark.parametrize("kept", [1, 2])
def test_head_fits_its_own_key_alone_when_the_trail_is_short(tamperer: Tamperer, kept: int) -> None:
    """With one record, before which there is none, as with two."""
    tamperer.run("DELETE FROM trail_records WHERE seq > :kept", kept=kept)
    assert fits_head(tamperer.connection, KEY)
    assert not fits_head(tamperer.connection, OTHER_KEY)


@pytest.mark.parametrize("change", ["body = body || ' '", "body = 'é'", "mac = repeat('0', 64)"])
def test_head_does_not_fit_when_it_was_changed(past: Past, tamperer: Tamperer, change: str) -> None:
    """A changed last record is noticed at the next start already."""
    tamperer.run(f"UPDATE trail_records SET {change} WHERE seq = :seq", seq=past.last)
    assert not fits_head(tamperer.connection, KEY)


# ---- the same in the ordinary way: not even the owner may ----


@for_each(
    "statement",
    [
        "UPDATE trail_records SET body = body",
        "DELETE FROM trail_records WHERE seq = 1",
        "TRUNCATE trail_records",
        "UPDATE ledger_entries SET amount = amount",
        "DELETE FROM key_revocations",
        "UPDATE account_limits SET epsilon = '9/1'",
    ],
)
@for_each("login", ["application", "owner"])
def test_record_cannot_be_changed_when_triggers_stand(
    past: Past, statement: str, login: str
) -> None:
    """What is tampered with above takes a superuser: neither login of the gateway can."""
    urls: StateUrls = past.urls
    engine = create_engine(urls.application if login == "application" else urls.owner or "")
    with engine.connect() as connection, pytest.raises(Exception, match=r"append-only|permission"):
        connection.execute(text(statement))
    engine.dispose()


def test_verification_reads_one_snapshot_when_gateways_go_on(
    state_server: StateServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What is charged while the trail is read is neither missed nor taken for a forgery."""
    with state_server.database() as urls:
        settings = settings_on(urls, tmp_path_factory.mktemp("snapshot"))
        engine = superuser_engine(state_server, str(urls.application.database))
        with open_state(settings, AUDIT_SECRET) as state, engine.connect() as connection:
            trail = Trail(KEY)
            record = ActRecord(RecordKind.POLICY_REJECTED, "gateway")
            state.journal.commit(lambda draft: trail.append(draft, record))
            snapshot = connection.execution_options(isolation_level="REPEATABLE READ")
            assert verify(snapshot, KEY, None).records == 1
            state.journal.commit(lambda draft: trail.append(draft, record))
            assert verify(snapshot, KEY, None).records == 1
        engine.dispose()


def _renumber(tamperer: Tamperer, *, above: int, by: int) -> None:
    tamperer.run("UPDATE trail_records SET seq = seq + 1000 WHERE seq > :above", above=above)
    tamperer.run("UPDATE trail_records SET seq = seq - 1000 + :by WHERE seq > 1000", by=by)


def _copy(tamperer: Tamperer, seq: int, to: int | None) -> None:
    tamperer.run(
        "INSERT INTO trail_records SELECT CAST(:to AS bigint), at, kind, subject, dataset, query_id,"
        " body, mac FROM trail_records WHERE seq = :seq",
        to=to,
        seq=seq,
    )


def _rechain(tamperer: Tamperer, key: ChainKey, *, after: int) -> None:
    """Compute every MAC anew, as somebody would who has this key."""
    position = GENESIS
    for row in tamperer.rows("SELECT seq, body, mac FROM trail_records ORDER BY seq"):
        seq, body = int(str(row["seq"])), str(row["body"])
        position = (KEY if seq <= after else key).link(position, body)
        tamperer.run(
            "UPDATE trail_records SET mac = :mac WHERE seq = :seq", mac=position.mac, seq=seq
        )
