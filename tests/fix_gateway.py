"""Gateways with a past: a trail of many kinds of records, and what it takes to tamper with it."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from fix_state import AUDIT_SECRET, StateServer, settings_on
from psycopg import sql
from pydantic import SecretStr
from sqlalchemy import Connection, Engine, create_engine, text

from gateway.administering import (
    create_key,
    declare_account,
    declare_ledger,
    grant,
    recording_failures,
    revoke_key,
)
from gateway.app import open_ground
from gateway.budget.account import Account, Currency, Every, Ledger, Limits, Window
from gateway.budget.charge import ChargeRequest, Idempotency, Measurement
from gateway.charging import charge_question, record_fate
from gateway.config import Settings
from gateway.errors import BudgetExhausted, Code
from gateway.identity.acts import LoginFailed
from gateway.identity.issue import KeyOrder
from gateway.restoring import Restored, restore
from gateway.store.anchor import Anchored
from gateway.store.backup import write_backup
from gateway.store.journal import Journal
from gateway.store.logins import OWNER, StateUrls
from gateway.store.state import State, open_state
from gateway.trail.append import Trail
from gateway.trail.chain import ChainKey
from gateway.trail.record import Asked, Kind, QuestionRecord
from gateway.trail.verify import Verdict, verify
from gateway.units import Delta, Epsilon

KEY = ChainKey(AUDIT_SECRET)
NASTY = 'SELECT \'\x1b[2J\n\r\u2028\u202e\x00\x7f\x85\ud800\', "seq": 1}\n{"seq": 2'
CLINIC, LABS = "dataset:clinic", "dataset:labs"
ALICE, BOB, TEAM = "analyst:alice@clinic", "analyst:bob@clinic", "team:oncology@clinic"
CHEMIST = "analyst:chemist@labs"


def limits(epsilon: str, delta: str = "1e-6", window: Window | None = None) -> Limits:
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
        for name, currency in ((CLINIC, Currency.PURE), (LABS, Currency.ZCDP)):
            ledger = Ledger(name, f"postgresql://source/{name}", "patient", currency)
            declare_ledger(
                self.journal, self.trail, ledger, limits("10"), actor="dave", now=self.now
            )
        month = Window(Every.MONTH, Epsilon.parse("1.5"))
        for account in (
            Account(TEAM, CLINIC, CLINIC, limits("4")),
            Account(ALICE, CLINIC, TEAM, limits("2", window=month)),
            Account(BOB, CLINIC, CLINIC, limits("0.3")),
            Account(CHEMIST, LABS, LABS, limits("3")),
        ):
            self.declare(account)

    def declare(self, account: Account) -> None:
        declare_account(self.journal, self.trail, account, actor="dave", now=self.now)

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
        measurement = Measurement("count", "laplace", Fraction(1), Delta.parse(delta))
        request = ChargeRequest(
            f"q-{self.asked:04}", subject, account, Epsilon.parse(price), (measurement,), once
        )
        question = self.question(request.query_id, subject, sql)
        charge_question(self.journal, self.trail, question, request, self.now)
        return request.query_id

    def question(self, query_id: str, subject: str, sql: str) -> Asked:
        return Asked(query_id, subject, "clinic", sql, "rest", "203.0.113.9", "care-quality")

    def answer(self, query_id: str, subject: str = "alice", sql: str = "SELECT 1") -> None:
        record = QuestionRecord(
            Kind.ANSWERED, self.question(query_id, subject, sql), duration_us=1_234
        )
        record_fate(self.journal, self.trail, record)

    def refuse(self, account: str = BOB) -> None:
        with pytest.raises(BudgetExhausted):
            self.ask(account, "0.9", sql=NASTY)

    def turn_away(self, claimed: str | None = None) -> None:
        record = recording_failures(self.journal, self.trail)
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


def clerk_on(state: State, trail: Trail) -> Clerk:
    return Clerk(state.journal, trail)


@dataclass(frozen=True)
class Past:
    """A state that nobody works on any more, reached as a superuser who may change anything."""

    urls: StateUrls
    settings: Settings
    superuser: Engine
    anchored: Anchored

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
    anchored: Anchored

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
            clerk_on(state, Trail(KEY)).live()
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
class House:
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
        with open_ground(self.settings) as ground:
            clerk = Clerk(ground.journal, ground.trail, self.clerk_says, self.asked)
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
        with open_ground(self.settings) as ground:
            write_backup(ground.engine, path, AUDIT_SECRET, self.clerk_says)
        return path

    def restore(self, file: Path | None = None, *, replace: bool = False) -> Restored:
        return restore(
            self.settings, KEY, file, replace=replace, actor="os:op", now=self.clerk_says
        )

    def rows(self, query: str, **values: object) -> list[tuple[object, ...]]:
        engine = superuser_engine(self.server, str(self.urls.application.database))
        with engine.begin() as connection:
            found = [tuple(row) for row in connection.execute(text(query), values)]
        engine.dispose()
        return found

    def change(self, statement: str) -> None:
        engine = superuser_engine(self.server, str(self.urls.application.database))
        with engine.begin() as connection:
            connection.execute(text("SET LOCAL session_replication_role = replica"))
            connection.execute(text(statement))
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
        with open_ground(self.settings) as ground:
            return ground.verify_trail()

    def _disconnect(self, database: str) -> None:
        with self.server.superuser() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                (database,),
            )


@pytest.fixture
def house(state_server: StateServer, tmp_path: Path) -> Iterator[House]:
    """A house on a fresh, migrated state."""
    with ExitStack() as databases:
        urls = databases.enter_context(state_server.database())
        yield House(state_server, tmp_path, databases, urls)
