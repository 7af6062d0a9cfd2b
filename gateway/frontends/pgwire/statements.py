"""What a text asks for, as far as the wire has to know: what runs on the twin as it is, and what is a question.

INVARIANT: a text that may touch the source is a question. Being wrong about one that is taken as plain costs an error:
the twin has no row of the source, and no right to read its empty tables.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, TypeAlias

from gateway.binding.by_name import Execute, Prepare, named, require_one
from gateway.binding.chatter import as_chatter, chatter, is_chatter, without_database
from gateway.binding.lexemes import lexemes
from gateway.binding.spellings import askable
from gateway.binding.statement import Kind, Statement, classify, split
from gateway.catalog.tables import Dataset
from gateway.errors import Code, LimitExceeded, Refusal, SyntaxRefused, UnsupportedSql

_MOST: Final = 500
_LONGEST: Final = 4_096  # longer texts are looked at each time
_MOST_STATEMENTS: Final = 100
_SHOWS_BUDGET: Final = (
    "SELECT account, epsilon_limit, epsilon_spent, epsilon_remaining FROM gateway.budget"
)


@dataclass(frozen=True, slots=True)
class Plain:
    """The twin answers it."""

    text: bytes


@dataclass(frozen=True, slots=True)
class Asking:
    """The pipeline answers it; `described` is what the twin is told of it, for names and types."""

    statement: Statement
    described: bytes


@dataclass(frozen=True, slots=True)
class Preparing:
    """A question that gets a name; `text` is what the twin is told."""

    asking: Asking
    text: bytes


@dataclass(frozen=True, slots=True)
class Calling:
    """What has this name is to run, whatever it is."""

    name: bytes
    arguments: bytes
    count: int
    text: bytes


Part: TypeAlias = Plain | Asking | Preparing | Calling
Script: TypeAlias = tuple[Part, ...]


class Statements:
    """Reads the texts of one connection, and remembers the last ones."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._known: OrderedDict[bytes, Script | Refusal] = OrderedDict()

    def script(self, text: bytes) -> Script | Refusal:
        """The statements of a text, each read; or why it is refused as a whole."""
        found = self._known.get(text)
        if found is None:
            found = self._read(text)
            if len(text) <= _LONGEST:
                self._known[text] = found
                if len(self._known) > _MOST:
                    self._known.popitem(last=False)
        return found

    def _read(self, text: bytes) -> Script | Refusal:
        try:
            parts = split(_decoded(text))
            if len(parts) > _MOST_STATEMENTS:
                raise LimitExceeded(Code.SQL_TOO_LARGE, f"more than {_MOST_STATEMENTS} statements")
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
        statement = classify(sql)
        if statement.kind is Kind.PASS or is_chatter(statement.query, self._dataset):
            return Plain(as_chatter(statement).text.encode())
        described = f"{statement.head}{askable(statement.query)}{statement.tail}"
        return Asking(statement, described.encode())

    def _preparing(self, one: Prepare) -> Plain | Preparing:
        statement = classify(one.query)
        if is_chatter(one.query, self._dataset):
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
                "an argument of EXECUTE that is more than a value",
                "write constants",
            )
        with_calls = chatter(arguments).removeprefix("SELECT ")
        in_quotes = one.name.replace('"', '""')
        text = f'EXECUTE "{in_quotes}"{with_calls}'
        return Calling(one.name.encode(), with_calls.encode(), one.count, text.encode())


def _shown(sql: str) -> str:
    """`SHOW gateway.budget` is a short way to write a query."""
    words = sql.lower().split()
    return _SHOWS_BUDGET if words == ["show", "gateway.budget"] else sql


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise SyntaxRefused(Code.SQL_SYNTAX, "the text is not UTF-8") from None
