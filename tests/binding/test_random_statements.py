"""Laws of binding: nonsense is refused, and a printed statement binds again."""

import random

from binding import fuzz
from binding.cases import Case, accepted, bind_case
from binding.clinic import CLINIC
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import for_each
from samples import draws

from gateway.binding.bind import bind, parse
from gateway.binding.bound import Cut
from gateway.binding.expressions import ScalarBinder
from gateway.binding.scope import FromRelation, Scope, Visible
from gateway.binding.text.lexer import tokens_of
from gateway.binding.text.round_trip import intervals_as_casts
from gateway.errors import Refusal
from gateway.plan.fields import Field
from gateway.plan.node import walk_nodes
from gateway.plan.relations import Filter, Scan
from gateway.plan.scalars import Ref, Scalar, StagedMember, StagedValue, walk_scalar
from gateway.plan.sql_text import scalar_sql

ACCEPTED = accepted()


@settings(max_examples=draws(150, fewest=50), deadline=None)
@given(st.text(max_size=200))
@example("\x00")
@example("\ud800")
@example("SELECT " + "(" * 1000)
@example("/*" * 5000)
@example("SELECT '" + "'" * 999)
@example("WITH " * 3000)
def test_bind_raises_refusals_alone_when_the_text_is_nonsense(sql: str) -> None:
    """Whatever is sent, it is bound or refused; nothing else ever comes out."""
    try:
        bind(sql, CLINIC)
    except Refusal:
        return


@settings(max_examples=draws(150, fewest=50), deadline=None)
@given(st.integers(min_value=0))
def test_bind_raises_refusals_alone_when_sql_is_broken_up(seed: int) -> None:
    """Golden cases with pieces cut out and put in are bound or refused."""
    seeds = [case.sql for case in ACCEPTED]
    sql = fuzz.text_of(random.Random(seed), seeds)  # noqa: S311 - repeatable
    assert fuzz.failure(sql) is None


def _scope(fields: tuple[Field, ...]) -> Scope:
    sources: dict[str, list[Visible]] = {}
    for one in fields:
        alias, _, name = one.id.partition(".")
        sources.setdefault(alias, []).append(Visible(name, one.type, one))
    return Scope([FromRelation(alias, tuple(columns)) for alias, columns in sources.items()])


def _conditions(case: Case) -> list[tuple[tuple[Field, ...], Scalar]]:
    """The expressions of a statement that can be bound by themselves, and the columns they are bound among."""
    bound = bind_case(case)
    found: list[tuple[tuple[Field, ...], Scalar]] = []
    for release in bound.releases if isinstance(bound, Cut) else ():
        scalars = [scalar for _, scalar in release.plan.keys]
        for _, measure in release.plan.measures:
            scalars += measure.arguments
        found += [(release.plan.child.fields, one) for one in scalars]
        for node in walk_nodes(release.plan):
            if isinstance(node, Filter):
                found.append((node.child.fields, node.condition))
    return [(fields, scalar) for fields, scalar in found if _stands_alone(scalar)]


def _stands_alone(scalar: Scalar) -> bool:
    return not any(
        isinstance(one, StagedMember | StagedValue) for one in walk_scalar(scalar)
    ) and all(
        "." in one.field.id and '"' not in one.field.id
        for one in walk_scalar(scalar)
        if isinstance(one, Ref)
    )


@for_each("case", ACCEPTED)
def test_expression_binds_to_itself_when_printed(case: Case) -> None:
    """The text of an expression, bound among the same columns, is that expression's text again."""
    for fields, scalar in _conditions(case):
        printed = f"SELECT {scalar_sql(scalar)}"
        sql = intervals_as_casts(printed, tokens_of(printed))
        tree = parse(sql, tokens_of(sql))
        again = ScalarBinder(_scope(fields).find, "UTC").bind(tree.expressions[0])
        assert scalar_sql(again) == scalar_sql(scalar)
        assert again.type == scalar.type


def test_conditions_are_many() -> None:
    """The law above is tried on more than a hundred expressions."""
    assert sum(len(_conditions(case)) for case in ACCEPTED) > 100


@for_each("case", ACCEPTED)
def test_scan_is_read_through_a_release_alone(case: Case) -> None:
    """Every table of persons in a bound statement lies below an aggregate that adds noise."""
    bound = bind_case(case)
    if isinstance(bound, Cut):
        protected = {
            node.table.name
            for release in bound.releases
            for node in walk_nodes(release.plan)
            if isinstance(node, Scan)
        }
        read = {step.table.name for step in bound.steps if hasattr(step, "table")}
        assert not (read & {"patients", "visits"}) or not bound.releases
        assert protected <= bound.tables
