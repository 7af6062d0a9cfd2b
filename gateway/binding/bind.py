"""SQL text to a bound statement: the way in, step by step.

limits → kind of statement → what PostgreSQL says of it → parse → shape → labels and cut → guards
"""

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from gateway.binding.bound import Bound, Cut, Passing, Release, ResultColumn, Sql, Traced
from gateway.binding.catalog_queries import as_chatter, is_chatter, without_database
from gateway.binding.ctes import Environment
from gateway.binding.cut import Cutting
from gateway.binding.describe import (
    Describe,
    described,
    require_agreement,
    traced_agrees,
    with_agreed_guards,
)
from gateway.binding.empty_queries import gives_nothing
from gateway.binding.extensions import askable, with_medians
from gateway.binding.provenance.trace import Followed, followed, with_ends
from gateway.binding.queries import Queries
from gateway.binding.relation import Rows, person_rows
from gateway.binding.staging import sql_of
from gateway.binding.text.allowlist import check_shape
from gateway.binding.text.classify import Kind, Statement, classify
from gateway.binding.text.dialect import DIALECT
from gateway.binding.text.limits import check_kept, tokens_of
from gateway.binding.text.parameters import Given
from gateway.binding.text.round_trip import (
    check_literals,
    check_same,
    with_parameters,
    without_intervals,
)
from gateway.catalog.tables import Dataset
from gateway.errors import Code, LimitExceeded, Refusal, SyntaxRefused, UnsupportedSql
from gateway.plan.node import BrokenPlan
from gateway.plan.uses import tables, uses


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
    statement = classify(without_database(sql, dataset))
    if describe is None:
        return _bound(statement, dataset, parameters)
    if statement.kind is Kind.PASS:
        return _passing(statement)
    original = described(askable(statement.query), describe)
    bound = _bound_or_chatter(statement, dataset, parameters)
    if isinstance(bound, Cut):
        return _agreed(bound, original, describe)
    return replace(bound, result=original)


def _agreed(cut: Cut, original: tuple[ResultColumn, ...], describe: Describe) -> Cut:
    """The cut as PostgreSQL reads it too; the one with counts where it reads choices otherwise."""
    instead = None if cut.instead is None else _agreed(cut.instead, original, describe)
    try:
        require_agreement(cut, original, describe)
    except UnsupportedSql as refusal:
        if instead is None or refusal.code is not Code.TEXT_DRIFTS:
            raise
        return instead
    traced = cut.traced if traced_agrees(cut, original, describe) else None
    agreed = replace(cut, result=original, traced=traced, instead=instead)
    return with_agreed_guards(agreed, describe)


def _bound_or_chatter(statement: Statement, dataset: Dataset, parameters: Sequence[Given]) -> Bound:
    """What PostgreSQL takes and we do not is the twin's affair, where it names nothing of the source."""
    try:
        return _bound(statement, dataset, parameters)
    except LimitExceeded:
        raise
    except Refusal:
        if not is_chatter(statement.query, dataset):
            raise
    return _passing(statement)


def _passing(statement: Statement) -> Passing:
    return Passing(as_chatter(statement))


def _bound(statement: Statement, dataset: Dataset, parameters: Sequence[Given]) -> Bound:
    if statement.kind is Kind.PASS:
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
    text = without_intervals(statement.query, tokens_of(statement.query))
    tokens = tokens_of(text)
    check_kept(tokens)
    tree = parse(text, tokens)
    check_shape(tree)
    check_literals(tokens, tree)
    tree = with_medians(with_parameters(tree, parameters))
    cutting = Cutting(dataset, _names(tokens), empty=gives_nothing(tree), selecting=selecting)
    relation = Queries(cutting, tree).query(tree, Environment(), None, "")
    if isinstance(relation, Rows):
        raise person_rows(relation.plan)
    query = with_ends(relation.query, cutting)
    if not cutting.steps and not cutting.shortened:
        if cutting.touched:
            raise UnsupportedSql(Code.CLAUSE_UNSUPPORTED, "the statement reads no table")
        return _passing(statement)
    finishing = _sql(query)
    trace = followed(query, cutting)
    releases = [step.plan for step in cutting.steps if isinstance(step, Release)]
    cut = Cut(
        statement,
        cutting.done(),
        finishing,
        frozenset(use for plan in releases for use in uses(plan)),
        frozenset(cutting.touched) | frozenset(name for plan in releases for name in tables(plan)),
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


def _traced(trace: Followed) -> Traced | None:
    if trace.cells is None:
        return None
    return Traced(_parted(trace.query), trace.cells, trace.others)


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
        return sql_of([], tree)
    body = tree.copy()
    body.set("with_", None)
    return sql_of(with_.expressions, body, recursive=bool(with_.args.get("recursive")))


def _names(tokens: list[Token]) -> list[str]:
    quiet = {TokenType.STRING, TokenType.NUMBER}
    return [token.text for token in tokens if token.token_type not in quiet]
