"""GROUP BY with the unit among the keys: what the aggregates are, and what the list makes of them."""

from sqlglot import exp

from gateway.binding.aggregates import PER_UNIT, Measures, is_aggregate
from gateway.binding.expressions import Lookup, ScalarBinder, Subqueries
from gateway.binding.finishing import Key
from gateway.binding.same_expression import expression_key
from gateway.errors import Code, UnsupportedSql
from gateway.plan.aggregates import Measure
from gateway.plan.grouping import PerUnit
from gateway.plan.node import Node
from gateway.plan.scalars import Ref, Scalar


class PerUnitGrouping:
    """One grouping by person."""

    def __init__(
        self, lookup: Lookup, subqueries: Subqueries, ungrouped: Lookup, keys: list[Key]
    ) -> None:
        self._lookup = lookup
        self._ungrouped = ungrouped
        self._keys = keys
        self._binder = Measures(ScalarBinder(lookup, subqueries))
        self._measures: list[Measure] = []
        self._places: dict[int, int] = {}

    def collect(self, parts: list[exp.Expression]) -> None:
        """Bind the aggregates in these expressions: before the plan, which they may still extend."""
        for node in (found for part in parts for found in _aggregates(part)):
            measure = self._binder.measure(node)
            if measure.function not in PER_UNIT:
                raise UnsupportedSql(
                    Code.FUNCTION_UNSUPPORTED,
                    f"`{measure.function}` is not supported in a GROUP BY with the unit key",
                    "use COUNT, SUM, AVG, MIN or MAX",
                )
            if measure not in self._measures:
                self._measures.append(measure)
            self._places[id(node)] = self._measures.index(measure)

    def plan(self, below: Node, alias: str) -> PerUnit:
        keys = tuple((key.name, key.scalar) for key in self._keys)
        measures = tuple((f"m{place + 1}", one) for place, one in enumerate(self._measures))
        return PerUnit(below, alias, keys, measures)

    def above(self, plan: Node) -> ScalarBinder:
        """Binds expressions over the keys and aggregates, and nothing else."""

        def known(node: exp.Expression) -> Scalar | None:
            if is_aggregate(node):
                return Ref(plan.fields[len(self._keys) + self._places[id(node)]])
            mine = expression_key(node, self._lookup)
            for place, key in enumerate(self._keys):
                if mine is not None and mine == key.identity:
                    return Ref(plan.fields[place])
            return None

        return ScalarBinder(self._ungrouped, None, known)


def _aggregates(node: exp.Expression) -> list[exp.Expression]:
    if isinstance(node, (exp.Select, exp.SetOperation)):
        return []
    if is_aggregate(node):
        return [node]
    return [found for one in node.iter_expressions() for found in _aggregates(one)]
