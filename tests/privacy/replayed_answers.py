"""The same questions to gateways over different databases, with the same noise: what each of them said, as texts.

The first gateway draws noise, and every noisy table is put on a tape; the others, whatever their sources say, get
their noisy tables from the tape. Questions are numbered where they would get random numbers. So everything that a
gateway knows besides its source is the same, and whatever is said differently comes from protected rows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from endtoend.reuse.clinics import SUBJECTS
from fix_state import AUDIT_SECRET, StateServer, settings_on
from noise.streams import Stream
from privacy.query_streams import WHO, Asked
from pydantic import SecretStr
from sqlalchemy import URL

from gateway.admin.instance import open_foundation
from gateway.app import open_policies, open_query_service
from gateway.cancellation import CancelEvent
from gateway.columnar.intervals import IntervalRows
from gateway.columnar.texts import TextRows
from gateway.errors import Refusal
from gateway.exact import ExactHistogram, ExactTable
from gateway.noise.add_noise import NoisyTable, add_choices, add_noise
from gateway.noise.allocation import ReleaseNoise
from gateway.noise.entropy import Entropy
from gateway.policy.subjects import Subject
from gateway.query_service import QueryService
from gateway.requests.request import Request
from gateway.sensitivity.choices import Histogram
from gateway.trail.search import all_records
from gateway.twin import Twin
from gateway.units import Epsilon

BEGIN = datetime(2027, 1, 4, 8, tzinfo=UTC)
_VARYING = frozenset({"mac", "at", "duration_us"})


@dataclass
class Tape:
    """Noisy tables in the order in which they were drawn."""

    tables: list[NoisyTable] = field(default_factory=list)
    left: Iterator[NoisyTable] = field(default_factory=lambda: iter(()))
    noise: Stream = field(default_factory=lambda: Stream("noise of the first"))

    @contextmanager
    def recording(self) -> Iterator[None]:
        def counted(exact: ExactTable, release: ReleaseNoise, entropy: Entropy) -> NoisyTable:
            del entropy  # it goes on being what intervals are simulated with
            self.tables.append(add_noise(exact, release, self.noise))
            return self.tables[-1]

        def chosen(
            there: NoisyTable,
            release: ReleaseNoise,
            histograms: Mapping[Histogram, ExactHistogram],
            entropy: Entropy,
        ) -> NoisyTable:
            del entropy
            self.tables.append(add_choices(there, release, histograms, self.noise))
            return self.tables[-1]

        with _in_place(counted, chosen):
            yield

    @contextmanager
    def playing(self) -> Iterator[None]:
        """Whatever the source said."""
        waiting = self.left = iter(self.tables)

        def counted(exact: ExactTable, release: ReleaseNoise, entropy: Entropy) -> NoisyTable:
            del exact, entropy
            return _as_paid(next(waiting), release)

        def chosen(
            there: NoisyTable,
            release: ReleaseNoise,
            histograms: Mapping[Histogram, ExactHistogram],
            entropy: Entropy,
        ) -> NoisyTable:
            del there, histograms, entropy
            return _as_paid(next(waiting), release)

        with _in_place(counted, chosen):
            yield


def _as_paid(table: NoisyTable, release: ReleaseNoise) -> NoisyTable:
    assert table.noises == release.noises, "something else is measured than in the first run"
    return table


@contextmanager
def _in_place(
    counted: Callable[..., NoisyTable], chosen: Callable[..., NoisyTable]
) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gateway.stages.execute.add_noise", counted)
        patch.setattr("gateway.stages.execute.add_choices", chosen)
        yield


class Numbers:
    """Stands where the random numbers of questions come from: one after the other."""

    def __init__(self) -> None:
        self._last = 0

    def token_hex(self, octets: int) -> str:
        self._last += 1
        return f"{self._last:0{2 * octets}x}"


@dataclass(frozen=True)
class Said:
    """What was said to one question: decision, texts, numbers, and what it took from whom."""

    outcome: str
    accounts: str


@dataclass(frozen=True)
class Run:
    """Everything that a gateway said and wrote down."""

    said: Sequence[Said]
    records: Sequence[str]


def run(  # noqa: PLR0917 - a gateway, and what it is asked
    server: StateServer,
    twin: Twin,
    home: Path,
    policies: Mapping[str, str],
    urls: Mapping[str, URL],
    asked: Sequence[Asked],
) -> Run:
    """A gateway of its own is asked one question after the other."""
    folder = home / "policies"
    folder.mkdir(parents=True)
    (folder / "subjects.yaml").write_text(SUBJECTS)
    for name, text in policies.items():
        (folder / f"{name}.yaml").write_text(text)
    secret = SecretStr(AUDIT_SECRET.decode())
    environment = {
        name.upper(): url.render_as_string(hide_password=False) for name, url in urls.items()
    }
    with server.database() as state:
        settings = settings_on(state, home / "home", policies=folder, audit_key=secret)
        with open_foundation(settings) as foundation:
            current = open_policies(foundation, environment=environment)
            subjects = current.value.subjects
            with closing(open_query_service(foundation, current, twin, "rest")) as asking:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr("gateway.datasets.view.secrets", Numbers())
                    said = _asked(asking, subjects, asked)
                with foundation.engine.connect() as connection:
                    records = [
                        _record(one) for one in all_records(connection) if one.get("query_id")
                    ]
    return Run(said, records)


def _asked(
    asking: QueryService, subjects: Mapping[str, Subject], stream: Sequence[Asked]
) -> list[Said]:
    said, now = [], BEGIN
    simulated = Stream("simulated intervals")
    for one in stream:
        now += timedelta(minutes=one.minutes)
        installation = replace(asking.services, now=partial(_at, now), entropy=simulated)
        here = replace(asking, services=installation)
        price = None if one.epsilon is None else Epsilon.parse(one.epsilon)
        request = Request(one.sql, dataset=one.dataset, epsilon=price, fresh=one.fresh)
        try:
            answer = here.answer(subjects[one.who], request, CancelEvent())
        except Refusal as refusal:
            outcome = f"{refusal.code} {refusal.title}: {refusal.detail} ({refusal.hint})"
        else:
            told = asdict(replace(answer, rows=TextRows.of(()), intervals=IntervalRows.of(())))
            outcome = repr((told, list(answer.rows), list(answer.intervals)))
        said.append(Said(outcome, _accounts(here, subjects, one.dataset)))
    return said


def _at(moment: datetime) -> datetime:
    return moment


def _accounts(asking: QueryService, subjects: Mapping[str, Subject], dataset: str) -> str:
    """What everybody has left."""
    return repr(
        sorted(
            (one.account, one.epsilon_spent.value)
            for who in sorted(set(WHO))
            for one in asking.accounts(subjects[who], dataset)
        )
    )


def _record(record: Mapping[str, Any]) -> str:
    """Without times and seals."""
    kept = {name: value for name, value in record.items() if name not in _VARYING}
    taken = [{**each, "at": None} for each in kept.get("taken") or ()]
    return repr({**kept, "taken": taken})
