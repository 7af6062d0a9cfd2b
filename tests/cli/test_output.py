"""A setting that is wrong is one clear line and a hint, whatever is wrong with it."""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest
from fix_gateway import Done, gateway, no_gateway

from gateway.cli import main

SECRET = "geheim-do-not-print"
CERTIFICATES = Path(__file__).with_name("certificates")  # they protect nothing


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with things in it that a setting may name by mistake."""
    (tmp_path / "file").write_text("")
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "subjects.yaml").write_text("alice: {}\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "crowded").mkdir()
    (tmp_path / "crowded" / "anchor").mkdir()
    shutil.copytree(CERTIFICATES, tmp_path, dirs_exist_ok=True)
    return tmp_path


def told(done: Done, code: str, exit_code: int) -> str:
    """The one line of a failure, after it was found to be one."""
    assert "Traceback" not in done.err, done.err
    first, *rest = done.err.splitlines()
    assert first.startswith(f"gateway: {code}: "), done.err
    assert len(rest) <= 1
    assert not rest or rest[0].startswith("  hint: ")
    assert done.out == ""
    assert done.code == exit_code
    assert SECRET not in done.err
    return done.err


class Run(Protocol):
    def __call__(self, *words: str, env: dict[str, str]) -> Done: ...


@pytest.fixture
def run(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command with these settings alone."""

    def run(*words: str, env: dict[str, str]) -> Done:
        for name in set(os.environ) - set(no_gateway()):
            monkeypatch.delenv(name)
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(place)
        capsys.readouterr()
        with own_signals():
            code = main(words)
        return Done(code, *capsys.readouterr())

    return run


@contextmanager
def own_signals() -> Iterator[None]:
    """`serve` catches signals: they are as before afterwards. One that would serve is ended."""
    caught = (signal.SIGTERM, signal.SIGINT, signal.SIGALRM)
    before = [signal.signal(one, lambda *_: pytest.fail("it serves")) for one in caught]
    signal.alarm(60)  # a bound on waiting for ever
    try:
        yield
    finally:
        signal.alarm(0)
        for one, handler in zip(caught, before, strict=True):
            signal.signal(one, handler)


BAD: dict[str, tuple[dict[str, str], tuple[str, ...], str, int]] = {
    "port is a word": ({"REST_PORT": "abc"}, ("budget", "show"), "GW801", 2),
    "port is too large": ({"REST_PORT": "65536"}, ("budget", "show"), "GW801", 2),
    "option is a word": ({}, ("serve", "--rest-port", "abc"), "GW801", 2),
    "timeout is negative": ({"STATEMENT_TIMEOUT": "-1"}, ("budget", "show"), "GW801", 2),
    "timeout is no number": ({"STATEMENT_TIMEOUT": "nan"}, ("budget", "show"), "GW801", 2),
    "workers are none": ({"WORKERS": "0"}, ("budget", "show"), "GW801", 2),
    "log format is unknown": ({"LOG_FORMAT": "xml"}, ("budget", "show"), "GW801", 2),
    "home is a file": ({"HOME": "{place}/file"}, ("budget", "show"), "GW803", 2),
    "home is below a file": ({"HOME": "{place}/file/home"}, ("key", "list"), "GW803", 2),
    "home cannot be made": ({"HOME": "/proc/home"}, ("audit", "verify"), "GW803", 2),
    "home is too long a name": ({"HOME": "{place}/" + "x" * 300}, ("db", "current"), "GW803", 2),
    "state is another database": (
        {"STATE_URL": f"mysql://u:{SECRET}@h/d"},
        ("budget", "show"),
        "GW801",
        2,
    ),
    "state is no URL": ({"STATE_URL": SECRET}, ("budget", "show"), "GW801", 2),
    "password holds signs of a URL": (
        {"STATE_URL": f"postgresql://u:pa@{SECRET}:x@h/d"},
        ("budget", "show"),
        "GW801",
        2,
    ),
    "state has an unknown option": (
        {"STATE_URL": f"postgresql://u:{SECRET}@127.0.0.1:1/d?frob=1"},
        ("budget", "show"),
        "GW805",
        1,
    ),
    "state refuses connections": (
        {"STATE_URL": f"postgresql://u:{SECRET}@127.0.0.1:1/d"},
        ("audit", "tail"),
        "GW805",
        1,
    ),
    "state refuses connections of the upgrade": (
        {"STATE_URL": f"postgresql://u:{SECRET}@127.0.0.1:1/d"},
        ("db", "upgrade"),
        "GW805",
        1,
    ),
    "state refuses connections of a restore": (
        {"STATE_URL": f"postgresql://u:{SECRET}@127.0.0.1:1/d"},
        ("db", "restore"),
        "GW805",
        1,
    ),
    "state is on no host": (
        {"STATE_URL": f"postgresql://u:{SECRET}@no.such.host.invalid/d"},
        ("db", "current"),
        "GW805",
        1,
    ),
    "owner without a state": (
        {"STATE_OWNER_URL": f"postgresql://u:{SECRET}@h/d"},
        ("db", "upgrade"),
        "GW801",
        2,
    ),
    "certificate without its key": ({"TLS_CERT": "{place}/cert.pem"}, ("serve",), "GW801", 2),
    "certificate is missing": (
        {"TLS_CERT": "{place}/none", "TLS_KEY": "{place}/key.pem"},
        ("serve",),
        "GW801",
        2,
    ),
    "key of another certificate": (
        {"TLS_CERT": "{place}/cert.pem", "TLS_KEY": "{place}/other_key.pem"},
        ("serve",),
        "GW801",
        2,
    ),
    "key has a password": (
        {"TLS_CERT": "{place}/cert.pem", "TLS_KEY": "{place}/locked_key.pem"},
        ("serve",),
        "GW801",
        2,
    ),
    "certificate is no certificate": (
        {"TLS_CERT": "{place}/file", "TLS_KEY": "{place}/file"},
        ("serve",),
        "GW801",
        2,
    ),
    "host has too long a name": ({"REST_HOST": "a" * 70}, ("serve",), "GW802", 2),
    "host is another machine's": ({"REST_HOST": "192.0.2.1"}, ("serve",), "GW802", 2),
    "host is empty": ({"REST_HOST": ""}, ("serve",), "GW802", 2),
    "audit key is short": ({"AUDIT_KEY": "geheim-do"}, ("audit", "verify"), "GW801", 2),
    "audit key file is missing": ({"AUDIT_KEY_FILE": "{place}/none"}, ("key", "list"), "GW801", 2),
    "audit key twice": (
        {"AUDIT_KEY": SECRET, "AUDIT_KEY_FILE": "{place}/key.pem"},
        ("key", "list"),
        "GW801",
        2,
    ),
    "postgres is not there": ({"POSTGRES_BIN": "{place}/empty"}, ("key", "list"), "GW804", 1),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_setting_is_one_clear_line_when_a_command_meets_it(
    place: Path, what: str, run: Run
) -> None:
    """No traceback, no password: what is wrong, what to do, and the right exit code."""
    settings, words, code, exit_code = BAD[what]
    env = {
        "GATEWAY_HOME": str(place / "home"),
        "GATEWAY_POLICIES": str(place / "policies"),
        "GATEWAY_REST_PORT": "0",
        "GATEWAY_PG_PORT": "0",
        **{
            f"GATEWAY_{name}": value.replace("{place}", str(place))
            for name, value in settings.items()
        },
    }
    told(run(*words, env=env), code, exit_code)


def test_bad_setting_is_named_when_it_is_refused(run: Run) -> None:
    """Whoever reads the line knows which variable to change."""
    for name, value in (("REST_PORT", "abc"), ("WORKERS", "0"), ("STATE_URL", "x")):
        assert f"GATEWAY_{name}: " in run("key", "list", env={f"GATEWAY_{name}": value}).err
        del os.environ[f"GATEWAY_{name}"]  # put back as it was by the fixture


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe", b"GATEWAY_HOME=/tmp/\0x\n", b"GATEWAY_REST_PORT=abc\n", b"GATEWAY_WORKERS=1e9\n"],
)
def test_bad_env_file_is_one_clear_line_when_a_command_reads_it(
    place: Path, content: bytes, run: Run
) -> None:
    """A `.env` that is damaged is told like any other mistake."""
    (place / ".env").write_bytes(content)
    code = "GW803" if b"\0" in content else "GW801"
    told(run("budget", "show", env={}), code, 2)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do anything")
def test_bad_permissions_are_one_clear_line_when_a_command_meets_them(place: Path) -> None:
    """Neither a home, nor a `.env`, nor a key file of somebody else is a traceback."""
    locked = place / "locked"
    locked.mkdir(mode=0o500)
    env = {**no_gateway(), "GATEWAY_HOME": str(locked)}
    told(gateway("key", "list", env=env, cwd=place), "GW803", 2)
    (place / ".env").write_text("")
    (place / ".env").chmod(0)
    told(gateway("key", "list", env=no_gateway(), cwd=place), "GW801", 2)


@pytest.mark.gateway
def test_settings_of_others_are_ignored_when_they_stand_in_the_env_file(place: Path) -> None:
    """Negative control: a `.env` may hold what is not ours, and an option wins over it."""
    (place / ".env").write_text("OTHER=1\nGATEWAY_FUTURE=1\nGATEWAY_REST_PORT=abc\n")
    env = {**no_gateway(), "GATEWAY_PG_PORT": "0"}
    done = gateway("serve", "--rest-port", "0", "--home", str(place / "file"), env=env, cwd=place)
    told(done, "GW803", 2)
