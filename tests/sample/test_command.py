import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from fix_sample import plain
from sqlalchemy.engine import URL

from gateway.sample.command import READER_PASSWORD, main


def test_command_loads_a_duckdb_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0 and one line that says what was loaded."""
    path = tmp_path / "clinic.duckdb"
    assert main(["--duckdb", str(path), "--scale", "0.01", "--seed", "3"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("200 patients and 1,200 visits in ")
    assert said.err == ""
    with duckdb.connect(path, read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM visits").fetchone() == (1_200,)


def test_command_loads_postgres(sample_database: URL, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0; again 1 because the tables exist; with --keep or --replace 0 again."""
    load = ["--postgres", plain(sample_database), "--scale", "0.01"]
    assert main(load) == 0
    assert main(load) == 1
    assert main([*load, "--keep"]) == 0
    assert "kept" in capsys.readouterr().out
    assert main([*load, "--replace"]) == 0


def test_command_keeps_an_existing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Refused with exit code 1 and a line that names the way out; --keep takes it as done."""
    path = tmp_path / "clinic.duckdb"
    path.write_text("precious")
    assert main(["--duckdb", str(path)]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "--replace" in said
    assert main(["--duckdb", str(path), "--keep"]) == 0
    assert path.read_text() == "precious"
    assert main(["--duckdb", str(path), "--replace", "--scale", "0.01"]) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--duckdb"],
        ["--duckdb", "x", "--postgres", "postgresql://localhost/x"],
        *(["--duckdb", "x", "--scale", scale] for scale in ("0", "-1", "nan", "inf", "1e9", "two")),
        *(["--duckdb", "x", "--seed", seed] for seed in ("-1", "1.5", "x", str(2**64))),
        ["--duckdb", "x", "--replace", "--keep"],
        ["--duckdb", "x", "--reader"],
        ["--duckdb", "x", "extra"],
    ],
)
def test_command_is_refused_when_the_arguments_make_no_sense(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Bad usage is exit code 2 and the usage line."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_command_never_prints_a_password_when_the_database_is_away(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An unreachable database is exit code 1 and one line without the password."""
    assert main(["--postgres", "postgresql://me:hidden@localhost:1/clinic"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "hidden" not in said.err


def test_command_asks_for_the_readers_password_when_it_is_missing(
    sample_database: URL, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reader without a password is not made, and the variable is named."""
    monkeypatch.delenv(READER_PASSWORD, raising=False)
    assert main(["--postgres", plain(sample_database), "--reader"]) == 1
    assert READER_PASSWORD in capsys.readouterr().err


@pytest.mark.gateway
def test_module_runs_as_a_command(tmp_path: Path) -> None:
    """`python -m gateway.sample` is that command."""
    done = subprocess.run(
        [sys.executable, "-m", "gateway.sample", "--duckdb", "clinic.duckdb", "--scale", "0.001"],
        cwd=tmp_path,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [entry.name for entry in tmp_path.iterdir()] == ["clinic.duckdb"]
