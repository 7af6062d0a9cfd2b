"""What has been cut out of a statement so far, and the names for it.

INVARIANT: equal plans are released once. Names of constants cannot be written by the analyst: they
begin with more underscores than any name in the text.
"""

from collections.abc import Callable, Iterable

from gateway.binding.bound import Empty, Fetch, Release, Sql, Stage, Step
from gateway.catalog.own import is_own
from gateway.catalog.tables import Dataset, Table
from gateway.plan.fields import Field
from gateway.plan.grouping import Aggregate


class Cutting:
    """Gathers the steps of one statement."""

    def __init__(self, dataset: Dataset, names: Iterable[str], *, empty: bool = False) -> None:
        self.dataset = dataset
        self.empty = empty
        underscores = max((len(name) - len(name.lstrip("_")) for name in names), default=0)
        self._prefix = "_" * (underscores + 1)
        self.steps: list[Step] = []
        self.touched: set[str] = set()
        self.shortened = False
        self._known: dict[object, str] = {}
        self._aliases: set[str] = set()

    def release(self, plan: Aggregate) -> str:
        return self._once(plan, "r", lambda name: Release(name, plan))

    def table(self, table: Table) -> str:
        """A public table, read as it is; or any table, when the statement cannot give rows."""
        if not is_own(table):
            self.touched.add(table.name)
        make = Empty if self.empty else Fetch
        return self._once(table.name, "e" if self.empty else "p", lambda name: make(name, table))

    def stage(self, sql: Sql, fields: tuple[Field, ...]) -> str:
        return self._once((sql, fields), "s", lambda name: Stage(name, sql, fields))

    def alias(self, wanted: str) -> str:
        """A name for a relation of a plan that no other relation of the statement has."""
        base = wanted or "t"
        name, times = base, 1
        while name in self._aliases:
            times += 1
            name = f"{base}_{times}"
        self._aliases.add(name)
        return name

    def aliases(self) -> frozenset[str]:
        return frozenset(self._aliases)

    def restore(self, known: frozenset[str]) -> None:
        self._aliases = set(known)

    def _once(self, key: object, letter: str, make: Callable[[str], Step]) -> str:
        if key not in self._known:
            count = sum(name.startswith(self._prefix + letter) for name in self._known.values())
            name = f"{self._prefix}{letter}{count + 1}"
            self.steps.append(make(name))
            self._known[key] = name
        return self._known[key]
