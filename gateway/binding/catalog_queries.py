"""What tools ask besides questions: the statements that the twin answers as any PostgreSQL would.

A text that names no table of the subject's can touch none, whether we can read it or not: the twin runs it,
and has nothing but catalogs and empty tables that nobody may read. The catalogs show a name for oneself and one
for the dataset, by functions of ours; the keywords of SQL that mean the same are no calls, so they become some.

INVARIANT: a text is chatter only if none of its names, quoted or not, is that of a visible table, and it is one
query that changes nothing. Nothing rests on how the names of subject and dataset are shown.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from gateway.binding.extensions import ENDS, OURS
from gateway.binding.text.allowlist import has_side_effects
from gateway.binding.text.classify import Statement, StatementKind
from gateway.binding.text.lexer import Lexeme, LexemeKind, lexemes
from gateway.catalog.tables import OWN_TABLES, SCHEMA, Dataset
from gateway.errors import Code, SyntaxRefused

NAMED: Final = frozenset(
    {"current_catalog", "current_role", "current_user", "session_user", "system_user", "user"}
)
# These act, but not on others: the twin's own `set_config` changes what SET may, and nobody has a lock to give up.
# And these are relations, which are empty on the twin, and no functions.
_HARMLESS: Final = frozenset(
    {"pg_advisory_unlock_all", "set_config", "pg_replication_origin", "pg_replication_slots"}
)
# words after which a value begins; after any other word stands what it is called
_BEFORE_VALUES: Final = frozenset(
    {"all", "and", "any", "asymmetric", "between", "by", "case", "distinct", "else", "escape", "from"}
    | {"having", "ilike", "in", "join", "lateral", "like", "limit", "not", "offset", "on", "or"}
    | {"select", "symmetric", "then", "to", "using", "variadic", "when", "where", "zone"}
)  # fmt: skip
_NAME: Final = r'(?:"[^"\'\\]+"|[^".\'\\\s]+)'
_THREE_NAMES: Final = re.compile(rf"'{_NAME}\.{_NAME}\.{_NAME}'")
_NAMES: Final = frozenset({LexemeKind.WORD, LexemeKind.QUOTED})
_SYSTEM: Final = frozenset({"information_schema", "pg_catalog", "public", SCHEMA})
_NOT_POSTGRESQL: Final = frozenset(
    {*ENDS, *OURS}
)  # functions of ours that are no function of the twin's
_CHANGING: Final = frozenset({"delete", "insert", "merge", "update"})
_AFTER_VALUES: Final = frozenset(
    {LexemeKind.STRING, LexemeKind.NUMBER, LexemeKind.PARAMETER, LexemeKind.QUOTED}
)


def replace_session_keywords(text: str) -> str:
    """The text with calls of the twin's functions where keywords name the role or the database."""
    lower = text.lower()
    if all(name not in lower for name in ("user", "current_")):
        return text
    pieces, parts, end = lexemes(text), [], 0
    for place, piece in enumerate(pieces):
        if piece.sort is LexemeKind.WORD and piece.name in NAMED and _is_value(pieces, place):
            parts += [text[end : piece.start], f'pg_catalog."{piece.name}"()']
            end = piece.end
    return "".join([*parts, text[end:]])


def strip_database_name(text: str, dataset: Dataset) -> str:
    """The text with names of schemas that do not begin with the name of the dataset.

    For a client the dataset is a database; the one on the twin has another name, which PostgreSQL would want. A string
    that is cast to `regclass` is a name too.
    """
    if dataset.name.lower() not in text.lower():
        return text
    schemas = _SYSTEM | {table.schema for table in dataset.tables}
    pieces, parts, end = lexemes(text), [], 0
    for place in range(len(pieces) - 3):
        if _is_class_text(pieces[place : place + 4]):
            start = pieces[place].start
            prefix = _prefix(text[start : pieces[place].end], dataset.name)
            parts.append(text[end : start + 1])
            end = start + 1 + prefix
            continue
        before = pieces[place - 1].name if place else ""
        first, dot, schema, more = pieces[place : place + 4]
        named = {first.sort, schema.sort} <= _NAMES and first.name == dataset.name
        if named and dot.name == more.name == "." != before and schema.name in schemas:
            parts.append(text[end : first.start])
            end = schema.start
    return "".join([*parts, text[end:]])


def _is_class_text(pieces: Sequence[Lexeme]) -> bool:
    """Whether these are a string and its cast to `regclass`."""
    text, first, second, kind = pieces
    cast = first.name == second.name == ":" and kind.sort in _NAMES and kind.name == "regclass"
    return cast and text.sort is LexemeKind.STRING


def _prefix(literal: str, database: str) -> int:
    """How many characters of a string are the name of the database before a schema and a table."""
    for written in (f'"{database}".', f"{database}."):
        if _THREE_NAMES.fullmatch(literal) and literal.startswith(written, 1):
            return len(written)
    return 0


def as_catalog_query(statement: Statement) -> Statement:
    """The statement as the twin shall run it, which is one for PostgreSQL's scanner too."""
    pieces = lexemes(statement.text)
    if any(piece.sort is LexemeKind.SIGN and piece.name == ";" for piece in pieces):
        raise SyntaxRefused(Code.SEVERAL_STATEMENTS, "", "send the statements one by one")
    if statement.kind is StatementKind.PASS:
        return statement
    return replace(
        statement,
        text=replace_session_keywords(statement.text),
        query=replace_session_keywords(statement.query),
    )


def is_catalog_query(query: str, dataset: Dataset) -> bool:
    """Whether a query that the binder does not take may go to the twin all the same."""
    pieces = lexemes(query)
    names = {piece.name for piece in pieces if piece.sort in _NAMES}
    if names & {table.bare_name for table in dataset.tables}:
        return False
    if names & _NOT_POSTGRESQL or (SCHEMA in names and names & set(OWN_TABLES)):
        return False
    words = {piece.name for piece in pieces if piece.sort is LexemeKind.WORD}
    if "into" in words or any(has_side_effects(name) for name in names - _HARMLESS):
        return False
    return not any(_changes(pieces, place) for place in range(len(pieces)))


def _changes(pieces: Sequence[Lexeme], place: int) -> bool:
    """Whether a command that changes rows, or locks them, begins here."""
    piece = pieces[place]
    before = pieces[place - 1] if place else None
    if piece.sort is not LexemeKind.WORD or before is None:
        return False
    if before.sort is LexemeKind.WORD and before.name == "for":
        return piece.name in {"update", "share", "no", "key"}
    return piece.name in _CHANGING and before.sort is LexemeKind.SIGN and before.name in {"(", ")"}


def _is_value(pieces: Sequence[Lexeme], place: int) -> bool:
    """Whether a value can stand here, and not what a column is called."""
    if place + 1 < len(pieces) and pieces[place + 1].name == "(":
        return False  # no call of PostgreSQL's either
    if not place:
        return True
    before = pieces[place - 1]
    if before.sort is LexemeKind.WORD:
        return before.name in _BEFORE_VALUES
    if before.sort in _AFTER_VALUES:
        return False
    if before.name == ")":
        return _closes_operator(pieces, place - 1)
    return before.name not in {".", "]"}


def _closes_operator(pieces: Sequence[Lexeme], place: int) -> bool:
    """Whether this bracket ends OPERATOR(schema.sign), which a value follows."""
    while place and pieces[place].name != "(":
        place -= 1
    return place > 0 and pieces[place - 1].name == "operator"
