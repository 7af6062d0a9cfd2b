"""A view of a dataset: the visible catalog, its twin database, and its bound and authorized statements.

Subjects under the same rules see the same, so they share a view.

A query is bound and authorized from its text and the policy. No protected data is read here: binding reads the
text and the catalog, the twin describes the statement, and the decision reads the policy.

INVARIANT: a view depends only on the dataset and on which rules apply, never on a subject's attributes. Their
effect is in the terms of each decision.
INVARIANT: a statement is bound against what the subject may see and nothing else. The rules that made this view
are the ones that decide.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Final, TypeAlias

from gateway.binding.bind import StatementCache
from gateway.binding.bound import Bound, Cut, PassThrough, Release, ResultColumn, Step
from gateway.binding.catalog_queries import strip_database_name
from gateway.binding.describe import describe_result
from gateway.binding.extensions import postgresql_sql
from gateway.binding.text.classify import classify
from gateway.binding.text.parameters import Given, parameter_literals
from gateway.binding.text.search_path import read_search_path
from gateway.binding.top_k import can_select
from gateway.catalog.tables import ColumnRef, Dataset
from gateway.catalog.zones import clock_time, find_session_zone
from gateway.errors import Code, UnsupportedSql
from gateway.lru_cache import LruCache
from gateway.plan.aggregates import Aggregate
from gateway.plan.rewrite import without_conditions
from gateway.policy.applicable import ApplicableRules, Peer, rules_at
from gateway.policy.decide import Decision, Rows, decide, filter_rows, require_permits, visible_by
from gateway.policy.generalization import generalize
from gateway.policy.levels import ReadLevel
from gateway.policy.policy import Policy
from gateway.policy.subjects import Subject
from gateway.requests.request import NullItem, Request
from gateway.twin import VisibleTables, visible_tables
from gateway.twin.session import StatementDescription, TwinSession
from gateway.twin.visible_tables import search_path

_MOST: Final = 256
_MOST_PERMITTED: Final = 128

PermittedKey: TypeAlias = tuple[
    int, tuple[tuple[str, Rows], ...], tuple[tuple[ColumnRef, ReadLevel], ...]
]
DescribedKey: TypeAlias = tuple[str, tuple[int, ...], str, tuple[str, ...] | None]


@dataclass(frozen=True)
class View:
    """The part of a dataset that may be seen, as it is bound against and as the twin shows it.

    `permitted` are bound statements over the rows that a subject may read, by the statement, these rows and the levels
    of columns. Each keeps
    the statement that it was made from, so no other statement has its identity.
    """

    dataset: Dataset
    shown: VisibleTables
    statements: StatementCache
    permitted: LruCache[PermittedKey, tuple[Bound, Cut]] = field(
        default_factory=partial(LruCache, _MOST_PERMITTED), compare=False
    )
    described: LruCache[DescribedKey, tuple[ResultColumn, ...]] = field(
        default_factory=partial(LruCache, _MOST_PERMITTED), compare=False
    )


Described: TypeAlias = Callable[..., StatementDescription]
Borrow: TypeAlias = Callable[[str, VisibleTables, str], AbstractContextManager[TwinSession]]
Session: TypeAlias = Callable[[], AbstractContextManager[TwinSession]]


def new_query_id() -> str:
    return secrets.token_hex(12)


@dataclass(frozen=True)
class Question:
    """A request with its subject and its way in.

    From binding on `asked_at` is on the clock of the session's time zone.
    """

    request: Request
    subject: Subject
    front_end: str
    asked_at: datetime
    query_id: str = field(default_factory=new_query_id)


@dataclass(frozen=True)
class BoundQuery:
    """A question that is bound and permitted: the releases of `bound` read permitted rows alone.

    `session` borrows a session on the twin that shows what the subject may see, in the time zone of the question.
    `nulled` are the items that are NULL in `bound` since they cannot be answered.
    """

    question: Question
    bound: Bound
    decision: Decision
    session: Session
    nulled: tuple[NullItem, ...] = ()


class Views:
    """The views of one policy, made when first needed."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._known: LruCache[tuple[frozenset[str], frozenset[str]], View] = LruCache(_MOST)

    def of(self, rules: ApplicableRules) -> View:
        """What these rules show; a refusal for whom none permits anything."""
        require_permits(rules)
        key = (
            frozenset(rule.id for rule in rules.permits),
            frozenset(rule.id for rule in rules.forbids),
        )

        def make() -> View:
            dataset = visible_by(rules)
            return View(dataset, visible_tables(dataset), StatementCache(dataset))

        return self._known.get(key, make)

    def bind(self, question: Question, borrow: Borrow) -> BoundQuery:
        """The question as it will be answered, or the refusal."""
        rules = rules_for(question, self.policy)
        view, request = self.of(rules), question.request
        zone = find_session_zone(request.zone or view.dataset.time_zone)
        question = replace(question, asked_at=clock_time(zone, question.asked_at))
        session = partial(borrow, question.subject.name, view.shown, zone)
        path = searched_by(request, view)

        with _describing(session, path) as said:
            parameters: tuple[Given, ...] = ()
            if request.parameters:
                sql = strip_database_name(request.sql, view.dataset)
                asked = postgresql_sql(classify(sql).query or sql)
                wanted = said(asked, request.types).parameters
                parameters = parameter_literals(
                    request.parameters, [one.type_name for one in wanted], zone
                )
            bound = view.statements.bind(
                request.sql, parameters, lambda sql: said(sql).columns, zone, path
            )
        if isinstance(bound, PassThrough):
            return BoundQuery(question, bound, decide(rules), session)
        cut, decision = bound, decide(rules, bound.tables, bound.uses)
        rows = tuple(sorted(decision.rows.items()))
        levels = tuple(sorted(decision.levels.items(), key=lambda one: one[0]))
        _, permitted = view.permitted.get(
            (id(cut), rows, levels), lambda: (cut, _permitted(cut, decision, self.policy))
        )
        return BoundQuery(question, permitted, decision, session)

    def columns(self, question: Question, borrow: Borrow) -> tuple[ResultColumn, ...]:
        """What PostgreSQL says of the result of the text, whether or not it can be answered; or PostgreSQL's refusal."""
        view, request = self.of(rules_for(question, self.policy)), question.request
        zone = find_session_zone(request.zone or view.dataset.time_zone)
        path = searched_by(request, view)
        session = partial(borrow, question.subject.name, view.shown, zone)

        def make() -> tuple[ResultColumn, ...]:
            text = strip_database_name(request.sql, view.dataset)
            asked = postgresql_sql(classify(text).query or text)
            with _describing(session, path) as said:
                return describe_result(asked, lambda sql: said(sql, request.types).columns)

        return view.described.get((request.sql, request.types, zone, path), make)

    @property
    def shown(self) -> frozenset[VisibleTables]:
        """All sets of tables that some view shows now."""
        return frozenset(view.shown for view in self._known.values())


@contextmanager
def _describing(session: Session, path: tuple[str, ...] | None) -> Iterator[Described]:
    """What PostgreSQL says of texts under a search path; a session is borrowed for the first one."""
    with ExitStack() as borrowed:
        twin: list[TwinSession] = []

        def said(sql: str, types: Sequence[int] = ()) -> StatementDescription:
            if not twin:  # what was bound before needs no session
                twin.append(borrowed.enter_context(session()))
                if path is not None:
                    twin[0].search(path)
            return twin[0].describe(sql, types)

        yield said


def searched_by(request: Request, view: View) -> tuple[str, ...] | None:
    """The search path of the client's session; None if it is the one with which sessions on this view begin."""
    if request.search_path is None:
        return None
    path = read_search_path(request.search_path)
    if path is None:
        raise UnsupportedSql(
            Code.STATEMENT_UNSUPPORTED,
            "the session's search path has names that the gateway does not read",
            "write SET search_path = public, or RESET search_path",
        )
    return None if path == search_path(view.shown) else path


def rules_for(question: Question, policy: Policy) -> ApplicableRules:
    """The rules that apply to the question."""
    request = question.request
    peer = Peer(question.front_end, request.address, request.tls)
    return rules_at(policy, question.subject, peer, request.purpose, question.asked_at)


def _permitted(cut: Cut, decision: Decision, policy: Policy) -> Cut:
    """Over permitted rows; with counts in the place of choices that the policy leaves no room for."""
    narrowed = _narrowed(cut, decision, policy)
    if cut.instead is None:
        return narrowed
    most, ranged = policy.sizes.enumerated_groups, frozenset(policy.results.reported.columns)
    if can_select(narrowed, most, ranged):
        return replace(narrowed, instead=None)
    return _narrowed(cut.instead, decision, policy)


def _narrowed(cut: Cut, decision: Decision, policy: Policy) -> Cut:
    def of_rows(plan: Aggregate) -> Aggregate:
        if not decision.rows and not decision.levels:
            return plan
        return filter_rows(generalize(plan, decision.levels), policy.dataset, decision.rows)

    def permitted(step: Step) -> Step:
        if not isinstance(step, Release):
            return step
        return replace(step, plan=of_rows(step.plan), whole=of_rows(without_conditions(step.plan)))

    return replace(cut, steps=tuple(permitted(step) for step in cut.steps))
