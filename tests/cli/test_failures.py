"""Whatever fails, a command ends with one line, its hint and its exit code, and never with a traceback."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from fix_gateway import no_gateway

from gateway import cli
from gateway.cli import budget, main, policy_diff

_LONG = "x" * 5_000


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of ours, and a directory with files that are not what they should be."""
    for name in set(os.environ) - set(no_gateway()):
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GATEWAY_HOME", str(tmp_path / "home"))
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "broken.yaml").write_text("a: [1,\n b: }")
    (tmp_path / "folder" / "clinic.yaml").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")


def _told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str]]:
    code = main(arguments)
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert "GW901" not in said
    return code, said.splitlines()


@pytest.mark.parametrize("path", ["nowhere", "folder", "empty", "binary.yaml", "broken.yaml"])
@pytest.mark.parametrize("command", ["check", "diff"])
def test_policies_that_cannot_be_read_are_told(
    capsys: pytest.CaptureFixture[str], command: str, path: str
) -> None:
    """Missing, empty, a directory for a file, not UTF-8, not YAML: a problem with its place."""
    paths = (path,) if command == "check" else (path, path)
    code, said = _told(capsys, "policy", command, *paths)
    assert code in {1, 2}
    assert said or command == "check"  # `check` prints its findings


@pytest.mark.gateway  # `key create` opens a state
@pytest.mark.parametrize(
    "arguments",
    [
        ("policy", "check", _LONG),
        ("policy", "check", "pipe.yaml"),
        ("policy", "check", "bad\udcff"),
        ("policy", "init", "duckdb:////tmp/\udcff"),
        ("policy", "init", "garbage"),
        ("policy", "init", ""),
        ("policy", "init", "mysql://a/b"),
        ("policy", "init", "duckdb:////nowhere/x.duckdb"),
        ("policy", "init", "postgresql://127.0.0.1:1/x"),
        ("policy", "explain", "SELECT \udcff", "--as", "alice"),
        ("policy", "explain", "SELECT 1", "--as", "alice", "--policies", _LONG),
        ("budget", "show", "--home", "/dev/null/x"),
        ("budget", "show", "--home", _LONG),
        ("budget", "show", "--home", "bad\0path"),
        ("budget", "grant", "dataset:clinic", "--epsilon", "1", "--home", "/proc/nowhere"),
        ("serve", "--tls-cert", "/nowhere", "--tls-key", "/nowhere"),
        ("serve", "--tls-cert", "binary.yaml", "--tls-key", "binary.yaml"),
        ("serve", "--rest-port", "99999"),
        ("serve", "--workers", "0"),
        ("serve", "--statement-timeout", "nan"),
        ("serve", "--log-format", "xml"),
        ("key", "create", "al\udcff"),
        ("query", "SELECT 1", "--as", "alice", "--epsilon", "nan"),
        ("query", "SELECT 1", "--as", "alice", "--margin", "x"),
    ],
    ids=lambda arguments: " ".join(arguments)[:40].encode("ascii", "replace").decode(),
)
def test_bad_argument_is_told_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    """One line and at most a hint below it; nothing was done."""
    code, said = _told(capsys, *arguments)
    if arguments[:2] != ("policy", "check"):  # which prints its findings on standard output
        assert said
        assert said[0].startswith("gateway: ")
        assert all(line.startswith("  ") for line in said[1:])
    assert code in {1, 2}


@pytest.mark.parametrize(
    ("error", "part"),
    [
        (PermissionError(13, "Permission denied", "/var/x"), "`/var/x`: Permission denied"),
        (OSError(28, "No space left on device"), "no space left"),
        (OSError(5, "Input/output error"), "Input/output error"),
        (psycopg.OperationalError("secret of a server"), "GW805"),
        (RecursionError("too deep"), "GW901: the gateway failed: RecursionError at"),
        (KeyError("\x1b[2J"), "GW901: the gateway failed: KeyError at"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_failure_that_nobody_expected_is_told_in_one_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: Exception, part: str
) -> None:
    """A disk, a database or a bug: exit code 1, a line, and nothing that only a log may have."""

    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr(budget, "run", fail)
    monkeypatch.setattr(cli, "_forget_output", lambda: None)  # it would be that of the tests
    assert main(["budget", "show"]) == 1
    said = capfd.readouterr().err
    assert part in said
    assert "Traceback" not in said
    assert "secret" not in said
    assert "\x1b" not in said
    assert len(said.splitlines()) <= 2


def test_interrupt_ends_a_command_without_a_word(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C is no failure of anything."""

    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(policy_diff, "run", interrupted)
    assert main(["policy", "schema"]) == 128 + signal.SIGINT
    assert capsys.readouterr().err == ""


@pytest.mark.gateway
@pytest.mark.parametrize(
    "closed", ["1>&-", "2>&-", "1>&- 2>&-", "1>/dev/full", "2>/dev/full", "| :"]
)
def test_outputs_that_are_closed_or_full_leave_no_traceback(tmp_path: Path, closed: str) -> None:
    """Whoever closed them hears nothing, and nothing hangs."""
    done = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m gateway policy schema {closed}"],
        env=no_gateway(),
        capture_output=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if closed == "1>/dev/full":
        assert done.returncode == 1
        assert done.stderr.splitlines() == [
            "gateway: there is no space left where this is written to"
        ]
