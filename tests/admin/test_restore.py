"""Restores: no spent budget is available again after any loss of the state."""

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
from fix_gateway import ALICE, BOB, CHEMIST, CLINIC, CLINIC_LEDGER, LABS, TEAM, Installation, limits
from fix_state import AUDIT_SECRET
from warm_python import forks

from gateway.admin import restore as restoring
from gateway.admin.instance import open_foundation
from gateway.app import key_authenticator
from gateway.budget.account import Account, Every, Limits, RateLimit
from gateway.errors import BudgetExhausted, Code, OperatorError, Unauthenticated
from gateway.state.anchor import Anchor
from gateway.trail.chain import ChainKey
from gateway.units import Epsilon

SUBJECTS = "alice: {role: researcher}\nbob: {role: researcher}\n"


def refused(installation: Installation) -> Code:
    """Why no gateway opens this state."""
    with pytest.raises(OperatorError) as refusal, open_foundation(installation.settings):
        pass
    return refusal.value.code


def a_day_passes(installation: Installation) -> Path:
    """Work, a backup, and more work that the backup does not know of."""
    with installation.open() as clerk:
        clerk.live()
    file = installation.backup()
    with installation.open() as clerk:
        for _ in range(3):
            clerk.ask(ALICE, "0.1", delta="1e-8")
            clerk.ask(CHEMIST, "0.3", delta="2e-8")
        clerk.refuse()
    return file


def test_state_is_refused_when_it_is_older_than_its_anchor(installation: Installation) -> None:
    """A database that was put back by other means than the gateway's is not worked on."""
    with installation.open() as clerk:
        clerk.live()
    older = installation.copy()
    with installation.open() as clerk:
        clerk.ask()
    installation.urls = older
    assert refused(installation) is Code.STATE_BEHIND_ANCHOR


@pytest.mark.parametrize("migrated", [True, False])
def test_state_is_refused_when_it_is_lost(installation: Installation, *, migrated: bool) -> None:
    """An empty database is not mistaken for a new gateway's."""
    with installation.open() as clerk:
        clerk.live()
    installation.lose(migrated=migrated)
    if not migrated:
        assert refused(installation) is Code.STATE_VERSION
    else:
        assert refused(installation) is Code.STATE_BEHIND_ANCHOR


def test_state_is_refused_when_it_has_another_history(installation: Installation) -> None:
    """As many records as the anchor has seen, but not the same ones, are not enough."""
    with installation.open() as clerk:
        clerk.live()
    older = installation.copy()
    with installation.open() as clerk:
        clerk.ask(ALICE, "0.2")
    anchor = (installation.home / "anchor").read_bytes()
    installation.urls = older
    (installation.home / "anchor").unlink()
    with installation.open() as clerk:
        clerk.turn_away("one")
        clerk.turn_away("two")
    (installation.home / "anchor").write_bytes(anchor)
    assert refused(installation) is Code.STATE_BEHIND_ANCHOR


def test_restore_charges_exactly_the_gap_when_a_backup_is_older(installation: Installation) -> None:
    """Each account, in either currency, has given afterwards what it had given before: no more, no less."""
    file = a_day_passes(installation)
    before, allowed = installation.spent(), installation.limits()
    installation.lose()
    restored = installation.restore(file)
    assert installation.spent() == before
    assert installation.limits() == allowed
    gaps = {each.account: each for each in restored.withdrawals}
    assert set(gaps) == {ALICE, TEAM, CLINIC, CHEMIST, LABS}
    assert gaps[ALICE].amount == Fraction(3, 10)
    assert gaps[TEAM].delta == 3 * Fraction(1, 10**8)
    assert gaps[LABS].delta == 6 * Fraction(1, 10**8)
    assert not restored.acts
    assert not restored.revoked
    assert installation.verdict().intact


def test_restore_says_who_restored_what_in_the_trail(installation: Installation) -> None:
    """An auditor reads which backup was put in place, by whom, and what had been lost."""
    file = a_day_passes(installation)
    ((seen, head),) = installation.rows(
        "SELECT seq, mac FROM trail_records ORDER BY seq DESC LIMIT 1"
    )
    installation.lose()
    installation.restore(file)
    ((said, kind, seq),) = installation.rows(
        "SELECT body::jsonb, kind, seq FROM trail_records ORDER BY seq DESC LIMIT 1"
    )
    assert isinstance(said, dict)
    assert kind == "restored"
    assert said["actor"] == "os:op"
    about = said["about"]
    assert about["backup"] == installation.clerk_says.isoformat()
    assert about["anchor_had_seen"] == str(seen)
    assert about["anchor_head"] == head
    assert isinstance(seq, int)
    assert about["restored_to"] == str(seq - 1)
    assert {one["account"] for one in said["taken"]} == {ALICE, TEAM, CLINIC, CHEMIST, LABS}


def test_restored_account_stays_exhausted_when_it_was(installation: Installation) -> None:
    """Restoring an older state is no way to ask more."""
    with installation.open() as clerk:
        clerk.open_books()
    file = installation.backup()
    with installation.open() as clerk:
        for _ in range(3):
            clerk.ask(BOB, "0.1")
        with pytest.raises(BudgetExhausted):
            clerk.ask(BOB, "0.01")
    installation.lose()
    installation.restore(file)
    with installation.open() as clerk:
        with pytest.raises(BudgetExhausted):
            clerk.ask(BOB, "0.01")
        clerk.ask(ALICE, "0.01")
    assert installation.verdict().intact


def test_restored_window_counts_the_gap_when_it_is_still_open(installation: Installation) -> None:
    """What was asked this month counts for this month, also when the state forgot it."""
    with installation.open() as clerk:
        clerk.open_books()
    file = installation.backup()
    with installation.open() as clerk:
        clerk.ask(ALICE, "1.5")
    installation.lose()
    installation.restore(file)
    with installation.open() as clerk, pytest.raises(BudgetExhausted) as refusal:
        clerk.ask(ALICE, "0.01")
    assert refusal.value.code is Code.WINDOW_EXHAUSTED


def test_restore_opens_accounts_when_the_backup_has_never_heard_of_them(
    installation: Installation,
) -> None:
    """Ledgers, teams and analysts that came after the backup keep what they had given."""
    with installation.open() as clerk:
        clerk.turn_away()
    file = installation.backup()
    with installation.open() as clerk:
        clerk.live()
    before, allowed = installation.spent(), installation.limits()
    installation.lose()
    restored = installation.restore(file)
    assert (installation.spent(), installation.limits()) == (before, allowed)
    assert len(restored.acts) == 2 + 6  # two ledgers; their accounts and four below them
    kinds = [kind for (kind,) in installation.rows("SELECT kind FROM trail_records ORDER BY seq")]
    assert kinds.count("ledger_opened") == 2
    assert kinds.count("account_opened") == 6
    assert installation.verdict().intact


@pytest.mark.parametrize(
    ("account", "newer"),
    [
        (ALICE, limits("0.5")),
        (ALICE, limits("9")),
        (CHEMIST, limits("1.8", "1e-9")),
        (CHEMIST, limits("1.8", window=RateLimit(Every.DAY, Epsilon.parse("0.01")))),
        (LABS, limits("8")),
    ],
)
def test_restore_keeps_the_newest_limits_when_they_were_set_after_the_backup(
    installation: Installation, account: str, newer: Limits
) -> None:
    """Nobody gets a cap, a delta or a window back that an administrator had taken away."""
    file = a_day_passes(installation)
    with installation.open() as clerk:
        clerk.limit(account, newer)
    allowed = installation.limits()
    installation.lose()
    restored = installation.restore(file)
    assert installation.limits() == allowed
    assert len(restored.acts) == len(
        installation.rows(
            "SELECT FROM trail_records WHERE kind = 'limits_set' AND body LIKE :a", a="%os:op%"
        )
    )
    assert installation.verdict().intact


def test_restore_keeps_limits_when_the_state_is_newer_than_the_anchor(
    installation: Installation,
) -> None:
    """An anchor that was itself put back does not undo what the state knows better."""
    with installation.open() as clerk:
        clerk.live()
    shutil.copy(installation.home / "anchor", installation.home / "older")
    with installation.open() as clerk:
        clerk.limit(ALICE, limits("0.9"))
        clerk.ask(BOB, "0.01")
    before, allowed = installation.spent(), installation.limits()
    shutil.copy(installation.home / "older", installation.home / "anchor")
    restored = installation.restore()
    assert (installation.spent(), installation.limits()) == (before, allowed)
    assert not restored.acts
    assert not restored.withdrawals
    assert installation.verdict().intact


@pytest.mark.parametrize("migrated", [True, False])
def test_restore_charges_everything_when_the_state_is_lost_and_there_is_no_backup(
    installation: Installation, *, migrated: bool
) -> None:
    """The anchor alone is enough to forget nothing that was spent."""
    a_day_passes(installation)
    before, allowed = installation.spent(), installation.limits()
    installation.lose(migrated=migrated)
    installation.restore()
    assert (installation.spent(), installation.limits()) == (before, allowed)
    assert installation.verdict().intact
    with installation.open() as clerk:
        clerk.ask(ALICE, "0.01")


def test_restore_charges_the_gap_when_another_tool_put_the_state_back(
    installation: Installation,
) -> None:
    """A file-system snapshot or a dump will do too: without a file the state is taken as it is."""
    with installation.open() as clerk:
        clerk.live()
    older = installation.copy()
    with installation.open() as clerk:
        clerk.ask(ALICE, "0.2")
        clerk.limit(BOB, limits("0.2"))
    before, allowed = installation.spent(), installation.limits()
    installation.urls = older
    installation.restore()
    assert (installation.spent(), installation.limits()) == (before, allowed)
    assert installation.verdict().intact


def test_restore_charges_nothing_when_it_is_run_again(installation: Installation) -> None:
    """The second restore finds no gap, with the file or without."""
    file = a_day_passes(installation)
    before = installation.spent()
    installation.lose()
    installation.restore(file)
    for again in (None, file, None):
        restored = installation.restore(again, replace=True)
        assert installation.spent() == before
        assert again or not restored.withdrawals
    assert installation.verdict().intact


def test_restore_forgets_nothing_when_older_and_newer_backups_follow_each_other(
    installation: Installation,
) -> None:
    """Whichever backup is put in place after which, what was given stays given."""
    with installation.open() as clerk:
        clerk.live()
    oldest = installation.backup("oldest")
    with installation.open() as clerk:
        clerk.ask(ALICE, "0.1")
    newer = installation.backup("newer")
    with installation.open() as clerk:
        clerk.ask(ALICE, "0.1")
        clerk.limit(BOB, limits("0.1"))
    for file in (oldest, newer, oldest):
        before, allowed = installation.spent(), installation.limits()
        installation.restore(file, replace=True)
        assert (installation.spent(), installation.limits()) == (before, allowed)
        with installation.open() as clerk:
            clerk.ask(ALICE, "0.01")
    assert installation.verdict().intact


def test_restore_changes_nothing_when_the_state_is_whole(installation: Installation) -> None:
    """Restoring without need costs a record and nothing else."""
    a_day_passes(installation)
    before, allowed = installation.spent(), installation.limits()
    restored = installation.restore()
    assert (installation.spent(), installation.limits()) == (before, allowed)
    assert not restored.withdrawals


def test_restore_says_so_when_there_is_no_anchor(installation: Installation) -> None:
    """Without an anchor nobody knows what is missing, and that is what is told and recorded."""
    file = a_day_passes(installation)
    installation.lose()
    (installation.home / "anchor").unlink()
    restored = installation.restore(file)
    assert restored.anchored is None
    ((about,),) = installation.rows(
        "SELECT body::jsonb -> 'about' FROM trail_records WHERE kind = 'restored'"
    )
    assert isinstance(about, dict)
    assert about["anchor_had_seen"] is None


def test_restore_keeps_the_old_anchor_aside_each_time(installation: Installation) -> None:
    """What the anchor said before is evidence, and is never overwritten."""
    file = a_day_passes(installation)
    installation.lose()
    old = (installation.home / "anchor").read_bytes()
    installation.restore(file)
    (previous,) = installation.home.glob("anchor.2*")
    assert previous.read_bytes() == old
    installation.clerk_says = datetime.now(UTC)
    installation.restore()
    assert len(list(installation.home.glob("anchor.2*"))) == 2
    assert not list(installation.home.glob("*restoring*"))


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
    installation: Installation, moment: str, lost: str, again: str
) -> None:
    """Killed at any point, no gateway starts until a restore was finished, and nothing is doubled."""
    if lost == "much":
        file = a_day_passes(installation)
    else:
        with installation.open() as clerk:
            clerk.live()
        file = installation.backup()
        with installation.open() as clerk:
            clerk.ask(ALICE, "0.1")
    before, allowed = installation.spent(), installation.limits()
    installation.lose()
    settings = installation.settings
    assert settings.state_url is not None
    assert settings.state_owner_url is not None
    with forks():
        done = subprocess.run(
            [sys.executable, "-c", _CUT, moment, str(file)],
            env={
                **os.environ,
                "GATEWAY_HOME": str(installation.home),
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
    assert refused(installation) is Code.STATE_BEHIND_ANCHOR
    installation.restore(file if again == "the file" else None, replace=True)
    assert (installation.spent(), installation.limits()) == (before, allowed)
    assert installation.verdict().intact


def test_restore_can_be_run_again_when_the_anchor_cannot_be_written(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full at the last moment costs another try and no budget."""
    file = a_day_passes(installation)
    before = installation.spent()
    installation.lose()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Anchor, "begin", full)
        with pytest.raises(OperatorError) as refusal:
            installation.restore(file)
    assert refusal.value.code is Code.ANCHOR_UNAVAILABLE
    assert refused(installation) is Code.STATE_BEHIND_ANCHOR
    installation.restore()
    assert installation.spent() == before


# ---- refused ----


def test_restore_is_refused_when_the_state_is_not_empty(installation: Installation) -> None:
    """Nothing is overwritten unless that was asked for."""
    file = a_day_passes(installation)
    before = installation.rows("SELECT count(*), max(seq) FROM trail_records")
    with pytest.raises(OperatorError) as refusal:
        installation.restore(file)
    assert refusal.value.code is Code.BACKUP_UNUSABLE
    assert "--replace" in refusal.value.hint
    assert installation.rows("SELECT count(*), max(seq) FROM trail_records") == before


@pytest.mark.parametrize("with_file", [True, False])
def test_restore_is_refused_when_a_gateway_is_running(
    installation: Installation, *, with_file: bool
) -> None:
    """The state is not taken away under a gateway, and its anchor is not either."""
    file = a_day_passes(installation)
    with installation.open() as clerk:
        anchor = (installation.home / "anchor").read_bytes()
        with pytest.raises(OperatorError) as refusal:
            installation.restore(file if with_file else None, replace=True)
        assert refusal.value.code is Code.BACKUP_UNUSABLE
        assert (installation.home / "anchor").read_bytes() == anchor
        clerk.ask(ALICE, "0.01")
    assert installation.verdict().intact


def test_restore_is_refused_when_the_audit_key_is_another(installation: Installation) -> None:
    """Neither a state nor a backup is taken over by somebody with another key."""
    file = a_day_passes(installation)
    other = ChainKey(b"another audit key, also 32 bytes")
    before = installation.rows("SELECT count(*), max(seq) FROM trail_records")
    anchor = (installation.home / "anchor").read_bytes()
    for backup in (file, None):
        with pytest.raises(OperatorError):
            restoring.restore(
                installation.settings,
                other,
                backup,
                replace=True,
                actor="os:op",
                now=installation.clerk_says,
            )
    (installation.home / "anchor").rename(installation.home / "kept")
    with pytest.raises(OperatorError):
        restoring.restore(
            installation.settings,
            other,
            None,
            replace=True,
            actor="os:op",
            now=installation.clerk_says,
        )
    assert not (installation.home / "anchor").exists()
    (installation.home / "kept").rename(installation.home / "anchor")
    assert (installation.home / "anchor").read_bytes() == anchor
    assert installation.rows("SELECT count(*), max(seq) FROM trail_records") == before


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM trail_records WHERE seq = 12",
        "UPDATE trail_records SET body = body || ' ' WHERE seq = 12",
        "UPDATE ledger_entries SET spent_after = '0/1'",
        "UPDATE account_limits SET epsilon = '1000/1'",
    ],
)
def test_restore_is_refused_when_the_state_was_tampered_with(
    installation: Installation, change: str
) -> None:
    """A new anchor would make a forgery official: only a state that verifies gets one."""
    a_day_passes(installation)
    installation.change(change)
    anchor = (installation.home / "anchor").read_bytes()
    with pytest.raises(OperatorError) as refusal:
        installation.restore()
    assert refusal.value.code is Code.TRAIL_BROKEN
    assert (installation.home / "anchor").read_bytes() == anchor


def test_restore_needs_the_owner_when_a_state_is_to_be_replaced(installation: Installation) -> None:
    """The application's login cannot drop what is append-only, and the refusal says whose can."""
    file = a_day_passes(installation)
    installation.urls = replace(installation.urls, owner=None)
    with pytest.raises(OperatorError) as refusal:
        installation.restore(file, replace=True)
    assert "GATEWAY_STATE_OWNER_URL" in refusal.value.hint
    assert (
        installation.restore().anchored is not None
    )  # without a file the application's login will do
    installation.lose(migrated=False)
    installation.urls = replace(installation.urls, owner=None)
    with pytest.raises(OperatorError) as refusal:
        installation.restore()
    assert refusal.value.code is Code.STATE_VERSION


# ---- keys ----


def lets_in(installation: Installation, key: str) -> bool:
    settings = installation.settings.model_copy(update={"policies": installation.home})
    (installation.home / "subjects.yaml").write_text(SUBJECTS)
    with open_foundation(settings) as foundation:
        try:
            key_authenticator(foundation).authenticate(key, address="192.0.2.1", front_end="rest")
        except Unauthenticated:
            return False
    return True


@pytest.mark.parametrize("way", ["backup", "copy"])
def test_restored_key_stays_revoked_when_the_backup_is_older(
    installation: Installation, way: str
) -> None:
    """A key that somebody revoked does not open the door again because the state went back."""
    with installation.open() as clerk:
        clerk.open_books()
        revoked, valid = clerk.key("alice").key, clerk.key("alice").key
    file, older = installation.backup(), installation.copy()
    with installation.open() as clerk:
        clerk.revoke(revoked.id)
    rows = installation.rows("SELECT id, at, actor FROM key_revocations")
    if way == "backup":
        installation.lose()
        restored = installation.restore(file)
    else:
        installation.urls = older
        restored = installation.restore()
    assert [one.key_id for one in restored.revoked] == [revoked.id]
    assert installation.rows("SELECT id, at, actor FROM key_revocations") == rows
    assert not lets_in(installation, revoked.reveal())
    assert lets_in(installation, valid.reveal())
    assert len(installation.rows("SELECT FROM trail_records WHERE kind = 'key_revoked'")) == 1
    assert installation.verdict().intact
    assert not installation.restore(file, replace=True).withdrawals
    assert not lets_in(installation, revoked.reveal())


def test_restored_key_stays_revoked_when_an_older_backup_did_not_know_it(
    installation: Installation,
) -> None:
    """The anchor remembers a revoked key through a state that has never heard of it."""
    with installation.open() as clerk:
        clerk.open_books()
    oldest = installation.backup("oldest")
    with installation.open() as clerk:
        key = clerk.key("alice").key
    newer = installation.backup("newer")
    with installation.open() as clerk:
        clerk.revoke(key.id)
    for file in (oldest, newer):
        installation.restore(file, replace=True)
        assert not lets_in(installation, key.reveal())
    assert installation.rows("SELECT id FROM key_revocations") == [(key.id,)]
    assert installation.verdict().intact


def test_restored_key_stays_revoked_when_the_anchor_began_anew_meanwhile(
    installation: Installation,
) -> None:
    """An anchor that begins on a state with a past knows its revocations."""
    with installation.open() as clerk:
        clerk.open_books()
        key = clerk.key("alice").key
    file = installation.backup()
    with installation.open() as clerk:
        clerk.revoke(key.id)
    (installation.home / "anchor").unlink()
    assert installation.verdict().intact  # opens the state, and begins an anchor
    installation.lose()
    installation.restore(file)
    assert not lets_in(installation, key.reveal())


def test_restored_key_works_when_it_was_never_revoked(installation: Installation) -> None:
    """Negative control: what a backup knows of keys comes back with it."""
    with installation.open() as clerk:
        clerk.open_books()
        key = clerk.key("alice").key
    file = installation.backup()
    installation.lose()
    installation.restore(file)
    assert lets_in(installation, key.reveal())


def test_gap_is_charged_below_accounts_when_they_come_in_any_order(
    installation: Installation,
) -> None:
    """However deep the tree, accounts are opened from the root down."""
    with installation.open() as clerk:
        clerk.open_books()
        above = TEAM
        for depth in range(5):
            name = f"team:a{9 - depth}@clinic"
            restoring_account = Account(name, CLINIC_LEDGER, above, limits("3"))
            clerk.declare(restoring_account)
            above = name
        clerk.declare(Account("analyst:zoe@clinic", CLINIC_LEDGER, above, limits("2")))
        clerk.ask("analyst:zoe@clinic", "0.5")
    before, allowed = installation.spent(), installation.limits()
    installation.lose()
    installation.restore()
    assert (installation.spent(), installation.limits()) == (before, allowed)
    assert installation.verdict().intact


def test_restore_sets_the_tighter_limits_when_another_gateway_restored_before(
    installation: Installation,
) -> None:
    """Of two gateways on one state each knows what it had lowered; after both restored, all of it counts."""
    here, there = installation.home / "here", installation.home / "there"
    with installation.open() as clerk:
        clerk.open_books()
    file = installation.backup()
    day = RateLimit(Every.DAY, Epsilon.parse("0.04"))
    with replace(installation, home=here).open() as clerk:
        clerk.turn_away()
    with replace(installation, home=there).open() as clerk:
        clerk.limit(ALICE, limits("2", "1e-9", RateLimit(Every.MONTH, Epsilon.parse("1.5"))))
        clerk.limit(BOB, limits("0.3", window=day))
        clerk.limit(TEAM, limits("1"))
        clerk.limit(CLINIC, limits("20"))
    replace(installation, home=here).restore(file, replace=True)
    with replace(installation, home=here).open() as clerk:
        clerk.limit(ALICE, limits("1", window=RateLimit(Every.MONTH, Epsilon.parse("1.5"))))
    replace(installation, home=there).restore()
    allowed = installation.limits()
    assert allowed[ALICE] == ("1/1", "1/1000000000", "month", "3/2")
    assert allowed[BOB] == ("3/10", "1/1000000", "day", "1/25")
    assert allowed[TEAM] == ("1/1", "1/1000000", None, None)
    assert allowed[CLINIC] == ("10/1", "1/1000000", None, None)
    assert replace(installation, home=there).verdict().intact
