"""Classification of a client's statements: those that run on the twin unchanged, and queries for the pipeline.

INVARIANT: a text that may read the source is a query. A text that is wrongly taken as plain fails: the twin has
no row of the source, and no right to read its empty tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, TypeAlias

from gateway.binding.catalog_queries import as_chatter, chatter, is_chatter, without_database
from gateway.binding.extensions import askable
from gateway.binding.text.classify import Kind, Statement, classify, split
from gateway.binding.text.identifiers import in_quotes
from gateway.binding.text.lexer import lexemes
from gateway.binding.text.prepared import Execute, Prepare, named, require_one
from gateway.binding.text.temp_tables import (
    GiveUp,
    Keep,
    Kept,
    keeping,
    named_in,
    read_in,
    with_kept,
)
from gateway.catalog.tables import Dataset
from gateway.errors import Code, LimitExceeded, Refusal, SyntaxRefused, UnsupportedSql
from gateway.lru_cache import LruCache

_NOTHING: Final[Mapping[str, Kept]] = MappingProxyType({})
_MOST: Final = 500
_LONGEST: Final = 4_096  # longer texts are looked at each time
_MOST_STATEMENTS: Final = 100
_SHOWS_BUDGET: Final = (
    "SELECT account, epsilon_limit, epsilon_spent, epsilon_remaining FROM gateway.budget"
)


_STANDS_FOR: Final = b"RESET gateway.kept"


@dataclass(frozen=True, slots=True)
class Plain:
    """A statement that the twin answers."""

    text: bytes


@dataclass(frozen=True, slots=True)
class Asking:
    """A query that the pipeline answers; the twin gets `described`, for names and types."""

    statement: Statement
    described: bytes


@dataclass(frozen=True, slots=True)
class Preparing:
    """A PREPARE of a query; `text` is what the twin gets."""

    asking: Asking
    text: bytes


@dataclass(frozen=True, slots=True)
class Calling:
    """An EXECUTE of a prepared statement of any kind."""

    name: bytes
    arguments: bytes
    count: int
    text: bytes


@dataclass(frozen=True, slots=True)
class KeepingOne:
    """A CREATE TEMP TABLE AS; `plain` if the twin computes it. `text` stands for it where nothing is run."""

    what: Keep
    inner: Asking
    plain: bool
    text_of_query: bytes
    text: bytes = _STANDS_FOR


@dataclass(frozen=True, slots=True)
class GivingUp:
    """A DROP TABLE of temporary tables."""

    what: GiveUp
    text: bytes = _STANDS_FOR


ByName: TypeAlias = Preparing | Calling | KeepingOne | GivingUp
Part: TypeAlias = Plain | Asking | ByName
Script: TypeAlias = tuple[Part, ...]


class Statements:
    """Classifies the texts of one connection, with a cache of the last ones."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._known: LruCache[bytes, Script | Refusal] = LruCache(_MOST)
        self._kept: Mapping[str, Kept] = {}

    def script(self, text: bytes, kept: Mapping[str, Kept] = _NOTHING) -> Script | Refusal:
        """The statements of a text, each classified, or the refusal of the whole text. `kept` are temporary
        tables.
        """
        if kept is not self._kept:
            self._kept = kept
            self._known.clear()
        if len(text) > _LONGEST:
            return self._read(text)
        return self._known.get(text, lambda: self._read(text))

    def _read(self, text: bytes) -> Script | Refusal:
        try:
            parts = split(_decoded(text))
            if len(parts) > _MOST_STATEMENTS:
                raise LimitExceeded(
                    Code.SQL_TOO_LARGE, f"the text has more than {_MOST_STATEMENTS} statements"
                )
            return tuple(self._part(one) for one in parts)
        except Refusal as refusal:
            return refusal.with_traceback(None)

    def _part(self, sql: str) -> Part:
        sql = without_database(_shown(sql), self._dataset)
        by_name = named(sql)
        if isinstance(by_name, Prepare):
            return self._preparing(by_name)
        if by_name is not None:
            return self._calling(by_name)
        to_keep = keeping(sql)
        if isinstance(to_keep, Keep):
            return self._keeping(to_keep)
        if to_keep is not None and self._may_give_up(to_keep):
            return GivingUp(to_keep)
        statement = self._with_kept(classify(sql))
        if statement.kind is Kind.PASS or is_chatter(statement.query, self._dataset):
            return Plain(as_chatter(statement).text.encode())
        described = f"{statement.head}{askable(statement.query)}{statement.tail}"
        return Asking(statement, described.encode())

    def _with_kept(self, statement: Statement) -> Statement:
        """The statement with the temporary tables that it names."""
        names = named_in(statement.query, self._kept)
        if not names:
            return statement
        if not is_chatter(statement.query, self._dataset):
            read = read_in(statement.query, self._kept)
            if read is None:
                return statement
            raise UnsupportedSql(
                Code.STATEMENT_UNSUPPORTED,
                f"the temporary table `{read}` cannot be combined with tables of the dataset",
                "save the other result as a temporary table too, and join both",
            )
        query = with_kept(statement.query, {name: self._kept[name] for name in names})
        text = f"{statement.head}{query}{statement.tail}"
        return replace(statement, text=text, query=query)

    def _may_give_up(self, one: GiveUp) -> bool:
        names = set(one.names)
        return bool(names & set(self._kept)) or (one.if_there and not names & self._tables())

    def _tables(self) -> set[str]:
        return {table.name.rpartition(".")[2] for table in self._dataset.tables}

    def _keeping(self, one: Keep) -> KeepingOne:
        if one.name in self._tables():
            raise UnsupportedSql(
                Code.STATEMENT_UNSUPPORTED,
                f"`{one.name}` is a table of the dataset",
                "choose another name",
            )
        if not one.with_data:
            raise UnsupportedSql(Code.STATEMENT_UNSUPPORTED, "`WITH NO DATA` is not supported")
        statement = self._with_kept(classify(one.query))
        plain = is_chatter(statement.query, self._dataset)
        text = as_chatter(statement).text if plain else askable(statement.query)
        return KeepingOne(one, Asking(statement, text.encode()), plain, text.encode())

    def _preparing(self, one: Prepare) -> Plain | Preparing:
        statement = self._with_kept(classify(one.query))
        if is_chatter(statement.query, self._dataset):
            return Plain(f"{one.head}{as_chatter(statement).text}".encode())
        described = askable(one.query)
        text = f"{one.head}{described}"
        require_one(lexemes(text))
        return Preparing(Asking(statement, described.encode()), text.encode())

    def _calling(self, one: Execute) -> Calling:
        # PostgreSQL takes no subquery here, so no table either; what acts by being called is refused
        arguments = f"SELECT {one.arguments}"
        if one.count and not is_chatter(arguments, self._dataset):
            raise UnsupportedSql(
                Code.STATEMENT_UNSUPPORTED,
                "the arguments of EXECUTE must be constants",
            )
        with_calls = chatter(arguments).removeprefix("SELECT ")
        text = f"EXECUTE {in_quotes(one.name)}{with_calls}"
        return Calling(one.name.encode(), with_calls.encode(), one.count, text.encode())


def _shown(sql: str) -> str:
    """The query behind `SHOW gateway.budget`."""
    words = sql.lower().split()
    return _SHOWS_BUDGET if words == ["show", "gateway.budget"] else sql


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise SyntaxRefused(Code.SQL_SYNTAX, "the text is not UTF-8") from None
