"""Subject list for administrators: the subjects of the policies, and their suspensions."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Engine

from gateway.budget.account import ledger_name
from gateway.budget.balances import find_account
from gateway.errors import Code, OperatorError
from gateway.policy.subjects import Subject
from gateway.stages.suspension import EVERYWHERE, load_all, resume, suspend
from gateway.state.journal import Journal
from gateway.trail.record import Clock, Trail


@dataclass(frozen=True)
class SubjectList:
    """Reads and changes the suspensions of subjects; every change has its trail record."""

    engine: Engine
    journal: Journal
    trail: Trail
    now: Clock

    def subjects(self, known: Mapping[str, Subject]) -> list[dict[str, Any]]:
        """All subjects of the policies, and suspended ones that are no longer in them."""
        with self.engine.connect() as connection:
            tallies = load_all(connection)
        now, found = self.now(), []
        for name in sorted({*known, *tallies}):
            subject = known.get(name)
            mine = tallies.get(name, {})
            found.append(
                {
                    "subject": name,
                    "role": None if subject is None else subject.role,
                    "team": None if subject is None else subject.team,
                    "suspended": [
                        {
                            "dataset": None if dataset == EVERYWHERE else dataset,
                            "since": _said(one.since),
                            "by": one.by,
                        }
                        for dataset, one in mine.items()
                        if one.suspended
                    ],
                    "stopped_today": {
                        dataset: many
                        for dataset, one in mine.items()
                        if (many := one.counted_on(now))
                    },
                }
            )
        return found

    def suspend(
        self, known: Mapping[str, Subject], name: str, dataset: str | None, actor: str
    ) -> tuple[str, ...]:
        """Suspend the subject. Returns the affected datasets; none if it was suspended already."""
        self._require_known(known, name)
        if dataset is not None:
            self._require_dataset(dataset)
        scope = dataset or EVERYWHERE
        done = self.journal.commit(
            lambda draft: suspend(draft, self.trail, name, scope, actor=actor, now=self.now())
        )
        return (scope,) if done else ()

    def resume(
        self, known: Mapping[str, Subject], name: str, dataset: str | None, actor: str
    ) -> tuple[str, ...]:
        """Lift suspensions. Returns the affected datasets; all of them if none is named."""
        self._require_known(known, name)
        scope = dataset or EVERYWHERE
        return self.journal.commit(
            lambda draft: resume(draft, self.trail, name, scope, actor=actor, now=self.now())
        )

    def _require_known(self, known: Mapping[str, Subject], name: str) -> None:
        if name in known:
            return
        with self.engine.connect() as connection:
            if name in load_all(connection):
                return
        raise OperatorError(
            Code.SUBJECT_UNKNOWN, f"`{name}`", "subjects are declared in subjects.yaml"
        )

    def _require_dataset(self, dataset: str) -> None:
        """Refuse an unknown name: a mistyped one would suspend nobody and look as if it did."""
        account = self.journal.commit(partial(find_account, name=ledger_name(dataset)))
        if account is None:
            raise OperatorError(
                Code.ARGUMENT_INVALID,
                f"dataset `{dataset}` does not exist",
                "leave the dataset out to suspend the subject on all datasets",
            )


def _said(moment: datetime | None) -> str | None:
    return None if moment is None else f"{moment:%Y-%m-%dT%H:%M:%SZ}"
