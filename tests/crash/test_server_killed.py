"""kill -9 of the state's PostgreSQL, one backend or all of it, while questions are charged."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pytest
from fix_ledger import ALICE, Bank, audit, limits
from fix_state import AUDIT_SECRET, scratch_server, settings_on

from gateway.errors import Code, Refusal
from gateway.postgres_server import Lease, open_server
from gateway.state.open import embedded_urls, open_state, upgrade_state
from gateway.trail.record import Trail


@dataclass
class Site:
    """A gateway on a server that this test may kill."""

    bank: Bank
    lease: Lease
    home: Path

    def postmaster(self) -> int:
        return int((self.lease.data_dir / "postmaster.pid").read_text().splitlines()[0])

    def journals_backend(self) -> int:
        with self.bank.engine.connect() as connection:
            query = "SELECT DISTINCT pid FROM pg_locks WHERE locktype = 'advisory'"
            pid = connection.exec_driver_sql(query).scalar_one()
        assert isinstance(pid, int)
        return pid


@pytest.fixture
def site(home: Path, trail: Trail) -> Iterator[Site]:
    # a short path: the socket of the server that starts again has to be where it was
    with scratch_server(home) as lease:
        urls = embedded_urls(lease, home)
        upgrade_state(urls)
        with open_state(settings_on(urls, home), AUDIT_SECRET) as state:
            bank = Bank(state.journal, trail, state.engine)
            bank.open_ledger(limits(1000))
            bank.open_account(ALICE, limits(1000))
            yield Site(bank, lease, home)


@dataclass
class Analysts:
    """Threads that ask until they are told to stop."""

    bank: Bank
    answered: list[str] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Self:
        self.threads = [threading.Thread(target=self._ask) for _ in range(4)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.end()

    def end(self) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def _ask(self) -> None:
        while not self.stop.is_set():
            query_id = self.bank.fresh_id()
            try:
                self.bank.ask("1/1000", query_id=query_id)
            except Refusal as refusal:
                self.refusals.append(refusal)
            else:
                self.answered.append(query_id)

    def wait_for_answers(self, more: int) -> None:
        wanted = len(self.answered) + more
        while len(self.answered) < wanted:
            self.stop.wait(0.001)


def test_gateway_goes_on_when_its_backend_or_its_server_is_killed(site: Site) -> None:
    """A killed backend takes every connection with it, a killed postmaster the whole server: each
    question is answered after a durable charge or refused with GW601, and when the server is back
    the gateway goes on by itself.
    """
    with ExitStack() as stack:
        analysts = stack.enter_context(Analysts(site.bank))
        analysts.wait_for_answers(20)
        os.kill(site.journals_backend(), signal.SIGKILL)
        analysts.wait_for_answers(20)
        os.kill(site.postmaster(), signal.SIGKILL)
        while not analysts.refusals:
            analysts.stop.wait(0.01)
        stack.enter_context(open_server(site.home))
        analysts.wait_for_answers(20)
        analysts.end()
        books = audit(site.bank.engine)
    assert {refusal.code for refusal in analysts.refusals} == {Code.STATE_UNAVAILABLE}
    assert set(analysts.answered) <= set(books.charges)
    assert len(analysts.answered) == len(set(analysts.answered))
