"""The kind of a statement, from its tokens before it is parsed, and the settings that SET may change.

INVARIANT: the list of kinds is an allow-list. What begins with none of these words is refused, and a wrapper
(cursor, COPY, EXPLAIN) is taken apart into a head that is known word by word and a query.
INVARIANT: the list of settings is an allow-list, for SET and for `set_config` alike. No schema with anything in it
that the analyst could have made is ever searched, and PostgreSQL's own comes first in every search path.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from gateway.binding.text.lexer import tokens_of
from gateway.binding.text.search_path import is_search_path
from gateway.errors import Code, SyntaxRefused, UnsupportedSql

OWN_PREFIX: Final = "gateway."
SETTINGS: Final = frozenset(
    {
        "application_name",
        "bytea_output",
        "client_encoding",
        "client_min_messages",
        "datestyle",
        "default_transaction_deferrable",
        "default_transaction_isolation",
        "default_transaction_read_only",
        "extra_float_digits",
        "geqo",
        "idle_in_transaction_session_timeout",
        "idle_session_timeout",
        "intervalstyle",
        "jit",
        "lock_timeout",
        "search_path",
        "standard_conforming_strings",
        "statement_timeout",
        "timezone",
        "transaction_deferrable",
        "transaction_isolation",
        "transaction_read_only",
        "gateway.accuracy",
        "gateway.epsilon",
        "gateway.fresh",
        "gateway.notices",
        "gateway.purpose",
        "gateway.unsupported",
    }
)
IDLE_LIMITS: Final = frozenset({"idle_in_transaction_session_timeout", "idle_session_timeout"})
"""They may be set, and stay as they are: while the source computes, a session of the twin's is idle."""
WITHOUT_EFFECT: Final = IDLE_LIMITS | {
    "quote_all_identifiers",
    "restrict_nonsystem_relation_kind",
    "row_security",
    "synchronize_seqscans",
    "transaction_timeout",
}
"""They may be set, as pg_dump does, and stay as they are. They change no answer of a query on the dataset."""
ENCODINGS: Final = frozenset({"utf8", "unicode"})  # without signs; both are UTF8
ON: Final = frozenset({"on", "true", "yes", "1"})


def _is_encoding(values: Sequence[str]) -> bool:
    return [one.replace("-", "").replace("_", "").lower() in ENCODINGS for one in values] == [True]


def _is_on(values: Sequence[str]) -> bool:
    return [one.lower() in ON for one in values] == [True]


_VALUES: Final[Mapping[str, Callable[[Sequence[str]], bool]]] = {
    "client_encoding": _is_encoding,
    "search_path": is_search_path,
    "standard_conforming_strings": _is_on,
}


def is_allowed_setting(name: str, values: Sequence[str]) -> bool:
    """Whether a setting that a client may change may be this; its own default is `default` alone."""
    allowed = _VALUES.get(name)
    return allowed is None or values == ["default"] or allowed(values)


NO_EFFECT: Final = "SET gateway.kept TO DEFAULT"
"""What the twin runs in the place of a statement that is accepted without effect; nothing reads this setting."""


class StatementKind(Enum):
    """How a statement is answered."""

    QUERY = "query"
    PASS = "pass"  # noqa: S105 - it names no secret
    CURSOR = "cursor"
    COPY = "copy"
    EXPLAIN = "explain"


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement; `query` is the text of the query in it, `head` and `tail` what stands around.

    `setting` is the name of a setting and the text that SET gives it.
    """

    kind: StatementKind
    text: str
    head: str = ""
    query: str = ""
    tail: str = ""
    setting: tuple[str, str] | None = None


_QUERY: Final = frozenset({"select", "with", "values", "table", "("})
_ALONE: Final = frozenset(
    {"begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release"}
)
_ON_NAMES: Final = frozenset({"fetch", "move", "close", "deallocate", "show"})
# with these words alone: they end what a connection began, and drivers send them before it is used again
_ENDING: Final = {
    "discard": ("all", "plans", "sequences", "temp", "temporary"),
    "unlisten": ("*",),
    "reset": ("all", "session authorization", "time zone"),
    "set": ("session authorization default",),
}
# what a transaction could be besides: one that outlives its connection, or that reads what another read
_LASTING: Final = frozenset({"prepared", "snapshot"})
# what PostgreSQL has besides; any other word is a slip of the pen
_COMMANDS: Final = frozenset(
    {"alter", "analyse", "analyze", "call", "checkpoint", "cluster", "comment", "create", "delete"}
    | {"do", "drop", "execute", "grant", "import", "insert", "listen", "load", "lock", "merge"}
    | {"notify", "prepare", "reassign", "refresh", "reindex", "revoke", "security", "truncate"}
    | {"unlisten", "update", "vacuum"}
)
_INSTEAD: Final = {
    "create": "write CREATE TEMP TABLE name AS SELECT …, or WITH name AS (SELECT …) SELECT …"
}
_SCROLL: Final = frozenset({"binary", "insensitive", "asensitive", "no", "scroll"})
_MOST_WORDS: Final = 16  # of a statement that passes


def split_statements(sql: str) -> list[str]:
    """The statements of a text that may hold several."""
    parts, start = [], 0
    for token in tokens_of(sql):
        if token.token_type is TokenType.SEMICOLON:
            parts.append(sql[start : token.start])
            start = token.end + 1
    parts.append(sql[start:])
    return [part for part in parts if tokens_of(part)]


def classify(sql: str) -> Statement:
    """The one statement of the text."""
    tokens = tokens_of(sql)
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise SyntaxRefused(Code.SQL_SYNTAX, "the text contains no statement")
    if any(token.token_type is TokenType.SEMICOLON for token in tokens):
        raise SyntaxRefused(Code.SEVERAL_STATEMENTS, "", "send the statements one by one")
    sql = sql[: tokens[-1].end + 1]
    word = sql[tokens[0].start : tokens[0].end + 1].lower()
    if word in _QUERY:
        return Statement(StatementKind.QUERY, sql, query=sql)
    if word in {"declare", "explain", "copy"}:
        return _WRAPPERS[word](sql, _words(sql, tokens[0]))
    if word in _ALONE or word in _ON_NAMES:
        return _plain(sql, tokens[0])
    if word in _ENDING:
        return _setting(sql, tokens[0], word)
    if word == "lock":
        return _lock(sql, tokens[0])
    if word not in _COMMANDS:
        raise SyntaxRefused(Code.SQL_SYNTAX, f"no statement begins with `{word[:20]}`")
    raise UnsupportedSql(
        Code.STATEMENT_UNSUPPORTED,
        f"`{word[:20].upper()}` is not supported",
        _INSTEAD.get(word, "the gateway only answers queries; it changes no data"),
    )


def _words(sql: str, first: Token) -> list[tuple[str, int, int]]:
    """The words after the first, as written; sqlglot keeps the rest of a command as one string."""
    start = first.end + 1
    tokens = tokens_of(sql[start:])
    if any(token.token_type is TokenType.SEMICOLON for token in tokens):
        raise SyntaxRefused(Code.SEVERAL_STATEMENTS, "", "send the statements one by one")
    return [
        (sql[start + token.start : start + token.end + 1], start + token.start, start + token.end)
        for token in tokens
    ]


def _plain(sql: str, first: Token) -> Statement:
    words = _words(sql, first)
    known = all(
        word.replace('"', "").replace("_", "").replace(".", "").replace(",", "").isalnum()
        or word in {".", ",", "-", "*"}
        or (word.startswith("'") and word.endswith("'"))
        for word, _, _ in words
    )
    if len(words) > _MOST_WORDS or not known:
        raise UnsupportedSql(Code.STATEMENT_UNSUPPORTED, "this statement may only contain names")
    if any(word.lower() in _LASTING for word, _, _ in words):
        raise UnsupportedSql(
            Code.STATEMENT_UNSUPPORTED, "two-phase and exported transactions are not supported"
        )
    return Statement(StatementKind.PASS, sql)


def _lock(sql: str, first: Token) -> Statement:
    """pg_dump locks what it describes. Tables of the twin never change, so such a lock has no effect."""
    words = [word.lower() for word, _, _ in _words(sql, first)]
    if words[-4:] != ["in", "access", "share", "mode"]:
        raise UnsupportedSql(
            Code.STATEMENT_UNSUPPORTED,
            "`LOCK` is not supported",
            "leave it out; nobody changes the tables that you see",
        )
    return Statement(StatementKind.PASS, NO_EFFECT)


def _setting(sql: str, first: Token, command: str) -> Statement:
    written = [word for word, _, _ in _words(sql, first)]
    words = [word.lower() for word in written]
    if " ".join(words) in _ENDING[command]:
        return Statement(StatementKind.PASS, sql)
    if command in {"discard", "unlisten"}:
        raise UnsupportedSql(
            Code.STATEMENT_UNSUPPORTED, f"this form of `{command.upper()}` is not supported"
        )
    if words[:1] in (["session"], ["local"]) and words[1:2] != ["characteristics"]:
        written, words = written[1:], words[1:]
    if words[:2] == ["time", "zone"] or words[:1] == ["transaction"]:
        return _plain(sql, first)
    if words[:4] == ["session", "characteristics", "as", "transaction"]:
        return _plain(sql, first)
    name, values = _assigned(written)
    if command == "set" and name in WITHOUT_EFFECT:
        return Statement(StatementKind.PASS, NO_EFFECT)
    if name not in SETTINGS:
        raise UnsupportedSql(
            Code.STATEMENT_UNSUPPORTED, f"the setting `{name[:40]}` cannot be changed here"
        )
    if command == "set" and not is_allowed_setting(name, values):
        raise UnsupportedSql(
            Code.STATEMENT_UNSUPPORTED,
            f"this value of the setting `{name}` is not allowed",
            "docs/twin.md lists the allowed values",
        )
    if command == "reset" or words[-1:] == ["default"]:
        return Statement(StatementKind.PASS, sql)
    # a sign before a number is a word of its own
    return Statement(StatementKind.PASS, sql, setting=(name, "".join(values)))


def _assigned(written: list[str]) -> tuple[str, list[str]]:
    """The name of a setting, and its values as PostgreSQL reads them."""
    if written[:1] and written[0].lower() == "names":  # SQL's own word for one of them
        return "client_encoding", [_value(one) for one in written[1:]] or ["default"]
    signs = (place for place, word in enumerate(written) if word.lower() in {"=", "to"})
    end = next(signs, len(written))
    name = "".join(word.strip('"').lower() for word in written[:end])
    return name, [_value(one) for one in written[end + 1 :] if one != ","]


def _value(word: str) -> str:
    """Names without quotes are folded; a string is the value as it stands."""
    if word[:1] == "'" == word[-1:]:
        return word[1:-1]
    return word[1:-1] if word[:1] == '"' == word[-1:] else word.lower()


def _cursor(sql: str, words: list[tuple[str, int, int]]) -> Statement:
    lower = [word.lower() for word, _, _ in words]
    place = 1
    while place < len(lower) and lower[place] in _SCROLL:
        place += 1
    if lower[place : place + 1] != ["cursor"]:
        raise SyntaxRefused(Code.SQL_SYNTAX, "`DECLARE` without `CURSOR`")
    place += 1
    if lower[place : place + 2] in (["with", "hold"], ["without", "hold"]):
        place += 2
    if lower[place : place + 1] != ["for"] or place + 1 >= len(words):
        raise SyntaxRefused(Code.SQL_SYNTAX, "`DECLARE … CURSOR` needs `FOR` and a query")
    start = words[place + 1][1]
    return Statement(StatementKind.CURSOR, sql, head=sql[:start], query=sql[start:])


def cursor_name(statement: Statement) -> str:
    """The name of a cursor, as it was written."""
    return _words(statement.head, tokens_of(statement.head)[0])[0][0]


def needs_transaction(statement: Statement) -> bool:
    """Whether it is a cursor that ends with its transaction."""
    if statement.kind is not StatementKind.CURSOR:
        return False
    return "with hold" not in " ".join(statement.head.lower().split())


def _explain(sql: str, words: list[tuple[str, int, int]]) -> Statement:
    if not words or words[0][0].lower() not in _QUERY - {"("}:
        raise UnsupportedSql(
            Code.STATEMENT_UNSUPPORTED,
            "`EXPLAIN` takes a query and no options",
            "write EXPLAIN SELECT …; it shows the price and runs nothing",
        )
    start = words[0][1]
    return Statement(StatementKind.EXPLAIN, sql, head=sql[:start], query=sql[start:])


_COPY_OPTIONS: Final = frozenset(
    {"with", "(", ")", ",", "format", "text", "csv", "binary", "header", "true", "false", "on"}
    | {"off", "delimiter", "null", "quote", "escape", "encoding", "force_quote", "*"}
)


def _copy(sql: str, words: list[tuple[str, int, int]]) -> Statement:
    depth, close = 0, 0
    for place, (word, _, _) in enumerate(words):
        depth += (word == "(") - (word == ")")
        if depth == 0:
            close = place
            break
    if not words or words[0][0] != "(" or close == 0:
        raise UnsupportedSql(
            Code.STATEMENT_UNSUPPORTED,
            "`COPY` of a table is not supported",
            "write COPY (SELECT …) TO STDOUT",
        )
    tail = [word.lower() for word, _, _ in words[close + 1 :]]
    if tail[:2] != ["to", "stdout"]:
        raise UnsupportedSql(
            Code.STATEMENT_UNSUPPORTED,
            "`COPY` can only write TO STDOUT",
            "write COPY (SELECT …) TO STDOUT",
        )
    for word in tail[2:]:
        if word not in _COPY_OPTIONS and not word.startswith("'"):
            raise UnsupportedSql(
                Code.STATEMENT_UNSUPPORTED, f"the COPY option `{word[:20]}` is not supported"
            )
    start, end = words[0][2] + 1, words[close][1]
    return Statement(
        StatementKind.COPY, sql, head=sql[:start], query=sql[start:end], tail=sql[end:]
    )


_WRAPPERS: Final = {"declare": _cursor, "explain": _explain, "copy": _copy}
