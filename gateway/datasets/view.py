"""A view of a dataset: the visible catalog, its twin database, and its bound and authorized statements.

Subjects under the same rules see the same, so they share a view.

A query is bound and authorized from its text and the policy. No protected data is read here: binding reads the
text and the catalog, the twin describes the statement, and the decision reads the policy.

INVARIANT: a view depends only on the dataset and on which rules apply, never on a subject's attributes. Their
effect is in the terms of each decision.
INVARIANT: a statement is bound against what the subject may see and nothing else. The rules that made this view
are the ones that decide.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Protocol, TypeAlias

from gateway.binding.bind import StatementCache
from gateway.binding.bound import Bound, Cut, PassThrough, Release, Step
from gateway.binding.catalog_queries import strip_database_name
from gateway.binding.describe import ColumnDescription
from gateway.binding.extensions import postgresql_sql
from gateway.binding.text.classify import classify
from gateway.binding.text.parameters import Given, parameter_literals
from gateway.binding.top_k import can_select
from gateway.catalog.tables import Dataset
from gateway.lru_cache import LruCache
from gateway.policy.applicable import ApplicableRules, RequestContext, applicable_rules, purpose_of
from gateway.policy.decide import Decision, Rows, decide, filter_rows, require_permits, visible_by
from gateway.policy.policy import Policy
from gateway.policy.subjects import Subject
from gateway.twin import VisibleTables, visible_tables

_MOST: Final = 256
_MOST_PERMITTED: Final = 128

PermittedKey: TypeAlias = tuple[int, tuple[tuple[str, Rows], ...]]


@dataclass(frozen=True)
class View:
    """The part of a dataset that may be seen, as it is bound against and as the twin shows it.

    `permitted` are bound statements over the rows that a subject may read, by the statement and these rows. Each keeps
    the statement that it was made from, so no other statement has its identity.
    """

    dataset: Dataset
    shown: VisibleTables
    statements: StatementCache
    permitted: LruCache[PermittedKey, tuple[Bound, Cut]] = field(
        default_factory=lambda: LruCache(_MOST_PERMITTED, lambda _, __: 1),
        compare=False,
    )


class Views:
    """The views of one policy, made when first needed."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._known: LruCache[tuple[frozenset[str], frozenset[str]], View] = LruCache(_MOST)

    def of(self, rules: ApplicableRules) -> View:
        """What these rules show; a refusal for whom none permits anything."""
        require_permits(rules, self.policy.dataset)
        key = (
            frozenset(rule.id for rule in rules.permits),
            frozenset(rule.id for rule in rules.forbids),
        )

        def make() -> View:
            dataset = visible_by(rules, self.policy.dataset)
            return View(dataset, visible_tables(dataset), StatementCache(dataset))

        return self._known.get(key, make)

    @property
    def shown(self) -> frozenset[VisibleTables]:
        """All sets of tables that some view shows now."""
        return frozenset(view.shown for view in self._known.values())


class Parameter(Protocol):
    @property
    def type_name(self) -> str: ...


class DescribedResult(Protocol):
    @property
    def columns(self) -> Sequence[ColumnDescription]: ...
    @property
    def parameters(self) -> Sequence[Parameter]: ...


class Describer(Protocol):
    """A session on the twin, as far as it is needed here."""

    def describe(self, statement: str, parameter_types: Sequence[int] = ()) -> DescribedResult: ...


Borrow: TypeAlias = Callable[[str, VisibleTables], AbstractContextManager[Describer]]


@dataclass(frozen=True)
class Question:
    """What somebody asks, and how it came in. Values of parameters are texts, as PostgreSQL reads them."""

    sql: str
    subject: Subject
    front_end: str
    asked_at: datetime
    purpose: str | None = None
    values: tuple[str | None, ...] = ()
    types: tuple[int, ...] = ()


@dataclass(frozen=True)
class BoundQuestion:
    """A statement that is bound and permitted; its releases read permitted rows alone."""

    bound: Bound
    decision: Decision
    rules: ApplicableRules
    view: View


def bind_question(question: Question, views: Views, borrow: Borrow) -> BoundQuestion:
    """The question as it will be answered, or the refusal."""
    rules = rules_for(question, views.policy)
    view = views.of(rules)

    with ExitStack() as borrowed:
        twin: list[Describer] = []

        def said(sql: str, types: Sequence[int] = ()) -> DescribedResult:
            if not twin:  # what was bound before needs no session
                session = borrow(question.subject.name, view.shown)
                twin.append(borrowed.enter_context(session))
            return twin[0].describe(sql, types)

        parameters: tuple[Given, ...] = ()
        if question.values:
            sql = strip_database_name(question.sql, view.dataset)
            asked = postgresql_sql(classify(sql).query or sql)
            wanted = said(asked, question.types).parameters
            parameters = parameter_literals(question.values, [one.type_name for one in wanted])
        bound = view.statements.bind(question.sql, parameters, lambda sql: said(sql).columns)
    return authorize_statement(bound, question, rules, view, views.policy)


def rules_for(question: Question, policy: Policy) -> ApplicableRules:
    """The rules that apply to the question."""
    purpose = purpose_of(question.subject, question.purpose)
    circumstances = RequestContext.of(question.front_end, purpose, question.asked_at)
    return applicable_rules(policy, question.subject, circumstances)


def authorize_statement(
    bound: Bound, question: Question, rules: ApplicableRules, view: View, policy: Policy
) -> BoundQuestion:
    """The bound statement with the decision on it."""
    purpose = purpose_of(question.subject, question.purpose)
    if isinstance(bound, PassThrough):
        return BoundQuestion(bound, decide(rules, policy.dataset, purpose, (), ()), rules, view)
    decision = decide(rules, policy.dataset, purpose, bound.tables, bound.uses)
    rows = tuple(sorted(decision.terms.rows.items()))
    _, permitted = view.permitted.get(
        (id(bound), rows), lambda: (bound, _permitted(bound, decision, policy))
    )
    return BoundQuestion(permitted, decision, rules, view)


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
    if not decision.terms.rows:
        return cut

    def permitted(step: Step) -> Step:
        if not isinstance(step, Release):
            return step
        return replace(step, plan=filter_rows(step.plan, policy.dataset, decision.terms.rows))

    return replace(cut, steps=tuple(permitted(step) for step in cut.steps))
