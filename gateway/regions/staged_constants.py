"""Staged constants whose values are there: what is chosen by them is a condition as any other.

INVARIANT: what comes out is true of the rows of which the plan's own condition is, as soon as the constants have these
values. They do not say how often a row is joined: a row that occurs twice is in the same region.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from gateway.catalog.types import ColumnType
from gateway.catalog.values import Value
from gateway.plan.fields import BOOLEAN
from gateway.plan.joins import Join, Mark
from gateway.plan.relations import Constant, StagedRows
from gateway.plan.scalars import (
    Call,
    Case,
    Literal,
    Ref,
    Scalar,
    StagedMember,
    StagedValue,
    transform,
)
from gateway.regions.normal_form import normal
from gateway.regions.relation import Relation

Resolve: TypeAlias = Callable[[Scalar, Mapping[str, Scalar]], Scalar]
MOST_ROWS: Final = 64
_MOST_MEMBERS: Final = 10_000


@dataclass(frozen=True, slots=True)
class StagedMatch:
    """The condition under which a row is joined, and the constant's columns in the joined row."""

    condition: Scalar
    columns: tuple[Scalar, ...]


def value_of(
    staged: StagedValue, known: Mapping[str, StagedRows], names: Mapping[str, str]
) -> Scalar:
    """The single value, NULL if there is no row; a reference to its content while the value is unknown."""
    rows = known.get(staged.constant)
    if rows is None:
        return replace(staged, constant=_content_of(staged.constant, names))
    return Literal(rows.rows[0][0] if rows.rows else None, staged.type)


def member_of(
    staged: StagedMember,
    what: Scalar,
    known: Mapping[str, StagedRows],
    names: Mapping[str, str],
) -> Scalar:
    """IN of the staged values; a reference to their content while they are unknown."""
    rows = known.get(staged.constant)
    if rows is None or len(rows.rows) > _MOST_MEMBERS:
        return StagedMember(what, _content_of(staged.constant, names))
    values = list(dict.fromkeys(row[0] for row in rows.rows))
    if not values:
        return Literal(value=False, type=BOOLEAN)
    members = tuple(Literal(one, rows.columns[0][1]) for one in values)
    return Call("in", (what, *members), BOOLEAN)


def _content_of(constant: str, names: Mapping[str, str]) -> str:
    """The digest of the constant's content. An expression over bases has it already: aggregates of persons are resolved twice."""
    return constant if constant in names.values() else names[constant]


def join_staged(
    node: Join,
    left: Relation,
    right: Relation,
    known: Mapping[str, StagedRows],
    resolve: Resolve,
) -> Relation | None:
    """The relation with a join with known constants as a condition; None if it is no such join."""
    constants = [one for one in node.below if isinstance(one, Constant)]
    if len(constants) != 1:
        return None
    [constant] = constants
    rows = known.get(constant.name)
    if rows is None or not rows.rows or len(rows.rows) > MOST_ROWS:
        return None
    if node.condition is None:
        return _beside_one_row(constant, right if constant is node.left else left, rows)
    if node.outer and constant is not node.right:
        return None
    other, beside = (right, left) if constant is node.left else (left, right)
    condition = resolve(node.condition, {**left.columns, **right.columns})
    found = match_rows(condition, beside, rows, constant)
    columns = dict(zip((one.id for one in constant.fields), found.columns, strict=True))
    kept = other.conditions if node.outer else (*other.conditions, found.condition)
    return replace(other, columns={**other.columns, **columns}, conditions=kept)


def _beside_one_row(constant: Constant, other: Relation, rows: StagedRows) -> Relation | None:
    """Every row beside the one row of the constant: the same rows, with its values as columns."""
    if len(rows.rows) != 1:
        return None
    values = _literals(rows.rows[0], [one.type for one in constant.fields])
    columns = dict(zip((one.id for one in constant.fields), values, strict=True))
    return replace(other, columns={**other.columns, **columns})


def match_staged(
    node: Mark,
    inner: Relation,
    columns: Mapping[str, Scalar],
    known: Mapping[str, StagedRows],
    resolve: Resolve,
) -> Scalar | None:
    """EXISTS over known constants as a condition; None if it is no such EXISTS."""
    if not isinstance(node.inner, Constant) or node.condition is None:
        return None
    rows = known.get(node.inner.name)
    if rows is None or len(rows.rows) > MOST_ROWS:
        return None
    found = match_rows(resolve(node.condition, columns), inner, rows, node.inner)
    return normal(Call("is true", (found.condition,), BOOLEAN, nullable=False))


def match_rows(
    condition: Scalar, beside: Relation, rows: StagedRows, constant: Constant
) -> StagedMatch:
    """The join condition for these rows of the constant. `beside` has the constant's columns."""
    ids = [one.field.id for one in beside.columns.values() if isinstance(one, Ref)]
    types = [one.type for one in constant.fields]
    whens = tuple(
        normal(_with_values(condition, dict(zip(ids, _literals(row, types), strict=True))))
        for row in rows.rows
    )
    columns = tuple(
        Case(
            tuple((when, Literal(row[at], of)) for when, row in zip(whens, rows.rows, strict=True)),
            Literal(None, of),
            of,
        )
        for at, of in enumerate(types)
    )
    return StagedMatch(normal(Call("or", whens, BOOLEAN)), columns)


def _literals(row: Sequence[Value | None], types: Sequence[ColumnType]) -> list[Literal]:
    return [Literal(value, of) for value, of in zip(row, types, strict=True)]


def _with_values(scalar: Scalar, given: Mapping[str, Literal]) -> Scalar:
    """The expression with these values in the place of names."""
    return transform(
        scalar, lambda one: given.get(one.field.id, one) if isinstance(one, Ref) else one
    )
