"""SQL text to a bound statement: the way in, step by step, and the cache of bound statements.

limits → kind of statement → what PostgreSQL says of it → parse → shape → labels and cut → guards

INVARIANT: what is remembered depends on the text, the parameters, the session's time zone and the dataset alone, so a hit gives what
binding would give. A dataset is recognized by the very object: another one, though equal, starts anew.
"""

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from gateway.binding.binder import Environment, ProtectedRows, unit_rows_refusal
from gateway.binding.bound import (
    Bound,
    Cut,
    CutBuilder,
    PassThrough,
    Release,
    ResultColumn,
    Sql,
    TracedSql,
)
from gateway.binding.catalog_queries import as_catalog_query, is_catalog_query, strip_database_name
from gateway.binding.describe import (
    Describe,
    describe_result,
    drop_disagreeing_guards,
    has_same_traced_types,
    require_same_description,
)
from gateway.binding.extensions import postgresql_sql, replace_medians
from gateway.binding.other_spellings import drop_offsets
from gateway.binding.probes import (
    PROBED,
    existence_probe,
    is_empty_query,
    is_row_probe,
    lists_columns,
    replace_existence,
)
from gateway.binding.provenance.trace import RowTrace, add_interval_ends, trace_rows
from gateway.binding.queries import QueryBinder
from gateway.binding.sources import close_relation
from gateway.binding.staging import make_sql
from gateway.binding.text.allowlist import check_shape
from gateway.binding.text.classify import Statement, StatementKind, classify
from gateway.binding.text.dialect import DIALECT
from gateway.binding.text.lexer import check_lexing, tokens_of
from gateway.binding.text.parameters import Given
from gateway.binding.text.round_trip import (
    check_literals,
    check_same,
    grouping_parts_in_brackets,
    intervals_as_casts,
    plain_numbers,
    with_parameters,
)
from gateway.catalog.tables import Dataset
from gateway.catalog.zones import UTC_NAME
from gateway.errors import (
    Code,
    LimitExceeded,
    NotAggregate,
    Reason,
    Refusal,
    SyntaxRefused,
    UnsupportedSql,
)
from gateway.lru_cache import LruCache
from gateway.plan.node import BrokenPlan
from gateway.plan.uses import plan_tables, plan_uses
from gateway.ranges.rounding import rounding_uses

_UNDEFINED_TABLE: Final = "42P01"
_NO_RELATION: Final = re.compile(r'relation "(.*)" does not exist', re.DOTALL)


def bind(
    sql: str,
    dataset: Dataset,
    *,
    parameters: Sequence[Given] = (),
    describe: Describe | None = None,
    zone: str = UTC_NAME,
    search_path: Sequence[str] | None = None,
) -> Bound:
    """What the statement means for someone who sees this dataset in a session with this time zone, or the refusal.

    With `describe` PostgreSQL is asked first: what it does not take gets its own words and position. `search_path` is
    the session's, under which PostgreSQL describes; without one it is the dataset's.
    """
    statement = classify(strip_database_name(sql, dataset))
    context = _Context(dataset, search_path, zone)
    if describe is None:
        return _bound(statement, context, parameters)
    if statement.kind is StatementKind.PASS:
        return _passing(statement)
    try:
        original = describe_result(postgresql_sql(statement.query), describe)
    except Refusal as refusal:
        raise _with_close_relation(refusal, dataset) from None
    bound = _bound_or_chatter(statement, context, parameters)
    if isinstance(bound, Cut):
        return _agreed(bound, original, describe)
    return replace(bound, result=original)


def _agreed(cut: Cut, original: tuple[ResultColumn, ...], describe: Describe) -> Cut:
    """The cut as PostgreSQL reads it too; the one with counts where it reads choices otherwise."""
    instead = None if cut.instead is None else _agreed(cut.instead, original, describe)
    try:
        require_same_description(cut, original, describe)
    except UnsupportedSql as refusal:
        if instead is None or refusal.code is not Code.TEXT_DRIFTS:
            raise
        return instead
    traced = cut.traced if has_same_traced_types(cut, original, describe) else None
    agreed = replace(cut, result=original, traced=traced, instead=instead)
    return drop_disagreeing_guards(agreed, describe)


@dataclass(frozen=True, slots=True)
class _Context:
    """What names are resolved in: the visible dataset and a search path; and the session's time zone."""

    dataset: Dataset
    search_path: Sequence[str] | None
    zone: str


def _with_close_relation(refusal: Refusal, dataset: Dataset) -> Refusal:
    """PostgreSQL's refusal of an unknown relation, with a visible table of a similar name as its hint."""
    named = _NO_RELATION.match(refusal.detail)
    if refusal.hint or named is None or refusal.sqlstate != _UNDEFINED_TABLE:
        return refusal
    return refusal.with_hint(close_relation(dataset, named[1]))


def _bound_or_chatter(
    statement: Statement, context: _Context, parameters: Sequence[Given]
) -> Bound:
    """What PostgreSQL takes and we do not is the twin's affair, where it names nothing of the source."""
    try:
        return _bound(statement, context, parameters)
    except LimitExceeded:
        raise
    except Refusal:
        if not is_catalog_query(statement.query, context.dataset):
            raise
    return _passing(statement)


def _passing(statement: Statement) -> PassThrough:
    return PassThrough(as_catalog_query(statement))


def _bound(statement: Statement, context: _Context, parameters: Sequence[Given]) -> Bound:
    if statement.kind is StatementKind.PASS:
        return _passing(statement)
    try:
        return _bind(statement, context, parameters)
    except RecursionError as error:
        # the limits make this unreachable; it is here so that being wrong about that is a refusal
        raise LimitExceeded(Code.SQL_TOO_LARGE, "the statement is too deeply nested") from error


def _bind(
    statement: Statement,
    context: _Context,
    parameters: Sequence[Given],
    *,
    selecting: bool = True,
    probing: bool = False,
) -> Bound:
    text = plain_numbers(statement.query)
    text = intervals_as_casts(text, tokens_of(text))
    text = grouping_parts_in_brackets(text, tokens_of(text))
    tokens = tokens_of(text)
    check_lexing(tokens)
    tree = parse(text, tokens)
    check_shape(tree)
    check_literals(tokens, tree)
    tree = drop_offsets(replace_medians(with_parameters(tree, parameters)))
    is_row = is_row_probe(tree)
    exists = existence_probe(tree)
    cutting = CutBuilder(
        context.dataset,
        _names(tokens),
        context.zone,
        empty=probing or is_empty_query(tree),
        selecting=selecting,
        search_path=context.search_path,
    )
    if probing:
        tree.set("limit", exp.Limit(expression=exp.Literal.number(0)))
    if exists is not None and replace_existence(exists, cutting):
        probing = True
    try:
        relation = QueryBinder(cutting, tree).query(tree, Environment(), None, "")
        if isinstance(relation, ProtectedRows):
            raise unit_rows_refusal(relation.plan)
    except (NotAggregate, UnsupportedSql) as refusal:
        # a probe asks for names and types, which a column that no query reads has, too
        probes = isinstance(refusal, NotAggregate) or lists_columns(tree)
        if probing or not is_row or not probes:
            raise
        return _bind(statement, context, parameters, probing=True)
    query = add_interval_ends(relation.query, cutting)
    if not cutting.steps and not cutting.shortened and not probing:
        if cutting.touched:
            raise UnsupportedSql(Code.CLAUSE_UNSUPPORTED, "the statement reads no table")
        return _passing(statement)
    finishing = _sql(query)
    trace = trace_rows(query, cutting)
    releases = [step.plan for step in cutting.steps if isinstance(step, Release)]
    cut = Cut(
        statement,
        cutting.done(),
        finishing,
        frozenset(use for plan in releases for use in plan_uses(plan) | rounding_uses(plan)),
        frozenset(cutting.touched)
        | frozenset(name for plan in releases for name in plan_tables(plan)),
        relation.names if relation.complete else None,
        traced=_traced(trace),
        again=trace.again,
        notices=(PROBED,) if probing else (),
        zone=context.zone,
        listed=frozenset(cutting.listed),
    )
    if not cutting.selected:
        return cut
    counted = _bind(statement, context, parameters, selecting=False)
    if not isinstance(counted, Cut):
        raise BrokenPlan("a statement that chooses and counts nothing")
    # what is written is a grouping, and is permitted like one
    return replace(cut, uses=counted.uses, tables=counted.tables, instead=counted)


def _traced(trace: RowTrace) -> TracedSql | None:
    if trace.cells is None:
        return None
    return TracedSql(_parted(trace.query), trace.cells, trace.others)


def parse(sql: str, tokens: list[Token]) -> exp.Expression:
    """The tree of one query."""
    try:
        trees = DIALECT.parser().parse(tokens, sql)
    except RecursionError as error:
        raise LimitExceeded(Code.SQL_TOO_LARGE, "the statement is too deeply nested") from error
    except (SqlglotError, ValueError, TypeError, AttributeError, KeyError, IndexError):
        # whatever the parser stumbles over: the text is not SQL that it can read. Its own message has
        # the text in it, so it is not handed on, not even as a cause
        raise SyntaxRefused(Code.SQL_SYNTAX, "the text is not a valid query") from None
    if len(trees) != 1 or trees[0] is None:
        raise SyntaxRefused(Code.SEVERAL_STATEMENTS, "", "send the statements one by one")
    tree = trees[0]
    if not isinstance(tree, exp.Expression):
        raise SyntaxRefused(Code.SQL_SYNTAX, "the text is not a valid query")
    return tree


def _sql(tree: exp.Expression) -> Sql:
    check_same(tree)
    return _parted(tree)


def _parted(tree: exp.Expression) -> Sql:
    with_ = tree.args.get("with_")
    if with_ is None:
        return make_sql([], tree)
    body = tree.copy()
    body.set("with_", None)
    return make_sql(with_.expressions, body, recursive=bool(with_.args.get("recursive")))


def _names(tokens: list[Token]) -> list[str]:
    quiet = {TokenType.STRING, TokenType.NUMBER}
    return [token.text for token in tokens if token.token_type not in quiet]


_MOST: Final = 1_000
_OF_THE_MOMENT: Final = frozenset(
    {Reason.LIMIT_EXCEEDED, Reason.TIMEOUT, Reason.BACKEND_UNAVAILABLE, Reason.INTERNAL}
)
LONGEST_KEPT: Final = 8_192  # longer texts are bound each time: memory is bounded by both

_Key: TypeAlias = tuple[str, tuple[Given, ...], bool, str, tuple[str, ...] | None]


class StatementCache:
    """Binds, and remembers the last statements of one dataset."""

    def __init__(self, dataset: Dataset, most: int = _MOST) -> None:
        self._dataset = dataset
        self._known: LruCache[_Key, Bound | Refusal] = LruCache(most)

    def bind(
        self,
        sql: str,
        parameters: Sequence[Given] = (),
        describe: Describe | None = None,
        zone: str = UTC_NAME,
        search_path: tuple[str, ...] | None = None,
    ) -> Bound:
        """As `gateway.binding.bind.bind`; refusals that depend on the text alone are remembered too."""
        key = (sql, tuple(parameters), describe is not None, zone, search_path)
        found = self._known.find(key)
        if found is None:
            found = self._fresh(key, describe)
            if len(sql) <= LONGEST_KEPT and not _passes_over(found):
                self._known.put(key, found)
        if isinstance(found, Refusal):
            raise copy(found)  # its traceback would be shared, too
        return found

    def _fresh(self, key: _Key, describe: Describe | None) -> Bound | Refusal:
        sql, parameters, _, zone, path = key
        try:
            return bind(
                sql,
                self._dataset,
                parameters=parameters,
                describe=describe,
                zone=zone,
                search_path=path,
            )
        except Refusal as refusal:
            return refusal.with_traceback(None)


def _passes_over(found: Bound | Refusal) -> bool:
    """Whether it is a refusal of the moment: the twin was busy, slow or gone."""
    return isinstance(found, Refusal) and found.reason in _OF_THE_MOMENT
