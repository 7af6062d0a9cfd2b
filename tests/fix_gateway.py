"""Gateways with a past: a trail of many kinds of records, and what it takes to tamper with it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import httpx
import pytest
from charges import charge_question, record_outcome
from fastapi import FastAPI
from fix_ledger import declare_account, declare_ledger
from fix_state import AUDIT_SECRET, StateServer, settings_on
from psycopg import sql
from pydantic import SecretStr
from sqlalchemy import Connection, Engine, create_engine, text
from warm_python import forks

from gateway.admin.actions import grant
from gateway.admin.instance import Foundation, open_foundation
from gateway.admin.key_actions import create_key, login_failure_recorder, revoke_key
from gateway.admin.restore import RestoreResult, restore
from gateway.app import gateway_api
from gateway.auth.key_store import KeyOrder, LoginFailed
from gateway.auth.keys import ApiKey
from gateway.budget.account import Account, Currency, Every, Ledger, Limits, RateLimit
from gateway.budget.charge import ChargedMeasurement, ChargeRequest, Idempotency
from gateway.cli import main
from gateway.config import Settings
from gateway.errors import BudgetExhausted, Code
from gateway.events import Event
from gateway.frontends.rest.app import create_app
from gateway.stages.suspension import EVERYWHERE, SourceStop, count, resume
from gateway.state.anchor import AnchorContent
from gateway.state.backup import write_backup
from gateway.state.journal import Journal
from gateway.state.open import OWNER, State, StateUrls, open_state
from gateway.telemetry.metrics import Metrics, log_and_count
from gateway.trail.chain import ChainKey
from gateway.trail.record import AskedQuestion, QuestionRecord, RecordKind, Trail
from gateway.trail.search import all_records
from gateway.trail.verify import Verdict, verify
from gateway.units import Delta, Epsilon

KEY = ChainKey(AUDIT_SECRET)
NASTY = 'SELECT \'\x1b[2J\n\r\u2028\u202e\x00\x7f\x85\ud800\', "seq": 1}\n{"seq": 2'
CLINIC, LABS = "dataset:clinic", "dataset:labs"
ALICE, BOB, TEAM = "analyst:alice@clinic", "analyst:bob@clinic", "team:oncology@clinic"
CHEMIST = "analyst:chemist@labs"
CLINIC_LEDGER = Ledger(CLINIC, f"postgresql://source/{CLINIC}", "patient", Currency.PURE)
LABS_LEDGER = Ledger(LABS, f"postgresql://source/{LABS}", "patient", Currency.ZCDP)


def limits(epsilon: str, delta: str = "1e-6", window: RateLimit | None = None) -> Limits:
    return Limits(Epsilon.parse(epsilon), Delta.parse(delta), window)


@dataclass
class Clerk:
    """Does what a gateway does all day, through its own stages."""

    journal: Journal
    trail: Trail
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    asked: int = 0

    def open_books(self) -> None:
        """Two ledgers, one in each currency, with teams and analysts below them."""
        for ledger in (CLINIC_LEDGER, LABS_LEDGER):
            declare_ledger(self.journal, self.trail, ledger, limits("10"), self.now)
        month = RateLimit(Every.MONTH, Epsilon.parse("1.5"))
        for account in (
            Account(TEAM, CLINIC_LEDGER, CLINIC, limits("4")),
            Account(ALICE, CLINIC_LEDGER, TEAM, limits("2", window=month)),
            Account(BOB, CLINIC_LEDGER, CLINIC, limits("0.3")),
            Account(CHEMIST, LABS_LEDGER, LABS, limits("3")),
        ):
            self.declare(account)

    def declare(self, account: Account) -> None:
        declare_account(self.journal, self.trail, account, self.now)

    def ask(
        self,
        account: str = ALICE,
        price: str = "0.05",
        *,
        delta: str = "0",
        sql: str = "SELECT count(*) FROM patients",
        once: Idempotency | None = None,
    ) -> str:
        """Charge one question; its id."""
        self.asked += 1
        subject = account.partition(":")[2].partition("@")[0]
        measurement = ChargedMeasurement("count", "laplace", Fraction(1), Delta.parse(delta))
        request = ChargeRequest(
            f"q-{self.asked:04}", subject, account, Epsilon.parse(price), (measurement,), once
        )
        question = self.question(request.query_id, subject, sql)
        charge_question(self.journal, self.trail, question, request, self.now)
        return request.query_id

    def question(self, query_id: str, subject: str, sql: str) -> AskedQuestion:
        return AskedQuestion(
            query_id, subject, "clinic", sql, "rest", "203.0.113.9", "care-quality"
        )

    def answer(self, query_id: str, subject: str = "alice", sql: str = "SELECT 1") -> None:
        record = QuestionRecord(
            RecordKind.ANSWERED, self.question(query_id, subject, sql), duration_us=1_234
        )
        record_outcome(self.journal, self.trail, record)

    def refuse(self, account: str = BOB) -> None:
        with pytest.raises(BudgetExhausted):
            self.ask(account, "0.9", sql=NASTY)

    def turn_away(self, claimed: str | None = None) -> None:
        record = login_failure_recorder(self.journal, self.trail)
        record(LoginFailed("rest", "198.51.100.7", claimed, Code.BAD_CREDENTIALS))

    def key(self, subject: str = "alice", *, days: int | None = None) -> KeyOrder:
        expires = None if days is None else self.now + timedelta(days=days)
        order = KeyOrder(subject, "os:op", self.now, expires)
        create_key(self.journal, self.trail, order, lambda _: True)
        return order

    def revoke(self, key_id: str) -> None:
        revoke_key(self.journal, self.trail, key_id, actor="os:op", now=self.now)

    def limit(self, account: str, new: Limits) -> None:
        grant(self.journal, self.trail, account, new, actor="dave", now=self.now)

    def live(self) -> None:
        """About forty records of every kind."""
        self.open_books()
        keys = [self.key(name, days=30) for name in ("alice", "bob", "chemist")]
        self.key("alice")
        for round_ in range(4):
            self.answer(self.ask(ALICE, "0.1", sql=f"SELECT {round_}"))
            self.ask(CHEMIST, "0.2", delta="1e-8")
            self.ask(BOB, "0.05", once=Idempotency(f"once-{round_}", "digest"))
            self.turn_away(keys[0].key.id)
        self.refuse()
        self.revoke(keys[1].key.id)
        self.limit(ALICE, limits("1.8"))
        self.limit(BOB, limits("0.25"))
        self.ask(ALICE, "0.01", sql=NASTY)
        self.turn_away()
        self.refuse()
        self.turn_away("last")

    def stop(self, query_id: str, subject: str = "alice", most: int = 1) -> bool:
        """A question whose source computed until it was stopped; whether its subject is suspended by that."""
        asked = self.question(query_id, subject, "SELECT 'stopped'")
        record = QuestionRecord(RecordKind.FAILED, asked, code=Code.SOURCE_TIMEOUT, counted=True)
        stop = SourceStop(subject, asked.dataset, query_id, most)
        return record_outcome(
            self.journal,
            self.trail,
            record,
            counted=lambda draft: count(draft, self.trail, stop, self.now),
        )

    def resume(self, subject: str = "alice", dataset: str = EVERYWHERE) -> tuple[str, ...]:
        return self.journal.commit(
            lambda draft: resume(draft, self.trail, subject, dataset, actor="dave", now=self.now)
        )


def clerk_on(state: State, trail: Trail) -> Clerk:
    return Clerk(state.journal, trail)


@dataclass(frozen=True)
class Past:
    """A state that nobody works on any more, reached as a superuser who may change anything."""

    urls: StateUrls
    settings: Settings
    superuser: Engine
    anchored: AnchorContent

    @property
    def last(self) -> int:
        return self.anchored.position.seq

    @contextmanager
    def tampering(self) -> Iterator["Tamperer"]:
        """A transaction without triggers and foreign keys, forgotten afterwards."""
        with self.superuser.connect() as connection, connection.begin() as transaction:
            connection.execute(text("SET LOCAL session_replication_role = replica"))
            yield Tamperer(connection, self.anchored)
            transaction.rollback()


@dataclass(frozen=True)
class Tamperer:
    """Somebody with every right in the database, and without the audit key."""

    connection: Connection
    anchored: AnchorContent

    def run(self, statement: str, **values: object) -> int:
        return self.connection.execute(text(statement), values).rowcount

    def value(self, query: str, **values: object) -> object:
        return self.connection.execute(text(query), values).scalar_one()

    def rows(self, query: str, **values: object) -> list[Mapping[str, object]]:
        found = self.connection.execute(text(query), values)
        return [dict(row) for row in found.mappings()]

    def verdict(self, *, anchor: bool = True, key: ChainKey = KEY) -> Verdict:
        return verify(self.connection, key, self.anchored if anchor else None)


def superuser_engine(server: StateServer, database: str) -> Engine:
    lease = server.lease
    return create_engine(
        lease.address.url(
            user=lease.superuser, password=lease.superuser_password, database=database
        ),
        connect_args={"options": "-c timezone=UTC"},
    )


@pytest.fixture(scope="session")
def past(state_server: StateServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Past]:
    home = tmp_path_factory.mktemp("past")
    with state_server.database() as urls:
        settings = settings_on(urls, home)
        with open_state(settings, AUDIT_SECRET) as state:
            clerk = clerk_on(state, Trail(KEY))
            clerk.live()
            clerk.stop(clerk.ask(ALICE, "0.01", sql="SELECT 'stopped'"))
            clerk.resume()
            clerk.turn_away("very last")
            anchored = state.anchor.read()
        assert anchored is not None
        superuser = superuser_engine(state_server, str(urls.application.database))
        yield Past(urls, settings, superuser, anchored)
        superuser.dispose()


@pytest.fixture
def tamperer(past: Past) -> Iterator[Tamperer]:
    with past.tampering() as tamperer:
        yield tamperer


@pytest.fixture
def clerk(state: State, trail: Trail) -> Clerk:
    """Somebody at work on a fresh state."""
    return clerk_on(state, trail)


@dataclass
class Installation:
    """A home whose state can be lost, and brought back in one way or another."""

    server: StateServer
    home: Path
    databases: ExitStack
    urls: StateUrls
    clerk_says: datetime = field(default_factory=lambda: datetime.now(UTC))
    asked: int = 0

    @property
    def settings(self) -> Settings:
        return settings_on(self.urls, self.home, audit_key=SecretStr(AUDIT_SECRET.decode()))

    @contextmanager
    def open(self) -> Iterator[Clerk]:
        """A gateway that works on the state until this ends."""
        with open_foundation(self.settings) as foundation:
            clerk = Clerk(foundation.journal, foundation.trail, self.clerk_says, self.asked)
            yield clerk
            self.asked = clerk.asked

    def lose(self, *, migrated: bool = False) -> None:
        """The database is gone; there is an empty one in its place."""
        self.urls = self.databases.enter_context(self.server.database(migrated=migrated))

    def copy(self) -> StateUrls:
        """A copy of the database as it is, as another tool than the gateway would make it."""
        urls = self.databases.enter_context(self.server.database(migrated=False))
        for each in (self.urls, urls):
            self._disconnect(str(each.application.database))
        with self.server.superuser() as connection:
            new, old = (
                sql.Identifier(str(each.application.database)) for each in (urls, self.urls)
            )
            connection.execute(sql.SQL("DROP DATABASE {}").format(new))
            connection.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER {}").format(
                    new, old, sql.Identifier(OWNER)
                )
            )
        return urls

    def backup(self, name: str = "backup") -> Path:
        path = self.home / name
        with open_foundation(self.settings) as foundation:
            write_backup(foundation.engine, path, AUDIT_SECRET, self.clerk_says)
        return path

    def restore(self, file: Path | None = None, *, replace: bool = False) -> RestoreResult:
        return restore(
            self.settings, KEY, file, replace=replace, actor="os:op", now=self.clerk_says
        )

    def rows(self, query: str, **values: object) -> list[tuple[object, ...]]:
        with self._superuser() as connection:
            return [tuple(row) for row in connection.execute(text(query), values)]

    def change(self, statement: str, **values: object) -> None:
        """What somebody with every right in the database can do to it."""
        with self._superuser() as connection:
            connection.execute(text("SET LOCAL session_replication_role = replica"))
            connection.execute(text(statement), values)

    @contextmanager
    def _superuser(self) -> Iterator[Connection]:
        engine = superuser_engine(self.server, str(self.urls.application.database))
        try:
            with engine.begin() as connection:
                yield connection
        finally:
            engine.dispose()

    def spent(self) -> dict[object, tuple[object, ...]]:
        """What each account gave, as the last of its entries says."""
        rows = self.rows(
            "SELECT DISTINCT ON (account) account, spent_after, delta_after FROM ledger_entries"
            " ORDER BY account, ordinal DESC"
        )
        return {account: tuple(balance) for account, *balance in rows}

    def limits(self) -> dict[object, tuple[object, ...]]:
        """What each account may give now."""
        rows = self.rows(
            "SELECT DISTINCT ON (account) account, epsilon, delta, window_every, window_epsilon"
            " FROM account_limits ORDER BY account, ordinal DESC"
        )
        return {account: tuple(limits) for account, *limits in rows}

    def verdict(self) -> Verdict:
        with open_foundation(self.settings) as foundation:
            return foundation.verify_trail()

    def _disconnect(self, database: str) -> None:
        with self.server.superuser() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                (database,),
            )


@contextmanager
def new_installation(server: StateServer, home: Path) -> Iterator[Installation]:
    """An installation on a fresh, migrated state."""
    with ExitStack() as databases:
        urls = databases.enter_context(server.database())
        yield Installation(server, home, databases, urls)


@pytest.fixture
def installation(state_server: StateServer, tmp_path: Path) -> Iterator[Installation]:
    with new_installation(state_server, tmp_path) as installation:
        yield installation


POLICY_SUBJECTS = """\
alice: {role: researcher, team: oncology, purposes: [care-quality]}
bob: {role: researcher}
chemist: {role: researcher}
carol: {role: auditor}
dave: {role: admin}
eve: {}
"""


def environment(installation: Installation, **more: str) -> dict[str, str]:
    """What a gateway on the state of this installation finds in its environment, and nothing of ours."""
    policies = installation.home / "policies"
    policies.mkdir(exist_ok=True)
    (policies / "subjects.yaml").write_text(POLICY_SUBJECTS)
    owner = installation.urls.owner
    given = {
        "GATEWAY_HOME": str(installation.home),
        "GATEWAY_POLICIES": str(policies),
        "GATEWAY_STATE_URL": installation.urls.application.render_as_string(hide_password=False),
        "GATEWAY_STATE_OWNER_URL": "" if owner is None else owner.render_as_string(False),
        "GATEWAY_AUDIT_KEY": AUDIT_SECRET.decode(),
    }
    return {**no_gateway(), **given, **more}


def no_gateway() -> dict[str, str]:
    """Our environment without any setting of a gateway."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GATEWAY_")}


@dataclass(frozen=True)
class Done:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401  # whatever was printed
        return json.loads(self.out)


def gateway(
    *arguments: str, env: Mapping[str, str], cwd: Path | None = None, timeout: float = 60
) -> Done:
    """Run one command in a process of its own."""
    with forks():
        done = subprocess.run(
            [sys.executable, "-m", "gateway", *arguments],
            env=dict(env),
            cwd=cwd or "/",
            capture_output=True,
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@dataclass
class Serving:
    """A `gateway serve` in a process of its own."""

    process: subprocess.Popen[str]
    log: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def begin(cls, *options: str, env: Mapping[str, str]) -> Self:
        with forks():
            process = subprocess.Popen(
                [sys.executable, "-m", "gateway", "serve", *options],
                env={
                    "GATEWAY_REST_PORT": "0",
                    "GATEWAY_PG_PORT": "0",
                    **env,
                    "GATEWAY_LOG_FORMAT": "json",
                },
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
        return cls(process)

    def url(self) -> str:
        """Where it listens, once it does."""
        return str(self.wait_for("gateway.started")["rest"])

    def wait_for(self, event: str) -> dict[str, Any]:
        """Read its log until it says this."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(json.loads(line))
            if self.log[-1]["event"] == event:
                return self.log[-1]
        raise AssertionError(f"it ended: {self.log}")

    def tell(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def ended(self, within: float = 30) -> int:
        """Its exit code; the log is read to the end."""
        began = time.monotonic()
        _, rest = self.process.communicate(timeout=within + 30)
        self.log += [json.loads(line) for line in rest.splitlines()]
        took = time.monotonic() - began
        assert took < within, f"it took {took:.1f} s to end: {self.log}"
        return self.process.returncode


@pytest.fixture
def serve() -> Iterator[Callable[..., Serving]]:
    """Starts gateways that are ended, whatever happens."""
    begun: list[Serving] = []

    def begin(*options: str, env: Mapping[str, str]) -> Serving:
        begun.append(Serving.begin(*options, env=env))
        return begun[-1]

    yield begin
    for one in begun:
        one.process.kill()
        one.process.communicate(timeout=30)


@dataclass(frozen=True)
class Typed:
    """The `gateway` command, run in this process on the state of an installation."""

    installation: Installation
    captured: pytest.CaptureFixture[str]

    def run(self, *arguments: str) -> Done:
        self.captured.readouterr()
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        out, err = self.captured.readouterr()
        return Done(code, out, err)

    def done(self, *arguments: str) -> str:
        """What a command that must succeed printed."""
        done = self.run(*arguments)
        assert (done.code, done.err) == (0, ""), done
        return done.out


@pytest.fixture
def typed(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Typed:
    for name in list(os.environ):
        if name.startswith("GATEWAY_"):
            monkeypatch.delenv(name)
    for name, value in environment(installation).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(installation.home)
    return Typed(installation, capsys)


class Client:
    """Asks an application in this process, as a client at some address."""

    def __init__(self, app: FastAPI) -> None:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=("192.0.2.7", 4711))
        self._client = httpx.AsyncClient(transport=transport, base_url="http://gateway.test")
        self._runner = asyncio.Runner()

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:  # noqa: ANN401  # as httpx takes them
        return self._runner.run(self._client.request(method, path, **options))

    def get(self, path: str, **options: Any) -> httpx.Response:  # noqa: ANN401  # see above
        return self.request("GET", path, **options)

    def close(self) -> None:
        self._runner.run(self._client.aclose())
        self._runner.close()


@dataclass(frozen=True)
class Front:
    """The REST interface of a gateway, with a key for everybody and what happened meanwhile."""

    installation: Installation
    foundation: Foundation
    clerk: Clerk
    app: FastAPI
    client: Client
    keys: Mapping[str, ApiKey]
    told: list[Event]

    def get(self, path: str, who: str | None = None, **options: Any) -> httpx.Response:  # noqa: ANN401  # as httpx takes them
        headers = options.pop("headers", {})
        if who is not None:
            headers["Authorization"] = f"Bearer {self.keys[who].reveal()}"
        return self.client.get(path, headers=headers, **options)

    def records(self) -> list[dict[str, Any]]:
        with self.foundation.engine.connect() as connection:
            return [dict(record) for record in all_records(connection)]


@contextmanager
def a_front(installation: Installation) -> Iterator[Front]:
    environment(installation)  # writes the subjects
    settings = installation.settings.model_copy(update={"policies": installation.home / "policies"})
    told: list[Event] = []
    metrics = Metrics()
    emit = log_and_count(told.append, metrics.count)
    with open_foundation(settings, emit) as foundation:
        clerk = Clerk(foundation.journal, foundation.trail, installation.clerk_says)
        clerk.open_books()
        keys = {
            name: clerk.key(name).key
            for name in ("alice", "bob", "carol", "dave", "eve", "chemist")
        }
        app = create_app(gateway_api(foundation, metrics, emit))
        with closing(Client(app)) as client:
            yield Front(installation, foundation, clerk, app, client, keys, told)


@pytest.fixture
def front(installation: Installation) -> Iterator[Front]:
    with a_front(installation) as front:
        yield front
