"""What PostgreSQL itself says of a text, held against what binding made of it.

The twin describes the original, over empty tables, and the finishing, over empty constants of the types
the plans give. The names and types that an analyst sees are PostgreSQL's own; where the two differ, the
text would not keep its meaning, and is refused.

INVARIANT: describing runs nothing and reads nothing, so it tells no more than the schema the subject sees.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

from gateway.binding.bound import Cut, Empty, Fetch, Release, ResultColumn, Sql, Stage
from gateway.binding.text.dialect import quote_name
from gateway.catalog.types import ColumnType
from gateway.errors import Code, Reason, Refusal, UnsupportedSql
from gateway.plan.fields import BIGINT, DOUBLE

_ABOUT_THE_TEXT: Final = frozenset(
    {Reason.SYNTAX_ERROR, Reason.NOT_PERMITTED, Reason.UNSUPPORTED_SQL}
)


class ColumnDescription(Protocol):
    """A column of a result; `type_name` is `format_type(type_oid, type_modifier)`."""

    @property
    def name(self) -> str: ...
    @property
    def type_oid(self) -> int: ...
    @property
    def type_modifier(self) -> int: ...
    @property
    def type_name(self) -> str: ...


class Describe(Protocol):
    """Asks the twin; it raises its own refusal for what PostgreSQL does not take."""

    def __call__(self, sql: str, /) -> Sequence[ColumnDescription]: ...


def describe_result(sql: str, describe: Describe) -> tuple[ResultColumn, ...]:
    """The result of the original statement."""
    return tuple(
        ResultColumn(one.name, one.type_oid, one.type_modifier, one.type_name)
        for one in describe(sql)
    )


def require_same_description(
    cut: Cut, original: tuple[ResultColumn, ...], describe: Describe
) -> None:
    """Refuse unless PostgreSQL reads stages and finishing as the plans and the original have them."""
    there: dict[str, str] = {}
    for step in cut.steps:
        if isinstance(step, Stage):  # plans read it, no SQL does
            found = [one.type_name for one in describe(step.sql.text(there))]
            if found != [str(one.type) for one in step.fields]:
                raise _drifts(
                    "PostgreSQL gives the columns of a subquery other types",
                    "add casts to its columns",
                )
        else:
            there[quote_name(step.name)] = empty_select(step)
    finished = describe_result(cut.finishing.text(there), describe)
    if [one.name for one in finished] != [one.name for one in original]:
        raise _drifts(
            "PostgreSQL gives the columns of the result other names", "name each column with AS"
        )
    for one, other in zip(finished, original, strict=True):
        if one != other:
            raise _drifts(
                f"PostgreSQL gives the column `{other.name}` the type {one.type_name} instead of {other.type_name}",
                f"cast the whole column, as in CAST(… AS {other.type_name})",
            )


def has_same_traced_types(cut: Cut, original: tuple[ResultColumn, ...], describe: Describe) -> bool:
    """Whether PostgreSQL reads the finishing with the numbers of rows as it reads the one without."""
    if cut.traced is None:
        return True
    there = {
        quote_name(one.name): empty_select(one) for one in cut.steps if not isinstance(one, Stage)
    }
    try:
        found = describe_result(cut.traced.finishing.text(there), describe)
    except Refusal as refusal:
        if refusal.reason not in _ABOUT_THE_TEXT:
            raise
        return False  # an aggregate of PostgreSQL's that is not known here
    many = len(cut.traced.readings)
    numbers = {one.type_name for one in found[-many:]}
    return found[:-many] == original and numbers == {str(BIGINT)}


def drop_disagreeing_guards(cut: Cut, describe: Describe) -> Cut:
    """The cut without the guards that PostgreSQL reads otherwise than what they guard."""
    there = {
        quote_name(one.name): empty_select(one) for one in cut.steps if not isinstance(one, Stage)
    }

    def agreed(sql: Sql) -> Sql:
        if sql.guarded is None:
            return sql
        try:
            same = describe_result(sql.guarded.text(there), describe) == describe_result(
                sql.text(there), describe
            )
        except Refusal as refusal:
            if refusal.reason not in _ABOUT_THE_TEXT:
                raise
            same = False
        return sql if same else replace(sql, guarded=None)

    traced = cut.traced
    return replace(
        cut,
        steps=tuple(
            replace(one, sql=agreed(one.sql)) if isinstance(one, Stage) else one
            for one in cut.steps
        ),
        finishing=agreed(cut.finishing),
        traced=None if traced is None else replace(traced, finishing=agreed(traced.finishing)),
    )


def empty_select(step: Release | Fetch | Empty) -> str:
    """A query with the columns of a constant and without rows."""
    columns = ", ".join(
        f"CAST(NULL AS {of}) AS {quote_name(name)}" for name, of in written_columns(step)
    )
    return f"SELECT {columns} WHERE false"


def written_columns(step: Release | Fetch | Empty) -> list[tuple[str, str]]:
    """The columns of a constant with their types as SQL; an empty one has those of its table that no query reads, too."""
    found = [(name, str(of)) for name, of in constant_columns(step)]
    if isinstance(step, Empty):
        # in the order in which the twin shows the table
        found += [(one.name, one.shown_type) for one in step.table.unused]
    return found


def constant_columns(step: Release | Fetch | Empty) -> list[tuple[str, ColumnType]]:
    """The columns of a constant that have values."""
    if isinstance(step, Release):
        ends = [(f"{end}{place + 1}", DOUBLE) for place in range(len(step.bounds)) for end in "lh"]
        return [*((one.id, one.type) for one in step.plan.fields), *ends, ("n", BIGINT)]
    return [(one.name, one.type) for one in step.table.columns]


def _drifts(what: str, hint: str) -> UnsupportedSql:
    return UnsupportedSql(Code.TEXT_DRIFTS, what, hint)
