"""A backup is whole, the state's own, and unchanged, or it is refused before it touches anything."""

import hashlib
import hmac
import json
import resource
import stat
import threading
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fix_gateway import ALICE, KEY, Installation, Past
from fix_state import AUDIT_SECRET
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from gateway.admin.instance import open_foundation
from gateway.budget.account import Ledger, Limits
from gateway.budget.limits import Act
from gateway.errors import Code, OperatorError
from gateway.state import backup as backup_module
from gateway.state.backup import open_backup, write_backup
from gateway.state.draft import Draft
from gateway.state.schema import HEAD
from gateway.trail.record import utc_now
from gateway.trail.verify import verify

Members = dict[str, bytes]

_CAME_WITH = (
    ("0002", "kept_answers"),
    ("0003", "asked_events"),
    ("0003", "released_contents"),
    ("0004", "suspensions"),
    ("0006", "ledger_rates"),
)


def with_a_past(installation: Installation) -> Path:
    with installation.open() as clerk:
        clerk.live()
    return installation.backup()


def members_of(file: Path) -> Members:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_members(file: Path, members: Members) -> None:
    file.unlink()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def sign(members: Members) -> None:
    """What somebody with the audit key could do."""
    key = hmac.digest(AUDIT_SECRET, b"gateway backup v1", hashlib.sha256)
    members["manifest.mac"] = (
        hmac.digest(key, members["manifest.json"], hashlib.sha256).hex().encode()
    )


def change_manifest(members: Members, **values: object) -> None:
    said: dict[str, Any] = json.loads(members["manifest.json"])
    members["manifest.json"] = json.dumps(said | values).encode()


@pytest.fixture(scope="module")
def whole(past: Past, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What a good backup consists of."""
    path = tmp_path_factory.mktemp("backup") / "whole"
    write_backup(past.superuser, path, AUDIT_SECRET, utc_now())
    return path.read_bytes()


@pytest.fixture
def file(whole: bytes, tmp_path: Path) -> Path:
    """A good backup that a test may spoil."""
    path = tmp_path / "backup"
    path.write_bytes(whole)
    return path


def refused(file: Path) -> OperatorError:
    """Why `file` is not opened, and so never comes near a state."""
    with pytest.raises(OperatorError) as refusal:
        open_backup(file, AUDIT_SECRET)
    return refusal.value


def refused_by(installation: Installation, file: Path) -> OperatorError:
    """Why `file` is not restored; the state is as it was."""
    before = installation.rows("SELECT count(*), max(seq), max(mac) FROM trail_records")
    with pytest.raises(OperatorError) as refusal:
        installation.restore(file, replace=True)
    assert installation.rows("SELECT count(*), max(seq), max(mac) FROM trail_records") == before
    return refusal.value


def test_backup_holds_every_table_when_it_is_written(installation: Installation) -> None:
    """Everything the gateway remembers comes back: each table, row for row."""
    file = with_a_past(installation)
    tables = sorted(set(members_of(file)) - {"manifest.json", "manifest.mac"})
    ordered = {name: f"SELECT * FROM {name} AS row ORDER BY row" for name in tables}
    before = {name: installation.rows(query) for name, query in ordered.items()}
    assert {"api_keys", "charges", "ledger_entries", "trail_records"} < set(before)
    installation.lose()
    (installation.home / "anchor").unlink()
    installation.restore(file)
    for name, query in ordered.items():
        assert installation.rows(query)[: len(before[name])] == before[name], name


def without_rates(draft: Draft, ledger: Ledger, limits: Limits, **_: object) -> list[Act]:
    """Older gateways fixed no rate; here they charge by the rate that their cap gives."""
    known = replace(ledger, rate=limits.opening_rate(ledger.currency))
    draft.remember(("ledger", ledger.name), known)
    return []


@pytest.mark.parametrize("revision", ["0001", "0002", "0005"])
def test_backup_of_an_older_gateway_is_restored_into_this_ones_schema(
    installation: Installation, revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has no table in it yet gets an empty one, and the application's login its rights on it. Charges keep their
    amounts, and each ledger gets its rate, with a record, when it is opened again.
    """
    with monkeypatch.context() as patch:
        patch.setattr("gateway.budget.limits.fix_rate", without_rates)
        patch.setattr("gateway.admin.actions._rate", lambda _: {})
        file = with_a_past(installation)
    assert installation.rows("SELECT * FROM ledger_rates") == []
    charges = installation.rows("SELECT * FROM charges AS row ORDER BY row")
    members = members_of(file)
    tables = json.loads(members["manifest.json"])["tables"]
    later = [name for since, name in _CAME_WITH if since > revision]
    for name in later:
        del members[name], tables[name]
    change_manifest(members, tables=tables, revision=revision)
    sign(members)
    write_members(file, members)
    installation.restore(file, replace=True)
    assert installation.rows("SELECT * FROM charges AS row ORDER BY row")[: len(charges)] == charges
    for name in later:
        assert installation.rows(f"SELECT * FROM {name}") == []
    assert installation.rows("SELECT version_num FROM alembic_version") == [(HEAD,)]
    with installation.open() as clerk:
        clerk.live()
    fixed = "SELECT count(*) FROM trail_records WHERE kind = 'rate_fixed'"
    ledgers = installation.rows("SELECT count(*) FROM ledgers")
    assert installation.rows(fixed) == installation.rows("SELECT count(*) FROM ledger_rates")
    assert installation.rows(fixed) == ledgers
    assert installation.rows("SELECT * FROM charges AS row ORDER BY row")[: len(charges)] == charges
    with open_foundation(installation.settings) as foundation, foundation.engine.connect() as there:
        assert verify(there, KEY, None).intact


def test_backup_is_private_when_it_is_written(installation: Installation) -> None:
    """It holds hashes of keys and everything that was asked: nobody else may read it."""
    file = with_a_past(installation)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not [path for path in installation.home.iterdir() if path.name.startswith(".")]


def test_backup_is_not_written_over_a_file_that_exists(installation: Installation) -> None:
    """A name that is taken is refused, and what is there stays."""
    with_a_past(installation)
    taken = installation.home / "taken"
    taken.write_text("an older backup")
    with pytest.raises(OperatorError, match="already exists"):
        installation.backup("taken")
    assert taken.read_text() == "an older backup"


def test_backup_is_not_written_over_a_file_that_came_meanwhile(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two backups to one name: the first that is finished keeps it."""
    with_a_past(installation)
    write: Callable[..., None] = backup_module._write_members

    def meanwhile(*arguments: object) -> None:
        write(*arguments)
        (installation.home / "contested").write_text("the other one")

    monkeypatch.setattr(backup_module, "_write_members", meanwhile)
    with pytest.raises(OperatorError, match="already exists"):
        installation.backup("contested")
    assert (installation.home / "contested").read_text() == "the other one"
    assert not list(installation.home.glob(".*"))


@pytest.mark.parametrize(
    "place", ["missing/backup", "file/backup", "x" * 300, "/", "/proc/backup", "."]
)
def test_backup_is_refused_in_one_line_when_the_place_cannot_be_written_to(
    installation: Installation, place: str
) -> None:
    """A bad path leaves nothing behind and says what is wrong with it."""
    with_a_past(installation)
    (installation.home / "file").write_text("")
    names = sorted(path.name for path in installation.home.iterdir())
    with pytest.raises(OperatorError) as refusal:
        installation.backup(place)
    assert refusal.value.code is Code.BACKUP_UNUSABLE
    assert sorted(path.name for path in installation.home.iterdir()) == names


def test_backup_leaves_nothing_behind_when_the_disk_is_full(installation: Installation) -> None:
    """Half a backup is none: a write that fails midway takes its beginning with it."""
    with_a_past(installation)
    names = sorted(path.name for path in installation.home.iterdir())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open_foundation(installation.settings) as foundation:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        try:
            with pytest.raises(OperatorError) as refusal:
                write_backup(foundation.engine, installation.home / "full", AUDIT_SECRET, utc_now())
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert refusal.value.code is Code.BACKUP_UNUSABLE
    assert sorted(path.name for path in installation.home.iterdir()) == names


def test_backup_is_consistent_when_charges_go_on(installation: Installation) -> None:
    """A backup taken amid charges is a past that there was: it verifies, and the gap makes up the rest."""
    with installation.open() as clerk:
        clerk.open_books()
        stop = threading.Event()

        def work() -> None:
            while not stop.is_set():
                clerk.ask(ALICE, "0.001")

        worker = threading.Thread(target=work)
        worker.start()
        try:
            files = [installation.backup(f"amid-{number}") for number in range(3)]
        finally:
            stop.set()
            worker.join()
    before = installation.spent()
    positions = [open_backup(file, AUDIT_SECRET).position.seq for file in files]
    assert positions == sorted(set(positions))  # the control: charges did go on
    for file in files:
        installation.lose()
        installation.restore(file)
        assert installation.spent() == before
        assert installation.verdict().intact


def test_backup_outlasts_the_time_limit_of_ordinary_statements(installation: Installation) -> None:
    """A large state may take longer to copy than a question may take."""
    with_a_past(installation)
    with open_foundation(installation.settings) as foundation:
        limited = create_engine(
            foundation.engine.url, connect_args={"options": "-c statement_timeout=200"}
        )
        installation.change("ALTER TABLE trail_records RENAME TO slow_records")
        installation.change(
            "CREATE VIEW trail_records AS SELECT seq, at, kind, subject, dataset, query_id, body, mac"
            " FROM slow_records, LATERAL (SELECT pg_sleep(CASE seq WHEN 1 THEN 0.4 ELSE 0 END)) s"
        )
        installation.change("GRANT SELECT ON trail_records TO gateway_app")
        with limited.connect() as connection, pytest.raises(OperationalError):
            connection.execute(text("SELECT count(*) FROM trail_records"))  # the control
        backup = write_backup(limited, installation.home / "slow", AUDIT_SECRET, utc_now())
        limited.dispose()
    assert backup.position.seq >= 40


# ---- tampered with ----


def test_backup_is_refused_when_one_charge_was_taken_out(file: Path) -> None:
    """Whoever edits a table in the file, without the key, edits in vain."""
    members = members_of(file)
    lines = members["ledger_entries"].splitlines(keepends=True)
    members["ledger_entries"] = b"".join(lines[:-1])
    write_members(file, members)
    assert "was changed" in refused(file).detail


def test_backup_is_refused_when_a_table_has_other_bytes_of_the_same_length(file: Path) -> None:
    """The length alone does not make a table the one that was signed."""
    members = members_of(file)
    members["account_limits"] = members["account_limits"].replace(b"10/1", b"90/1")
    write_members(file, members)
    assert "`account_limits`" in refused(file).detail


@pytest.mark.parametrize(
    "values", [{"seq": 7}, {"tables": {}}, {"revision": "0000"}, {"format": 2}]
)
def test_backup_is_refused_when_its_manifest_was_changed(
    file: Path, values: dict[str, object]
) -> None:
    """What the manifest says is signed."""
    members = members_of(file)
    change_manifest(members, **values)
    write_members(file, members)
    assert "audit key" in refused(file).detail


def test_backup_is_refused_when_it_was_made_with_another_key(file: Path) -> None:
    """A backup of somebody else's gateway is not taken for ours."""
    with pytest.raises(OperatorError, match="audit key"):
        open_backup(file, AUDIT_SECRET[:-1] + b"!")
    members = members_of(file)
    members["manifest.mac"] = b"0" * 64
    write_members(file, members)
    assert refused(file).code is Code.BACKUP_UNUSABLE


@pytest.mark.parametrize("missing", ["charges", "trail_records", "manifest.json", "manifest.mac"])
def test_backup_is_refused_when_a_member_is_missing(file: Path, missing: str) -> None:
    """A table that is not there is not an empty one."""
    members = members_of(file)
    del members[missing]
    write_members(file, members)
    assert refused(file).code is Code.BACKUP_UNUSABLE


@pytest.mark.parametrize("name", ["extra", "../outside", "trail_records"])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_backup_is_refused_when_a_member_is_added(file: Path, name: str) -> None:
    """Nothing stands in the file that was not signed, not even twice."""
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(name, archive.read("trail_records"))
    assert refused(file).code is Code.BACKUP_UNUSABLE


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x05\x06" + b"\0" * 18,
        b"no zip file at all" * 100,
        b"PK\x03\x04" + b"\xff" * 200,
    ],
)
def test_backup_is_refused_when_it_is_no_backup(file: Path, content: bytes) -> None:
    """Any other file is refused in one line."""
    file.write_bytes(content)
    assert refused(file).code is Code.BACKUP_UNUSABLE


@pytest.mark.parametrize("path", ["missing", ".", "file/backup"])
def test_backup_is_refused_when_the_path_names_none(file: Path, path: str) -> None:
    """So is a file that is not there, or a directory."""
    (file.parent / "file").write_text("")
    assert refused(file.parent / path).code is Code.BACKUP_UNUSABLE


def test_backup_is_refused_when_it_was_cut_off_anywhere(file: Path, whole: bytes) -> None:
    """A download that broke off is refused, wherever it did."""
    for kept in range(0, len(whole), max(1, len(whole) // 40)):
        file.write_bytes(whole[:kept])
        with pytest.raises(OperatorError) as refusal:
            open_backup(file, AUDIT_SECRET)
        assert refusal.value.code is Code.BACKUP_UNUSABLE
    file.write_bytes(whole)
    assert open_backup(file, AUDIT_SECRET).position.seq >= 40


def test_backup_is_refused_or_whole_when_any_bit_of_it_flipped(file: Path, whole: bytes) -> None:
    """A disk that forgets a bit is noticed, or the bit meant nothing."""
    spoilt = bytearray(whole)
    good = members_of(file)
    for place in range(0, len(whole), max(1, len(whole) // 150)):
        spoilt[place] ^= 0x10
        file.write_bytes(spoilt)
        with suppress(OperatorError):
            open_backup(file, AUDIT_SECRET)
            assert members_of(file) == good
        spoilt[place] ^= 0x10


@pytest.mark.parametrize("name", ["manifest.json", "manifest.mac", "trail_records"])
def test_backup_is_refused_without_unpacking_it_when_a_member_is_huge(
    file: Path, name: str
) -> None:
    """A small file that unpacks to gigabytes is told by its length, and fills no memory."""
    members = members_of(file)
    file.unlink()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in members.items():
            if each != name:
                archive.writestr(each, content)
        with archive.open(name, "w", force_zip64=True) as member:
            for _ in range(32):
                member.write(bytes(1 << 20))
    read: list[int] = []
    original = zipfile.ZipExtFile.read

    def counting(self: zipfile.ZipExtFile, n: int | None = -1) -> bytes:
        block = original(self, n)
        read.append(len(block))
        return block

    zipfile.ZipExtFile.read = counting  # type: ignore[method-assign]  # put back below
    try:
        assert refused(file).code is Code.BACKUP_UNUSABLE
    finally:
        zipfile.ZipExtFile.read = original  # type: ignore[method-assign]
    assert sum(read) < 4 << 20


def test_backup_is_refused_when_it_lies_about_a_members_length(file: Path) -> None:
    """A member that unpacks to more than its header says is cut there, and so found changed."""
    size = len(members_of(file)["trail_records"])
    raw = file.read_bytes()
    members = members_of(file)
    members["trail_records"] += b"1" * 1000
    write_members(file, members)
    longer = file.read_bytes().replace(
        (size + 1000).to_bytes(4, "little"), size.to_bytes(4, "little")
    )
    assert raw != longer
    file.write_bytes(longer)
    assert refused(file).code is Code.BACKUP_UNUSABLE


def test_backup_is_not_loaded_when_it_is_refused(installation: Installation) -> None:
    """A restore that is refused for its file leaves the state alone."""
    file = with_a_past(installation)
    members = members_of(file)
    members["charges"] = b""
    write_members(file, members)
    assert refused_by(installation, file).code is Code.BACKUP_UNUSABLE


def test_backup_is_refused_when_a_newer_gateway_wrote_it(installation: Installation) -> None:
    """A signed backup of an unknown revision says which gateway is needed."""
    file = with_a_past(installation)
    members = members_of(file)
    change_manifest(members, revision="9999")
    sign(members)
    write_members(file, members)
    assert refused_by(installation, file).code is Code.STATE_VERSION


@pytest.mark.parametrize(
    ("forgery", "code"),
    [
        ("UPDATE ledger_entries SET spent_after = '0/1' WHERE ordinal = 3", Code.BACKUP_UNUSABLE),
        ("UPDATE account_limits SET epsilon = '1000/1'", Code.TRAIL_BROKEN),
        ("DELETE FROM key_revocations", Code.TRAIL_BROKEN),
    ],
)
def test_backup_is_refused_when_it_was_made_of_a_forged_state(
    installation: Installation, forgery: str, code: Code
) -> None:
    """A signature says who wrote a backup, not that the state in it was sound."""
    with_a_past(installation)
    installation.change(forgery)
    assert refused_by(installation, installation.backup("forged")).code is code


def test_backup_is_good_when_the_same_members_are_packed_anew(file: Path) -> None:
    """Negative control: what is refused above is refused for its content, not for its packing."""
    before = open_backup(file, AUDIT_SECRET)
    write_members(file, members_of(file))
    assert open_backup(file, AUDIT_SECRET) == before
