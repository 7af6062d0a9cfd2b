"""What is refused in expressions over protected rows: casts, patterns of LIKE, and nodes that are not supported.

PostgreSQL raises where a pattern ends in its escape sign, but only when a text reaches that end: such a pattern is
refused here, and so is one that no engine can match in time that is linear in the text.
"""

from sqlglot import exp

from gateway.binding import constants
from gateway.catalog.types import ColumnType, Family
from gateway.errors import Code, NotAggregate, UnsupportedSql
from gateway.plan.like_pattern import ESCAPE, LONGEST_BLANKED, read_pattern, with_escape
from gateway.plan.types import DATE, TIMESTAMP, is_number


def like_pattern(node: exp.Expression) -> tuple[exp.Expression, str]:
    """The LIKE itself, without ESCAPE around it, and its pattern."""
    escape: str | None = ESCAPE
    if isinstance(node, exp.Escape):
        escape, node = constants.string(node.expression), node.this
    written = constants.string(node.expression)
    pattern = None if written is None or escape is None else with_escape(written, escape)
    if pattern is None:
        raise UnsupportedSql(Code.CLAUSE_UNSUPPORTED, "a LIKE pattern must be a string constant")
    if not read_pattern(pattern).is_bounded:
        raise UnsupportedSql(
            Code.PATTERN_UNBOUNDED,
            f"the pattern `{pattern[:80]}` could take too long to match",
            f"between two `%` write plain characters, or one piece of at most {LONGEST_BLANKED} with `_` in it",
        )
    return node, pattern


def check_cast(of: ColumnType, to: ColumnType) -> None:
    """Refuse a cast that engines do not agree on, or that may raise for a row."""
    number, text = is_number(of), of.family is Family.TEXT
    fine = (
        (number and (is_number(to) or to.family is Family.TEXT))
        or (text and (to.family is Family.TEXT or is_number(to) or to == DATE))
        or (of.family is Family.BOOLEAN and to.kind.value in {"integer", "text"})
        or ({of, to} <= {DATE, TIMESTAMP})
        or (of == DATE and to.family is Family.TEXT)
    )
    if not fine:
        raise UnsupportedSql(Code.CLAUSE_UNSUPPORTED, f"a cast from {of} to {to} is not supported")


def unsupported_expression(node: exp.Expression) -> Exception:
    """The refusal of an expression that the binder does not know."""
    if isinstance(node, (exp.Dot, exp.Star, exp.Tuple)):
        return NotAggregate(
            Code.PERSON_AS_VALUE,
            "a whole row cannot be used as a value",
            "name its columns one by one",
        )
    if isinstance(node, exp.Window):
        return UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED, "window functions are not allowed in this place"
        )
    return UnsupportedSql(
        Code.CLAUSE_UNSUPPORTED,
        f"`{type(node).__name__.lower()}` is not supported over protected rows",
        "apply it to the result of the aggregate",
    )
