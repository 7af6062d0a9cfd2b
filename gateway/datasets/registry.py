"""The registry of served datasets, by the policies in force.

A reload makes all of them anew: nothing that an old policy showed, proved or remembered outlives it.
"""

import threading
from collections.abc import Callable, Mapping

from sqlalchemy import Engine

from gateway.auth.lookup import translate_state_errors
from gateway.budget.account import Currency
from gateway.budget.account_names import ledger_name
from gateway.budget.balances import load_ledger
from gateway.datasets.bind_question import Question, rules_for
from gateway.datasets.dataset import ServedDataset, serve_dataset
from gateway.engines.source import SourceDatabase
from gateway.engines.sql.expressions import TotalScalarSql
from gateway.errors import BackendUnavailable, Code, NotPermitted, SyntaxRefused
from gateway.events import Emit
from gateway.policy.files.load import LoadedPolicies
from gateway.policy.policy import Policy


class DatasetRegistry:
    """Finds the dataset that a question is about."""

    def __init__(self, policies: Callable[[], LoadedPolicies], state: Engine, emit: Emit) -> None:
        self._policies = policies
        self._state = state
        self._emit = emit
        self._lock = threading.Lock()
        self._made_for: LoadedPolicies | None = None
        self._servings: Mapping[str, ServedDataset] = {}

    def find(self, question: Question, dataset: str | None) -> ServedDataset:
        """The dataset that is named, or the only one that the subject may ask about."""
        servings = self.all()
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
            policy.source.url, TotalScalarSql(), salt=policy.name, emit=self._emit
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
