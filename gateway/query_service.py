"""Query service: the pipeline bound to a front end, with everything that a running gateway has."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.budget.account import analyst_account
from gateway.budget.report import AccountBalance, standings_on_paths
from gateway.datasets.registry import DatasetRegistry
from gateway.datasets.system_tables import OwnRows, visible_balances
from gateway.errors import Code, SourceStopped
from gateway.pipeline import answer, estimate, release
from gateway.policy.subjects import Subject
from gateway.requests.request import Answer, Estimate, Request
from gateway.stages.bind import ask_question
from gateway.stages.finish import DeferredStatement
from gateway.stages.services import Services


@dataclass(frozen=True)
class QueryService:
    """Answers the questions that come in by one front end."""

    services: Services
    own: OwnRows
    served: DatasetRegistry
    front_end: str

    def answer(self, subject: Subject, request: Request, cancelled: threading.Event) -> Answer:
        self._require_serving()
        question = ask_question(request, subject, self.front_end, self.services.now())
        return answer(self.services, question, cancelled)

    def release(
        self, subject: Subject, request: Request, cancelled: threading.Event
    ) -> DeferredStatement:
        self._require_serving()
        question = ask_question(request, subject, self.front_end, self.services.now())
        return release(self.services, question, cancelled)

    def estimate(self, subject: Subject, request: Request) -> Estimate:
        question = ask_question(request, subject, self.front_end, self.services.now())
        return estimate(self.services, question)

    def accounts(self, subject: Subject, dataset: str | None) -> Sequence[AccountBalance]:
        """The accounts on the path of the subject's questions, from the subject's own upwards.

        The journal has just recorded a question of theirs, so what it remembers is how they stand.
        """
        datasets = self.served.all() if dataset is None else (dataset,)
        names = [analyst_account(subject.name, one) for one in datasets]
        now = self.services.now()
        found = self.services.journal.read(lambda draft: standings_on_paths(draft, now, names))
        policies = {name: one.policy for name, one in self.served.all().items()}
        return visible_balances(found, subject, policies)

    def stop(self) -> None:
        """End every wait for a source or a point of the grid; the waiting callers get an error that the gateway stops."""
        self.services.pace.stopping.set()
        self.served.stop()

    def _require_serving(self) -> None:
        """Refuse what waited for a thread until the gateway stopped; it is no question yet."""
        if self.services.pace.stopping.is_set():
            raise SourceStopped(Code.SOURCE_CANCELLED, "the gateway is stopping", "try again later")

    def close(self) -> None:
        """The same, and let go of the sources."""
        self.stop()
        self.served.close()
