"""The whole line in this process: real policies, ledger, trail, twin and source, wired as a gateway wires them.

For statistics a statement goes through binding, decision, analysis and pricing once; then its steps run as
often as wanted, by the function that runs them in the pipeline (`executed`). What the source says to one and
the same release is asked for once and remembered: it is exact, so it would be the same again. Everything
behind it - noise, thresholds, later steps, PostgreSQL's finishing - happens anew each time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from fix_state import AUDIT_SECRET, StateServer, settings_on
from pydantic import SecretStr
from queries import analyzed, executed
from sqlalchemy import URL

from gateway.admin.instance import Foundation, open_foundation
from gateway.app import open_policies, open_query_service
from gateway.bounding.bounded_release import BoundedRelease, bound_release
from gateway.cancellation import CancelEvent
from gateway.engines.sql.group_limits import Key
from gateway.events import Event
from gateway.exact import ExactHistogram, ExactTable
from gateway.noise.allocation import CostShares, ReleaseNoise, slots_of
from gateway.noise.entropy import Entropy
from gateway.plan.relations import StagedRows
from gateway.policy.subjects import Subject
from gateway.pricing.price import AnalyzedQuery, noise_for_price
from gateway.query_service import QueryService
from gateway.release_cache.assemble import PlannedMeasurement, PlannedRelease
from gateway.requests.request import Answer, Request
from gateway.results.rollup import PricedRelease
from gateway.sensitivity.analysis import Analysis
from gateway.sensitivity.choices import Histogram
from gateway.stages.finish import finish_query
from gateway.stages.prepare import SourceAccess
from gateway.stages.purchase import Released
from gateway.stages.repeat_cache import RepeatCache
from gateway.stages.services import Services
from gateway.trail.search import all_records, latest_records
from gateway.twin import Twin

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Line:
    """A gateway that answers."""

    foundation: Foundation
    asking: QueryService
    subjects: Mapping[str, Subject]
    told: list[Event]

    @property
    def alice(self) -> Subject:
        return self.subjects["alice"]

    def answer(self, sql: str, **more: object) -> Answer:
        request = Request(sql, **more)  # type: ignore[arg-type]  # as the request takes them
        return self.asking.answer(self.alice, request, CancelEvent())

    def records(self, after: int = 0) -> list[Mapping[str, object]]:
        """The records of the trail after this one, in order."""
        if not after:
            with self.foundation.engine.connect() as connection:
                return list(all_records(connection))
        return self.latest(self.last_record() - after)

    def latest(self, count: int) -> list[Mapping[str, object]]:
        with self.foundation.engine.connect() as connection:
            return list(latest_records(connection, count))

    def last_record(self) -> int:
        """The number of the newest record, which is how many there are."""
        newest = self.latest(1)
        return int(str(newest[0]["seq"])) if newest else 0


@contextmanager
def open_line(
    server: StateServer, twin: Twin, home: Path, source: URL, *, policy: str, subjects: str
) -> Iterator[Line]:
    """A gateway on a state of its own, which asks this source."""
    policies = home / "policies"
    policies.mkdir(parents=True)
    (policies / "clinic.yaml").write_text(policy)
    (policies / "subjects.yaml").write_text(subjects)
    environment = {"CLINIC_URL": source.render_as_string(hide_password=False)}
    told: list[Event] = []
    with server.database() as urls:
        settings = settings_on(
            urls, home, policies=policies, audit_key=SecretStr(AUDIT_SECRET.decode())
        )
        with open_foundation(settings, told.append) as foundation:
            current = open_policies(foundation, told.append, environment)
            asking = open_query_service(foundation, current, twin, "rest", told.append)
            try:
                yield Line(foundation, asking, current.value.subjects, told)
            finally:
                asking.close()


Bug = Callable[[ReleaseNoise], ReleaseNoise]


@dataclass
class Remembering(SourceAccess):
    """What a question has of its source, which is asked for the same release once.

    `planted` is a bug in the bounding of contributions, for controls; None where there is none.
    """

    bought: tuple[ReleaseNoise, ...] = ()
    planted: Callable[[BoundedRelease], BoundedRelease] | None = None
    known: dict[object, ExactTable] = field(default_factory=dict)
    counted: dict[object, Mapping[Histogram, ExactHistogram]] = field(default_factory=dict)

    def run(self, analysis: Analysis, staged: Mapping[str, StagedRows]) -> ExactTable:
        key = (id(analysis), repr(sorted(staged.items(), key=lambda one: one[0])))
        if key not in self.known:
            if self.planted is None:
                with self:
                    self.prepare(self.bought)
                    self.known[key] = super().run(analysis, staged)
            else:
                wrong = self.planted(
                    bound_release(analysis, now=self.query.question.asked_at, proven=self.proven)
                )
                self.known[key] = self.serving.source.run(wrong, staged, limit_s=self.limit_s)
        return self.known[key]

    def count(
        self, analysis: Analysis, shown: Sequence[Key], staged: Mapping[str, StagedRows]
    ) -> Mapping[Histogram, ExactHistogram]:
        key = (id(analysis), repr(sorted(staged.items(), key=lambda one: one[0])), repr(shown))
        if key not in self.counted:
            if self.planted is None:
                with self:
                    self.prepare(self.bought)
                    self.counted[key] = super().count(analysis, shown, staged)
            else:
                wrong = self.planted(
                    bound_release(analysis, now=self.query.question.asked_at, proven=self.proven)
                )
                found = self.serving.source.count(wrong, shown, staged, limit_s=self.limit_s)
                self.counted[key] = dict(zip(analysis.histograms, found, strict=True))
        return self.counted[key]


@dataclass(frozen=True)
class Prepared:
    """A statement that was paid for, ready to be executed again and again."""

    services: Services
    query: AnalyzedQuery
    access: Remembering
    bounded: tuple[PricedRelease, ...]

    def execute(self, entropy: Entropy) -> Released:
        releases = tuple(map(_all_bought, self.bounded))
        return executed(self.services, self.query, releases, self.access, entropy)

    def finish(self, done: Released) -> Answer:
        return finish_query(
            done,
            "q",
            entropy=self.services.entropy,
            cancelled=CancelEvent(),
            limit_s=self.services.limit_s,
            repeats=RepeatCache(),
        )


def _all_bought(release: PricedRelease) -> PlannedRelease:
    """Nothing of it is there yet."""
    measurements = []
    for part in release.parts:
        slots, choices = len(part.analysis.slots), len(part.analysis.choices)
        costs = CostShares((Fraction(1),) * slots, (Fraction(1),) * choices)
        measurements.append(
            PlannedMeasurement("r", part, part, costs, (None,) * slots, (None,) * choices, None)
        )
    return PlannedRelease(release, tuple(measurements))


def prepared(
    line: Line,
    subject: Subject,
    sql: str,
    price: Fraction,
    *,
    bug: Bug | None = None,
    planted: Callable[[BoundedRelease], BoundedRelease] | None = None,
) -> Prepared:
    """The statement with the noise that `price`, in the ledger's currency, buys; with a bug, if one is given."""
    services = line.asking.services
    request = Request(sql)
    query = analyzed(services, subject, request, NOON)
    releases = noise_for_price(query, price)
    if bug is not None:
        releases = tuple(replace(one, parts=tuple(map(bug, one.parts))) for one in releases)
    access = Remembering(
        services.find_dataset(query.question),
        query,
        services.limit_s,
        CancelEvent(),
        bought=tuple(part for one in releases for part in one.parts),
        planted=planted,
    )
    return Prepared(services, query, access, releases)


def whole_shares(query: AnalyzedQuery) -> tuple[CostShares, ...]:
    """Of the price of a statement of which nothing is there yet: equal parts for all that is measured and chosen."""
    each = Fraction(1, max(slots_of(query.analyses), 1))
    return tuple(
        CostShares((each,) * len(one.slots), (each,) * len(one.choices)) for one in query.analyses
    )
