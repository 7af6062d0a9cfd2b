"""An analyst's session on the twin: fixed settings, a role of its own, a time limit, and typed descriptions.

A session has one exchange with the twin at a time. It may switch PostgreSQL's own time limit off, so the gateway
keeps the limit: when it is over, the statement is cancelled, and when that does not help, the session is ended.

INVARIANT: everything goes through the extended protocol, one statement at a time; PostgreSQL itself refuses
several. `describe` parses and never plans or runs. A connection that `released` returns has no trace of its use.
INVARIANT: a statement runs without being parsed again only if it has parameters and ran last, without an error. Then
PostgreSQL's unnamed statement is this one: nothing else of this session could have replaced it, and PostgreSQL plans it
anew when the search path or an object that it names has changed.
INVARIANT: reading the answers ends within the limit and the two grace periods. A connection whose answers were not
read to the end is closed, because the next query would receive them.
"""

import secrets
import select
import time
from collections.abc import Callable, Collection, Generator, Iterator, MutableMapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import repeat
from typing import Final, Self, TypeAlias

from psycopg import OperationalError
from psycopg.pq import ConnStatus, ExecStatus, PollingStatus, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult

from gateway.binding.text.search_path import search_path_text
from gateway.columnar.texts import Packing, TextRows, array_text
from gateway.events import Crashed, Emit, ignore_event
from gateway.twin.errors import CANCELLED, GONE, TwinRefused, session_gone, twin_refusal
from gateway.twin.pool import TwinConnection

_GRACE_S = 2.0
_WANTED = {PollingStatus.READING: select.POLLIN, PollingStatus.WRITING: select.POLLOUT}
_ERRORS = frozenset({ExecStatus.FATAL_ERROR, ExecStatus.BAD_RESPONSE})


def read_results(
    pgconn: PGconn, *, limit_s: float, end: Callable[[], None], until_sync: bool = False
) -> Generator[PGresult, None, None]:
    """The results of what was sent; an error of the twin is raised after all have arrived.

    `end` ends the session from outside, if a cancel has no effect.
    """
    clock = _Clock(pgconn, end, limit_s)
    problem: TwinRefused | None = session_gone()  # until all results have arrived
    try:
        problem = yield from _until_complete(pgconn, clock, until_sync=until_sync)
    except OperationalError:
        pass  # the connection broke; this is also the effect of ending the session
    finally:
        if problem is not None and problem.sqlstate == GONE:
            pgconn.finish()
    if problem is not None:
        raise clock.overdue() if clock.over else problem


def _until_complete(
    pgconn: PGconn, clock: "_Clock", *, until_sync: bool
) -> Generator[PGresult, None, TwinRefused | None]:
    _flush(pgconn, clock)
    problem: TwinRefused | None = None
    while pgconn.status == ConnStatus.OK:
        result = _next(pgconn, clock)
        if result is None or result.status == ExecStatus.PIPELINE_SYNC:
            if result is not None or not until_sync:
                return problem
        elif result.status in _ERRORS:
            problem = problem or twin_refusal(result)
        elif problem is None:
            yield result
    return session_gone()


def _flush(pgconn: PGconn, clock: "_Clock") -> None:
    while pgconn.flush():
        clock.wait(select.POLLIN | select.POLLOUT)
        pgconn.consume_input()


def _next(pgconn: PGconn, clock: "_Clock") -> PGresult | None:
    while pgconn.is_busy():
        clock.wait(select.POLLIN)
        pgconn.consume_input()
    return pgconn.get_result()


class _Clock:
    """Starts when it is made; cancels, then ends the session, then gives up."""

    def __init__(self, pgconn: PGconn, end: Callable[[], None], limit_s: float) -> None:
        self._pgconn = pgconn
        self._measures = [self._cancel, end]
        self._limit_s = limit_s
        self._deadline = time.monotonic() + limit_s
        self.over = False

    def wait(self, events: int) -> None:
        """Wait until the socket is ready; the time limit also applies to a socket that is always ready."""
        poll = select.poll()
        poll.register(self._pgconn.socket, events)
        while (left_s := self._deadline - time.monotonic()) <= 0 or not poll.poll(left_s * 1000):
            self.over = True
            if not self._measures:
                raise self.overdue()
            self._measures.pop(0)()
            self._deadline = time.monotonic() + _GRACE_S

    def overdue(self) -> TwinRefused:
        return TwinRefused(CANCELLED, f"the statement took longer than {self._limit_s:g} s")

    def _cancel(self) -> None:
        """Ask the server to cancel, without waiting for a server that does not answer."""
        deadline = time.monotonic() + _GRACE_S
        cancel = self._pgconn.cancel_conn()
        with suppress(OperationalError), ExitStack() as done:
            done.callback(cancel.finish)
            cancel.start()
            while (wanted := PollingStatus(cancel.poll())) in _WANTED:
                poll = select.poll()
                poll.register(cancel.socket, _WANTED[wanted])
                if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                    return


@dataclass(frozen=True)
class DescribedParameter:
    """A parameter; `type_name` is `format_type(type_oid, -1)`."""

    type_oid: int
    type_name: str


@dataclass(frozen=True)
class DescribedColumn:
    """A column of the result; `type_name` is `format_type(type_oid, type_modifier)`."""

    name: str
    type_oid: int
    type_modifier: int
    type_name: str


@dataclass(frozen=True)
class StatementDescription:
    """The types of the parameters and the columns; a statement without a result has no columns."""

    parameters: tuple[DescribedParameter, ...]
    columns: tuple[DescribedColumn, ...]


TypeNames: TypeAlias = MutableMapping[tuple[int, int], str]

_SEARCH: Final = "SELECT pg_catalog.set_config('search_path', $1, false)"
_NAMES_OF_TYPES: Final = (
    "SELECT pg_catalog.format_type(o, m) FROM ROWS FROM (pg_catalog.unnest($1::oid[]), "
    "pg_catalog.unnest($2::int4[])) WITH ORDINALITY AS t(o, m, n) ORDER BY n"
)
_NO_MODIFIER = -1
_FIRST_OWN_OID = 16_384  # types below are PostgreSQL's own, the same in every database
# few, because the length of a row is known only when it has arrived
_ROWS_AT_ONCE = 64
_LARGEST_RESULT = 128 << 20
_RESET_S = 5.0
_NAME_NO_SETTING = frozenset(
    {b"SELECT", b"SHOW", b"BEGIN", b"COMMIT", b"ROLLBACK", b"PREPARE", b"DEALLOCATE"}
    | {b"DECLARE", b"FETCH", b"MOVE", b"CLOSE"}
)
_COPIES = frozenset({ExecStatus.COPY_OUT, ExecStatus.COPY_IN, ExecStatus.COPY_BOTH})


class TwinSession:
    """One connection; not thread-safe."""

    def __init__(
        self,
        entered: TwinConnection,
        limit_s: float,
        type_names: TypeNames,
        emit: Emit = ignore_event,
    ) -> None:
        self._entered = entered
        self._pgconn = entered.connection
        self._end = entered.end
        self._limit_s = limit_s
        self._type_names = type_names
        self._emit = emit
        self._named_a_setting = False
        self._released = False
        self._parsed: bytes | None = None  # the text of the unnamed statement, if it is known
        self._pgconn.nonblocking = 1

    def describe(self, statement: str, parameter_types: Sequence[int] = ()) -> StatementDescription:
        """The types of a statement's parameters and columns; for a type of 0, PostgreSQL infers it."""
        text = _encoded(statement)
        with self._usable() as connection:
            self._parsed = None
            connection.enter_pipeline_mode()
            connection.send_prepare(b"", text, parameter_types or None)
            connection.send_describe_prepared(b"")
            connection.pipeline_sync()
            try:
                _, said = read_results(
                    connection, limit_s=self._limit_s, end=self._end, until_sync=True
                )
            finally:
                if connection.status == ConnStatus.OK:
                    connection.exit_pipeline_mode()
        return self._described(said)

    def search(self, schemas: Sequence[str]) -> None:
        """Look names without a schema up in these schemas, until the session is released."""
        self.run(_SEARCH, [search_path_text(schemas)])

    def run(
        self, statement: str, parameters: Sequence[str | None] = (), most_rows: int = 100_000
    ) -> TextRows:
        """The rows of one statement, as text."""
        text = _encoded(statement)
        values = [None if one is None else _encoded(one) for one in parameters]
        rows = Packing()
        with self._usable() as connection, self._noted(text) as note, _in_utf8():
            if values and text == self._parsed:
                connection.send_query_prepared(b"", values)
            else:
                connection.send_query_params(text, values)
            self._parsed = None
            del values  # libpq has its own copy
            connection.set_chunked_rows_mode(_ROWS_AT_ONCE)
            with closing(read_results(connection, limit_s=self._limit_s, end=self._end)) as parts:
                for part in parts:
                    if part.status in _COPIES:
                        raise TwinRefused("0A000", "COPY is not supported here")
                    note(part)
                    _pack(part, rows)
                    if rows.many > most_rows:
                        raise TwinRefused("54000", f"the result has more than {most_rows} rows")
                    if rows.size > _LARGEST_RESULT:
                        most = f"{_LARGEST_RESULT >> 20} MB"
                        raise TwinRefused("54000", f"the result has more than {most} of text")
            self._parsed = text
            return rows.packed()

    def close(self) -> None:
        """End the session; a second call does nothing."""
        if not self._released:
            self._pgconn.finish()

    def released(self) -> TwinConnection | None:
        """Reset the connection for its next use and return it; None if that is impossible, and the connection
        is ended.
        """
        self._limit_s = _RESET_S
        try:
            clean = self._reset()
        except TwinRefused:
            clean = False
        if not clean:
            self.close()
            return None
        self._released = True
        return self._entered

    def _reset(self) -> bool:
        """Undo everything that was done here; False if that is impossible."""
        state = self._pgconn.transaction_status
        if self._named_a_setting or state in {TransactionStatus.ACTIVE, TransactionStatus.UNKNOWN}:
            return False
        if state != TransactionStatus.IDLE:
            self.run("ROLLBACK")
        # DISCARD ALL does not reset the random numbers, which `setseed` could have fixed
        seed = str(secrets.randbits(52) / 2**52).encode()
        self._run_both(b"DISCARD ALL", b"SELECT pg_catalog.setseed($1)", [seed])
        return True

    def _run_both(self, first: bytes, second: bytes, values: Sequence[bytes]) -> None:
        """Run two statements, each a transaction of its own, in one round trip; the second has values."""
        with self._usable() as connection:
            self._parsed = None
            connection.enter_pipeline_mode()
            for text, given in ((first, []), (second, values)):
                connection.send_query_params(text, given)
                connection.pipeline_sync()
            for _ in range(2):
                for _ in read_results(
                    connection, limit_s=self._limit_s, end=self._end, until_sync=True
                ):
                    pass  # their command tags say whether they worked
            connection.exit_pipeline_mode()

    @contextmanager
    def _noted(self, text: bytes) -> Iterator[Callable[[PGresult], None]]:
        """Notice a command that may have named a new setting, which PostgreSQL never forgets.

        Such a name has a dot or is quoted, and SET is not the only command with such names. So every statement
        with one of these signs counts as one, unless its command tag shows that it names no setting.
        """
        named = any(sign in text for sign in (b".", b'"'))

        def note(result: PGresult) -> None:
            nonlocal named
            named = named and (result.command_status or b"").split(b" ")[0] not in _NAME_NO_SETTING

        try:
            yield note
        finally:
            self._named_a_setting |= named

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _usable(self) -> Iterator[PGconn]:
        if self._released:
            raise session_gone()
        try:
            yield self._pgconn
        except TwinRefused as refused:
            if refused.incident:
                problem = f"the twin answered with SQLSTATE `{refused.unexpected}`"
                self._emit(Crashed(refused.incident, problem))
            raise
        except OperationalError as error:
            self.close()
            raise session_gone() from error

    def _described(self, said: PGresult) -> StatementDescription:
        columns = [
            (_decoded(said.fname(place) or b""), said.ftype(place), said.fmod(place))
            for place in range(said.nfields)
        ]
        parameters = [said.param_type(place) for place in range(said.nparams)]
        names = self._names_of(
            [
                *((oid, modifier) for _, oid, modifier in columns),
                *((oid, _NO_MODIFIER) for oid in parameters),
            ]
        )
        return StatementDescription(
            tuple(DescribedParameter(oid, names[oid, _NO_MODIFIER]) for oid in parameters),
            tuple(
                DescribedColumn(name, oid, modifier, names[oid, modifier])
                for name, oid, modifier in columns
            ),
        )

    def _names_of(self, types: Collection[tuple[int, int]]) -> TypeNames:
        known = {one: self._type_names[one] for one in types if one in self._type_names}
        if missing := sorted({one for one in types if one not in known}):
            oids, modifiers = zip(*missing, strict=True)
            rows = self.run(
                _NAMES_OF_TYPES, [array_text(map(str, oids)), array_text(map(str, modifiers))]
            )
            for one, (name,) in zip(missing, rows, strict=True):
                known[one] = name or "???"
                if one[0] < _FIRST_OWN_OID:
                    self._type_names[one] = known[one]
        return known


def _pack(part: PGresult, rows: Packing) -> None:
    """Pack the rows column by column, which takes half the time for thousands of rows."""
    many, get = range(part.ntuples), part.get_value
    rows.add([list(map(get, many, repeat(place))) for place in range(part.nfields)], part.ntuples)


@contextmanager
def _in_utf8() -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError:  # the session changed its own encoding
        raise TwinRefused("22021", "the result is not in UTF-8") from None


def _encoded(text: str) -> bytes:
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        raise TwinRefused("22021", "the text is not valid Unicode") from None
    if b"\0" in encoded:
        raise TwinRefused("22021", "a character of code zero is not allowed")
    return encoded


def _decoded(text: bytes) -> str:
    with _in_utf8():
        return text.decode()
