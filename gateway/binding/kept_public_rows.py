"""`Public LEFT JOIN Protected`, in the one form that has an answer: aggregates by the columns that are joined.

`SELECT r.region, COUNT(p.patient_id) FROM regions r LEFT JOIN patients p ON p.region = r.region GROUP BY r.region` is
read as the public groups beside a release of the protected rows:

    SELECT g.k1, COALESCE(a.m1 * g.n, 0)
    FROM (SELECT r.region AS k1, COUNT(*) AS n FROM regions r GROUP BY r.region) g
    LEFT JOIN (SELECT p.region AS j1, COUNT(p.patient_id) AS m1 FROM patients p GROUP BY p.region) a ON a.j1 = g.k1

`n` is how many public rows a group has: each of them meets the same protected rows, so counts and sums are as many times
larger. A public group without a released one is empty: the groups of the release have to be listed, which its analysis
checks (`Cut.listed`).

INVARIANT: this only writes another statement. Labels and bounds are those of what it writes, where protected rows meet
no public row. Nothing is read here that a name might stand for something else: a table of persons is known by the
catalog, and a FROM that is not understood is left as it is, which is refused.
"""

from collections.abc import Callable, Iterator

from sqlglot import exp

from gateway.binding.aggregates import is_aggregate
from gateway.binding.binder import Environment
from gateway.binding.join_order import conjunct_nodes
from gateway.binding.outer_join_form import OuterJoinForm, read_form
from gateway.binding.text.dialect import fold_name, identifier, name_of_function, result_name
from gateway.catalog.tables import Dataset
from gateway.errors import Code, UnsupportedSql

_ADDED = frozenset({"count", "sum"})


def with_kept_rows(
    select: exp.Select, around: Environment, dataset: Dataset, name: Callable[[], str]
) -> tuple[exp.Select, exp.Select] | None:
    """The statement as it is read, and the query in it whose groups have to be listed; None: it has another form.

    `name` gives names that stand nowhere in the text.
    """
    if not any(one.args.get("side") == "LEFT" for one in select.args.get("joins") or []):
        return None
    made = select.copy()
    form = read_form(made, around.inside(made.args.get("with_")), dataset)
    return None if form is None else _Rewriting(form, name).made()


class _Rewriting:
    """Writes the statement anew."""

    def __init__(self, form: OuterJoinForm, name: Callable[[], str]) -> None:
        self._form = form
        self._groups, self._release = name(), name()
        self._keys: list[exp.Expression] = []
        self._measures: list[exp.Expression] = []

    def made(self) -> tuple[exp.Select, exp.Select]:
        select = self._form.select
        items = list(select.expressions)
        self._keys = self._group_keys(items)
        pairs, conditions = self._joined()
        out = exp.Select(
            expressions=[
                exp.Alias(this=self._above(_plain(one)), alias=identifier(result_name(one)))
                for one in items
            ]
        )
        having = select.args.get("having")
        if having is not None:
            out.set("where", exp.Where(this=self._above(having.this)))
        names = {result_name(one) for one in items}
        order = select.args.get("order")
        if order is not None:
            out.set(
                "order",
                exp.Order(expressions=[self._ordered(one, names) for one in order.expressions]),
            )
        for slot in ("limit", "offset", "distinct", "with_"):
            if select.args.get(slot) is not None:
                out.set(slot, select.args[slot])
        released = self._released(pairs, conditions)
        out.set("from_", exp.From(this=_derived(self._public(), self._groups)))
        on = exp.and_(
            *(
                exp.EQ(
                    this=_column(self._release, f"j{at + 1}"),
                    expression=_column(self._groups, f"k{key + 1}"),
                )
                for at, (key, _) in enumerate(pairs)
            ),
            copy=False,
        )
        join = exp.Join(this=_derived(released, self._release), side="LEFT", on=on)
        out.set("joins", [join])
        return out, released

    def _group_keys(self, items: list[exp.Expression]) -> list[exp.Expression]:
        group = self._form.select.args.get("group")
        if group is None:
            raise _refusal(
                "the outer join keeps public rows, and they are not grouped",
                "use an inner join, or add GROUP BY with the columns that are joined",
            )
        keys = []
        for one in group.expressions:
            key = _grouped(one, items)
            if (
                isinstance(one, (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple))
                or self._side(key) is not False
            ):
                raise _refusal(
                    "the outer join keeps public rows, and the groups are not by public columns alone",
                    "group by columns of the public table, or use an inner join",
                )
            keys.append(key)
        return keys

    def _side(self, node: exp.Expression) -> bool | None:
        """Whether the expression reads protected columns alone (true), public ones alone (false), or both."""
        sides = {self._form.is_protected(one) for one in node.find_all(exp.Column)}
        if list(_queries(node)):
            return None
        return sides.pop() if len(sides) == 1 else (None if sides else False)

    def _joined(self) -> tuple[list[tuple[int, exp.Expression]], list[exp.Expression]]:
        """For each equality the place of its public key and its protected side; and the other conditions."""
        pairs: list[tuple[int, exp.Expression]] = []
        conditions: list[exp.Expression] = []
        join = self._form.joins[0]
        parts = [self._equality(one) for one in sorted(self._form.using)]
        if join.args.get("on") is not None:
            parts += conjunct_nodes(exp.Where(this=join.args["on"]))
        for part in parts:
            if self._side(part) is True or _is_constant(part):
                # a constant is of neither side: p.region = 'north' is a condition like any other
                conditions.append(part)
                continue
            sides = {}
            if isinstance(part, exp.EQ):
                sides = {
                    self._side(part.this): part.this,
                    self._side(part.expression): part.expression,
                }
            if False in sides and True in sides:
                public = _bare(sides[False])
                place = next((at for at, key in enumerate(self._keys) if key == public), None)
                if place is None:
                    raise _refusal(
                        f"the outer join is by `{public.sql(dialect='postgres')[:60]}`, which is not grouped by",
                        "add it to GROUP BY, or use an inner join",
                    )
                pairs.append((place, sides[True]))
            else:
                raise _refusal(
                    "the outer join compares public and protected rows by more than `=`",
                    "use equalities of columns in ON, or an inner join",
                )
        if not pairs:
            raise _refusal(
                "the outer join has no equality of a public and a protected column",
                "add one to ON, as in ON p.region = r.region",
            )
        return pairs, conditions

    def _equality(self, name: str) -> exp.Expression:
        """What a name behind USING stands for."""
        form = self._form
        holders = [
            next((one.alias for one in side if one.columns is None or name in one.columns), "")
            for side in (form.free, form.protected)
        ]
        public, protected = (_column(one, name) for one in holders)
        return exp.EQ(this=public, expression=protected)

    def _released(
        self, pairs: list[tuple[int, exp.Expression]], conditions: list[exp.Expression]
    ) -> exp.Select:
        """The aggregates of the protected rows, by what they are joined by."""
        form = self._form
        keys = [
            exp.Alias(this=one.copy(), alias=identifier(f"j{at + 1}"))
            for at, (_, one) in enumerate(pairs)
        ]
        values = [
            exp.Alias(this=one.copy(), alias=identifier(f"m{at + 1}"))
            for at, one in enumerate(self._measures)
        ]
        made = exp.Select(
            expressions=[*keys, *values],
            from_=exp.From(this=form.protected[0].node),
            group=exp.Group(expressions=[exp.Literal.number(at + 1) for at in range(len(keys))]),
        )
        if form.joins[1:]:
            made.set("joins", form.joins[1:])
        if conditions:
            made.set("where", exp.Where(this=exp.and_(*conditions, copy=False)))
        return made

    def _public(self) -> exp.Select:
        """The groups of the public side, and how many rows each has."""
        form, select = self._form, self._form.select
        keys = [
            exp.Alias(this=one.copy(), alias=identifier(f"k{at + 1}"))
            for at, one in enumerate(self._keys)
        ]
        many = exp.Alias(
            this=exp.Anonymous(this="count", expressions=[exp.Star()]), alias=identifier("n")
        )
        made = exp.Select(
            expressions=[*keys, many],
            from_=exp.From(this=form.free[0].node),
            group=exp.Group(expressions=[exp.Literal.number(at + 1) for at in range(len(keys))]),
        )
        joins = (select.args.get("joins") or [])[: len(form.free) - 1]
        if joins:
            made.set("joins", joins)
        where = select.args.get("where")
        if where is not None:
            if self._side(where) is not False:
                raise _refusal(
                    "WHERE of an outer join that keeps public rows reads protected columns",
                    "move these conditions to ON, or use an inner join",
                )
            made.set("where", where)
        return made

    def _ordered(self, one: exp.Expression, names: set[str]) -> exp.Expression:
        made, node = one.copy(), one.this
        bare = isinstance(node, exp.Column) and node.args.get("table") is None
        if not (isinstance(node, exp.Literal) or (bare and fold_name(node.this) in names)):
            made.set("this", self._above(node))
        return made

    def _above(self, node: exp.Expression) -> exp.Expression:
        """The expression over the groups and the release."""
        bare = _bare(node)
        for at, key in enumerate(self._keys):
            if bare == key:
                return _column(self._groups, f"k{at + 1}")
        if isinstance(node, exp.Window):
            made = node.copy()
            call = node.this
            made.set("this", self._parts(call))
            for slot in ("partition_by", "order"):
                value = node.args.get(slot)
                if isinstance(value, list):
                    made.set(slot, [self._above(one) for one in value])
                elif isinstance(value, exp.Expression):
                    made.set(slot, self._parts(value))
            return made
        if is_aggregate(node):
            return self._measure(node)
        if isinstance(node, exp.Column):
            raise _refusal(
                f"`{node.sql(dialect='postgres')[:60]}` is neither grouped by nor aggregated",
                "add it to GROUP BY",
            )
        if isinstance(node, (exp.Select, exp.SetOperation, exp.Subquery)):
            raise _refusal(
                "a subquery beside an outer join that keeps public rows is not supported",
                "use an inner join",
            )
        return self._parts(node)

    def _parts(self, node: exp.Expression) -> exp.Expression:
        made = node.__class__()
        for slot, value in node.args.items():
            if isinstance(value, exp.Expression):
                made.set(slot, self._above(value))
            elif isinstance(value, list):
                made.set(
                    slot,
                    [self._above(one) if isinstance(one, exp.Expression) else one for one in value],
                )
            else:
                made.set(slot, value)
        return made

    def _measure(self, node: exp.Expression) -> exp.Expression:
        call = node
        while isinstance(call, (exp.Filter, exp.WithinGroup)):
            call = call.this
        name = name_of_function(call) if isinstance(call, exp.Anonymous) else ""
        stars = any(isinstance(one, (exp.Star, exp.Literal)) for one in call.expressions)
        if name == "count" and stars:
            raise _refusal(
                "COUNT(*) would count the public row of a group without protected rows",
                "count a column of the protected table, such as its unit key: COUNT(p.patient_id)",
            )
        if self._side(node) is not True:
            raise _refusal(
                "an aggregate beside an outer join reads public columns",
                "aggregate columns of the protected table alone, or use an inner join",
            )
        if node not in self._measures:
            self._measures.append(node)
        column = _column(self._release, f"m{self._measures.index(node) + 1}")
        distinct = any(isinstance(one, exp.Distinct) for one in call.expressions)
        if name not in _ADDED or distinct:
            return _or_zero(column) if name == "count" else column
        many = exp.Mul(this=column, expression=_column(self._groups, "n"))
        return _or_zero(many) if name == "count" else exp.Paren(this=many)


def _is_constant(node: exp.Expression) -> bool:
    return node.find(exp.Column, exp.Select, exp.SetOperation) is None


def _queries(node: exp.Expression) -> Iterator[exp.Expression]:
    return node.find_all(exp.Select, exp.SetOperation)


def _or_zero(node: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this="coalesce", expressions=[node, exp.Literal.number(0)])


def _grouped(node: exp.Expression, items: list[exp.Expression]) -> exp.Expression:
    """A key, or the item of the list that it names or numbers."""
    node = _bare(node)
    if isinstance(node, exp.Literal) and not node.is_string and node.this.isdecimal():
        place = int(node.this) if len(node.this) <= len(str(len(items))) else 0
        return _bare(_plain(items[place - 1])) if 1 <= place <= len(items) else node
    if isinstance(node, exp.Column) and node.args.get("table") is None:
        named = [one for one in items if result_name(one) == fold_name(node.this)]
        return _bare(_plain(named[0])) if named else node
    return node


def _plain(item: exp.Expression) -> exp.Expression:
    return item.this if isinstance(item, exp.Alias) else item


def _bare(node: exp.Expression) -> exp.Expression:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _column(table: str, name: str) -> exp.Column:
    return exp.Column(this=identifier(name), table=identifier(table))


def _derived(query: exp.Select, alias: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=identifier(alias)))


def _refusal(detail: str, hint: str) -> UnsupportedSql:
    return UnsupportedSql(Code.CLAUSE_UNSUPPORTED, detail, hint)
