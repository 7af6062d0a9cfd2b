"""Start-up parameters of a client, and `options` as PostgreSQL's command line.

INVARIANT: the list is an allow-list, the same as for SET. Any other setting is refused by its name, because a
client that believes something to be set must not go on without it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from gateway.binding.text.classify import ENCODINGS, IDLE_LIMITS, SETTINGS, is_allowed_setting
from gateway.errors import Code, Refusal, SyntaxRefused, UnsupportedSql

LOGIN: Final = "gateway.login"
TOKEN: Final = "token"  # noqa: S105  # it names a way to log in
_NAMES_OF_OTHERS: Final = frozenset({"user", "database", "options", "replication"})
_OFF: Final = frozenset({"false", "fals", "fal", "fa", "f", "off", "of", "no", "n", "0"})
# What clients send and nothing depends on here, with the value that it may have: Npgsql before 5 and old pgx ask for no
# renegotiation of TLS, and there is none.
_WITHOUT_EFFECT: Final[Mapping[str, str]] = MappingProxyType({"ssl_renegotiation_limit": "0"})
# PostgreSQL compares letters and digits alone: asyncpg sends 'utf-8' with the quotes. SQL_ASCII is what psql finds in a
# locale without an encoding; it means bytes as they are, and those are UTF-8.
_UTF8: Final = ENCODINGS | {"sqlascii"}
_LISTS: Final = frozenset({"search_path"})
_LONGEST_TOLD: Final = 63
_SPACES: Final = frozenset(" \t\n\v\f\r")


@dataclass(frozen=True, slots=True)
class StartupSettings:
    """The wanted settings, by lower-case names; `token` says that the client shows a token instead of a proof."""

    settings: Mapping[str, str]
    token: bool


def read_settings(parameters: Mapping[str, str]) -> StartupSettings:
    """The settings of the start-up parameters; a parameter overrides the same one in `options`, as in
    PostgreSQL.
    """
    _require_no_replication(parameters.get("replication", ""))
    settings: dict[str, str] = {}
    for name, value in _given(parameters):
        small = name.lower()
        if small == "client_encoding":
            settings[small] = _encoding(value)
        elif small in IDLE_LIMITS:
            continue
        elif small in SETTINGS or small == LOGIN:
            settings[small] = _settable(small, value)
        elif _WITHOUT_EFFECT.get(small) != value:
            raise _refused(
                f"the parameter `{_told(name)}` cannot be set here", "connect without it"
            )
    token = settings.pop(LOGIN, None) is not None
    return StartupSettings(MappingProxyType(settings), token)


def split_options(text: str) -> list[str]:
    """Words separated by whitespace; a backslash quotes the next character."""
    words: list[str] = []
    word: list[str] | None = None
    escaped = False
    for letter in text:
        if letter in _SPACES and not escaped:
            if word is not None:
                words.append("".join(word))
            word = None
            continue
        word = [] if word is None else word
        if letter == "\\" and not escaped:
            escaped = True
            continue
        escaped = False
        word.append(letter)
    return words if word is None else [*words, "".join(word)]


def _given(parameters: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield from _assignments(parameters.get("options", ""))
    for name, value in parameters.items():
        if name not in _NAMES_OF_OTHERS:
            yield name, value


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """Assignments `-c name=value`, `-cname=value` and `--name=value`; in these a name may be written with `-`
    for `_`.
    """
    words = iter(split_options(text))
    for word in words:
        if word.startswith("--") and len(word) > len("--"):
            assigned = word[2:]
        elif word.startswith("-c"):
            assigned = word[2:] or next(words, "")
        else:
            raise _refused(f"`{_told(word)}` in `options` is not valid", "write `-c name=value`")
        name, equals, value = assigned.partition("=")
        if not equals or not name:
            raise _refused(f"`{_told(name)}` in `options` has no value", "write `-c name=value`")
        yield name.replace("-", "_"), value


def _encoding(value: str) -> str:
    said = "".join(letter for letter in value.lower() if letter.isascii() and letter.isalnum())
    if said not in _UTF8:
        raise _refused(
            f"`client_encoding` must be UTF8, not `{_told(value)}`",
            "set client_encoding, or PGCLIENTENCODING, to UTF8",
        )
    return "UTF8"


def _require_no_replication(value: str) -> None:
    if value and value.lower() not in _OFF:
        raise UnsupportedSql(
            Code.STATEMENT_UNSUPPORTED, "`replication` is not supported", "connect without it"
        )


def _settable(name: str, value: str) -> str:
    values = [_unquoted(one) for one in value.split(",")] if name in _LISTS else [value]
    if not (value == TOKEN if name == LOGIN else is_allowed_setting(name, values)):
        raise _refused(f"`{name}` cannot be `{_told(value)}` here", "connect without it")
    return value


def _unquoted(name: str) -> str:
    """A name of a list as PostgreSQL reads it; no allowed name contains a comma or a quote."""
    name = name.strip("".join(_SPACES))
    if len(name) > 1 and name.startswith('"') and name.endswith('"'):
        return name[1:-1]
    return name.lower()


def _refused(detail: str, hint: str) -> Refusal:
    return SyntaxRefused(Code.BAD_REQUEST, detail, hint)


def _told(text: str) -> str:
    """The client's text, cut to one line."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:_LONGEST_TOLD])
