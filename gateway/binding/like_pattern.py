"""The pattern of a LIKE, with the backslash for its escape sign; or the refusal.

PostgreSQL raises where a pattern ends in its escape sign, but only when a text reaches that end: such a pattern is
refused here, and so is one that no engine can match in time that is linear in the text.
"""

from sqlglot import exp

from gateway.binding import constants
from gateway.errors import Code, UnsupportedSql
from gateway.plan.like_pattern import ESCAPE, LONGEST_BLANKED, read_pattern, with_escape


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
