"""Conditions in other spellings, written in the words that the binder knows.

`BETWEEN SYMMETRIC`, rows in brackets and the null-safe equality of BI tools are each another condition in PostgreSQL,
value for value and NULL for NULL.
"""

from functools import reduce

from sqlglot import exp


def in_plain_words(node: exp.Expression) -> exp.Expression:
    """The condition in other words; the node itself where there are none."""
    match node:
        case exp.Between() if node.args.get("symmetric"):
            return _symmetric(node)
        case exp.In() if isinstance(node.this, exp.Tuple) and node.args.get("query") is None:
            return _among(node)
        case exp.EQ() | exp.NEQ() if isinstance(node.this, exp.Tuple):
            return _by_columns(node)
        case exp.Or():
            return _null_safe(node)
        case _:
            return node


def _symmetric(node: exp.Between) -> exp.Expression:
    low, high = node.args["low"], node.args["high"]
    return exp.Or(
        this=exp.Between(this=node.this.copy(), low=low.copy(), high=high.copy()),
        expression=exp.Between(this=node.this.copy(), low=high.copy(), high=low.copy()),
    )


def _among(node: exp.In) -> exp.Expression:
    """(a, b) IN ((1, 2), (3, 4))."""
    width = len(node.this.expressions)
    rows = list(node.expressions)
    if not rows or any(
        not isinstance(one, exp.Tuple) or len(one.expressions) != width for one in rows
    ):
        return node
    return reduce(_or, (_by_columns(exp.EQ(this=node.this, expression=one)) for one in rows))


def _by_columns(node: exp.Expression) -> exp.Expression:
    """(a, b) = (1, 2), column by column."""
    left, right = node.this, node.expression
    if not isinstance(right, exp.Tuple) or len(left.expressions) != len(right.expressions):
        return node
    parts = [
        node.__class__(this=one.copy(), expression=other.copy())
        for one, other in zip(left.expressions, right.expressions, strict=True)
    ]
    return reduce(_and if isinstance(node, exp.EQ) else _or, parts)


def _or(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    return exp.Or(this=left, expression=right)


def _and(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    return exp.And(this=left, expression=right)


def _null_safe(node: exp.Or) -> exp.Expression:
    """A = b OR (a IS NULL AND b IS NULL)."""
    for one, other in ((node.this, node.expression), (node.expression, node.this)):
        equal, missing = _bare(one), _bare(other)
        if not isinstance(equal, exp.EQ) or not isinstance(missing, exp.And):
            continue
        absent = [_missing(_bare(part)) for part in (missing.this, missing.expression)]
        sides = [_bare(equal.this), _bare(equal.expression)]
        if absent in (sides, sides[::-1]) and all(isinstance(side, exp.Column) for side in sides):
            return exp.NullSafeEQ(this=sides[0].copy(), expression=sides[1].copy())
    return node


def _missing(node: exp.Expression) -> exp.Expression | None:
    """What is said to be NULL."""
    is_null = isinstance(node, exp.Is) and isinstance(node.expression, exp.Null)
    return None if not is_null or node.args.get("negate") else _bare(node.this)


def _bare(node: exp.Expression) -> exp.Expression:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def drop_offsets(tree: exp.Expression) -> exp.Expression:
    """The tree without `OFFSET 0`, which object-relational mappers write and which skips no row."""
    for one in list(tree.find_all(exp.Offset)):
        number = one.expression
        while isinstance(number, (exp.Paren, exp.Cast)):
            number = number.this
        if isinstance(number, exp.Literal) and number.this == "0":
            one.pop()
    return tree


def flat_chain(node: exp.Expression, kind: type[exp.Expression]) -> list[exp.Expression]:
    """The parts of a chain of ANDs or ORs, however long, without recursion."""
    parts: list[exp.Expression] = []
    stack = [node]
    while stack:
        one = stack.pop()
        while isinstance(one, exp.Paren) and isinstance(one.this, (kind, exp.Paren)):
            one = one.this
        one = in_plain_words(one)
        if isinstance(one, kind):
            stack += [one.expression, one.this]
        else:
            parts.append(one)
    return parts
