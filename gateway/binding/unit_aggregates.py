"""GROUP BY with the unit key: aggregates of the rows of each person, and expressions over them."""

from collections.abc import Sequence

from sqlglot import exp

from gateway.binding.aggregates import (
    PER_UNIT,
    Measures,
    aggregates_in,
    boolean_as_end,
    is_aggregate,
)
from gateway.binding.binder import Key
from gateway.binding.calls import make_call
from gateway.binding.expressions import Lookup, ScalarBinder, Subqueries
from gateway.binding.operands import compare
from gateway.binding.scope import expression_key
from gateway.errors import Code, UnsupportedSql
from gateway.plan.aggregates import Measure, PerUnit
from gateway.plan.fields import BIGINT, Field
from gateway.plan.node import Node
from gateway.plan.scalars import Literal, Ref, Scalar


class PerUnitGrouping:
    """One grouping by person."""

    def __init__(
        self,
        lookup: Lookup,
        zone: str,
        subqueries: Subqueries | None,
        ungrouped: Lookup,
        keys: list[Key],
    ) -> None:
        """`zone` is the session's time zone."""
        self._lookup = lookup
        self._zone = zone
        self._ungrouped = ungrouped
        self._keys = keys
        self._binder = Measures(ScalarBinder(lookup, zone, subqueries))
        self._measures: list[Measure] = []
        self._places: dict[int, int] = {}
        self._booleans: set[int] = set()

    def collect(self, parts: list[exp.Expression]) -> None:
        """Bind the aggregates in these expressions: before the plan, which they may still extend."""
        for node in (found for part in parts for found in aggregates_in(part)):
            end = boolean_as_end(node)
            measure = self._binder.measure(end or node)
            if end is not None:
                self._booleans.add(id(node))
            if measure.function not in PER_UNIT:
                raise UnsupportedSql(
                    Code.FUNCTION_UNSUPPORTED,
                    f"`{measure.function}` is not supported in a GROUP BY with the unit key",
                    "use COUNT, SUM, AVG, MIN, MAX, BOOL_AND or BOOL_OR",
                )
            if measure not in self._measures:
                self._measures.append(measure)
            self._places[id(node)] = self._measures.index(measure)

    @property
    def counts(self) -> bool:
        """Whether one of the aggregates is a count."""
        return any(one.function == "count" for one in self._measures)

    def plan(self, below: Node, alias: str) -> PerUnit:
        return self._made(below, alias, tuple((key.name, key.scalar) for key in self._keys))

    def keyed(self, below: Node, unit: Ref, alias: str) -> PerUnit:
        """The same aggregates for each person alone, whichever of the equal units was the key."""
        return self._made(below, alias, (("k1", unit),))

    def _made(self, below: Node, alias: str, keys: tuple[tuple[str, Scalar], ...]) -> PerUnit:
        measures = tuple((f"m{place + 1}", one) for place, one in enumerate(self._measures))
        return PerUnit(below, alias, keys, measures)

    def above(self, fields: Sequence[Field], *, filled: bool = False) -> ScalarBinder:
        """Binds expressions over the keys and aggregates, and over what else `ungrouped` knows.

        `filled`: of persons without rows the columns are NULL, and their counts are 0.
        """

        def known(node: exp.Expression) -> Scalar | None:
            if is_aggregate(node):
                place = self._places[id(node)]
                found = Ref(fields[len(self._keys) + place])
                if id(node) in self._booleans:
                    return compare("=", found, Literal(1, found.type))
                counts = filled and self._measures[place].function == "count"
                return make_call("coalesce", [found, Literal(0, BIGINT)]) if counts else found
            mine = expression_key(node, self._lookup)
            for place, key in enumerate(self._keys):
                if mine is not None and mine == key.identity:
                    return Ref(fields[place])
            return None

        return ScalarBinder(self._ungrouped, self._zone, None, known)
