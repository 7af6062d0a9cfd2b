"""Help is there for every command, complete, and at once."""

import argparse
import subprocess
import sys
from collections.abc import Iterator

import pytest
from fix_gateway import gateway, no_gateway
from pydantic import SecretStr

from gateway import __version__
from gateway.cli import main
from gateway.cli.parser import SETTING_OPTIONS, build_parser
from gateway.config import Settings


def parsers(
    parser: argparse.ArgumentParser, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """Every command and group of commands, with the words that lead to it."""
    yield words, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from parsers(below, (*words, name))


COMMANDS = dict(parsers(build_parser()))


THERE = {
    *("", "serve", "demo"),
    *("key", "key create", "key list", "key revoke"),
    *("budget", "budget show", "budget grant"),
    *("audit", "audit tail", "audit search", "audit verify", "audit export"),
    *("policy", "policy check", "policy schema", "policy diff", "policy init"),
    *("db", "db upgrade", "db current", "db backup", "db restore"),
}
PROMISED = {
    *("query", "data", "data refreshed", "policy explain", "policy preview", "policy bounds"),
    *("subject", "subject list", "subject suspend", "subject resume"),
}


def test_commands_are_the_ones_that_were_promised() -> None:
    """Golden: users and their scripts rely on these names; one is added only as it was promised."""
    commands = {" ".join(words) for words in COMMANDS}
    assert THERE <= commands <= THERE | PROMISED


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_names_every_option_when_it_is_asked_for(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """`--help` works everywhere, ends with 0, and leaves no option, argument or command out."""
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    for action in COMMANDS[words]._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                assert choice.dest in shown.out
                assert str(choice.help) in " ".join(shown.out.split())
        for option in action.option_strings:
            assert option in shown.out
        if not action.option_strings and not action.choices:
            assert str(action.metavar or action.dest) in shown.out


@pytest.mark.parametrize("words", [words for words in COMMANDS if len(words) == 2], ids=" ".join)
def test_help_explains_every_option_that_is_no_setting(words: tuple[str, ...]) -> None:
    """An option says what it does; settings are explained in one place, docs/settings.md."""
    settings = {name.replace("_", "-") for name in SETTING_OPTIONS}
    for action in COMMANDS[words]._actions:
        names = {option.lstrip("-") for option in action.option_strings}
        if not names & settings and action.metavar != "FILE":
            assert action.help or action.metavar, action


def test_setting_options_are_all_settings_but_the_secret_ones() -> None:
    """What may be set may be set on the command line, except what the process list would show."""
    secret = {
        name
        for name, field in Settings.model_fields.items()
        if SecretStr in getattr(field.annotation, "__args__", ())
    }
    assert secret == {"state_url", "state_owner_url", "audit_key"}
    assert set(SETTING_OPTIONS) == set(Settings.model_fields) - secret
    served = {
        option for action in COMMANDS[("serve",)]._actions for option in action.option_strings
    }
    assert {f"--{name.replace('_', '-')}" for name in SETTING_OPTIONS} <= served


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("frob",),
        ("key",),
        ("key", "create"),
        ("key", "create", "alice", "extra"),
        ("serve", "--no-such-option"),
        ("serve", "--state-url", "postgresql://u:p@h/d"),
        ("budget", "grant", "dataset:clinic"),
        ("audit", "tail", "-n", "0"),
        ("audit", "tail", "-n", "many"),
        ("audit", "tail", "-n", "-5"),
        ("audit", "tail", "-n", "²"),
        ("audit", "tail", "-n", "9" * 5000),
        ("policy", "check"),
        ("policy", "diff", "policies"),
        ("policy", "schema", "extra"),
        ("demo", "--rest-port", "65536"),
        ("demo", "--serve", "--exit"),
    ],
    ids=lambda words: " ".join(words)[:40],
)
def test_usage_error_ends_with_2_when_the_words_make_no_sense(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be understood is a usage error, told on standard error."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    shown = capsys.readouterr()
    assert ended.value.code == 2
    assert shown.out == ""
    assert "usage: gateway" in shown.err


@pytest.mark.gateway
def test_version_is_told_by_both_names_of_the_command() -> None:
    """`gateway --version` and `python -m gateway --version` say the version alone."""
    assert gateway("--version", env=no_gateway()).out == f"gateway {__version__}\n"
    installed = subprocess.run(
        [f"{sys.prefix}/bin/gateway", "--version"],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert installed.stdout == f"gateway {__version__}\n"


@pytest.mark.gateway
def test_help_loads_nothing_it_does_not_need() -> None:
    """Help comes at once: neither the database driver nor the web framework is imported for it."""
    script = (
        "import sys\nfrom gateway.cli import main\n"
        "try:\n    main(['serve', '--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'sqlalchemy', 'psycopg', 'fastapi', 'pydantic'} & set(sys.modules)))"
    )
    assert _printed(script) == "[]"


@pytest.mark.gateway
@pytest.mark.parametrize("command", ["key", "budget", "audit", "data", "policy_diff"])
def test_command_that_asks_nothing_loads_nothing_that_answers(command: str) -> None:
    """To make a key or to compare policies takes neither a source, nor the web framework, nor migrations."""
    heavy = {"alembic", "cel", "duckdb", "fastapi", "prometheus_client", "sqlglot", "uvicorn"}
    if command == "policy_diff":
        heavy.remove("cel")  # conditions are read
    script = (
        f"import sys\nimport gateway.cli.{command}\nprint(sorted({heavy!r} & set(sys.modules)))"
    )
    assert _printed(script) == "[]"


def _printed(script: str) -> str:
    """The last line that a script prints in a Python of its own."""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True
    )
    return done.stdout.splitlines()[-1]
