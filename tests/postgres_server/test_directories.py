"""Where a home may be, and what is said when it cannot be used."""

import os
import pwd
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fix_postgres_server import connect, end_server

from gateway.errors import Code, OperatorError
from gateway.postgres_server import OsUser, open_server
from gateway.postgres_server import directories as places
from gateway.postgres_server.directories import Home, ServerDirectory, find_directory
from gateway.postgres_server.files import make_directory
from gateway.postgres_server.os_user import initdb_account

ROOT = os.geteuid() == 0


@pytest.fixture
def system(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for /var/lib/gateway."""
    system = home.parent / "system"
    monkeypatch.setattr(places, "SYSTEM", system)
    return system


@pytest.fixture
def closed_home(home: Path) -> Iterator[Path]:
    """A home in a directory that nobody else can enter."""
    closed = home.parent / "closed"
    closed.mkdir(mode=0o700)
    yield closed / "home"
    end_server(closed / "home")


def _modes(path: Path) -> dict[Path, int]:
    return {above: stat.S_IMODE(above.stat().st_mode) for above in (path, *path.parents)}


def test_directories_keep_their_modes_when_they_were_there(home: Path) -> None:
    """A start changes the mode of no directory that it finds."""
    home.mkdir()
    home.chmod(0o751)
    before = _modes(home)
    open_server(home).close()
    assert _modes(home) == before


def test_database_lies_elsewhere_when_root_has_a_closed_home(
    closed_home: Path, system: Path
) -> None:
    """Where root's server cannot pass through, the home only points to the database.

    An ordinary user's server goes wherever the user does.
    """
    before = _modes(closed_home.parent)
    with open_server(closed_home) as lease, connect(lease) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS x")
    assert _modes(closed_home.parent) == before
    assert lease.data_dir.is_relative_to(system if ROOT else closed_home)
    with open_server(closed_home) as again, connect(again) as connection:
        assert again.data_dir == lease.data_dir
        assert connection.execute("SELECT x FROM kept").fetchone() == (7,)
    assert len(list(system.glob("homes/*"))) == (1 if ROOT else 0)


def test_database_is_not_made_anew_when_it_is_gone(home: Path) -> None:
    """A home whose database vanished is refused: an empty one would forget what was spent."""
    _point(home, home.parent / "elsewhere")
    with pytest.raises(OperatorError, match=r"elsewhere`, named in .* is gone") as refused:
        open_server(home)
    assert refused.value.code is Code.HOME_UNUSABLE


def test_database_is_refused_when_it_belongs_to_another_home(home: Path) -> None:
    """A copied home does not get at the original's database behind its locks."""
    elsewhere = home.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "home").write_text("/the/original\n")
    _point(home, elsewhere)
    with pytest.raises(OperatorError, match="belongs to the home `/the/original`") as refused:
        open_server(home)
    assert refused.value.code is Code.HOME_UNUSABLE
    (elsewhere / "home").write_text(f"{home}\n")
    assert find_directory(Home(home)) == ServerDirectory(elsewhere)


def _point(home: Path, elsewhere: Path) -> None:
    (home / "state").mkdir(parents=True)
    (home / "state" / "location").write_text(f"{elsewhere}\n")


def test_home_works_when_its_path_is_long_or_strange(home: Path) -> None:
    """A path too long for a socket, or full of characters that mean something, is a path."""
    for name in ("long" * 40, "spaced $HOME 'quoted' \"twice\" `id`, é"):
        strange = home.parent / name
        with open_server(strange) as lease:
            assert len(os.fsencode(lease.address.socket)) <= 107
            assert stat.S_IMODE(lease.address.socket_dir.stat().st_mode) == 0o700
            connect(lease).close()
        assert not lease.address.socket_dir.exists()


def test_home_is_refused_when_a_file_is_in_the_way(home: Path) -> None:
    """A file where the home, its state or its parent should be is named."""
    home.parent.joinpath("file").touch()
    (home / "state").parent.mkdir()
    (home / "state").touch()
    for path in (home.parent / "file", home.parent / "file" / "below", home):
        with pytest.raises(OperatorError, match=r"`/.*`: ") as refused:
            open_server(path)
        assert refused.value.code is Code.HOME_UNUSABLE
        assert "in the way" in refused.value.hint


def test_home_is_refused_when_it_cannot_be_written(home: Path) -> None:
    """A directory that takes no files is one clear line; not even root writes into /proc."""
    home.mkdir(mode=0o500)
    for path in (
        Path("/proc/gateway"),
        Path("/proc/self"),
        *([] if ROOT else [home, home / "below"]),
    ):
        with pytest.raises(OperatorError, match=r"`/.*`: ") as refused:
            open_server(path)
        assert refused.value.code is Code.HOME_UNUSABLE
        assert refused.value.hint


def test_home_is_refused_when_its_password_is_gone(used_home: Path) -> None:
    """A database without its password file is not taken for a new home."""
    open_server(used_home).close()
    superuser = used_home / "state" / "superuser"
    password = superuser.read_text()
    superuser.unlink()
    with pytest.raises(OperatorError, match="superuser` is missing") as refused:
        open_server(used_home)
    assert refused.value.code is Code.HOME_UNUSABLE
    superuser.write_text(password)
    open_server(used_home).close()


def test_user_without_a_name_is_told_when_the_database_has_to_be_made() -> None:
    """A uid that /etc/passwd does not know is named, before initdb fails on it."""
    with pytest.raises(OperatorError, match=r"uid 61999 has no entry in /etc/passwd") as refused:
        initdb_account(OsUser(61_999, 61_999, switch=False))
    assert refused.value.code is Code.EMBEDDED_SERVER
    assert initdb_account(OsUser(1, 1, switch=False)).uid == 1


@pytest.mark.skipif(not ROOT, reason="an ordinary user makes its database itself")
def test_draft_is_closed_to_the_maker_elsewhere_when_it_is_made(home: Path) -> None:
    """Initdb may have to run as `nobody`; other processes of `nobody` cannot reach what it makes."""
    maker = initdb_account(OsUser(61_999, 61_999, switch=True))
    home.mkdir()
    maker.share(home)
    assert maker.may_use(home)
    assert maker.uid not in {0, 61_999}
    assert not replace(maker, gid=pwd.getpwuid(maker.uid).pw_gid).may_use(home)


def test_directories_get_their_mode_when_the_umask_is_strict(home: Path) -> None:
    """New directories have the mode that was meant, and an old one keeps its own."""
    before = os.umask(0o077)
    try:
        make_directory(home / "a" / "b", 0o711)
        (home / "a").chmod(0o755)
        make_directory(home / "a" / "b" / "c", 0o711)
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((home / path).stat().st_mode) for path in (".", "a", "a/b", "a/b/c")]
    assert modes == [0o711, 0o755, 0o711, 0o711]
