"""Whatever happens to the state, nothing that was given is given again."""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from fix_gateway import ALICE, BOB, CHEMIST, CLINIC, CLINIC_LEDGER, LABS, TEAM, House, limits
from fix_state import AUDIT_SECRET

from gateway.admin import restore as restoring
from gateway.admin.instance import open_foundation
from gateway.app import key_authenticator
from gateway.budget.account import Account, Every, Limits, RateLimit
from gateway.errors import BudgetExhausted, Code, OperatorError, Unauthenticated
from gateway.state.anchor import Anchor
from gateway.trail.chain import ChainKey
from gateway.units import Epsilon

SUBJECTS = "alice: {role: researcher}\nbob: {role: researcher}\n"


def refused(house: House) -> Code:
    """Why no gateway opens this state."""
    with pytest.raises(OperatorError) as refusal, open_foundation(house.settings):
        pass
    return refusal.value.code


def a_day_passes(house: House) -> Path:
    """Work, a backup, and more work that the backup does not know of."""
    with house.open() as clerk:
        clerk.live()
    file = house.backup()
    with house.open() as clerk:
        for _ in range(3):
            clerk.ask(ALICE, "0.1", delta="1e-8")
            clerk.ask(CHEMIST, "0.3", delta="2e-8")
        clerk.refuse()
    return file


def test_state_is_refused_when_it_is_older_than_its_anchor(house: House) -> None:
    """A database that was put back by other means than the gateway's is not worked on."""
    with house.open() as clerk:
        clerk.live()
    older = house.copy()
    with house.open() as clerk:
        clerk.ask()
    house.urls = older
    assert refused(house) is Code.STATE_BEHIND_ANCHOR


@pytest.mark.parametrize("migrated", [True, False])
def test_state_is_refused_when_it_is_lost(house: House, *, migrated: bool) -> None:
    """An empty database is not mistaken for a new gateway's."""
    with house.open() as clerk:
        clerk.live()
    house.lose(migrated=migrated)
    if not migrated:
        assert refused(house) is Code.STATE_VERSION
    else:
        assert refused(house) is Code.STATE_BEHIND_ANCHOR


def test_state_is_refused_when_it_has_another_history(house: House) -> None:
    """As many records as the anchor has seen, but not the same ones, are not enough."""
    with house.open() as clerk:
        clerk.live()
    older = house.copy()
    with house.open() as clerk:
        clerk.ask(ALICE, "0.2")
    anchor = (house.home / "anchor").read_bytes()
    house.urls = older
    (house.home / "anchor").unlink()
    with house.open() as clerk:
        clerk.turn_away("one")
        clerk.turn_away("two")
    (house.home / "anchor").write_bytes(anchor)
    assert refused(house) is Code.STATE_BEHIND_ANCHOR


def test_restore_charges_exactly_the_gap_when_a_backup_is_older(house: House) -> None:
    """Each account, in either currency, has given afterwards what it had given before: no more, no less."""
    file = a_day_passes(house)
    before, allowed = house.spent(), house.limits()
    house.lose()
    restored = house.restore(file)
    assert house.spent() == before
    assert house.limits() == allowed
    gaps = {each.account: each for each in restored.withdrawals}
    assert set(gaps) == {ALICE, TEAM, CLINIC, CHEMIST, LABS}
    assert gaps[ALICE].amount == Fraction(3, 10)
    assert gaps[TEAM].delta == 3 * Fraction(1, 10**8)
    assert gaps[LABS].delta == 6 * Fraction(1, 10**8)
    assert not restored.acts
    assert not restored.revoked
    assert house.verdict().intact


def test_restore_says_who_restored_what_in_the_trail(house: House) -> None:
    """An auditor reads which backup was put in place, by whom, and what had been lost."""
    file = a_day_passes(house)
    ((seen, head),) = house.rows("SELECT seq, mac FROM trail_records ORDER BY seq DESC LIMIT 1")
    house.lose()
    house.restore(file)
    ((said, kind, seq),) = house.rows(
        "SELECT body::jsonb, kind, seq FROM trail_records ORDER BY seq DESC LIMIT 1"
    )
    assert isinstance(said, dict)
    assert kind == "restored"
    assert said["actor"] == "os:op"
    about = said["about"]
    assert about["backup"] == house.clerk_says.isoformat()
    assert about["anchor_had_seen"] == str(seen)
    assert about["anchor_head"] == head
    assert isinstance(seq, int)
    assert about["restored_to"] == str(seq - 1)
    assert {one["account"] for one in said["taken"]} == {ALICE, TEAM, CLINIC, CHEMIST, LABS}


def test_restored_account_stays_exhausted_when_it_was(house: House) -> None:
    """Restoring an older state is no way to ask more."""
    with house.open() as clerk:
        clerk.open_books()
    file = house.backup()
    with house.open() as clerk:
        for _ in range(3):
            clerk.ask(BOB, "0.1")
        with pytest.raises(BudgetExhausted):
            clerk.ask(BOB, "0.01")
    house.lose()
    house.restore(file)
    with house.open() as clerk:
        with pytest.raises(BudgetExhausted):
            clerk.ask(BOB, "0.01")
        clerk.ask(ALICE, "0.01")
    assert house.verdict().intact


def test_restored_window_counts_the_gap_when_it_is_still_open(house: House) -> None:
    """What was asked this month counts for this month, also when the state forgot it."""
    with house.open() as clerk:
        clerk.open_books()
    file = house.backup()
    with house.open() as clerk:
        clerk.ask(ALICE, "1.5")
    house.lose()
    house.restore(file)
    with house.open() as clerk, pytest.raises(BudgetExhausted) as refusal:
        clerk.ask(ALICE, "0.01")
    assert refusal.value.code is Code.WINDOW_EXHAUSTED


def test_restore_opens_accounts_when_the_backup_has_never_heard_of_them(house: House) -> None:
    """Ledgers, teams and analysts that came after the backup keep what they had given."""
    with house.open() as clerk:
        clerk.turn_away()
    file = house.backup()
    with house.open() as clerk:
        clerk.live()
    before, allowed = house.spent(), house.limits()
    house.lose()
    restored = house.restore(file)
    assert (house.spent(), house.limits()) == (before, allowed)
    assert len(restored.acts) == 2 + 6  # two ledgers; their accounts and four below them
    kinds = [kind for (kind,) in house.rows("SELECT kind FROM trail_records ORDER BY seq")]
    assert kinds.count("ledger_opened") == 2
    assert kinds.count("account_opened") == 6
    assert house.verdict().intact


@pytest.mark.parametrize(
    ("account", "newer"),
    [
        (ALICE, limits("0.5")),
        (ALICE, limits("9")),
        (CHEMIST, limits("1.8", "1e-9")),
        (CHEMIST, limits("1.8", window=RateLimit(Every.DAY, Epsilon.parse("0.01")))),
        (LABS, limits("2")),
    ],
)
def test_restore_keeps_the_newest_limits_when_they_were_set_after_the_backup(
    house: House, account: str, newer: Limits
) -> None:
    """Nobody gets a cap, a delta or a window back that an administrator had taken away."""
    file = a_day_passes(house)
    with house.open() as clerk:
        clerk.limit(account, newer)
    allowed = house.limits()
    house.lose()
    restored = house.restore(file)
    assert house.limits() == allowed
    assert len(restored.acts) == len(
        house.rows(
            "SELECT FROM trail_records WHERE kind = 'limits_set' AND body LIKE :a", a="%os:op%"
        )
    )
    assert house.verdict().intact


def test_restore_keeps_limits_when_the_state_is_newer_than_the_anchor(house: House) -> None:
    """An anchor that was itself put back does not undo what the state knows better."""
    with house.open() as clerk:
        clerk.live()
    shutil.copy(house.home / "anchor", house.home / "older")
    with house.open() as clerk:
        clerk.limit(ALICE, limits("0.9"))
        clerk.ask(BOB, "0.01")
    before, allowed = house.spent(), house.limits()
    shutil.copy(house.home / "older", house.home / "anchor")
    restored = house.restore()
    assert (house.spent(), house.limits()) == (before, allowed)
    assert not restored.acts
    assert not restored.withdrawals
    assert house.verdict().intact


@pytest.mark.parametrize("migrated", [True, False])
def test_restore_charges_everything_when_the_state_is_lost_and_there_is_no_backup(
    house: House, *, migrated: bool
) -> None:
    """The anchor alone is enough to forget nothing that was spent."""
    a_day_passes(house)
    before, allowed = house.spent(), house.limits()
    house.lose(migrated=migrated)
    house.restore()
    assert (house.spent(), house.limits()) == (before, allowed)
    assert house.verdict().intact
    with house.open() as clerk:
        clerk.ask(ALICE, "0.01")


def test_restore_charges_the_gap_when_another_tool_put_the_state_back(house: House) -> None:
    """A file-system snapshot or a dump will do too: without a file the state is taken as it is."""
    with house.open() as clerk:
        clerk.live()
    older = house.copy()
    with house.open() as clerk:
        clerk.ask(ALICE, "0.2")
        clerk.limit(BOB, limits("0.2"))
    before, allowed = house.spent(), house.limits()
    house.urls = older
    house.restore()
    assert (house.spent(), house.limits()) == (before, allowed)
    assert house.verdict().intact


def test_restore_charges_nothing_when_it_is_run_again(house: House) -> None:
    """The second restore finds no gap, with the file or without."""
    file = a_day_passes(house)
    before = house.spent()
    house.lose()
    house.restore(file)
    for again in (None, file, None):
        restored = house.restore(again, replace=True)
        assert house.spent() == before
        assert again or not restored.withdrawals
    assert house.verdict().intact


def test_restore_forgets_nothing_when_older_and_newer_backups_follow_each_other(
    house: House,
) -> None:
    """Whichever backup is put in place after which, what was given stays given."""
    with house.open() as clerk:
        clerk.live()
    oldest = house.backup("oldest")
    with house.open() as clerk:
        clerk.ask(ALICE, "0.1")
    newer = house.backup("newer")
    with house.open() as clerk:
        clerk.ask(ALICE, "0.1")
        clerk.limit(BOB, limits("0.1"))
    for file in (oldest, newer, oldest):
        before, allowed = house.spent(), house.limits()
        house.restore(file, replace=True)
        assert (house.spent(), house.limits()) == (before, allowed)
        with house.open() as clerk:
            clerk.ask(ALICE, "0.01")
    assert house.verdict().intact


def test_restore_changes_nothing_when_the_state_is_whole(house: House) -> None:
    """Restoring without need costs a record and nothing else."""
    a_day_passes(house)
    before, allowed = house.spent(), house.limits()
    restored = house.restore()
    assert (house.spent(), house.limits()) == (before, allowed)
    assert not restored.withdrawals


def test_restore_says_so_when_there_is_no_anchor(house: House) -> None:
    """Without an anchor nobody knows what is missing, and that is what is told and recorded."""
    file = a_day_passes(house)
    house.lose()
    (house.home / "anchor").unlink()
    restored = house.restore(file)
    assert restored.anchored is None
    ((about,),) = house.rows(
        "SELECT body::jsonb -> 'about' FROM trail_records WHERE kind = 'restored'"
    )
    assert isinstance(about, dict)
    assert about["anchor_had_seen"] is None


def test_restore_keeps_the_old_anchor_aside_each_time(house: House) -> None:
    """What the anchor said before is evidence, and is never overwritten."""
    file = a_day_passes(house)
    house.lose()
    old = (house.home / "anchor").read_bytes()
    house.restore(file)
    (previous,) = house.home.glob("anchor.2*")
    assert previous.read_bytes() == old
    house.clerk_says = datetime.now(UTC)
    house.restore()
    assert len(list(house.home.glob("anchor.2*"))) == 2
    assert not list(house.home.glob("*restoring*"))


# ---- cut short ----

_CUT = """
import os, signal, sys
from gateway.admin import restore as restoring
from gateway.cli import main
from gateway.state.anchor import Anchor

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[1] == "before the gap":
    restoring._fill = die
else:
    Anchor.begin = die
main(["db", "restore", *sys.argv[2:]])
"""


@pytest.mark.parametrize(
    ("moment", "lost", "again"),
    [
        ("before the gap", "much", "the file"),
        ("before the gap", "one record", "the state"),
        ("before the anchor", "much", "the state"),
        ("before the anchor", "one record", "the file"),
        ("before the anchor", "one record", "the state"),
    ],
)
def test_restore_can_be_run_again_when_it_was_killed(
    house: House, moment: str, lost: str, again: str
) -> None:
    """Killed at any point, no gateway starts until a restore was finished, and nothing is doubled."""
    if lost == "much":
        file = a_day_passes(house)
    else:
        with house.open() as clerk:
            clerk.live()
        file = house.backup()
        with house.open() as clerk:
            clerk.ask(ALICE, "0.1")
    before, allowed = house.spent(), house.limits()
    house.lose()
    settings = house.settings
    assert settings.state_url is not None
    assert settings.state_owner_url is not None
    done = subprocess.run(
        [sys.executable, "-c", _CUT, moment, str(file)],
        env={
            **os.environ,
            "GATEWAY_HOME": str(house.home),
            "GATEWAY_STATE_URL": settings.state_url.get_secret_value(),
            "GATEWAY_STATE_OWNER_URL": settings.state_owner_url.get_secret_value(),
            "GATEWAY_AUDIT_KEY": AUDIT_SECRET.decode(),
        },
        capture_output=True,
        timeout=60,
        check=False,
        text=True,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert refused(house) is Code.STATE_BEHIND_ANCHOR
    house.restore(file if again == "the file" else None, replace=True)
    assert (house.spent(), house.limits()) == (before, allowed)
    assert house.verdict().intact


def test_restore_can_be_run_again_when_the_anchor_cannot_be_written(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full at the last moment costs another try and no budget."""
    file = a_day_passes(house)
    before = house.spent()
    house.lose()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Anchor, "begin", full)
        with pytest.raises(OperatorError) as refusal:
            house.restore(file)
    assert refusal.value.code is Code.ANCHOR_UNAVAILABLE
    assert refused(house) is Code.STATE_BEHIND_ANCHOR
    house.restore()
    assert house.spent() == before


# ---- refused ----


def test_restore_is_refused_when_the_state_is_not_empty(house: House) -> None:
    """Nothing is overwritten unless that was asked for."""
    file = a_day_passes(house)
    before = house.rows("SELECT count(*), max(seq) FROM trail_records")
    with pytest.raises(OperatorError) as refusal:
        house.restore(file)
    assert refusal.value.code is Code.BACKUP_UNUSABLE
    assert "--replace" in refusal.value.hint
    assert house.rows("SELECT count(*), max(seq) FROM trail_records") == before


@pytest.mark.parametrize("with_file", [True, False])
def test_restore_is_refused_when_a_gateway_is_running(house: House, *, with_file: bool) -> None:
    """The state is not taken away under a gateway, and its anchor is not either."""
    file = a_day_passes(house)
    with house.open() as clerk:
        anchor = (house.home / "anchor").read_bytes()
        with pytest.raises(OperatorError) as refusal:
            house.restore(file if with_file else None, replace=True)
        assert refusal.value.code is Code.BACKUP_UNUSABLE
        assert (house.home / "anchor").read_bytes() == anchor
        clerk.ask(ALICE, "0.01")
    assert house.verdict().intact


def test_restore_is_refused_when_the_audit_key_is_another(house: House) -> None:
    """Neither a state nor a backup is taken over by somebody with another key."""
    file = a_day_passes(house)
    other = ChainKey(b"another audit key, also 32 bytes")
    before = house.rows("SELECT count(*), max(seq) FROM trail_records")
    anchor = (house.home / "anchor").read_bytes()
    for backup in (file, None):
        with pytest.raises(OperatorError):
            restoring.restore(
                house.settings, other, backup, replace=True, actor="os:op", now=house.clerk_says
            )
    (house.home / "anchor").rename(house.home / "kept")
    with pytest.raises(OperatorError):
        restoring.restore(
            house.settings, other, None, replace=True, actor="os:op", now=house.clerk_says
        )
    assert not (house.home / "anchor").exists()
    (house.home / "kept").rename(house.home / "anchor")
    assert (house.home / "anchor").read_bytes() == anchor
    assert house.rows("SELECT count(*), max(seq) FROM trail_records") == before


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM trail_records WHERE seq = 12",
        "UPDATE trail_records SET body = body || ' ' WHERE seq = 12",
        "UPDATE ledger_entries SET spent_after = '0/1'",
        "UPDATE account_limits SET epsilon = '1000/1'",
    ],
)
def test_restore_is_refused_when_the_state_was_tampered_with(house: House, change: str) -> None:
    """A new anchor would make a forgery official: only a state that verifies gets one."""
    a_day_passes(house)
    house.change(change)
    anchor = (house.home / "anchor").read_bytes()
    with pytest.raises(OperatorError) as refusal:
        house.restore()
    assert refusal.value.code is Code.TRAIL_BROKEN
    assert (house.home / "anchor").read_bytes() == anchor


def test_restore_needs_the_owner_when_a_state_is_to_be_replaced(house: House) -> None:
    """The application's login cannot drop what is append-only, and the refusal says whose can."""
    file = a_day_passes(house)
    house.urls = replace(house.urls, owner=None)
    with pytest.raises(OperatorError) as refusal:
        house.restore(file, replace=True)
    assert "GATEWAY_STATE_OWNER_URL" in refusal.value.hint
    assert house.restore().anchored is not None  # without a file the application's login will do
    house.lose(migrated=False)
    house.urls = replace(house.urls, owner=None)
    with pytest.raises(OperatorError) as refusal:
        house.restore()
    assert refusal.value.code is Code.STATE_VERSION


# ---- keys ----


def lets_in(house: House, key: str) -> bool:
    settings = house.settings.model_copy(update={"policies": house.home})
    (house.home / "subjects.yaml").write_text(SUBJECTS)
    with open_foundation(settings) as foundation:
        try:
            key_authenticator(foundation).authenticate(key, address="192.0.2.1", front_end="rest")
        except Unauthenticated:
            return False
    return True


@pytest.mark.parametrize("way", ["backup", "copy"])
def test_restored_key_stays_revoked_when_the_backup_is_older(house: House, way: str) -> None:
    """A key that somebody revoked does not open the door again because the state went back."""
    with house.open() as clerk:
        clerk.open_books()
        revoked, valid = clerk.key("alice").key, clerk.key("alice").key
    file, older = house.backup(), house.copy()
    with house.open() as clerk:
        clerk.revoke(revoked.id)
    rows = house.rows("SELECT id, at, actor FROM key_revocations")
    if way == "backup":
        house.lose()
        restored = house.restore(file)
    else:
        house.urls = older
        restored = house.restore()
    assert [one.key_id for one in restored.revoked] == [revoked.id]
    assert house.rows("SELECT id, at, actor FROM key_revocations") == rows
    assert not lets_in(house, revoked.reveal())
    assert lets_in(house, valid.reveal())
    assert len(house.rows("SELECT FROM trail_records WHERE kind = 'key_revoked'")) == 1
    assert house.verdict().intact
    assert not house.restore(file, replace=True).withdrawals
    assert not lets_in(house, revoked.reveal())


def test_restored_key_stays_revoked_when_an_older_backup_did_not_know_it(house: House) -> None:
    """The anchor remembers a revoked key through a state that has never heard of it."""
    with house.open() as clerk:
        clerk.open_books()
    oldest = house.backup("oldest")
    with house.open() as clerk:
        key = clerk.key("alice").key
    newer = house.backup("newer")
    with house.open() as clerk:
        clerk.revoke(key.id)
    for file in (oldest, newer):
        house.restore(file, replace=True)
        assert not lets_in(house, key.reveal())
    assert house.rows("SELECT id FROM key_revocations") == [(key.id,)]
    assert house.verdict().intact


def test_restored_key_stays_revoked_when_the_anchor_began_anew_meanwhile(house: House) -> None:
    """An anchor that begins on a state with a past knows its revocations."""
    with house.open() as clerk:
        clerk.open_books()
        key = clerk.key("alice").key
    file = house.backup()
    with house.open() as clerk:
        clerk.revoke(key.id)
    (house.home / "anchor").unlink()
    assert house.verdict().intact  # opens the state, and begins an anchor
    house.lose()
    house.restore(file)
    assert not lets_in(house, key.reveal())


def test_restored_key_works_when_it_was_never_revoked(house: House) -> None:
    """Negative control: what a backup knows of keys comes back with it."""
    with house.open() as clerk:
        clerk.open_books()
        key = clerk.key("alice").key
    file = house.backup()
    house.lose()
    house.restore(file)
    assert lets_in(house, key.reveal())


def test_gap_is_charged_below_accounts_when_they_come_in_any_order(house: House) -> None:
    """However deep the tree, accounts are opened from the root down."""
    with house.open() as clerk:
        clerk.open_books()
        above = TEAM
        for depth in range(5):
            name = f"team:a{9 - depth}@clinic"
            restoring_account = Account(name, CLINIC_LEDGER, above, limits("3"))
            clerk.declare(restoring_account)
            above = name
        clerk.declare(Account("analyst:zoe@clinic", CLINIC_LEDGER, above, limits("2")))
        clerk.ask("analyst:zoe@clinic", "0.5")
    before, allowed = house.spent(), house.limits()
    house.lose()
    house.restore()
    assert (house.spent(), house.limits()) == (before, allowed)
    assert house.verdict().intact


def test_restore_sets_the_tighter_limits_when_another_gateway_restored_before(
    house: House,
) -> None:
    """Of two gateways on one state each knows what it had lowered; after both restored, all of it counts."""
    here, there = house.home / "here", house.home / "there"
    with house.open() as clerk:
        clerk.open_books()
    file = house.backup()
    day = RateLimit(Every.DAY, Epsilon.parse("0.04"))
    with replace(house, home=here).open() as clerk:
        clerk.turn_away()
    with replace(house, home=there).open() as clerk:
        clerk.limit(ALICE, limits("2", "1e-9", RateLimit(Every.MONTH, Epsilon.parse("1.5"))))
        clerk.limit(BOB, limits("0.3", window=day))
        clerk.limit(TEAM, limits("1"))
        clerk.limit(CLINIC, limits("20"))
    replace(house, home=here).restore(file, replace=True)
    with replace(house, home=here).open() as clerk:
        clerk.limit(ALICE, limits("1", window=RateLimit(Every.MONTH, Epsilon.parse("1.5"))))
    replace(house, home=there).restore()
    allowed = house.limits()
    assert allowed[ALICE] == ("1/1", "1/1000000000", "month", "3/2")
    assert allowed[BOB] == ("3/10", "1/1000000", "day", "1/25")
    assert allowed[TEAM] == ("1/1", "1/1000000", None, None)
    assert allowed[CLINIC] == ("10/1", "1/1000000", None, None)
    assert replace(house, home=there).verdict().intact
