"""Free relations that a plan needs: they run on the twin first and come back as constants.

INVARIANT: what is staged is Free, so everything in it was public or released before; it is asked for
with columns by place, so no name of the analyst's is relied on.
"""

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from gateway.binding.binder import Environment, FreeRelation, Leaf
from gateway.binding.bound import CutBuilder, Sql
from gateway.binding.extensions import has_end
from gateway.binding.guards import can_raise, with_guards
from gateway.binding.provenance.trace import add_interval_ends
from gateway.binding.select_list import strip_zone
from gateway.binding.text.dialect import DIALECT, identifier
from gateway.catalog.tables import Table, is_system_table
from gateway.catalog.types import ColumnType
from gateway.errors import Code, Unbounded, UnsupportedSql
from gateway.plan.fields import BOOLEAN, Field, ReleasedLabel, column_id
from gateway.plan.node import Node
from gateway.plan.relations import Constant, Scan
from gateway.plan.scalars import StagedValue


class StageBinder:
    """Makes constants of free relations, with the CTEs they may need."""

    def __init__(self, cutting: CutBuilder, around: Environment) -> None:
        self.dataset = cutting.dataset
        self._cutting = cutting
        self._around = around
        self.zone = cutting.zone

    def relation(self, leaf: Leaf) -> Node:
        """A free relation of a FROM as a node of a plan."""
        of = leaf.of
        if isinstance(of, Table):
            if is_system_table(of):
                raise UnsupportedSql(
                    Code.CLAUSE_UNSUPPORTED,
                    f"`{of.name}` cannot be joined with protected rows",
                    "aggregate the protected rows in a subquery and join its result",
                )
            return Scan(of, self._cutting.alias(leaf.source.alias), self._cutting.dataset.unit)
        if not isinstance(of, FreeRelation):
            raise Unbounded(
                Code.FAN_OUT,
                f"`{leaf.source.alias[:63]}` has no known key to join protected rows on",
                "join a table of the dataset, or aggregate first",
            )
        if not of.complete:
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED,
                "a system table cannot be joined with protected rows",
                "aggregate the protected rows in a subquery and join its result",
            )
        alias = self._cutting.alias(leaf.source.alias)
        places = [place for place, kind in enumerate(of.types) if kind is not None]
        fields = tuple(
            Field(column_id(alias, f"c{place + 1}"), kind)
            for place, kind in enumerate(of.types)
            if kind is not None
        )
        item = leaf.node if leaf.cte is None else exp.Table(this=identifier(leaf.cte.name))
        name = self._stage(item, places, len(of.types), fields)
        claims = frozenset(
            frozenset(column_id(alias, f"c{place + 1}") for place in one)
            for one in of.claims
            if one <= set(places)
        )
        return Constant(name, fields, ReleasedLabel(), claims)

    def value(self, free: FreeRelation) -> StagedValue:
        """The one value of a scalar subquery."""
        [kind] = self._one_column(free)
        if kind is None:
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED,
                "the type of the subquery's value is not known",
                "add a cast: (SELECT CAST(… AS numeric) …)",
            )
        inner = strip_zone(exp.Subquery(this=free.query), kind)
        body = exp.Select(expressions=[exp.Alias(this=inner, alias=identifier("value"))])
        field = Field("value", kind)
        return StagedValue(self._cutting.stage(self._sql(body), (field,)), kind)

    def exists(self, free: FreeRelation) -> StagedValue:
        inner = exp.Exists(this=free.query)
        body = exp.Select(expressions=[exp.Alias(this=inner, alias=identifier("value"))])
        return StagedValue(
            self._cutting.stage(self._sql(body), (Field("value", BOOLEAN),)), BOOLEAN
        )

    def members(self, free: FreeRelation) -> tuple[str, Field]:
        """The values of a one-column query."""
        [kind] = self._one_column(free)
        if kind is None:
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED, "the type of the subquery's column is not known"
            )
        field = Field("value", kind)
        return self._stage(exp.Subquery(this=free.query), [0], 1, (field,)), field

    def _one_column(self, free: FreeRelation) -> tuple[ColumnType | None, ...]:
        if len(free.types) != 1 or not free.complete:
            raise UnsupportedSql(Code.CLAUSE_UNSUPPORTED, "the subquery must return one column")
        return free.types

    def _stage(
        self, item: exp.Expression, places: list[int], width: int, fields: tuple[Field, ...]
    ) -> str:
        columns = [identifier(f"c{place + 1}") for place in range(width)]
        named = item.copy()
        named.set("alias", exp.TableAlias(this=identifier("q"), columns=columns))
        wanted = [
            exp.Alias(
                this=strip_zone(
                    exp.Column(this=identifier(f"c{place + 1}"), table=identifier("q")), one.type
                ),
                alias=identifier(one.id.rsplit(".", 1)[-1]),
            )
            for place, one in zip(places, fields, strict=True)
        ]
        body = exp.Select(expressions=wanted or [exp.Null()], from_=exp.From(this=named))
        return self._cutting.stage(self._sql(body), fields)

    def _sql(self, body: exp.Expression) -> Sql:
        ctes = [
            exp.CTE(this=one.bound.query.copy(), alias=one.node.args["alias"].copy())
            for one in self._around.free()
            if isinstance(one.bound, FreeRelation)
        ]
        recursive = self._around.recursive and bool(ctes)
        if has_end(body) or any(has_end(one) for one in ctes):
            body.set("with_", exp.With(expressions=ctes, recursive=recursive) if ctes else None)
            body = add_interval_ends(body, self._cutting)
            with_ = body.args.get("with_")
            ctes = [] if with_ is None else with_.expressions
            body.set("with_", None)
        return make_sql(ctes, body, recursive=recursive)


def render_sql(node: exp.Expression) -> str:
    """SQL for the twin."""
    return DIALECT.generate(node)


def make_sql(
    ctes: Sequence[exp.Expression], body: exp.Expression, *, recursive: bool = False
) -> Sql:
    """The query, and its form with guards where it needs some."""
    parts = [*ctes, body]
    guarded = [with_guards(one) for one in parts]
    plain = _shown(parts, recursive=recursive)
    return replace(
        plain,
        guarded=_shown(
            [one if other is None else other for one, other in zip(parts, guarded, strict=True)],
            recursive=recursive,
        )
        if any(guarded)
        else None,
        can_raise=any(map(can_raise, parts)),
    )


def _shown(parts: Sequence[exp.Expression], *, recursive: bool) -> Sql:
    *ctes, body = parts
    return Sql(", ".join(map(render_sql, ctes)), render_sql(body), recursive=recursive)
