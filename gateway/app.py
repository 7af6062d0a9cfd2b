"""The composition root: settings in, a wired gateway out. The only place that constructs things."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from socket import socket
from threading import Thread
from time import sleep
from typing import Any, Final

from gateway.admin.instance import Ground, operator_name
from gateway.admin.reload_policies import current_policies, policy_door
from gateway.admin.subject_list import Roster
from gateway.auth.authenticator import KeyAuthenticator
from gateway.auth.lookup import reading_state
from gateway.auth.scram_login import Logins, logins_on
from gateway.auth.verifiers import mock_secret
from gateway.budget.report import Standing, standings, standings_of
from gateway.budget.shared_accounts import as_told
from gateway.config import Settings, prepare_home
from gateway.datasets.registry import Served
from gateway.datasets.system_tables import OwnRows
from gateway.datasets.wire_session import Rooms
from gateway.errors import BackendUnavailable, Code, Refusal
from gateway.events import Emit, silent
from gateway.frontends.pgwire.gateway_api import WireDoor
from gateway.frontends.pgwire.handshake import FRONT_END as WIRE
from gateway.frontends.pgwire.server import WireServer
from gateway.frontends.rest.gateway_api import Doors, QuestionDoor, SubjectDoor
from gateway.frontends.tls import POSTGRESQL, tls_context
from gateway.policy.in_force import Cause, CurrentPolicies
from gateway.policy.subjects import Subject, load_subjects
from gateway.query_service import Asking
from gateway.release_cache.cache import Books
from gateway.requests.idempotency import Kept
from gateway.stages.services import Services
from gateway.state.anchor_check import require_not_behind
from gateway.telemetry.metrics import Metrics
from gateway.trail.append import utc_now
from gateway.trail.search import Wanted, latest
from gateway.trail.verify import Verdict
from gateway.twin import Twin, start_twin

_RECORD_S: Final = 0.5


@contextmanager
def open_twin_of(settings: Settings, emit: Emit = silent) -> Iterator[Twin]:
    """The twin of this home, which starts meanwhile: `wait_until_started` says when it is there."""
    prepare_home(settings)
    with start_twin(
        settings.home, settings.postgres_bin, limit_s=settings.statement_timeout, emit=emit
    ) as twin:
        yield twin


def open_policies(
    ground: Ground, emit: Emit = silent, environment: Mapping[str, str] = os.environ
) -> CurrentPolicies:
    """The policies in force: their ledgers and accounts are open when this returns."""
    policies = current_policies(
        ground.journal, ground.trail, ground.settings.policies, emit, environment
    )
    policies.open(Cause(operator_name(), "the gateway starts"))
    return policies


def door(
    ground: Ground, emit: Emit = silent, policies: CurrentPolicies | None = None
) -> KeyAuthenticator[Subject]:
    """Who may come in: the subjects of the policies, by their API keys."""
    find = _finding_subjects(ground, policies)
    return KeyAuthenticator(ground.engine, find, ground.turning_away, emit=emit)


def wire_logins(
    ground: Ground, emit: Emit = silent, policies: CurrentPolicies | None = None
) -> Logins[Subject]:
    """The same for those who come by name and prove that they have a key, as PostgreSQL's clients do."""
    find, secret = _finding_subjects(ground, policies), mock_secret(ground.key.secret)
    return logins_on(ground.engine, find, ground.turning_away, secret, emit=emit)


def _finding_subjects(
    ground: Ground, policies: CurrentPolicies | None
) -> Callable[[str], Subject | None]:
    known = load_subjects(ground.settings.policies) if policies is None else {}

    def subject(name: str) -> Subject | None:
        return (known if policies is None else policies.value.subjects).get(name)

    return subject


def open_asking(
    ground: Ground, policies: CurrentPolicies, twin: Twin, front_end: str, emit: Emit = silent
) -> Asking:
    """The way questions take through this gateway; close it to let go of the sources."""
    served = Served(lambda: policies.value, ground.engine, emit)
    own = OwnRows(partial(_own_accounts, ground, policies), partial(_records, ground), served)
    limit_s = ground.settings.statement_timeout
    services = Services(
        ground.journal,
        ground.trail,
        twin,
        served.find,
        own.rows,
        Books(ground.engine, ground.trail.seal, emit),
        emit,
        limit_s=limit_s,
        kept=Kept(ground.engine, ground.trail.seal, emit),
        longest_grid=lambda: policies.value.longest_grid_ms,
    )
    return Asking(services, own, served, front_end)


def giving_up(ground: Ground, asking: Asking) -> Callable[[], None]:
    """What ends every wait when the gateway stops and its moment for what is under way is over.

    First the sources: questions that end then still have their fates recorded. What waits for the state itself, whatever
    holds it up, is cut off a moment later.
    """

    def give_up() -> None:
        asking.stop()
        sleep(_RECORD_S)
        ground.lines.cut()

    return give_up


def read_ahead(asking: Asking, datasets: Iterable[str]) -> Thread:
    """Read what was asked of the datasets, so that the first question need not wait for it."""

    def read() -> None:
        for dataset in datasets:
            with suppress(Refusal):  # where the state cannot be reached, whoever asks is told
                asking.services.books[dataset].refresh()

    reading = Thread(target=read, name="reading-ahead", daemon=True)
    reading.start()
    return reading


@contextmanager
def open_questions(
    ground: Ground, policies: CurrentPolicies, twin: Twin, front_end: str, emit: Emit = silent
) -> Iterator[QuestionDoor]:
    """What a front end may ask; at the end the sources are let go of."""
    with closing(open_asking(ground, policies, twin, front_end, emit)) as asking:
        yield question_door(asking)


def question_door(asking: Asking) -> QuestionDoor:
    """What the REST interface may ask about data."""
    return QuestionDoor(
        answer=asking.answer,
        estimate=asking.estimate,
        accounts=asking.accounts,
        datasets=asking.datasets,
        queries=asking.queries,
        require_ready=asking.services.books.require_as_written,
    )


def wire_door(asking: Asking, emit: Emit = silent) -> WireDoor:
    """What the PostgreSQL wire may ask: of the same datasets, by the same pipeline."""
    mine = replace(asking, front_end=WIRE)
    services = mine.services
    rooms = Rooms(mine.served, services.twin, services.now, WIRE)
    return WireDoor(
        enter=rooms.enter,
        require_same=rooms.require_same,
        release=mine.release,
        estimate=mine.estimate,
        emit=emit,
        limit_s=services.limit_s,
    )


@contextmanager
def serving_wire(
    ground: Ground,
    policies: CurrentPolicies,
    asking: Asking,
    listener: socket,
    emit: Emit = silent,
) -> Iterator[WireServer]:
    """PostgreSQL's protocol on this socket, until the block is left."""
    settings = ground.settings
    server = WireServer(
        wire_door(asking, emit),
        wire_logins(ground, emit, policies),
        tls_context(settings, POSTGRESQL),
        ground.workers,
    )
    server.start(listener)
    try:
        yield server
    finally:
        server.stop()


def rest_doors(
    ground: Ground,
    metrics: Metrics,
    emit: Emit = silent,
    policies: CurrentPolicies | None = None,
    *,
    twin: Twin | None = None,
    questions: QuestionDoor | None = None,
) -> Doors:
    """What the REST interface may ask of this gateway."""

    def accounts() -> Sequence[Standing]:
        with reading_state(), ground.engine.connect() as connection:
            return standings(connection, utc_now())

    def verify_trail() -> Verdict:
        with reading_state():
            return ground.verify_trail()

    def require_ready() -> None:
        try:
            with reading_state(), ground.engine.connect() as connection:
                require_not_behind(connection, ground.anchor)
        except OSError as error:
            raise BackendUnavailable(Code.ANCHOR_UNAVAILABLE) from error
        if twin is not None:
            twin.require_running()
        if questions is not None:
            questions.require_ready()

    return Doors(
        authenticator=door(ground, emit, policies),
        policies=None if policies is None else policy_door(policies),
        subjects=None if policies is None else subject_door(ground, policies),
        questions=questions,
        accounts=accounts,
        accounts_of=partial(_own_accounts, ground, policies),
        records=partial(_records, ground),
        verify_trail=verify_trail,
        require_ready=require_ready,
        metrics=metrics.text,
        metrics_type=metrics.content_type,
        emit=emit,
        workers=ground.workers,
    )


def roster_of(ground: Ground) -> Roster:
    """How subjects stand, and what changes it."""
    return Roster(ground.engine, ground.journal, ground.trail, utc_now)


def subject_door(ground: Ground, policies: CurrentPolicies) -> SubjectDoor:
    """What administrators may do about subjects."""
    roster = roster_of(ground)

    def subjects() -> Sequence[Mapping[str, Any]]:
        with reading_state():
            return roster.subjects(policies.value.subjects)

    def suspend(name: str, dataset: str | None, actor: str) -> Sequence[str]:
        with reading_state():
            return roster.suspend(policies.value.subjects, name, dataset, actor)

    def resume(name: str, dataset: str | None, actor: str) -> Sequence[str]:
        with reading_state():
            return roster.resume(policies.value.subjects, name, dataset, actor)

    return SubjectDoor(subjects=subjects, suspend=suspend, resume=resume)


def _records(ground: Ground, limit: int, wanted: Wanted) -> Sequence[Mapping[str, Any]]:
    with reading_state(), ground.engine.connect() as connection:
        return latest(connection, limit, wanted)


def _own_accounts(
    ground: Ground, policies: CurrentPolicies | None, subject: Subject
) -> Sequence[Standing]:
    """The accounts of a subject's questions, as far as the subject may see them."""
    with reading_state(), ground.engine.connect() as connection:
        found = standings_of(connection, utc_now(), subject.name)
    return as_told(found, subject, {} if policies is None else policies.value.policies)
