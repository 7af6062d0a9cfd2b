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

from gateway.admin.check_policies import current_policies, policy_api
from gateway.admin.instance import Foundation, operator_name
from gateway.admin.subject_list import SubjectList
from gateway.auth.authenticator import KeyAuthenticator
from gateway.auth.key_store import translate_state_errors
from gateway.auth.keys import mock_secret
from gateway.auth.scram import Logins, scram_logins
from gateway.budget.report import AccountBalance, standings, standings_of
from gateway.config import Settings, prepare_home
from gateway.datasets.registry import DatasetRegistry, WireSessions
from gateway.datasets.system_tables import OwnRows, visible_balances
from gateway.errors import BackendUnavailable, Code, Refusal
from gateway.events import Emit, ignore_event
from gateway.frontends.pgwire.connection import WireApi
from gateway.frontends.pgwire.handshake import FRONT_END as WIRE
from gateway.frontends.pgwire.server import WireServer
from gateway.frontends.rest.gateway_api import GatewayApi, QueryApi, SubjectApi
from gateway.frontends.tls import POSTGRESQL, tls_context
from gateway.policy.in_force import Cause, CurrentPolicies
from gateway.policy.subjects import Subject, load_subjects
from gateway.query_service import QueryService
from gateway.release_cache.cache import ReleaseCaches
from gateway.requests.idempotency import StoredAnswers
from gateway.stages.services import Services
from gateway.state.anchor import require_not_behind
from gateway.telemetry.metrics import Metrics
from gateway.trail.record import utc_now
from gateway.trail.search import RecordFilter, latest_records
from gateway.trail.verify import Verdict
from gateway.twin import Twin, start_twin

_RECORD_S: Final = 0.5


@contextmanager
def open_twin_of(settings: Settings, emit: Emit = ignore_event) -> Iterator[Twin]:
    """The twin of this home, which starts meanwhile: `wait_until_started` says when it is there."""
    prepare_home(settings)
    with start_twin(
        settings.home, settings.postgres_bin, limit_s=settings.statement_timeout, emit=emit
    ) as twin:
        yield twin


def open_policies(
    foundation: Foundation, emit: Emit = ignore_event, environment: Mapping[str, str] = os.environ
) -> CurrentPolicies:
    """The policies in force: their ledgers and accounts are open when this returns."""
    policies = current_policies(
        foundation.journal, foundation.trail, foundation.settings.policies, emit, environment
    )
    policies.open(Cause(operator_name(), "the gateway starts"))
    return policies


def key_authenticator(
    foundation: Foundation, emit: Emit = ignore_event, policies: CurrentPolicies | None = None
) -> KeyAuthenticator[Subject]:
    """Who may come in: the subjects of the policies, by their API keys."""
    find = _finding_subjects(foundation, policies)
    return KeyAuthenticator(foundation.engine, find, foundation.turning_away, emit=emit)


def wire_logins(
    foundation: Foundation, emit: Emit = ignore_event, policies: CurrentPolicies | None = None
) -> Logins[Subject]:
    """The same for those who come by name and prove that they have a key, as PostgreSQL's clients do."""
    find, secret = _finding_subjects(foundation, policies), mock_secret(foundation.key.secret)
    return scram_logins(foundation.engine, find, foundation.turning_away, secret, emit=emit)


def _finding_subjects(
    foundation: Foundation, policies: CurrentPolicies | None
) -> Callable[[str], Subject | None]:
    known = load_subjects(foundation.settings.policies) if policies is None else {}

    def subject(name: str) -> Subject | None:
        return (known if policies is None else policies.value.subjects).get(name)

    return subject


def open_query_service(
    foundation: Foundation,
    policies: CurrentPolicies,
    twin: Twin,
    front_end: str,
    emit: Emit = ignore_event,
) -> QueryService:
    """The way questions take through this gateway; close it to let go of the sources."""
    served = DatasetRegistry(lambda: policies.value, foundation.engine, emit)
    own = OwnRows(
        partial(_own_accounts, foundation, policies), partial(_records, foundation), served
    )
    limit_s = foundation.settings.statement_timeout
    services = Services(
        foundation.journal,
        foundation.trail,
        twin,
        served.find,
        own.rows,
        ReleaseCaches(foundation.engine, foundation.trail.seal, emit),
        emit,
        limit_s=limit_s,
        kept=StoredAnswers(foundation.engine, foundation.trail.seal, emit),
        longest_grid=lambda: policies.value.longest_grid_ms,
    )
    return QueryService(services, own, served, front_end)


def wait_ender(foundation: Foundation, asking: QueryService) -> Callable[[], None]:
    """What ends every wait when the gateway stops and its moment for what is under way is over.

    First the sources: the outcomes of queries that end then are still recorded. What waits for the state itself, whatever
    holds it up, is cut off a moment later.
    """

    def give_up() -> None:
        asking.stop()
        sleep(_RECORD_S)
        foundation.lines.cut()

    return give_up


def preload_history(asking: QueryService, datasets: Iterable[str]) -> Thread:
    """Read what was asked of the datasets, so that the first question need not wait for it."""

    def read() -> None:
        for dataset in datasets:
            with suppress(
                Refusal
            ):  # if the state cannot be reached, the next caller gets the error
                asking.services.caches[dataset].refresh()

    reading = Thread(target=read, name="reading-ahead", daemon=True)
    reading.start()
    return reading


@contextmanager
def open_query_api(
    foundation: Foundation,
    policies: CurrentPolicies,
    twin: Twin,
    front_end: str,
    emit: Emit = ignore_event,
) -> Iterator[QueryApi]:
    """What a front end may ask; at the end the sources are let go of."""
    with closing(open_query_service(foundation, policies, twin, front_end, emit)) as asking:
        yield query_api(asking)


def query_api(asking: QueryService) -> QueryApi:
    """What the REST interface may ask about data."""
    return QueryApi(
        answer=asking.answer,
        estimate=asking.estimate,
        accounts=asking.accounts,
        datasets=asking.own.datasets,
        queries=asking.own.questions,
        require_ready=asking.services.caches.require_as_written,
    )


def wire_api(asking: QueryService, emit: Emit = ignore_event) -> WireApi:
    """What the PostgreSQL wire may ask: of the same datasets, by the same pipeline."""
    mine = replace(asking, front_end=WIRE)
    services = mine.services
    rooms = WireSessions(mine.served, services.twin, services.now, WIRE)
    return WireApi(
        enter=rooms.enter,
        require_same=rooms.require_same,
        release=mine.release,
        estimate=mine.estimate,
        emit=emit,
        limit_s=services.limit_s,
    )


@contextmanager
def serve_wire(
    foundation: Foundation,
    policies: CurrentPolicies,
    asking: QueryService,
    listener: socket,
    emit: Emit = ignore_event,
) -> Iterator[WireServer]:
    """PostgreSQL's protocol on this socket, until the block is left."""
    settings = foundation.settings
    server = WireServer(
        wire_api(asking, emit),
        wire_logins(foundation, emit, policies),
        tls_context(settings, POSTGRESQL),
        foundation.workers,
    )
    server.start(listener)
    try:
        yield server
    finally:
        server.stop()


def gateway_api(
    foundation: Foundation,
    metrics: Metrics,
    emit: Emit = ignore_event,
    policies: CurrentPolicies | None = None,
    *,
    twin: Twin | None = None,
    questions: QueryApi | None = None,
) -> GatewayApi:
    """What the REST interface may ask of this gateway."""

    def accounts() -> Sequence[AccountBalance]:
        with translate_state_errors(), foundation.engine.connect() as connection:
            return standings(connection, utc_now())

    def verify_trail() -> Verdict:
        with translate_state_errors():
            return foundation.verify_trail()

    def require_ready() -> None:
        try:
            with translate_state_errors(), foundation.engine.connect() as connection:
                require_not_behind(connection, foundation.anchor)
        except OSError as error:
            raise BackendUnavailable(Code.ANCHOR_UNAVAILABLE) from error
        if twin is not None:
            twin.require_running()
        if questions is not None:
            questions.require_ready()

    return GatewayApi(
        authenticator=key_authenticator(foundation, emit, policies),
        policies=None if policies is None else policy_api(policies),
        subjects=None if policies is None else subject_api(foundation, policies),
        questions=questions,
        accounts=accounts,
        accounts_of=partial(_own_accounts, foundation, policies),
        records=partial(_records, foundation),
        verify_trail=verify_trail,
        require_ready=require_ready,
        metrics=metrics.text,
        metrics_type=metrics.content_type,
        emit=emit,
        workers=foundation.workers,
    )


def subject_list(foundation: Foundation) -> SubjectList:
    """How subjects stand, and what changes it."""
    return SubjectList(foundation.engine, foundation.journal, foundation.trail, utc_now)


def subject_api(foundation: Foundation, policies: CurrentPolicies) -> SubjectApi:
    """What administrators may do about subjects."""
    roster = subject_list(foundation)

    def subjects() -> Sequence[Mapping[str, Any]]:
        with translate_state_errors():
            return roster.subjects(policies.value.subjects)

    def suspend(name: str, dataset: str | None, actor: str) -> Sequence[str]:
        with translate_state_errors():
            return roster.suspend(policies.value.subjects, name, dataset, actor)

    def resume(name: str, dataset: str | None, actor: str) -> Sequence[str]:
        with translate_state_errors():
            return roster.resume(policies.value.subjects, name, dataset, actor)

    return SubjectApi(subjects=subjects, suspend=suspend, resume=resume)


def _records(
    foundation: Foundation, limit: int, wanted: RecordFilter
) -> Sequence[Mapping[str, Any]]:
    with translate_state_errors(), foundation.engine.connect() as connection:
        return latest_records(connection, limit, wanted)


def _own_accounts(
    foundation: Foundation, policies: CurrentPolicies | None, subject: Subject
) -> Sequence[AccountBalance]:
    """The accounts of a subject's questions, as far as the subject may see them."""
    with translate_state_errors(), foundation.engine.connect() as connection:
        found = standings_of(connection, utc_now(), subject.name)
    return visible_balances(found, subject, {} if policies is None else policies.value.policies)
