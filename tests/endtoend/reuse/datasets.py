"""A gateway with many datasets over the same people, one for each test: what one test asked is no other's past."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Final

from endtoend.clinic_gateway import Environment, clinic_in_duckdb, clinic_in_postgresql, shown
from endtoend.reuse.clinics import AUDIT, SUBJECTS, Said, policy
from fix_servers import SharedServers, foundation_and_twin
from sqlalchemy import URL

from gateway.admin.instance import Foundation
from gateway.app import open_policies, open_query_service
from gateway.budget.report import AccountBalance
from gateway.cancellation import CancelEvent
from gateway.errors import Refusal
from gateway.events import Crashed, Event
from gateway.policy.in_force import Cause, CurrentPolicies
from gateway.policy.subjects import Subject
from gateway.postgres_server import Lease
from gateway.query_service import QueryService
from gateway.requests.request import Answer, Estimate, Request
from gateway.units import Epsilon

PURE, ZCDP, FOUND, POSTGRESQL = "pure", "zcdp", "found", "postgresql"
AUDITED, MODEST = "audited", "modest"
# others' answers are not told: the way it is where a policy says nothing of it
QUIET, QUIET_ZCDP, QUIET_AUDITED = "quiet", "quiet_zcdp", "quiet_audited"
# histograms of norms are sold, quietly or not
CLIPPED, CLIPPED_ZCDP, CLIPPED_AUDITED = "clipped", "clipped_zcdp", "clipped_audited"
CLIPPED_OPEN, CLIPPED_MODEST = "clipped_open", "clipped_modest"
_SELLING: Final = "{price: 2}"
# groups that are found in the data are only shown where noise is small, and small differences only known there
_DEAR: Final = "20"
_DEARER: Final = "2000"
_SAID: Final[dict[str, Said]] = {
    FOUND: {"price": _DEARER, "groups": 1},
    AUDITED: {"price": _DEAR, "audit": AUDIT},
    QUIET: {"tell": "group"},
    QUIET_ZCDP: {"tell": "group"},
    QUIET_AUDITED: {"price": _DEAR, "audit": AUDIT, "tell": "group"},
    CLIPPED: {"price": _DEAR, "clip": _SELLING, "tell": "group"},
    CLIPPED_ZCDP: {"price": _DEAR, "clip": _SELLING, "tell": "group"},
    CLIPPED_AUDITED: {"price": _DEAR, "clip": _SELLING, "tell": "group", "audit": AUDIT},
    CLIPPED_OPEN: {"price": _DEAR, "clip": _SELLING},
    CLIPPED_MODEST: {"price": _DEAR, "clip": _SELLING, "tell": "group"},
}
_OFTEN: Final = {PURE, ZCDP, AUDITED, CLIPPED, CLIPPED_ZCDP, CLIPPED_OPEN}
_GAUSSIAN: Final = {ZCDP, QUIET_ZCDP, CLIPPED_ZCDP, CLIPPED_OPEN, CLIPPED_AUDITED}
_QUOTAS: Final = {MODEST: "0.0015", CLIPPED_MODEST: "21"}


@dataclass(frozen=True)
class Opened:
    """The gateway, and the names of datasets that nobody has asked yet."""

    foundation: Foundation
    asking: QueryService
    policies: CurrentPolicies
    home: Path
    environment: Environment = field(repr=False)
    urls: Mapping[str, URL] = field(repr=False)
    unused: Mapping[str, Iterator[str]] = field(repr=False)
    events: list[Event] = field(repr=False)
    given: list[str] = field(default_factory=list, repr=False)

    def place(self, kind: str) -> "Place":
        dataset = next(self.unused[kind], None)
        assert dataset is not None, f"more datasets of the kind `{kind}` are needed"
        self.given.append(dataset)
        return Place(self, dataset)

    def end_processes(self) -> None:
        """End what reads the sources of the datasets that were given: no later test asks them."""
        served = self.asking.served.all()
        for name in self.given:
            served[name].close()
        self.given.clear()


@dataclass
class Place:
    """A dataset that belongs to one test, on a clock of its own."""

    opened: Opened
    dataset: str
    clock: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def asking(self) -> QueryService:
        installation = replace(self.opened.asking.services, now=lambda: self.clock)
        return replace(self.opened.asking, services=installation)

    def subject(self, name: str) -> Subject:
        return self.opened.policies.value.subjects[name]

    def later(self, days: float) -> None:
        self.clock += timedelta(days=days)

    def request(self, sql: str, epsilon: str | None = None, **more: object) -> Request:
        price = None if epsilon is None else Epsilon.parse(epsilon)
        return Request(sql, dataset=self.dataset, epsilon=price, **more)  # type: ignore[arg-type]  # its fields

    def ask(
        self, sql: str, who: str = "alice", *, epsilon: str | None = None, **more: object
    ) -> Answer:
        """The answer; a bug of ours shows what happened."""
        before = len(self.opened.events)
        try:
            return self.asking.answer(
                self.subject(who), self.request(sql, epsilon, **more), CancelEvent()
            )
        except Refusal as refusal:
            for event in self.opened.events[before:]:
                if isinstance(event, Crashed):
                    refusal.add_note(str(event))
            raise

    def estimate(
        self, sql: str, who: str = "alice", *, epsilon: str | None = None, **more: object
    ) -> Estimate:
        return self.asking.estimate(self.subject(who), self.request(sql, epsilon, **more))

    def spent(self, who: str = "alice") -> Fraction:
        """What somebody's own account gave so far; that of the dataset is nobody's."""
        return self._standing(f"analyst:{who}@{self.dataset}", who).epsilon_spent.value

    def spent_by_all(self) -> Fraction:
        return self._standing(f"dataset:{self.dataset}", "alice").epsilon_spent.value

    def _standing(self, account: str, who: str) -> AccountBalance:
        found = self.asking.accounts(self.subject(who), self.dataset)
        return next(one for one in found if one.account == account)

    def charged_for(self, work: Callable[[], object]) -> Fraction:
        """What the dataset gave for it."""
        before = self.spent_by_all()
        work()
        return self.spent_by_all() - before

    def change_policy(self, old: str, new: str) -> None:
        """As an operator does: the file is another, and read again."""
        file = self.opened.home / "policies" / f"{self.dataset}.yaml"
        text = file.read_text()
        assert text.count(old) == 1
        file.write_text(text.replace(old, new))
        reloaded = self.opened.policies.reload(Cause("dave", "a test"))
        assert reloaded.changed, reloaded.problems


_AT_ONCE: Final = 12


class Houses:
    """Gateways of a few datasets each; another one is opened when no dataset of a kind is left.

    To open a dataset takes a thirtieth of a second, and a policy that changes lets its gateway read all of its datasets
    again. So a process of tests opens as many as its tests ask for, and few of them in one gateway.
    """

    def __init__(self, server: Lease, servers: SharedServers) -> None:
        self._server, self._servers = server, servers
        self._open: dict[str, tuple[Opened, ExitStack, list[int]]] = {}
        self._used: list[tuple[Opened, ExitStack]] = []

    def place(self, kind: str) -> "Place":
        """A dataset nobody has asked; alone in its gateway where a kind is asked for once."""
        if kind not in self._open:
            stack, many = ExitStack(), _AT_ONCE if kind in _OFTEN else 1
            made = stack.enter_context(opened(self._server, self._servers, **{kind: many}))
            self._open[kind] = made, stack, [many]
        house, stack, left = self._open[kind]
        left[0] -= 1
        if not left[0]:
            self._used.append((house, stack))
            del self._open[kind]
        return house.place(kind)

    def end_processes(self) -> None:
        """End what reads the sources of the datasets that were given, and gateways of which all were given."""
        for house, _, _ in self._open.values():
            house.end_processes()
        while self._used:
            self._used.pop()[1].close()

    def close(self) -> None:
        """Close all gateways."""
        self.end_processes()
        while self._open:
            self._open.popitem()[1][1].close()


@contextmanager
def opened(server: Lease, servers: SharedServers | None = None, **many: int) -> Iterator[Opened]:
    """A gateway with so many datasets of each kind, gone afterwards."""
    home = Path(tempfile.mkdtemp(prefix="gw-test-"))
    home.chmod(0o711)
    try:
        with ExitStack() as sources:
            names = {kind: _names(kind, number) for kind, number in many.items()}
            urls = _sources(sources, server, home, names)
            yield from _opened(servers, home, names, urls)
    finally:
        shutil.rmtree(home)


def _opened(
    servers: SharedServers | None,
    home: Path,
    names: Mapping[str, list[str]],
    urls: Mapping[str, URL],
) -> Iterator[Opened]:
    folder = home / "policies"
    folder.mkdir()
    (folder / "subjects.yaml").write_text(SUBJECTS)
    for kind, datasets in names.items():
        for name in datasets:
            (folder / f"{name}.yaml").write_text(_policy(kind, name))
    environment = {name.upper(): shown(url) for name, url in urls.items()}
    events: list[Event] = []
    with foundation_and_twin(servers, home / "state", folder, events.append) as (foundation, twin):
        current = open_policies(foundation, environment=environment)
        twin.wait_until_started()
        with closing(
            open_query_service(foundation, current, twin, "rest", events.append)
        ) as asking:
            unused = {kind: iter(datasets) for kind, datasets in names.items()}
            yield Opened(foundation, asking, current, home, environment, urls, unused, events)


def _names(kind: str, many: int) -> list[str]:
    return [f"{kind}{number}" for number in range(many)]


def _policy(kind: str, name: str) -> str:
    said = _SAID.get(kind, {})
    text = policy(name, name.upper(), "gaussian" if kind in _GAUSSIAN else "laplace", **said)
    quota = _QUOTAS.get(kind, "10000")
    return text.replace("    budget: {epsilon: 10000}", f"    budget: {{epsilon: {quota}}}")


def _sources(
    stack: ExitStack, server: Lease, home: Path, names: Mapping[str, list[str]]
) -> dict[str, URL]:
    """Each dataset has a source of its own: a source belongs to one ledger."""
    model = Path(str(clinic_in_duckdb(home / "model.duckdb").database))
    urls = {}
    for kind, datasets in names.items():
        for name in datasets:
            if kind == POSTGRESQL:
                urls[name] = stack.enter_context(clinic_in_postgresql(server))
            else:
                file = shutil.copy(model, home / f"{name}.duckdb")
                urls[name] = URL.create("duckdb", database=str(file))
    return urls
