"""Statements that cannot give rows whatever the tables hold: what BI tools ask for names and types.

INVARIANT: `is_empty_query` is true only where no row can come back: LIMIT 0, or a WHERE that is false
without looking at a row, around everything else. Then all tables are empty relations on the twin, so
even being wrong here would show nothing.
"""

from typing import Final

from sqlglot import exp

from gateway.binding.select_list import has_aggregate

_EQUAL: Final = (exp.EQ, exp.NEQ)


def is_empty_query(tree: exp.Expression) -> bool:
    """Whether the whole statement gives no row."""
    node = tree
    while isinstance(node, exp.Subquery):
        if _limit_0(node):
            return True
        node = node.this
    if _limit_0(node):
        return True
    if not isinstance(node, exp.Select):
        return False
    where = node.args.get("where")
    if where is None or not _is_false(where.this):
        return False
    one_row = node.args.get("group") is None and (
        node.args.get("having") is not None or any(has_aggregate(one) for one in node.expressions)
    )
    return not one_row and not _empty_set(node)


def _empty_set(node: exp.Select) -> bool:
    """Grouping sets may have an empty one, which gives a row for no rows."""
    group = node.args.get("group")
    if group is None:
        return False
    sets = (exp.GroupingSets, exp.Rollup, exp.Cube, exp.Tuple)
    return any(isinstance(one, sets) for one in group.expressions)


def _limit_0(node: exp.Expression) -> bool:
    limit = node.args.get("limit")
    if isinstance(limit, exp.Fetch):
        count = limit.args.get("count")
    else:
        count = None if limit is None else limit.expression
    return isinstance(count, exp.Literal) and not count.is_string and count.this == "0"


def _is_false(node: exp.Expression) -> bool:
    """Whether it is false for every row: one of the conditions is, and all of them must be true."""
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, exp.Paren):
            stack.append(one.this)
        elif isinstance(one, exp.And):
            stack += [one.this, one.expression]
        elif _is_false_alone(one):
            return True
    return False


def _is_false_alone(node: exp.Expression) -> bool:
    if isinstance(node, exp.Boolean):
        return not node.this
    if not isinstance(node, _EQUAL):
        return False
    left, right = node.this, node.expression
    if not isinstance(left, exp.Literal) or not isinstance(right, exp.Literal):
        return False
    if left.is_string or right.is_string or not (left.this.isdigit() and right.this.isdigit()):
        return False
    same = int(left.this) == int(right.this)
    return same if isinstance(node, exp.NEQ) else not same
