"""A plan as one PostgreSQL SELECT: every node is a query in FROM, expressions are `plan.text`'s.

What a plan takes from earlier steps of its statement stands before it as CTEs, each step as its own SQL:
a release as the SELECT of its plan, a stage as the query that it runs, a table that is read as itself.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from binding.replaced_columns import measure_with, scalar_with, window_with

from gateway.binding.bound import Empty, Fetch, Release, Stage, Step
from gateway.plan.aggregates import Aggregate, PerUnit
from gateway.plan.fields import BOOLEAN, Field, Protected
from gateway.plan.formulas import Form, form_text
from gateway.plan.joins import Join, Mark, UnionAll
from gateway.plan.node import Node
from gateway.plan.relations import Constant, Filter, Project, Scan, Window
from gateway.plan.scalars import Ref, Scalar, StagedMember, StagedValue
from gateway.plan.sql_text import scalar_sql


class NotRenderable(Exception):
    """A plan that this file has no SQL for; the message says why."""


@dataclass(frozen=True)
class Item:
    """What stands in FROM, and the SQL of each column of the node."""

    sql: str
    columns: tuple[str, ...]


@dataclass
class Rendering:
    """Renders one plan; relations get the names `r1`, `r2`, … and columns `c1`, `c2`, …"""

    used: int = field(default=0)

    def select(self, plan: Aggregate) -> str:
        """The whole SELECT, its columns called as those of the release."""
        item = self._item(plan.child)
        change = _Columns(plan.child.fields, item.columns)
        listed = [f"{scalar_sql(scalar_with(key, change))} AS {name}" for name, key in plan.keys]
        for name, one in plan.measures:
            plain = replace(measure_with(one, change), low=False, high=False)
            listed.append(f"{plain} AS {name}")
            # ends that are asked for are columns beside it
            ends = {"dp_interval_low": one.low, "dp_interval_high": one.high}
            listed += [f"{end}({name}) AS {name}_{end}" for end, asked in ends.items() if asked]
        return f"SELECT {', '.join(listed)} FROM {item.sql}{_grouped(plan)}"

    def _name(self) -> str:
        self.used += 1
        return f"r{self.used}"

    def _item(self, node: Node) -> Item:
        """The node as one item of a FROM."""
        match node:
            case Scan():
                names = [column.name for column in node.table.columns]
                return self._named(_quoted(node.table.name), names)
            case Constant():
                names = [one.id.rsplit(".", 1)[-1] for one in node.fields]
                return self._named(_quoted(node.name), names)
            case _:
                return self._derived(self._query(node), len(node.fields))

    def _named(self, relation: str, names: Iterable[str]) -> Item:
        alias = self._name()
        return Item(f"{relation} AS {alias}", tuple(f"{alias}.{_quoted(one)}" for one in names))

    def _derived(self, query: str, width: int) -> Item:
        alias = self._name()
        names = tuple(f"{alias}.c{place + 1}" for place in range(width))
        return Item(f"({query}) AS {alias}", names)

    def _query(self, node: Node) -> str:  # noqa: PLR0911 - one for each kind of node
        match node:
            case Filter(child, condition):
                item = self._item(child)
                where = scalar_sql(scalar_with(condition, _Columns(child.fields, item.columns)))
                return f"{_list(item.columns)} FROM {item.sql} WHERE {where}"
            case Project(child, _, items):
                item = self._item(child)
                change = _Columns(child.fields, item.columns)
                listed = [scalar_sql(scalar_with(one, change)) for _, one in items]
                return f"{_list(listed)} FROM {item.sql}"
            case Join():
                item = self._joined(node)
                return f"{_list(item.columns)} FROM {item.sql}"
            case Mark():
                item = self._item(node.child)
                return f"{_list([*item.columns, self._exists(node, item)])} FROM {item.sql}"
            case PerUnit(child, _, keys, measures):
                item = self._item(child)
                change = _Columns(child.fields, item.columns)
                listed = [scalar_sql(scalar_with(one, change)) for _, one in keys]
                listed += [str(measure_with(one, change)) for _, one in measures]
                places = ", ".join(str(place + 1) for place in range(len(keys)))
                return f"{_list(listed)} FROM {item.sql} GROUP BY {places}"
            case Window(child, items):
                item = self._item(child)
                change = _Columns(child.fields, item.columns)
                calls = [str(window_with(call, change)) for _, call in items]
                return f"{_list([*item.columns, *calls])} FROM {item.sql}"
            case UnionAll(left, right):
                one, other = self._item(left), self._item(right)
                first = f"{_list(one.columns)} FROM {one.sql}"
                return f"{first} UNION ALL {_list(other.columns)} FROM {other.sql}"
            case _:
                raise NotRenderable(f"a {type(node).__name__} within a plan")

    def _joined(self, node: Join) -> Item:
        left, right = self._side(node.left), self._side(node.right)
        columns = (*left.columns, *right.columns)
        if node.condition is None:
            if node.outer:
                raise NotRenderable("an outer join without a condition")
            return Item(f"{left.sql} CROSS JOIN {_bracketed(right, node.right)}", columns)
        fields = (*node.left.fields, *node.right.fields)
        on = scalar_sql(scalar_with(node.condition, _Columns(fields, columns)))
        kind = "LEFT JOIN" if node.outer else "JOIN"
        return Item(f"{left.sql} {kind} {_bracketed(right, node.right)} ON {on}", columns)

    def _side(self, node: Node) -> Item:
        """One side of a join: public tables that are joined have no query around them in a plan."""
        if isinstance(node, Join) and not isinstance(node.label, Protected):
            return self._joined(node)
        return self._item(node)

    def _exists(self, node: Mark, around: Item) -> str:
        inner: Node = node.inner
        own: Scalar | None = None
        if isinstance(inner, Filter):
            own, inner = inner.condition, inner.child
        item = self._side(inner)
        fields = (*node.child.fields, *inner.fields)
        change = _Columns(fields, (*around.columns, *item.columns))
        wanted = [one for one in (own, node.condition) if one is not None]
        where = " AND ".join(scalar_sql(scalar_with(one, change)) for one in wanted)
        return f"EXISTS (SELECT 1 FROM {item.sql}{f' WHERE {where}' if where else ''})"


class _Columns:
    """Puts the SQL of columns in the place of their ids, and queries in the place of staged values."""

    def __init__(self, fields: Sequence[Field], columns: Sequence[str]) -> None:
        self._sql = {one.id: sql for one, sql in zip(fields, columns, strict=True)}

    def __call__(self, scalar: Scalar) -> Scalar | None:
        match scalar:
            case Ref(one):
                return Ref(Field(self._sql[one.id], one.type, tie=one.tie))
            case StagedValue(constant, kind):
                return Ref(Field(f'(SELECT "value" FROM {_quoted(constant)})', kind))
            case StagedMember(what, constant):
                shown = scalar_sql(scalar_with(what, self))
                among = f'SELECT "value" FROM {_quoted(constant)}'
                return Ref(Field(f"({shown} IN ({among}))", BOOLEAN))
            case _:
                return None


def rendered(plan: Aggregate, before: Sequence[Step] = ()) -> str:
    """The plan as SQL, with the steps that it may read as CTEs."""
    ctes = [f"{_quoted(step.name)} AS ({_made(step)})" for step in before]
    whole = Rendering().select(plan)
    return f"WITH {', '.join(ctes)} {whole}" if ctes else whole


def _made(step: Step) -> str:
    match step:
        case Release(_, plan, bounds):
            return _with_ends(Rendering().select(plan), bounds)
        case Stage(_, sql):
            return sql.text()
        case Fetch(_, table):
            return f"SELECT * FROM {_quoted(table.name)}"
        case Empty():
            raise NotRenderable("a statement that gives no rows")


def _with_ends(select: str, bounds: Sequence[Form]) -> str:
    """The query with the ends of intervals that are asked of it."""
    ends = [
        f", DP_INTERVAL_{name}({form_text(form)}) AS {letter}{place + 1}"
        for place, form in enumerate(bounds)
        for name, letter in (("LOW", "l"), ("HIGH", "h"))
    ]
    return f"SELECT *{''.join(ends)} FROM ({select}) AS t" if ends else select


def _grouped(plan: Aggregate) -> str:
    whole = tuple(range(len(plan.keys)))
    if plan.sets == (whole,):
        places = ", ".join(str(place + 1) for place in whole)
        return f" GROUP BY {places}" if places else ""
    sets = ", ".join(f"({', '.join(str(place + 1) for place in one)})" for one in plan.sets)
    return f" GROUP BY GROUPING SETS ({sets})"


def _bracketed(item: Item, node: Node) -> str:
    inline = isinstance(node, Join) and not isinstance(node.label, Protected)
    return f"({item.sql})" if inline else item.sql


def _list(columns: Iterable[str]) -> str:
    named = [f"{sql} AS c{place + 1}" for place, sql in enumerate(columns)]
    return f"SELECT {', '.join(named)}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
