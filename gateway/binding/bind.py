"""SQL text to a bound statement: the way in, step by step.

limits → kind of statement → what PostgreSQL says of it → parse → shape → labels and cut → guards
"""

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from gateway.binding.bound import Bound, Cut, PassThrough, Release, ResultColumn, Sql, TracedSql
from gateway.binding.catalog_queries import as_catalog_query, is_catalog_query, strip_database_name
from gateway.binding.ctes import Environment
from gateway.binding.cut import CutBuilder
from gateway.binding.describe import (
    Describe,
    describe_result,
    drop_disagreeing_guards,
    has_same_traced_types,
    require_same_description,
)
from gateway.binding.empty_queries import is_empty_query
from gateway.binding.extensions import postgresql_sql, replace_medians
from gateway.binding.provenance.trace import RowTrace, add_interval_ends, trace_rows
from gateway.binding.queries import QueryBinder
from gateway.binding.relation import ProtectedRows, unit_rows_refusal
from gateway.binding.staging import make_sql
from gateway.binding.text.allowlist import check_shape
from gateway.binding.text.classify import Statement, StatementKind, classify
from gateway.binding.text.dialect import DIALECT
from gateway.binding.text.limits import check_lexing, tokens_of
from gateway.binding.text.parameters import Given
from gateway.binding.text.round_trip import (
    check_literals,
    check_same,
    intervals_as_casts,
    with_parameters,
)
from gateway.catalog.tables import Dataset
from gateway.errors import Code, LimitExceeded, Refusal, SyntaxRefused, UnsupportedSql
from gateway.plan.node import BrokenPlan
from gateway.plan.uses import plan_tables, plan_uses


def bind(
    sql: str,
    dataset: Dataset,
    *,
    parameters: Sequence[Given] = (),
    describe: Describe | None = None,
) -> Bound:
    """What the statement means for someone who sees this dataset, or the refusal.

    With `describe` PostgreSQL is asked first: what it does not take gets its own words and position.
    """
    statement = classify(strip_database_name(sql, dataset))
    if describe is None:
        return _bound(statement, dataset, parameters)
    if statement.kind is StatementKind.PASS:
        return _passing(statement)
    original = describe_result(postgresql_sql(statement.query), describe)
    bound = _bound_or_chatter(statement, dataset, parameters)
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


def _bound_or_chatter(statement: Statement, dataset: Dataset, parameters: Sequence[Given]) -> Bound:
    """What PostgreSQL takes and we do not is the twin's affair, where it names nothing of the source."""
    try:
        return _bound(statement, dataset, parameters)
    except LimitExceeded:
        raise
    except Refusal:
        if not is_catalog_query(statement.query, dataset):
            raise
    return _passing(statement)


def _passing(statement: Statement) -> PassThrough:
    return PassThrough(as_catalog_query(statement))


def _bound(statement: Statement, dataset: Dataset, parameters: Sequence[Given]) -> Bound:
    if statement.kind is StatementKind.PASS:
        return _passing(statement)
    try:
        return _bind(statement, dataset, parameters)
    except RecursionError as error:
        # the limits make this unreachable; it is here so that being wrong about that is a refusal
        raise LimitExceeded(Code.SQL_TOO_LARGE, "the statement is too deeply nested") from error


def _bind(
    statement: Statement,
    dataset: Dataset,
    parameters: Sequence[Given],
    *,
    selecting: bool = True,
) -> Bound:
    text = intervals_as_casts(statement.query, tokens_of(statement.query))
    tokens = tokens_of(text)
    check_lexing(tokens)
    tree = parse(text, tokens)
    check_shape(tree)
    check_literals(tokens, tree)
    tree = replace_medians(with_parameters(tree, parameters))
    cutting = CutBuilder(dataset, _names(tokens), empty=is_empty_query(tree), selecting=selecting)
    relation = QueryBinder(cutting, tree).query(tree, Environment(), None, "")
    if isinstance(relation, ProtectedRows):
        raise unit_rows_refusal(relation.plan)
    query = add_interval_ends(relation.query, cutting)
    if not cutting.steps and not cutting.shortened:
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
        frozenset(use for plan in releases for use in plan_uses(plan)),
        frozenset(cutting.touched)
        | frozenset(name for plan in releases for name in plan_tables(plan)),
        relation.names if relation.complete else None,
        traced=_traced(trace),
        again=trace.again,
    )
    if not cutting.selected:
        return cut
    counted = _bind(statement, dataset, parameters, selecting=False)
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
