"""Statements that keep an answer under a name, and texts that read it: no table is made for it anywhere.

What is kept are settings of the connection's own session on the twin, an array of text for each column: nobody else can
read them, they are in no catalog, and they come and go with transactions as tables would. A text that names what is
kept gets it as a relation in front.

INVARIANT: a name of a setting is given once. What was undone or given up since is read as an error, not as rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from gateway.binding.text.dialect import quote_name
from gateway.binding.text.lexer import Lexeme, LexemeKind, lexemes
from gateway.binding.text.parameters import (
    NAMES,
    closing_bracket,
    is_query_start,
    is_sign,
    is_word,
    require_single_statement,
)

SETTING: Final = "gateway.kept"
_TEMPORARY: Final = frozenset({"temp", "temporary"})
_BEFORE_TABLES: Final = frozenset({"from", "join", "table", "only"})
_SCOPES: Final = frozenset({"local", "global"})


@dataclass(frozen=True, slots=True)
class CreateTempTable:
    """`columns` are names that the columns get, if they do not keep their own."""

    name: str
    columns: tuple[str, ...]
    query: str
    with_data: bool = True
    unless_there: bool = False


@dataclass(frozen=True, slots=True)
class DropTempTable:
    """Of names that nothing is kept under."""

    names: tuple[str, ...]
    if_there: bool


@dataclass(frozen=True, slots=True)
class TempTable:
    """An answer: its number, its columns with their types as `format_type` names them, and its size."""

    number: int
    columns: tuple[tuple[str, str], ...]
    size: int

    def settings(self) -> list[str]:
        return [f"{SETTING}_{self.number}_{place}" for place in range(len(self.columns))]


def parse_temp_table(sql: str) -> CreateTempTable | DropTempTable | None:
    """The statement, if it is one of these."""
    lower = sql.lower()
    if "temp" not in lower and "drop" not in lower:
        return None
    pieces = lexemes(sql)
    require_single_statement(pieces)
    if is_word(pieces, 0, "create"):
        return _create(sql, pieces)
    if is_word(pieces, 0, "drop", "table"):
        return _drop(pieces)
    return _into(sql, pieces) if is_query_start(pieces, 0) else None


def find_named_tables(sql: str, kept: Mapping[str, TempTable]) -> list[str]:
    """What is kept under names that stand in a text."""
    if not kept:
        return []
    there = {piece.name for piece in lexemes(sql) if piece.sort in NAMES}
    return [name for name in kept if name in there]


def find_read_table(sql: str, kept: Mapping[str, TempTable]) -> str | None:
    """What of it stands where a table does; elsewhere the name may be a column's."""
    pieces = lexemes(sql)
    for before, piece in pairwise(pieces):
        of_table = before.sort is LexemeKind.WORD and before.name in _BEFORE_TABLES
        if of_table and piece.sort in NAMES and piece.name in kept:
            return piece.name
    return None


def add_temp_tables(query: str, kept: Mapping[str, TempTable]) -> str:
    """A query with these relations in front of it."""
    pieces = lexemes(query)
    relations = ", ".join(_relation(name, one) for name, one in kept.items())
    if not is_word(pieces, 0, "with"):
        return f"WITH {relations} {query}"
    place = 1 if is_word(pieces, 1, "recursive") else 0
    end = pieces[place].end
    return f"{query[:end]} {relations}, {query[end:]}"


def _relation(name: str, one: TempTable) -> str:
    arrays = ", ".join(
        f"pg_catalog.current_setting('{setting}')::text[]" for setting in one.settings()
    )
    names = ", ".join(f"c{place}" for place in range(len(one.columns)))
    items = ", ".join(
        f"CAST(t.c{place} AS {of}) AS {quote_name(column)}"
        for place, (column, of) in enumerate(one.columns)
    )
    # of several arrays only the bare word is PostgreSQL's; nobody can make a function of that name
    rows = f"SELECT {items} FROM unnest({arrays}) AS t({names})"  # noqa: S608 - names in quotes, no value
    return f"{quote_name(name)} AS NOT MATERIALIZED ({rows})"


def _temporary(pieces: Sequence[Lexeme], place: int) -> int | None:
    """Where the words end that say so."""
    if (
        place < len(pieces)
        and pieces[place].sort is LexemeKind.WORD
        and pieces[place].name in _SCOPES
    ):
        place += 1
    word = pieces[place] if place < len(pieces) else None
    if word is None or word.sort is not LexemeKind.WORD or word.name not in _TEMPORARY:
        return None
    return place + 1


def _name(pieces: Sequence[Lexeme], place: int) -> str | None:
    """A name that no schema stands before."""
    if place >= len(pieces) or pieces[place].sort not in NAMES or is_sign(pieces, place + 1, "."):
        return None
    return pieces[place].name


def _create(sql: str, pieces: Sequence[Lexeme]) -> CreateTempTable | None:
    place = _temporary(pieces, 1)
    if place is None or not is_word(pieces, place, "table"):
        return None
    place += 1
    unless_there = is_word(pieces, place, "if", "not", "exists")
    place += 3 if unless_there else 0
    name = _name(pieces, place)
    if name is None:
        return None
    place += 1
    columns: tuple[str, ...] = ()
    if is_sign(pieces, place, "("):
        end = closing_bracket(pieces, place)
        inside = pieces[place + 1 : end or place]
        if end is None or not _is_list(inside):
            return None
        columns = tuple(one.name for one in inside[::2])
        place = end + 1
    if is_word(pieces, place, "on", "commit", "preserve", "rows"):
        place += 4
    if not is_word(pieces, place, "as") or not is_query_start(pieces, place + 1):
        return None
    start, end_of_query, with_data = pieces[place + 1].start, len(sql), True
    if is_word(pieces, len(pieces) - 3, "with", "no", "data"):
        end_of_query, with_data = pieces[-3].start, False
    elif is_word(pieces, len(pieces) - 2, "with", "data"):
        end_of_query = pieces[-2].start
    return CreateTempTable(name, columns, sql[start:end_of_query], with_data, unless_there)


def _is_list(pieces: Sequence[Lexeme]) -> bool:
    """Whether these are names with commas between them."""
    return len(pieces) % 2 == 1 and all(
        piece.sort in NAMES if place % 2 == 0 else piece.name == ","
        for place, piece in enumerate(pieces)
    )


def _into(sql: str, pieces: Sequence[Lexeme]) -> CreateTempTable | None:
    depth = 0
    for at, piece in enumerate(pieces):
        if piece.sort is LexemeKind.SIGN:
            depth += (piece.name == "(") - (piece.name == ")")
        if depth == 0 and at and is_word(pieces, at, "into"):
            place = _temporary(pieces, at + 1)
            if place is None:
                return None
            place += is_word(pieces, place, "table")
            name = _name(pieces, place)
            if name is None:
                return None
            return CreateTempTable(name, (), f"{sql[: piece.start]}{sql[pieces[place].end :]}")
    return None


def _drop(pieces: Sequence[Lexeme]) -> DropTempTable | None:
    place = 2
    if_there = is_word(pieces, place, "if", "exists")
    rest = list(pieces[place + 2 if if_there else place :])
    if (rest and is_word(rest, len(rest) - 1, "cascade")) or is_word(
        rest, len(rest) - 1, "restrict"
    ):
        rest.pop()
    if not rest or not _is_list(rest):
        return None
    return DropTempTable(tuple(one.name for one in rest[::2]), if_there)
