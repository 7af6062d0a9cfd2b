"""Random conversations, had with a session over a real twin and with plain PostgreSQL, to be compared.

Questions are answered by a stub that knows the rows of plain PostgreSQL, so both have to say the same: kinds of messages
in their order, rows, tags, SQLSTATEs, and how the transaction stands.

`python -m frontends.pgwire.conversations SECONDS [SEED]` from `tests/` goes on until something differs.
"""

import os
import random
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

import psycopg
from binding.clinic import CLINIC
from fix_twin import a_twin_home, as_gateway, life_of
from frontends.pgwire.packets import message
from psycopg import pq, sql

from gateway.binding.bound import Sql
from gateway.frontends.pgwire import messages
from gateway.frontends.pgwire.classify import Statements
from gateway.frontends.pgwire.framing import Frame, Frames, Runs
from gateway.frontends.pgwire.messages import Bind, ExecutePortal, NamedObject, Parse
from gateway.frontends.pgwire.question_flow import Ask
from gateway.frontends.pgwire.session import Session
from gateway.stages.finish import DeferredSql, DeferredStatement
from gateway.twin import Twin, open_twin, visible_tables
from gateway.twin.pool import TwinLine

TABLES: Final = visible_tables(CLINIC)
ROWS: Final = {"east": 1, "north": 3, "south": 2}
_LONGEST: Final = 1 << 24
_PATIENCE_S: Final = 20
_END: Final = b"SELECT 'this was all'"
MARKS: Final = (b"asked", b"east")  # what the first row of an answer begins with
COUNT: Final = "SELECT 'asked' AS mark, count(*) AS n FROM patients"
OF_REGION: Final = "SELECT 'asked' AS mark, count(*) AS n FROM patients WHERE region = $1"
REGIONS: Final = "SELECT region, count(*) AS n FROM patients GROUP BY region ORDER BY region"
_CHATTER: Final = (
    "SELECT 1 AS one",
    "SELECT i FROM generate_series(1, 3) s(i)",
    "SELECT $1::text AS given",
    "SELECT 1/0",
    "nonsense",
    "",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
)
_QUESTIONS: Final = (COUNT, OF_REGION, REGIONS)
_QUERIES: Final = (
    *(
        one for one in _CHATTER if one != "nonsense"
    ),  # it leaves what has no name, where PostgreSQL drops it
    *(COUNT, REGIONS),
    f"SELECT 1 AS one; {COUNT}; SELECT 2 AS two",
    f"{COUNT}; SELECT 1/0; {COUNT}",
    f"SELECT 1/0; {COUNT}",
    f"BEGIN; DECLARE c CURSOR FOR {REGIONS}; FETCH 2 FROM c",
    "FETCH c",
    "CLOSE c",
    "SAVEPOINT s",
    "ROLLBACK TO s",
    "DEALLOCATE ALL",
)


def answer(ask: Ask) -> DeferredStatement:
    """What the pipeline would hand on."""
    match ask.asking.statement.query.strip():
        case text if text == COUNT:
            finishing = f"SELECT 'asked' AS mark, bigint '{sum(ROWS.values())}' AS n"
        case text if text == OF_REGION:
            (region,) = ask.values
            finishing = f"SELECT 'asked' AS mark, bigint '{ROWS.get(region or '', 0)}' AS n"
        case text if text == REGIONS:
            rows = ", ".join(f"('{name}', bigint '{count}')" for name, count in ROWS.items())
            finishing = f"SELECT * FROM (VALUES {rows}) v(region, n) ORDER BY region"
        case text:
            raise AssertionError(text)
    return DeferredStatement(DeferredSql(Sql("", finishing), {}))


def conversation(draw: random.Random) -> list[bytes]:
    """Messages of a client that knows the protocol, and does not care."""
    said = [messages.SYNCING]
    for _ in range(draw.randint(1, 25)):
        one = _any_message(draw)
        if one[0] == messages.QUERY and not said[-1].endswith(messages.SYNCING):
            said.append(messages.SYNCING)  # no driver leaves it out before a simple query
        said.append(one)
    return [*said, messages.SYNCING, messages.query(b"ROLLBACK"), messages.query(_END)]


def _any_message(draw: random.Random) -> bytes:  # noqa: PLR0911 - one for each kind
    statement, portal = draw.choice((b"", b"a", b"b")), draw.choice((b"", b"p"))
    most = draw.choice((0, 0, 1, 2))
    match draw.choices("PBDECSHQF", (5, 6, 3, 6, 1, 4, 1, 4, 4))[0]:
        case "P":
            text = draw.choice(_QUESTIONS if draw.random() < 0.5 else _CHATTER)
            return Parse(statement, text.encode()).write()
        case "B":
            return _any_bind(draw, portal, statement)
        case "D":
            what = draw.choice(((b"S", statement), (b"P", portal)))
            return NamedObject(*what).write(messages.DESCRIBE)
        case "E":
            return ExecutePortal(portal, most).write()
        case "C":
            what = draw.choice(((b"S", statement), (b"P", portal)))
            return NamedObject(*what).write(messages.CLOSE)
        case "S":
            return messages.SYNCING
        case "H":
            return messages.FLUSHING
        case "Q":
            return messages.query(draw.choice(_QUERIES).encode())
    # a whole statement as drivers send it
    text = draw.choice((*_QUESTIONS, *_CHATTER[:3]))
    values = (b"north",) if "$1" in text else ()
    bind = Bind(portal, statement, (), values, draw.choice(((), (0,), (1,), (0, 1))))
    parts = [Parse(statement, text.encode()).write(), bind.write()]
    parts += [
        NamedObject(b"P", portal).write(messages.DESCRIBE),
        ExecutePortal(portal, most).write(),
    ]
    return b"".join([*parts, *([messages.SYNCING] if draw.random() < 0.7 else [])])


def _any_bind(draw: random.Random, portal: bytes, statement: bytes) -> bytes:
    values = draw.choice(((), (), (b"north",), (None,)))
    formats = draw.choice(((), (0,), (1,)))
    return Bind(portal, statement, (), values, formats).write()


# the two sides


@dataclass
class Gatewayed:
    """A session over a line to the twin, without a client's socket: what it hears and says goes by hand."""

    session: Session
    line: TwinLine
    draw: random.Random
    asked: int = 0
    said: bytearray = field(default_factory=bytearray)
    _runs: Runs = field(default_factory=lambda: Runs(_LONGEST))

    def converse(self, given: list[bytes]) -> bytes:
        self.said.clear()
        frames = Frames(_LONGEST)
        for part in given:
            for frame in frames.feed(part):
                self._hear(frame)
        while not _ended(self.said):
            self._go_on(_PATIENCE_S)
        if self.session.at_work or self.session.behind:
            raise AssertionError("something is still owed")
        return bytes(self.said)

    def _hear(self, frame: Frame) -> None:
        self.session.from_client(frame)
        while self.draw.random() < 0.3 and self._go_on(0.002):
            pass

    def _go_on(self, patience_s: float) -> bool:
        """One answer of the pipeline's, or what the twin says next."""
        talk = self.session.talk
        self.line.socket.settimeout(_PATIENCE_S)
        self.line.socket.sendall(talk.to_twin)
        talk.to_twin.clear()
        wanted = self.session.wanted
        if wanted is not None:
            self.asked += 1
            self.session.answered(answer(wanted))
            moved = True
        else:
            moved = self._hear_twin(patience_s)
        self.said += talk.to_client
        talk.to_client.clear()
        return moved

    def _hear_twin(self, patience_s: float) -> bool:
        self.line.socket.settimeout(patience_s)
        try:
            came = self.line.socket.recv(self.draw.choice((7, 100, 65_536)))
        except TimeoutError:
            if patience_s == _PATIENCE_S:
                raise
            return False
        if not came:
            raise ConnectionError("the twin hung up")
        for kind, raw in self._runs.feed(came):
            self.session.from_twin(kind, raw)
        return True


@dataclass
class Plain:
    line: socket.socket

    def converse(self, given: list[bytes]) -> bytes:
        self.line.settimeout(_PATIENCE_S)
        self.line.sendall(b"".join(given))
        said = bytearray()
        while not _ended(said):
            came = self.line.recv(65_536)
            if not came:
                raise ConnectionError("the server hung up")
            said += came
        return bytes(said)


_LAST: Final = message("C", b"SELECT 1\0") + message("Z", b"I")


def _ended(said: bytes | bytearray) -> bool:
    """Whether the last statement was answered."""
    return said.endswith(_LAST) and b"this was all" in said[-len(_LAST) - 30 :]


Shown = tuple[str, object]


def shown(said: bytes) -> list[Shown]:
    """What both sides have to say alike."""
    found, status = list[Shown](), b"I"
    for kind, body in _told(said):
        match kind:
            case _ if status == b"E" and kind not in "CDZ":
                pass  # in a failed transaction the order of checks decides what else is said to be wrong
            case "E":
                found.append((kind, messages.read_fields(body)["C"]))
            case "Z":
                status = body
                found.append((kind, body))
            case "T":
                found.append((kind, tuple(_columns(body))))
            case "N" | "S":
                pass  # warnings of a transaction that is or is not open are texts
            case _:
                found.append((kind, body))
    return found


def _told(said: bytes) -> Iterator[tuple[str, bytes]]:
    for frame in Frames(_LONGEST).feed(said):
        yield chr(frame.kind), frame.body


def _columns(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Name, and type with format; where a column comes from is another thing on each side."""
    reader = messages.BodyReader(body)
    for _ in range(reader.int16()):
        name = reader.string()
        reader.take(6)
        yield name, reader.take(12)


def marked(said: list[Shown]) -> int:
    """How many answers to questions begin there."""
    rows = [
        messages.read_row(body) for kind, body in said if kind == "D" and isinstance(body, bytes)
    ]
    return sum(row[0] in MARKS for row in rows if row)


Made = Callable[[Statements], Session]


def a_session(statements: Statements) -> Session:
    return Session(statements, {})


@contextmanager
def gatewayed(twin: Twin, draw: random.Random, make: Made = a_session) -> Iterator[Gatewayed]:
    line = twin.line("alice", TABLES, {})
    try:
        yield Gatewayed(make(Statements(CLINIC)), line, draw)
    finally:
        line.close()


@contextmanager
def a_plain_database(twin: Twin) -> Iterator[str]:
    """The tables with rows in them, on the same server, for its superuser."""
    name = f"plain_{os.urandom(6).hex()}"
    with as_gateway(twin) as gateway:
        gateway.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name))
        )
        with as_gateway(twin, name) as inside:
            inside.execute("CREATE TABLE public.patients (patient_id bigint, region text)")
            for region, count in ROWS.items():
                inside.execute(
                    "INSERT INTO public.patients SELECT i, %s FROM generate_series(1, %s) s(i)",
                    (region, count),
                )
        yield name
        gateway.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def plain(twin: Twin, database: str) -> Iterator[Plain]:
    server = life_of(twin).server
    conninfo = psycopg.conninfo.make_conninfo(
        host=str(server.address.socket_dir),
        port=server.address.port,
        user=server.superuser,
        password=server.password.get_secret_value(),
        dbname=database,
    )
    connection = pq.PGconn.connect(conninfo.encode())
    assert connection.status == pq.ConnStatus.OK
    try:
        with socket.socket(fileno=os.dup(connection.socket)) as line:
            line.setblocking(True)
            yield Plain(line)
    finally:
        connection.finish()


_TAKEN: Final = ("E", "42P03")


class Differs(AssertionError):
    """The two sides said different things."""


def compare(twin: Twin, database: str, seed: int, many: int = 8, make: Made = a_session) -> int:
    """Conversations one after the other on one connection of each side; how many questions were asked."""
    draw, own = random.Random(seed), random.Random(-seed)  # noqa: S311 - to be repeated
    with gatewayed(twin, own, make) as ours, plain(twin, database) as theirs:
        for number in range(many):
            given, before = conversation(draw), ours.asked
            wanted = shown(theirs.converse(given))
            try:
                got = shown(ours.converse(given))
            except Exception as error:
                raise Differs(_report(seed, number, given, wanted, bytes(ours.said))) from error
            asked, answered = ours.asked - before, marked(wanted)
            # a DECLARE of a name that is taken is asked before PostgreSQL says so
            if got != wanted or not answered <= asked <= answered + wanted.count(_TAKEN):
                raise Differs(_report(seed, number, given, wanted, bytes(ours.said)))
        return ours.asked


def _report(seed: int, number: int, given: list[bytes], wanted: list[Shown], said: bytes) -> str:
    with suppress(Exception):
        got = shown(said)
        lines = [f"seed {seed}, conversation {number}", *map(str, given), "PostgreSQL:"]
        return "\n".join([*lines, *map(str, wanted), "here:", *map(str, got)])
    return f"seed {seed}, conversation {number}: {said!r}"


def main() -> None:
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**9)
    with a_twin_home() as home, open_twin(home) as twin, a_plain_database(twin) as database:
        until, done, asked = time.monotonic() + seconds, 0, 0
        while time.monotonic() < until:
            asked += compare(twin, database, seed + done)
            done += 1
    print(f"{8 * done} conversations, {asked} questions, seeds from {seed}")  # noqa: T201 - it is a program


if __name__ == "__main__":
    main()
