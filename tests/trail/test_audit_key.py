"""The audit key is the one that was given, or one that was made once and is nobody else's."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr
from warm_python import forks

from gateway.config import Settings
from gateway.errors import Code, OperatorError
from gateway.trail.chain import ChainKey, load_audit_key

GIVEN = "a key that was given, 32 bytes.."


def settings_in(home: Path, **options: object) -> Settings:
    return Settings(home=home, **options)  # type: ignore[arg-type]  # pydantic checks them


def test_key_is_the_given_one_when_settings_hold_one(tmp_path: Path) -> None:
    """A key in the environment counts, and none is made."""
    key = load_audit_key(settings_in(tmp_path, audit_key=SecretStr(GIVEN)))
    assert key.secret == GIVEN.encode()
    assert not list(tmp_path.iterdir())


def test_key_is_the_given_one_when_a_file_holds_it(tmp_path: Path) -> None:
    """A key in a file counts, without the line's end that editors add."""
    file = tmp_path / "key"
    file.write_text(f"{GIVEN}\n")
    assert load_audit_key(settings_in(tmp_path, audit_key_file=file)).secret == GIVEN.encode()


def test_key_may_be_any_bytes_when_the_environment_holds_it(tmp_path: Path) -> None:
    """Bytes that are no text in any encoding are bytes of the key."""
    raw = b"\xff\xfe some bytes that are no UTF-8"
    key = load_audit_key(settings_in(tmp_path, audit_key=SecretStr(os.fsdecode(raw))))
    assert key.secret == raw


def test_key_is_made_once_and_kept_when_none_is_given(tmp_path: Path) -> None:
    """A new home gets a key of its own, readable by its owner alone, and keeps it."""
    settings = settings_in(tmp_path)
    key = load_audit_key(settings)
    file = tmp_path / "audit.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(key.secret) == 64
    assert load_audit_key(settings) == key
    assert [path.name for path in tmp_path.iterdir()] == ["audit.key"]
    other = tmp_path / "other"
    other.mkdir()
    assert load_audit_key(settings_in(other)) != key


def test_key_is_private_when_the_umask_lets_everybody_read(tmp_path: Path) -> None:
    """Whatever the umask, nobody else reads the key."""
    before = os.umask(0)
    try:
        load_audit_key(settings_in(tmp_path))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "audit.key").stat().st_mode) == 0o600


@pytest.mark.parametrize("short", ["", "secret", "x" * 15])
def test_key_is_refused_when_it_is_short(tmp_path: Path, short: str) -> None:
    """A key that could be guessed is refused, and not repeated in the refusal."""
    file = tmp_path / "key"
    file.write_text(f"  {short}  \n")
    for settings in (
        settings_in(tmp_path, audit_key=SecretStr(short)),
        settings_in(tmp_path, audit_key_file=file),
    ):
        with pytest.raises(OperatorError) as refusal:
            load_audit_key(settings)
        assert refusal.value.code is Code.SETTING_INVALID
        assert not short or short not in f"{refusal.value}{refusal.value.hint}"


@pytest.mark.parametrize("where", ["missing", ".", "file/key"])
def test_key_is_refused_when_its_file_cannot_be_read(tmp_path: Path, where: str) -> None:
    """A file that is named and cannot be read is an error: no key is made in its stead."""
    (tmp_path / "file").write_text("")
    with pytest.raises(OperatorError) as refusal:
        load_audit_key(settings_in(tmp_path, audit_key_file=tmp_path / where))
    assert refusal.value.code is Code.SETTING_INVALID
    assert "GATEWAY_AUDIT_KEY_FILE" in refusal.value.hint
    assert not (tmp_path / "audit.key").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_key_is_refused_when_its_file_may_not_be_read(tmp_path: Path) -> None:
    """Somebody else's key file is an error too."""
    file = tmp_path / "key"
    file.write_text(GIVEN)
    file.chmod(0)
    with pytest.raises(OperatorError, match="Permission denied"):
        load_audit_key(settings_in(tmp_path, audit_key_file=file))


def test_key_is_refused_when_both_are_given(tmp_path: Path) -> None:
    """Two keys are one too many: nobody would know which one counts."""
    with pytest.raises(ValueError, match="not both"):
        settings_in(tmp_path, audit_key=SecretStr(GIVEN), audit_key_file=tmp_path / "key")


@pytest.mark.gateway
def test_key_is_one_when_several_processes_make_it_at_once(tmp_path: Path) -> None:
    """Gateways that start together on a new home agree on one key."""
    script = (
        "import sys; from pathlib import Path\n"
        "from gateway.config import Settings\n"
        "from gateway.trail.chain import load_audit_key\n"
        "settings = Settings(home=Path(sys.argv[1]))\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "print(load_audit_key(settings).secret.hex())"
    )
    racers = []
    for _ in range(4):
        with forks():
            racers.append(
                subprocess.Popen(
                    [sys.executable, "-c", script, str(tmp_path)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = {racer.communicate(timeout=60)[0] for racer in racers}
    assert len(said) == 1
    assert bytes.fromhex(said.pop().strip()) == (tmp_path / "audit.key").read_bytes().strip()
    assert [path.name for path in tmp_path.iterdir()] == ["audit.key"]


def test_key_has_no_text_form() -> None:
    """Whoever prints or logs what holds a key prints no key."""
    key = ChainKey(GIVEN.encode())
    settings = Settings(audit_key=SecretStr(GIVEN))
    for shown in (repr(key), str(key), f"{key}", repr([key]), repr(settings), str(settings)):
        assert GIVEN not in shown
