"""Temporary files of tests are where the users of servers can reach them."""

import tempfile
from pathlib import Path

import pytest
import scratch
from scratch import PASSABLE, Scratch, make_passable


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A place for scratch directories in this process, which goes on with its own afterwards."""
    monkeypatch.setattr(tempfile, "tempdir", tempfile.gettempdir())
    monkeypatch.setattr(scratch, "_MEMORY", tmp_path)
    monkeypatch.setattr(scratch, "_BYTES", 0)
    monkeypatch.setenv("TMPDIR", "another")
    monkeypatch.delenv("TMPDIR")
    return tmp_path


def test_scratch_is_a_fresh_directory_that_is_removed(
    own: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Temporary files and `tmp_path` go below it, and nothing of it stays."""
    monkeypatch.setattr(pytestconfig.option, "basetemp", None)
    opened = Scratch()
    opened.open(pytestconfig)
    [made] = own.iterdir()
    assert Path(tempfile.gettempdir()) == made
    assert Path(pytestconfig.option.basetemp).parent == made
    (made / "left").touch()
    opened.remove()
    assert not list(own.iterdir())


@pytest.mark.parametrize("missing", ["room", "wish"])
def test_scratch_is_elsewhere_when_memory_is_small_or_a_place_is_named(
    own: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    """Nothing is made where it would not be used."""
    monkeypatch.setattr(
        pytestconfig.option, "basetemp", None if missing == "room" else str(own / "named")
    )
    if missing == "room":
        monkeypatch.setattr(scratch, "_BYTES", 2**80)
    Scratch().open(pytestconfig)
    assert not list(own.iterdir())


def test_directories_of_the_run_alone_are_made_passable(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Users of servers pass through all directories between; directories of others stay as they are."""
    assert own.stat().st_mode & 0o777 == PASSABLE
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    made = [own / "t", own / "t" / "a", own / "t" / "a" / "b", own / "another"]
    for one in made:
        one.mkdir(mode=0o700)
    make_passable(made[2])
    make_passable(made[3])
    assert [one.stat().st_mode & 0o777 for one in made] == [PASSABLE] * 3 + [0o700]
