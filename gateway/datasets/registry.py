"""All datasets of the policies in force, and the sessions of wire clients on them.

A reload makes all datasets anew: nothing that an old policy showed, proved or remembered outlives it.

INVARIANT: a line leads to the twin database that shows what its subject may see. If that changes, queries on the
line are refused before they are charged, and the client has to connect again.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Engine

from gateway.auth.key_store import translate_state_errors
from gateway.budget.account import Currency, ledger_name
from gateway.budget.balances import load_ledger
from gateway.catalog.tables import Dataset
from gateway.datasets.dataset import ServedDataset, serve_dataset
from gateway.datasets.view import Question, View, rules_for
from gateway.engines.source import SourceDatabase
from gateway.engines.sql.expressions import TotalScalarSql
from gateway.errors import BackendUnavailable, Code, NotPermitted, SyntaxRefused
from gateway.events import Emit
from gateway.policy.files.load import LoadedPolicies
from gateway.policy.policy import Policy
from gateway.policy.subjects import Subject
from gateway.requests.request import Request
from gateway.twin import Twin, VisibleTables
from gateway.twin.pool import TwinLine
from gateway.twin.shadow_functions import SessionNames


class DatasetRegistry:
    """Finds the dataset that a question is about."""

    def __init__(self, policies: Callable[[], LoadedPolicies], state: Engine, emit: Emit) -> None:
        self._policies = policies
        self._state = state
        self._emit = emit
        self._lock = threading.Lock()
        self._made_for: LoadedPolicies | None = None
        self._servings: Mapping[str, ServedDataset] = {}

    def find(self, question: Question) -> ServedDataset:
        """The dataset that is named, or the only one that the subject may ask about."""
        servings, dataset = self.all(), question.request.dataset
        if dataset is not None:
            found = servings.get(dataset)
            if found is None:
                raise NotPermitted(Code.DATASET_NOT_PERMITTED, f"`{dataset[:63]}`")
            return found
        own = self.of(question)
        if not own:
            raise NotPermitted(Code.DATASET_NOT_PERMITTED, "the policy permits you no dataset")
        if len(own) > 1:
            names = ", ".join(f"`{one.policy.name}`" for one in own)
            raise SyntaxRefused(
                Code.BAD_REQUEST, "`dataset` is missing", f"your datasets are {names}"
            )
        return own[0]

    def of(self, question: Question) -> list[ServedDataset]:
        """All datasets of which the subject may ask something."""
        return [one for one in self.all().values() if rules_for(question, one.policy).permits]

    def all(self) -> Mapping[str, ServedDataset]:
        """Every dataset by its name."""
        with self._lock:
            loaded = self._policies()
            if loaded is not self._made_for:
                before = self._servings
                self._servings = {
                    policy.name: self._serving(policy) for policy in loaded.policies.values()
                }
                self._made_for = loaded
                for one in before.values():
                    one.close()
            return self._servings

    def stop(self) -> None:
        """End whatever the sources run, now: the gateway stops."""
        with self._lock:
            servings = list(self._servings.values())
        for one in servings:
            one.stop()

    def close(self) -> None:
        """Let go of every source."""
        with self._lock:
            for one in self._servings.values():
                one.close()
            self._servings, self._made_for = {}, None

    def _serving(self, policy: Policy) -> ServedDataset:
        source = SourceDatabase.open(
            policy.source.url,
            TotalScalarSql(),
            salt=policy.name,
            emit=self._emit,
            zone=policy.dataset.time_zone,
            search_path=policy.dataset.search_path,
        )
        return serve_dataset(policy, source, self._currency(policy))

    def _currency(self, policy: Policy) -> Currency:
        with translate_state_errors(), self._state.connect() as connection:
            ledger = load_ledger(connection, ledger_name(policy.name))
        if ledger is None:
            raise BackendUnavailable(
                Code.STATE_UNAVAILABLE, "the ledger of the dataset is not open"
            )
        return ledger.currency


@dataclass(frozen=True)
class WireSession:
    """One subject's, on one dataset, for one connection."""

    subject: Subject
    entry: Request
    shown: VisibleTables
    catalog: Dataset
    line: TwinLine

    @property
    def dataset(self) -> str:
        return self.entry.dataset or ""


@dataclass(frozen=True)
class WireSessions:
    """Opens them; it waits for the twin."""

    served: DatasetRegistry
    twin: Twin
    now: Callable[[], datetime]
    front_end: str

    def enter(
        self, subject: Subject, entry: Request, settings: Mapping[str, str], process: int
    ) -> WireSession:
        """The room of somebody who was let in, with the settings that their session begins with.

        `entry` names the dataset and the purpose, and has the address and the encryption of the connection.
        """
        view = self._view(subject, entry)
        names = SessionNames(subject.name, entry.dataset or "", process)
        zone = {"TimeZone": view.dataset.time_zone}
        own = {} if "timezone" in map(str.lower, settings) else zone
        line = self.twin.line(subject.name, view.shown, {**own, **settings, **names.settings()})
        return WireSession(subject, entry, view.shown, view.dataset, line)

    def require_same(self, room: WireSession, purpose: str | None) -> None:
        """Refuse where something else may be seen by now than when the room was entered."""
        if self._view(room.subject, replace(room.entry, purpose=purpose)).shown != room.shown:
            raise BackendUnavailable(
                Code.TWIN_UNAVAILABLE,
                "the tables that you may use have changed since the connection began",
                "connect again; set the purpose when connecting: options=-c gateway.purpose=…",
            )

    def _view(self, subject: Subject, entry: Request) -> View:
        question = Question(entry, subject, self.front_end, self.now())
        serving = self.served.find(question)
        return serving.views.of(rules_for(question, serving.policy))
