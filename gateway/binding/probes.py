"""Probes: statements of tools that ask for names and types, or whether a table is there, and hold nothing.

Takes the tree of a statement. Gives whether it returns no row, whatever a table holds, and whether it is a probe of
protected rows. A probe returns no row, or a constant; nothing is read and nothing is charged.

INVARIANT: `is_empty_query` is true only where no row can come back: LIMIT 0, or a WHERE that is false without looking
at a row, around everything else. Then all tables are empty relations on the twin, so even being wrong here would show
nothing. The same holds for a probe of rows: its tables are empty relations.
INVARIANT: a probe has no condition of its own, so that nobody takes its answer for one about rows. The constant of a
probe of existence stands in the place of the whole EXISTS before anything is bound.
"""

from typing import Final

from sqlglot import exp

from gateway.binding.bound import CutBuilder
from gateway.binding.select_list import has_aggregate
from gateway.binding.text.dialect import fold_name

PROBED: Final = "this query only tells whether the table is there and which columns it has: nothing was read or charged"
_EQUAL: Final = (exp.EQ, exp.NEQ)
_ONE_ROW: Final = "1"
# what a probe of rows has besides its columns, its table and LIMIT 1: nothing
_CONDITIONS: Final = (
    *("where", "group", "having", "order", "qualify", "distinct", "offset", "windows", "joins"),
    *("laterals", "sample", "locks"),
)


def is_row_probe(tree: exp.Expression) -> bool:
    """Whether it asks for one row of a table or of a subquery, whichever it is."""
    limit = tree.args.get("limit")
    return isinstance(tree, exp.Select) and _limits_to(limit, _ONE_ROW) and _is_bare(tree)


def lists_columns(tree: exp.Expression) -> bool:
    """Whether it lists columns of one table and computes nothing: what refuses it is a column that no query reads."""
    items = (one.this if isinstance(one, exp.Alias) else one for one in tree.expressions)
    source = tree.args.get("from_")
    return (
        source is not None
        and isinstance(source.this, exp.Table)
        and all(isinstance(one, exp.Column | exp.Star) for one in items)
    )


def existence_probe(tree: exp.Expression) -> exp.Exists | None:
    """The EXISTS of a statement that asks nothing but whether a table has a row."""
    if not isinstance(tree, exp.Select) or tree.args.get("from_") is not None:
        return None
    if len(tree.expressions) != 1 or not _is_bare(tree) or tree.args.get("with_") is not None:
        return None
    item = tree.expressions[0]
    exists = item.this if isinstance(item, exp.Alias) else item
    if not isinstance(exists, exp.Exists):
        return None
    inner = exists.this
    while isinstance(inner, (exp.Subquery, exp.Paren)):
        inner = inner.this
    if not isinstance(inner, exp.Select) or not _is_bare(inner) or has_clause(inner, "with_"):
        return None
    limit = inner.args.get("limit")
    return exists if limit is None or _limits_to(limit, _ONE_ROW) else None


def replace_existence(exists: exp.Exists, cutting: CutBuilder) -> bool:
    """Put a constant in the place of an EXISTS over one protected table; False if it is over something else."""
    inner = exists.find(exp.Select)
    source = None if inner is None else inner.args.get("from_")
    table = None if source is None else source.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return False
    schema = table.args.get("db")
    name = fold_name(table.this)
    wanted = None if schema is None else fold_name(schema)
    found = cutting.dataset.resolve(name, wanted, cutting.search_path)
    if found is None or found.public or has_clause(table, "joins") or inner is None:
        return False
    if any(not isinstance(one, (exp.Literal, exp.Star, exp.Null)) for one in inner.expressions):
        return False  # a column would have to be one of the table
    cutting.touched.add(found.name)
    inner.set("from_", None)
    inner.set("limit", None)
    inner.set("expressions", [exp.Literal.number(1)])
    return True


def has_clause(node: exp.Expression, name: str) -> bool:
    return bool(node.args.get(name))


def _is_bare(select: exp.Select) -> bool:
    """Whether no clause restricts, orders or repeats rows, and nothing is computed from several of them."""
    return not any(has_clause(select, name) for name in _CONDITIONS) and not any(
        has_aggregate(one) for one in select.expressions
    )


def _limits_to(limit: exp.Expression | None, rows: str) -> bool:
    if isinstance(limit, exp.Fetch):
        count = limit.args.get("count")
    else:
        count = None if limit is None else limit.expression
    return isinstance(count, exp.Literal) and not count.is_string and count.this == rows


def is_empty_query(tree: exp.Expression) -> bool:
    """Whether the whole statement gives no row."""
    node = tree
    while isinstance(node, exp.Subquery):
        if _limits_to(node.args.get("limit"), "0"):
            return True
        node = node.this
    if _limits_to(node.args.get("limit"), "0"):
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
