"""Which columns a name can mean where it stands, and whether two expressions are the same.

INVARIANT: a name that is unknown and a name that is hidden get the same refusal with the same text: a hidden one
is not in any scope, so nothing here could tell them apart.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from gateway.binding.documents import document_column, document_of, unread_refusal
from gateway.binding.text.dialect import DIALECT, fold_name, name_of_function
from gateway.catalog.types import ColumnType
from gateway.catalog.unused_types import UnusedColumn
from gateway.errors import Code, NotPermitted, Refusal, SyntaxRefused, UnsupportedSql
from gateway.plan.fields import Field


@dataclass(frozen=True, slots=True)
class Visible:
    """A column by the name it is seen under; `field` is its place in a plan, where there is one."""

    name: str
    type: ColumnType | None = None
    field: Field | None = None


@dataclass(frozen=True, slots=True)
class FromRelation:
    """A relation in FROM. `complete` is false where not all of its columns are known here.

    `renamed` are the names that the statement gives its first columns, where these are known later. `paths` are columns by
    the paths of documents that they are read from, and `unread` those that no query reads: no star stands for either.
    """

    alias: str
    columns: tuple[Visible, ...]
    protected: bool = False
    complete: bool = True
    db: str | None = None
    renamed: tuple[str, ...] = ()
    paths: tuple[Visible, ...] = ()
    unread: tuple[UnusedColumn, ...] = ()

    def named(self, name: str) -> list[Visible]:
        return [column for column in (*self.columns, *self.paths) if column.name == name]


@dataclass(slots=True)
class Scope:
    """The relations of one FROM, and the scope around it."""

    sources: list[FromRelation]
    outer: "Scope | None" = None
    merged: dict[str, Visible] = field(default_factory=dict)

    @property
    def protected(self) -> bool:
        return any(source.protected for source in self.sources)

    def around(self) -> Iterator["Scope"]:
        """The scopes around this one, nearest first."""
        scope = self.outer
        while scope is not None:
            yield scope
            scope = scope.outer

    def here(self, column: exp.Column) -> Visible | None:
        """What the name means in this FROM alone."""
        name, table = fold_name(column.this), column.args.get("table")
        if table is not None:
            source = self._source(table, column.args.get("db"))
            return None if source is None else _only(source.named(name), name)
        if name in self.merged:
            return self.merged[name]
        return _only([one for source in self.sources for one in source.named(name)], name)

    def _source(self, table: exp.Expression, db: exp.Expression | None) -> FromRelation | None:
        alias, schema = fold_name(table), None if db is None else fold_name(db)
        found = [
            source
            for source in self.sources
            if source.alias == alias and (schema is None or source.db == schema)
        ]
        return found[0] if found else None

    def find(self, column: exp.Column) -> Visible:
        """What the name means here; the columns around are not for rows of persons."""
        found = self.here(column)
        if found is not None:
            return found
        for scope in self.around():
            if scope.here(column) is not None:
                raise UnsupportedSql(
                    Code.CORRELATED,
                    f"`{column_text(column)}` is a column of the outer query",
                    "one aggregate may compare it by `=` alone with a column of its own; else join a subquery that groups"
                    " by the compared columns",
                )
        self.refuse_unread(column)
        raise unknown_column_refusal(column)

    def refuse_unread(self, column: exp.Column) -> None:
        """Say what can be read instead, if the name is that of a column here or around that no query reads."""
        name, table = document_of(fold_name(column.this)), column.args.get("table")
        for scope in (self, *self.around()):
            own = None if table is None else scope._source(table, column.args.get("db"))  # noqa: SLF001
            for source in scope.sources if table is None else [own] if own is not None else []:
                for one in source.unread:
                    if one.name == name:
                        raise unread_refusal(one, (seen.name for seen in source.paths))

    def may_have(self, column: exp.Column) -> bool:
        """Whether the name could mean a column of this FROM, as far as that is known here."""
        table = column.args.get("table")
        if table is not None:
            return self._source(table, column.args.get("db")) is not None
        return any(not source.complete for source in self.sources) or self.here(column) is not None


def unknown_column_refusal(column: exp.Column) -> NotPermitted:
    return NotPermitted(Code.COLUMN_UNKNOWN, f"`{column_text(column)}`")


def column_text(column: exp.Expression) -> str:
    """A name as it was written, cut to a bearable length."""
    parts = [column.args.get(part) for part in ("db", "table", "this")]
    return ".".join(part.name for part in parts if part is not None)[:130]


def _only(found: list[Visible], name: str) -> Visible | None:
    if len(found) > 1:
        raise SyntaxRefused(
            Code.NAME_AMBIGUOUS,
            f"column `{name[:63]}` is in several tables",
            "qualify it with its table: table.column",
        )
    return found[0] if found else None


def require_distinct_aliases(sources: Iterable[FromRelation]) -> None:
    """PostgreSQL does not take the same table name twice."""
    seen: set[str] = set()
    for source in sources:
        if source.alias in seen and source.alias:
            raise SyntaxRefused(
                Code.NAME_AMBIGUOUS, f"table name `{source.alias[:63]}` is used more than once"
            )
        seen.add(source.alias)


Key: TypeAlias = tuple[object, ...]


def expression_key(node: exp.Expression, lookup: Callable[[exp.Column], Visible]) -> Key | None:
    """A value that equal expressions share; None where a name in it means nothing here."""
    try:
        return _key(node, lookup)
    except Refusal:
        return None


def _key(node: exp.Expression, lookup: Callable[[exp.Column], Visible]) -> Key:
    while isinstance(node, exp.Paren):
        node = node.this
    value = document_column(node) or node
    if isinstance(value, exp.Column) and not isinstance(value.this, exp.Star):
        seen = lookup(value)
        return (kind_of(node), seen.name if seen.field is None else seen.field.id)
    if isinstance(node, (exp.Select, exp.SetOperation)):
        return ("query", DIALECT.generate(node))
    if isinstance(node, (exp.And, exp.Or)):
        return (type(node).__name__, *(_key(one, lookup) for one in chain_parts(node)))
    if isinstance(node, exp.Anonymous):
        inner = tuple(_key(one, lookup) for one in node.expressions)
        return ("call", name_of_function(node), *inner)
    parts: list[object] = [type(node).__name__]
    for slot in sorted(node.args):
        value = node.args[slot]
        if value is None or value is False or value == []:
            continue
        if isinstance(value, exp.Expression):
            parts.append((slot, _key(value, lookup)))
        elif isinstance(value, list):
            parts.append((slot, *(_part(one, lookup) for one in value)))
        else:
            parts.append((slot, str(value)))
    return tuple(parts)


def chain_parts(node: exp.Expression) -> list[exp.Expression]:
    """The parts of a chain of ANDs or ORs from left to right, however long, without recursion."""
    kind = exp.And if isinstance(node, exp.And) else exp.Or
    parts: list[exp.Expression] = []
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, kind):
            stack += [one.expression, one.this]
        else:
            parts.append(one)
    return parts


def _part(value: object, lookup: Callable[[exp.Column], Visible]) -> object:
    return _key(value, lookup) if isinstance(value, exp.Expression) else str(value)


def kind_of(node: exp.Expression) -> str:
    """The first word of the identity of an expression: different kinds are never the same."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Column):
        return "column"
    return "call" if isinstance(node, exp.Anonymous) else type(node).__name__
