"""A wire session: what one subject may see on a connection, and its line to the twin.

INVARIANT: a line leads to the twin database that shows what its subject may see. If that changes, queries on the line are
refused before they are charged, and the client has to connect again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from gateway.catalog.tables import Dataset
from gateway.datasets.bind_question import Question, rules_for
from gateway.datasets.registry import DatasetRegistry
from gateway.datasets.view import View
from gateway.errors import BackendUnavailable, Code
from gateway.policy.subjects import Subject
from gateway.twin import Twin, VisibleTables
from gateway.twin.pool import TwinLine
from gateway.twin.shadow_functions import SessionNames


@dataclass(frozen=True)
class WireSession:
    """One subject's, on one dataset, for one connection."""

    subject: Subject
    dataset: str
    shown: VisibleTables
    catalog: Dataset
    line: TwinLine


@dataclass(frozen=True)
class WireSessions:
    """Opens them; it waits for the twin."""

    served: DatasetRegistry
    twin: Twin
    now: Callable[[], datetime]
    front_end: str

    def enter(
        self, subject: Subject, dataset: str, settings: Mapping[str, str], process: int
    ) -> WireSession:
        """The room of somebody who was let in, with the settings that their session begins with."""
        view = self._view(subject, dataset, settings.get("gateway.purpose"))
        names = SessionNames(subject.name, dataset, process)
        line = self.twin.line(subject.name, view.shown, {**settings, **names.settings()})
        return WireSession(subject, dataset, view.shown, view.dataset, line)

    def require_same(self, room: WireSession, purpose: str | None) -> None:
        """Refuse where something else may be seen by now than when the room was entered."""
        if self._view(room.subject, room.dataset, purpose).shown != room.shown:
            raise BackendUnavailable(
                Code.TWIN_UNAVAILABLE,
                "the tables that you may use have changed since the connection began",
                "connect again; set the purpose when connecting: options=-c gateway.purpose=…",
            )

    def _view(self, subject: Subject, dataset: str, purpose: str | None) -> View:
        question = Question("", subject, self.front_end, self.now(), purpose)
        serving = self.served.find(question, dataset)
        return serving.views.of(rules_for(question, serving.policy))
