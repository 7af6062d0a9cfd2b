"""Arguments of the `gateway` command. It imports no more than argparse, so that help appears at once."""

import argparse
from datetime import datetime

from gateway import __version__

# Settings that may be given as options; secrets may not: a command line can be read by every user.
SETTING_OPTIONS = (
    "home",
    "policies",
    "postgres_bin",
    "rest_host",
    "rest_port",
    "pg_host",
    "pg_port",
    "tls_cert",
    "tls_key",
    "audit_key_file",
    "audit_anchor",
    "statement_timeout",
    "workers",
    "log_format",
)
_STATE_OPTIONS = ("home", "policies", "postgres_bin", "audit_key_file", "audit_anchor")


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gateway",
        description="A privacy-preserving query gateway: SQL in, differentially private aggregates out.",
    )
    parser.add_argument("--version", action="version", version=f"gateway {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_serve(commands)
    _add_demo(commands)
    _add_query(commands)
    _add_policy(commands)
    _add_key(commands)
    _add_subject(commands)
    _add_budget(commands)
    _add_data(commands)
    _add_audit(commands)
    _add_db(commands)
    return parser


def _moment(text: str) -> datetime:
    """A moment with its time zone."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise argparse.ArgumentTypeError("the time needs a time zone, such as Z")
    return moment


Commands = argparse._SubParsersAction  # noqa: SLF001  # argparse has no public name for it


def _command(
    commands: "Commands[argparse.ArgumentParser]", name: str, module: str, text: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(command_module=module)
    return parser


def _group(
    commands: "Commands[argparse.ArgumentParser]", name: str, text: str
) -> "Commands[argparse.ArgumentParser]":
    parser = commands.add_parser(name, help=text, description=text)
    return parser.add_subparsers(metavar="ACTION", required=True, dest="action")


def _add_serve(commands: "Commands[argparse.ArgumentParser]") -> None:
    serve = _command(commands, "serve", "serve", "run the gateway until it is told to stop")
    _settings(serve, SETTING_OPTIONS)


def _add_demo(commands: "Commands[argparse.ArgumentParser]") -> None:
    demo = _command(
        commands, "demo", "demo", "run the gateway on a sample clinic in ./.demo and show it around"
    )
    mode = demo.add_mutually_exclusive_group()
    mode.add_argument("--serve", action="store_true", help="keep serving after the tour")
    mode.add_argument("--exit", action="store_true", help="end after the tour")
    demo.add_argument("--rest-port", type=_port, metavar="N", help="default: 8080 or the next free")
    demo.add_argument(
        "--pg-port",
        type=_port,
        metavar="N",
        help="of the PostgreSQL wire; default: 5433 or the next free",
    )


def _add_query(commands: "Commands[argparse.ArgumentParser]") -> None:
    query = _command(commands, "query", "query", "run a query as a subject and print the answer")
    query.add_argument("sql", metavar="SQL", help="one statement; it is charged like any other")
    query.add_argument("--as", dest="subject", metavar="SUBJECT", required=True)
    query.add_argument("--dataset", metavar="D", help="default: the only one the subject has")
    query.add_argument("--purpose", metavar="P", help="default: the only one the subject has")
    price = query.add_mutually_exclusive_group()
    price.add_argument("--epsilon", metavar="E", help="the price; default: the policy's")
    price.add_argument(
        "--margin",
        metavar="M",
        help="the price at which noisy cells are within M of the exact value",
    )
    price.add_argument(
        "--relative", metavar="R", help="the same as a part of values of at least --floor"
    )
    query.add_argument("--floor", metavar="F", help="from which value on --relative is meant")
    query.add_argument("--rows", metavar="N", help="for AVG: how many rows a group has at least")
    query.add_argument(
        "--confidence", metavar="C", help="of --margin and --relative; default: 0.95"
    )
    query.add_argument(
        "--fresh", action="store_true", help="never an answer that was given before: pay anew"
    )
    query.add_argument(
        "--unsupported",
        choices=("refuse", "null"),
        default="refuse",
        help="what becomes of items of the SELECT list that cannot be answered; default: refuse",
    )
    query.add_argument("--dry-run", action="store_true", help="the estimate: nothing is charged")
    query.add_argument("--json", action="store_true", help="print JSON, as REST does")
    _settings(query, (*_STATE_OPTIONS, "statement_timeout"))


def _add_policy(commands: "Commands[argparse.ArgumentParser]") -> None:
    actions = _group(commands, "policy", "begin, check, preview, explain and compare policies")
    check = _command(
        actions, "check", "policy", "check policy files, and whether they fit their sources"
    )
    check.add_argument("paths", metavar="PATH", nargs="+", help="a directory of policies, or files")
    check.add_argument("--offline", action="store_true", help="do not look at the sources")
    check.add_argument("--json", action="store_true", help="print JSON")
    _command(actions, "schema", "policy_diff", "print the JSON Schema of a policy file")
    explain = _command(
        actions,
        "explain",
        "policy",
        "show what a statement means for a subject, and who permits it",
    )
    explain.add_argument("sql", metavar="SQL", help="a statement; nothing of it is run")
    explain.add_argument("--as", dest="subject", metavar="SUBJECT", required=True)
    explain.add_argument("--dataset", metavar="D", help="default: the only one there is")
    explain.add_argument("--purpose", metavar="P", help="default: the only one the subject has")
    explain.add_argument(
        "--front-end",
        choices=("rest", "pgwire", "cli"),
        default="rest",
        help="the way in, for conditions that ask for it; default: rest",
    )
    explain.add_argument("--address", metavar="A", help="the client's address, for conditions")
    explain.add_argument("--tls", action="store_true", help="the client's connection is encrypted")
    explain.add_argument(
        "--time",
        metavar="T",
        type=_moment,
        help="when it is asked, such as 2026-12-31T23:00:00Z; default: now",
    )
    explain.add_argument("--json", action="store_true", help="print JSON")
    _settings(explain, _STATE_OPTIONS)
    diff = _command(actions, "diff", "policy_diff", "show what became wider and what narrower")
    diff.add_argument("old", metavar="OLD", help="a directory of policies, or a file")
    diff.add_argument("new", metavar="NEW", help="a directory of policies, or a file")
    diff.add_argument("--json", action="store_true", help="print JSON")
    preview = _command(
        actions,
        "preview",
        "policy_preview",
        "show how exact counts would be at the default price, and how many questions fit",
    )
    preview.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="a directory of policies, or files; default: policies",
    )
    preview.add_argument("--offline", action="store_true", help="do not look at the sources")
    preview.add_argument("--json", action="store_true", help="print JSON")
    bounds = _command(
        actions,
        "bounds",
        "policy_bounds",
        "find bounds of columns with noise, for a price that the ledger is charged",
    )
    bounds.add_argument(
        "columns", metavar="TABLE.COLUMN", nargs="+", help="a number, date or timestamp of a policy"
    )
    bounds.add_argument("--epsilon", metavar="E", required=True, help="for all columns together")
    bounds.add_argument(
        "--between",
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="where to look; default: what the type can hold, within a billion",
    )
    bounds.add_argument("--dataset", metavar="D", help="default: the only one there is")
    bounds.add_argument(
        "--write",
        action="store_true",
        help="write the domains into the policy file, and show what changed",
    )
    _settings(bounds, (*_STATE_OPTIONS, "statement_timeout"))
    init = _command(
        actions,
        "init",
        "policy_init",
        "print a policy to begin with, made from the schema of a source",
    )
    init.add_argument(
        "url",
        metavar="URL",
        help="of the source; '${VARIABLE}' in single quotes keeps its password off the command line",
    )
    init.add_argument("--dataset", metavar="D", help="default: the name of the database")
    init.add_argument(
        "--unit",
        metavar="TABLE.COLUMN",
        help="the key of the table of persons; default: asked on a terminal, else found by the keys",
    )
    init.add_argument(
        "--key",
        metavar="TABLE.COLUMN=TABLE.KEY",
        action="append",
        help="a foreign key that the source does not declare; may be given again",
    )
    init.add_argument(
        "--public",
        metavar="TABLES",
        action="append",
        help="tables that are about nobody, with commas between; may be given again",
    )


def _add_key(commands: "Commands[argparse.ArgumentParser]") -> None:
    actions = _group(commands, "key", "make, list and revoke API keys")
    create = _command(actions, "create", "key", "make a key; it is printed once, alone")
    create.add_argument("subject", help="a subject of policies/subjects.yaml")
    create.add_argument(
        "--expires", metavar="DURATION", help="such as 12h, 90d or 4w; default: never"
    )
    listing = _command(actions, "list", "key", "list keys, never their secrets")
    listing.add_argument("--json", action="store_true", help="print JSON")
    revoke = _command(actions, "revoke", "key", "make a key invalid for ever")
    revoke.add_argument("id", help="the key's id, as `gateway key list` shows it")
    for parser in (create, listing, revoke):
        _settings(parser, _STATE_OPTIONS)


def _add_subject(commands: "Commands[argparse.ArgumentParser]") -> None:
    actions = _group(commands, "subject", "list subjects, suspend their questions, and resume them")
    listing = _command(actions, "list", "subject", "list subjects, and who is suspended")
    listing.add_argument("--json", action="store_true", help="print JSON")
    suspend = _command(actions, "suspend", "subject", "refuse the questions of a subject")
    resume = _command(actions, "resume", "subject", "answer the questions of a subject again")
    for parser in (suspend, resume):
        parser.add_argument("subject", metavar="NAME", help="as in policies/subjects.yaml")
        parser.add_argument("--dataset", metavar="D", help="default: all of them")
    for parser in (listing, suspend, resume):
        _settings(parser, _STATE_OPTIONS)


def _add_budget(commands: "Commands[argparse.ArgumentParser]") -> None:
    actions = _group(commands, "budget", "show and grant privacy budget")
    show = _command(
        actions, "show", "budget", "show every account: its cap, what is spent, what remains"
    )
    show.add_argument("--dataset", metavar="D", help="accounts of one dataset")
    show.add_argument("--json", action="store_true", help="print JSON")
    grant = _command(
        actions, "grant", "budget", "set what an account may give; what it gave stays given"
    )
    grant.add_argument("account", help="such as dataset:clinic or analyst:alice@clinic")
    grant.add_argument("--epsilon", metavar="E", required=True, help="the new lifetime cap")
    grant.add_argument("--delta", metavar="D", help="the new lifetime delta; default: as it is")
    grant.add_argument(
        "--window", metavar="EVERY:E", help="such as month:0.5, or none; default: as it is"
    )
    for parser in (show, grant):
        _settings(parser, _STATE_OPTIONS)


def _add_data(commands: "Commands[argparse.ArgumentParser]") -> None:
    actions = _group(commands, "data", "say what is new in the sources")
    refreshed = _command(
        actions,
        "refreshed",
        "data",
        "say that the data is new: no answer from before is given again",
    )
    refreshed.add_argument("--dataset", metavar="D", help="default: the only one there is")
    _settings(refreshed, _STATE_OPTIONS)


def _add_audit(commands: "Commands[argparse.ArgumentParser]") -> None:
    actions = _group(commands, "audit", "read and verify the trail")
    tail = _command(actions, "tail", "audit", "print the newest records")
    tail.add_argument("-n", "--lines", type=_count, default=20, metavar="N", help="default: 20")
    search = _command(actions, "search", "audit", "print the records that match")
    for name in ("subject", "kind", "dataset", "query-id"):
        search.add_argument(f"--{name}", metavar=name.upper().replace("-", "_"))
    search.add_argument("--since", metavar="TIME", help="ISO 8601, UTC unless it says otherwise")
    search.add_argument("--until", metavar="TIME", help="ISO 8601, UTC unless it says otherwise")
    search.add_argument(
        "-n", "--lines", type=_count, default=1000, metavar="N", help="default: 1000"
    )
    verify = _command(
        actions, "verify", "audit", "verify the whole trail against its anchor and the ledger"
    )
    export = _command(actions, "export", "audit", "print all records as JSON lines")
    for parser in (tail, search, verify):
        parser.add_argument("--json", action="store_true", help="print JSON")
    for parser in (tail, search, verify, export):
        _settings(parser, _STATE_OPTIONS)


def _add_db(commands: "Commands[argparse.ArgumentParser]") -> None:
    actions = _group(commands, "db", "look after the state database")
    upgrade = _command(actions, "upgrade", "db", "bring the schema to this version")
    current = _command(actions, "current", "db", "show the schema's version")
    backup = _command(actions, "backup", "db", "write the whole state to a signed file")
    backup.add_argument("file", metavar="FILE")
    restore = _command(
        actions, "restore", "db", "put a backup in place and charge what it does not know of"
    )
    restore.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="without it, the state stays and only the gap is charged",
    )
    restore.add_argument("--replace", action="store_true", help="replace a state that is not empty")
    for parser in (upgrade, current, backup, restore):
        _settings(parser, _STATE_OPTIONS)


def _settings(parser: argparse.ArgumentParser, names: tuple[str, ...]) -> None:
    group = parser.add_argument_group(
        "settings", "each also as GATEWAY_… in the environment or .env"
    )
    for name in names:
        group.add_argument(f"--{name.replace('_', '-')}", metavar=name.rpartition("_")[2].upper())


def _port(text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= len("65535") else -1
    if not 0 <= number <= 65535:  # noqa: PLR2004  # the largest port there is
        raise argparse.ArgumentTypeError(f"`{text}` is not a port from 0 to 65535")
    return number


def _count(text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= len("1000000") else 0
    if not 1 <= number <= 1_000_000:  # noqa: PLR2004  # more is an export
        raise argparse.ArgumentTypeError(f"`{text}` is not a number from 1 to 1000000")
    return number
