"""Classification of a client's statements: those that run on the twin unchanged, and queries for the pipeline.

INVARIANT: a text that may read the source is a query. A text that is wrongly taken as plain fails: the twin has
no row of the source, and no right to read its empty tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, TypeAlias

from gateway.binding.catalog_queries import (
    as_catalog_query,
    is_catalog_query,
    replace_session_keywords,
    strip_database_name,
)
from gateway.binding.extensions import postgresql_sql
from gateway.binding.sources import close_relation
from gateway.binding.text.classify import Statement, StatementKind, classify, split_statements
from gateway.binding.text.dialect import quote_name
from gateway.binding.text.lexer import lexemes
from gateway.binding.text.parameters import (
    Execute,
    Prepare,
    parse_prepared,
    require_single_statement,
)
from gateway.binding.text.temp_tables import (
    CreateTempTable,
    DropTempTable,
    TempTable,
    add_temp_tables,
    find_named_tables,
    find_read_table,
    parse_temp_table,
)
from gateway.catalog.tables import Dataset
from gateway.errors import Code, LimitExceeded, Refusal, SyntaxRefused, UnsupportedSql
from gateway.frontends.pgwire.session_settings import require_readable
from gateway.lru_cache import LruCache

_NOTHING: Final[Mapping[str, TempTable]] = MappingProxyType({})
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
class AnalystQuery:
    """A query that the pipeline answers; the twin gets `described`, for names and types."""

    statement: Statement
    described: bytes


@dataclass(frozen=True, slots=True)
class PrepareQuery:
    """A PREPARE of a query; `text` is what the twin gets."""

    asking: AnalystQuery
    text: bytes


@dataclass(frozen=True, slots=True)
class ExecuteQuery:
    """An EXECUTE of a prepared statement of any kind."""

    name: bytes
    arguments: bytes
    count: int
    text: bytes


@dataclass(frozen=True, slots=True)
class TempTableQuery:
    """A CREATE TEMP TABLE AS; `plain` if the twin computes it. `text` stands for it where nothing is run."""

    what: CreateTempTable
    inner: AnalystQuery
    plain: bool
    text_of_query: bytes
    text: bytes = _STANDS_FOR


@dataclass(frozen=True, slots=True)
class TempTableDrop:
    """A DROP TABLE of temporary tables."""

    what: DropTempTable
    text: bytes = _STANDS_FOR


ByName: TypeAlias = PrepareQuery | ExecuteQuery | TempTableQuery | TempTableDrop
Part: TypeAlias = Plain | AnalystQuery | ByName
Script: TypeAlias = tuple[Part, ...]


class Statements:
    """Classifies the texts of one connection, with a cache of the last ones."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._known: LruCache[bytes, Script | Refusal] = LruCache(_MOST)
        self._kept: Mapping[str, TempTable] = {}

    def script(self, text: bytes, kept: Mapping[str, TempTable] = _NOTHING) -> Script | Refusal:
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
            parts = split_statements(_decoded(text))
            if len(parts) > _MOST_STATEMENTS:
                raise LimitExceeded(
                    Code.SQL_TOO_LARGE, f"the text has more than {_MOST_STATEMENTS} statements"
                )
            return tuple(self._part(one) for one in parts)
        except Refusal as refusal:
            return refusal.with_traceback(None)

    def _part(self, sql: str) -> Part:
        sql = strip_database_name(_shown(sql), self._dataset)
        by_name = parse_prepared(sql)
        if isinstance(by_name, Prepare):
            return self._preparing(by_name)
        if by_name is not None:
            return self._calling(by_name)
        to_keep = parse_temp_table(sql)
        if isinstance(to_keep, CreateTempTable):
            return self._keeping(to_keep)
        if to_keep is not None and self._may_give_up(to_keep):
            return TempTableDrop(to_keep)
        statement = self._with_kept(classify(sql))
        if statement.setting is not None:
            require_readable(*statement.setting)
        if statement.kind is StatementKind.PASS or is_catalog_query(statement.query, self._dataset):
            return Plain(as_catalog_query(statement).text.encode())
        described = f"{statement.head}{postgresql_sql(statement.query)}{statement.tail}"
        return AnalystQuery(statement, described.encode())

    def _with_kept(self, statement: Statement) -> Statement:
        """The statement with the temporary tables that it names."""
        names = find_named_tables(statement.query, self._kept)
        if not names:
            return statement
        if not is_catalog_query(statement.query, self._dataset):
            read = find_read_table(statement.query, self._kept)
            if read is None:
                return statement
            raise UnsupportedSql(
                Code.STATEMENT_UNSUPPORTED,
                f"the temporary table `{read}` cannot be combined with tables of the dataset",
                "save the other result as a temporary table too, and join both",
            )
        query = add_temp_tables(statement.query, {name: self._kept[name] for name in names})
        text = f"{statement.head}{query}{statement.tail}"
        return replace(statement, text=text, query=query)

    def close_relation(self, wanted: str) -> str:
        """A hint for a relation that does not exist, by the tables that the client may see."""
        return close_relation(self._dataset, wanted)

    def _may_give_up(self, one: DropTempTable) -> bool:
        names = set(one.names)
        return bool(names & set(self._kept)) or (one.if_there and not names & self._tables())

    def _tables(self) -> set[str]:
        return {table.bare_name for table in self._dataset.tables}

    def _keeping(self, one: CreateTempTable) -> TempTableQuery:
        if one.name in self._tables():
            raise UnsupportedSql(
                Code.STATEMENT_UNSUPPORTED,
                f"`{one.name}` is a table of the dataset",
                "choose another name",
            )
        if not one.with_data:
            raise UnsupportedSql(Code.STATEMENT_UNSUPPORTED, "`WITH NO DATA` is not supported")
        statement = self._with_kept(classify(one.query))
        plain = is_catalog_query(statement.query, self._dataset)
        text = as_catalog_query(statement).text if plain else postgresql_sql(statement.query)
        return TempTableQuery(one, AnalystQuery(statement, text.encode()), plain, text.encode())

    def _preparing(self, one: Prepare) -> Plain | PrepareQuery:
        statement = self._with_kept(classify(one.query))
        if is_catalog_query(statement.query, self._dataset):
            return Plain(f"{one.head}{as_catalog_query(statement).text}".encode())
        described = postgresql_sql(one.query)
        text = f"{one.head}{described}"
        require_single_statement(lexemes(text))
        return PrepareQuery(AnalystQuery(statement, described.encode()), text.encode())

    def _calling(self, one: Execute) -> ExecuteQuery:
        # PostgreSQL takes no subquery here, so no table either; what acts by being called is refused
        arguments = f"SELECT {one.arguments}"
        if one.count and not is_catalog_query(arguments, self._dataset):
            raise UnsupportedSql(
                Code.STATEMENT_UNSUPPORTED,
                "the arguments of EXECUTE must be constants",
            )
        with_calls = replace_session_keywords(arguments).removeprefix("SELECT ")
        text = f"EXECUTE {quote_name(one.name)}{with_calls}"
        return ExecuteQuery(one.name.encode(), with_calls.encode(), one.count, text.encode())


def _shown(sql: str) -> str:
    """The query behind `SHOW gateway.budget`."""
    words = sql.lower().split()
    return _SHOWS_BUDGET if words == ["show", "gateway.budget"] else sql


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise SyntaxRefused(Code.SQL_SYNTAX, "the text is not UTF-8") from None
