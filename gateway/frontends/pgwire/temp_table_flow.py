"""CREATE TEMP TABLE … AS and SELECT … INTO TEMP: a query is asked once, and its answer can be read free of
charge.

Its rows come as texts, and go back to the twin as settings of the client's own session (see
`gateway.binding.text.temp_tables`). The temporary tables of a connection follow its transactions.

INVARIANT: a stored answer was released and charged, or came from the twin, which has no other data; no
privilege is granted for it, and no other session can see that it exists. INVARIANT: a table is dropped when the
transaction that created it is rolled back; all tables of a connection together have a size limit.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Final

from gateway.binding.text.temp_tables import CreateTempTable, DropTempTable, TempTable
from gateway.columnar.texts import array_bytes
from gateway.errors import Code, LimitExceeded, Refusal, SyntaxRefused, UnsupportedSql
from gateway.frontends.pgwire import messages
from gateway.frontends.pgwire.classify import TempTableDrop, TempTableQuery
from gateway.frontends.pgwire.framing import HEADER, frame_message
from gateway.frontends.pgwire.messages import Bind, ExecutePortal, NamedObject, Parse
from gateway.frontends.pgwire.portal_flow import open_portal
from gateway.frontends.pgwire.portals import Portal
from gateway.frontends.pgwire.question_flow import (
    FAILED,
    OWN,
    Ask,
    Given,
    Talk,
    Work,
    await_outcome,
    fail_transaction,
    portal_messages,
    read_message,
    read_one_row,
    read_settings,
    ready_to_run,
    relay_text,
    run_once,
    send_refusal,
    settings_query,
    skip_to_ready,
    strip_positions,
)

MOST_BYTES: Final = 16 * 1024 * 1024
MOST_ANSWERS: Final = 64
MOST_ROWS: Final = 100_000
_ENDING: Final = frozenset({b"DISCARD ALL", b"DISCARD TEMP"})
_IDLE: Final = ord("I")


class TempTables:
    """The temporary tables of a connection, by name; a dictionary is replaced, never changed."""

    def __init__(self) -> None:
        self.answers: dict[str, TempTable] = {}
        self._settled: dict[str, TempTable] = {}
        self._undone = False
        self._number = 0

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def room(self) -> int:
        """The number of bytes still allowed; tables count until their rollback."""
        return MOST_BYTES - sum(one.size for one in self.answers.values())

    def keep(self, name: str, one: TempTable) -> None:
        self.answers = {**self.answers, name: one}

    def give_up(self, names: tuple[str, ...]) -> None:
        self.answers = {name: one for name, one in self.answers.items() if name not in names}

    def heard(self, kind: int, raw: bytes) -> None:
        """Follow the twin's messages about statements and transactions."""
        if kind == messages.ERROR:
            self._undone = True
        elif kind == messages.COMMAND_COMPLETE:
            tag = raw[5:-1]
            if tag in _ENDING:
                self.answers = {}
            elif tag in {b"COMMIT", b"ROLLBACK"}:
                self._undone = tag == b"ROLLBACK"
        elif kind == messages.READY and raw[5] == _IDLE:
            if self._undone:
                self.answers = self._settled
            self._settled, self._undone = self.answers, False


_LEFTOVER: Final = NamedObject(b"S", OWN).write(messages.CLOSE)
_BIND: Final = Bind(OWN, OWN, (), (), ())
_FIELD: Final = 18  # bytes of a column's description after its name


@dataclass(frozen=True, slots=True)
class _Came:
    """Names of columns, their types by number and modifier, and the rows."""

    names: tuple[str, ...]
    types: tuple[tuple[int, int], ...]
    rows: list[tuple[bytes | None, ...]]
    size: int


def run_simple(talk: Talk, keeping: TempTables, part: TempTableQuery | TempTableDrop) -> Work:
    """In a simple query."""
    if talk.status == FAILED:
        return (yield from relay_text(talk, part.text))
    if isinstance(part, TempTableDrop):
        return (yield from _given_up(talk, keeping, part.what, messages.SYNCING))
    talk.to_twin += settings_query() + messages.SYNCING
    settings = yield from read_settings(talk)
    yield from skip_to_ready(talk)
    if settings is None:
        return True
    return (yield from _kept(talk, keeping, part, Ask(part.inner, settings), messages.SYNCING))


def execute_temp_table(
    talk: Talk, keeping: TempTables, one: Portal, part: TempTableQuery | TempTableDrop
) -> Work:
    """Over the extended protocol."""
    opening = yield from open_portal(talk, one)
    if opening is None:
        return True
    one.started = True
    if isinstance(part, TempTableDrop):
        return (yield from _given_up(talk, keeping, part.what, messages.FLUSHING))
    ask = Ask(part.inner, opening[0])
    return (yield from _kept(talk, keeping, part, ask, messages.FLUSHING))


def _kept(talk: Talk, keeping: TempTables, part: TempTableQuery, ask: Ask, end: bytes) -> Work:
    keep = part.what
    if keep.name in keeping.answers:
        return (yield from _there_already(talk, keep, end))
    if len(keeping.answers) >= MOST_ANSWERS:
        full = LimitExceeded(
            Code.TWIN_LIMIT,
            f"the session already has {MOST_ANSWERS} temporary tables",
            "drop one with DROP TABLE",
        )
        return (yield from send_refusal(talk, full, simple=end == messages.SYNCING))
    sent = Parse(OWN, part.text_of_query).write() + _BIND.write()
    if not part.plain:
        outcome = yield from await_outcome(ask)
        if isinstance(outcome, Refusal):
            return (yield from send_refusal(talk, outcome, simple=end == messages.SYNCING))
        ready = ready_to_run(talk, ask, outcome)
        sent = sent if ready is None else portal_messages(ready, OWN, ())
    came = yield from _rows(talk, sent, keeping.room(), end)
    if came is None:
        return True
    if not isinstance(came, Refusal):
        fault = _fault(keep, came)
        if fault is None:
            return (yield from _stored(talk, keeping, keep, came, end))
        came = fault
    return (yield from send_refusal(talk, came, simple=end == messages.SYNCING))


def _there_already(talk: Talk, keep: CreateTempTable, end: bytes) -> Work:
    if keep.unless_there:
        talk.to_client += _complete("CREATE TABLE AS")
        return False
    return (yield from _error(talk, "42P07", f'relation "{keep.name}" already exists', end))


def _rows(
    talk: Talk, sent: bytes, room: int, end: bytes
) -> Generator[Ask | None, Given | None, _Came | Refusal | None]:
    """The rows of a statement with their description; None after an error, which was sent to the client."""
    closing = b"".join(NamedObject(what, OWN).write(messages.CLOSE) for what in (b"P", b"S"))
    talk.to_twin += _LEFTOVER + sent + NamedObject(b"P", OWN).write(messages.DESCRIBE)
    talk.to_twin += ExecutePortal(OWN, MOST_ROWS + 1).write() + closing + end
    described, came, closed, size = b"", bytearray(), 0, 0
    while closed < 3:  # noqa: PLR2004 - the leftover, a portal and a statement
        kind, raw = yield from read_message()
        if kind == messages.ERROR:
            talk.to_client += strip_positions(raw)
            yield from _ended(talk, end)
            return None
        if kind == messages.ROW_DESCRIPTION:
            described = raw[HEADER:]
        elif kind == messages.DATA_ROW:
            size += len(raw)
            came += raw if size <= room else b""
        closed += kind == messages.CLOSE_COMPLETE
    yield from _ended(talk, end)
    if size > room:
        return LimitExceeded(
            Code.TWIN_LIMIT,
            "the result is too large for a temporary table",
            "save fewer rows, or drop other temporary tables",
        )
    rows = list(messages.read_rows(bytes(came)))
    if len(rows) > MOST_ROWS:
        return LimitExceeded(Code.TWIN_LIMIT, f"the result has more than {MOST_ROWS} rows")
    return _Came(*_columns(described), rows, size)


def _columns(described: bytes) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
    reader = messages.BodyReader(described)
    names, types = list[str](), list[tuple[int, int]]()
    for _ in range(reader.int16() if described else 0):
        names.append(reader.string().decode())
        rest = reader.take(_FIELD)
        types.append((int.from_bytes(rest[6:10]), int.from_bytes(rest[12:16], signed=True)))
    return tuple(names), tuple(types)


def _fault(keep: CreateTempTable, came: _Came) -> Refusal | None:
    names = _names(keep, came)
    if len(keep.columns) > len(came.names):
        return SyntaxRefused(Code.SQL_SYNTAX, "the statement has more column names than columns")
    if len(set(names)) < len(names):
        return SyntaxRefused(
            Code.SQL_SYNTAX,
            "two columns have the same name",
            "give each column its own name with AS",
        )
    if not names:
        return UnsupportedSql(Code.STATEMENT_UNSUPPORTED, "the result has no columns")
    return None


def _names(keep: CreateTempTable, came: _Came) -> tuple[str, ...]:
    return keep.columns + came.names[len(keep.columns) :]


def _stored(
    talk: Talk, keeping: TempTables, keep: CreateTempTable, came: _Came, end: bytes
) -> Work:
    """Store the rows as settings, and give them the name."""
    types = ", ".join(f"pg_catalog.format_type({of}, {modifier})" for of, modifier in came.types)
    talk.to_twin += run_once(Parse(OWN, f"SELECT {types}".encode()), _BIND) + end
    named = yield from read_one_row(talk)
    yield from _ended(talk, end)
    if named is None:
        return True
    columns = tuple(
        (name, (of or b"").decode()) for name, of in zip(_names(keep, came), named, strict=True)
    )
    one = TempTable(keeping.next_number(), columns, came.size)
    for place, setting in enumerate(one.settings()):
        literal = array_bytes(row[place] for row in came.rows).replace(b"'", b"''")
        talk.to_twin += run_once(Parse(OWN, b"SET %s = '%s'" % (setting.encode(), literal)), _BIND)
    talk.to_twin += end
    if (yield from read_one_row(talk, 2 * len(columns))) is None:
        yield from _ended(talk, end)
        return True
    keeping.keep(keep.name, one)
    yield from _ended(talk, end)
    talk.to_client += _complete(f"SELECT {len(came.rows)}")
    return False


def _given_up(talk: Talk, keeping: TempTables, what: DropTempTable, end: bytes) -> Work:
    there = [keeping.answers[name] for name in what.names if name in keeping.answers]
    missing = [name for name in what.names if name not in keeping.answers]
    if missing and not what.if_there:
        return (yield from _error(talk, "42P01", f'table "{missing[0]}" does not exist', end))
    settings = [setting for one in there for setting in one.settings()]
    for setting in settings:
        talk.to_twin += run_once(Parse(OWN, f"SET {setting} = ''".encode()), _BIND)
    if settings:
        talk.to_twin += end
        if (yield from read_one_row(talk, 2 * len(settings))) is None:
            yield from _ended(talk, end)
            return True
        keeping.give_up(what.names)
        yield from _ended(talk, end)
    talk.to_client += _complete("DROP TABLE")
    return False


def _error(talk: Talk, sqlstate: str, line: str, end: bytes) -> Work:
    fields = {"S": "ERROR", "V": "ERROR", "C": sqlstate, "M": line}
    error = messages.fields_message(messages.ERROR, fields)
    return (yield from fail_transaction(talk, error, simple=end == messages.SYNCING))


def _complete(tag: str) -> bytes:
    return frame_message(messages.COMMAND_COMPLETE, tag.encode() + b"\0")


def _ended(talk: Talk, end: bytes) -> Generator[Ask | None, Given | None, None]:
    if end == messages.SYNCING:
        yield from skip_to_ready(talk)
