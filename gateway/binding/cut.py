"""What has been cut out of a statement so far, and the names for it.

INVARIANT: equal plans are released once. Names of constants cannot be written by the analyst: they
begin with more underscores than any name in the text.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from gateway.binding.bound import Empty, Fetch, Release, Sql, Stage, Step
from gateway.catalog.system_tables import is_system_table
from gateway.catalog.tables import Dataset, Table
from gateway.plan.fields import Field
from gateway.plan.formulas import AggregateRef, Form, aggregate_places
from gateway.plan.grouping import Aggregate, with_limits


class CutBuilder:
    """Gathers the steps of one statement."""

    def __init__(
        self,
        dataset: Dataset,
        names: Iterable[str],
        *,
        empty: bool = False,
        selecting: bool = True,
    ) -> None:
        """`selecting`: the most frequent keys are chosen, where nothing but their names is asked."""
        self.dataset = dataset
        self.empty = empty
        self.selecting = selecting
        self.selected = False
        underscores = max((len(name) - len(name.lstrip("_")) for name in names), default=0)
        self._prefix = "_" * (underscores + 1)
        there = [column.name for table in dataset.tables for column in table.columns]
        more = max((len(name) - len(name.lstrip("_")) for name in there), default=0)
        self._hidden = "_" * (max(underscores, more) + 1)
        self._hiding = 0
        self.steps: list[Step] = []
        self.touched: set[str] = set()
        self.shortened = False
        self._known: dict[object, str] = {}
        self._aliases: set[str] = set()
        self._bounds: dict[str, list[Form]] = {}

    def release(self, plan: Aggregate) -> str:
        return self._once(plan, "r", lambda name: Release(name, plan))

    def table(self, table: Table) -> str:
        """A public table, read as it is; or any table, when the statement cannot give rows."""
        if not is_system_table(table):
            self.touched.add(table.name)
        make = Empty if self.empty else Fetch
        return self._once(table.name, "e" if self.empty else "p", lambda name: make(name, table))

    def stage(self, sql: Sql, fields: tuple[Field, ...]) -> str:
        return self._once((sql, fields), "s", lambda name: Stage(name, sql, fields))

    def bound(self, release: str, form: Form, end: str) -> int:
        """The number, from 1, under which a release has the ends of the intervals of a form; `end` is `l` or `h`.

        An end of a percentile has to be chosen: the release is asked for it as well.
        """
        bounds = self._bounds.setdefault(release, [])
        if form not in bounds:
            bounds.append(form)
        # of what is computed from it, either end may need either end of it
        ends = {end} if isinstance(form, AggregateRef) else {"l", "h"}
        places = set(aggregate_places(form))
        self.steps = [
            replace(step, plan=with_limits(step.plan, places, ends))
            if isinstance(step, Release) and step.name == release
            else step
            for step in self.steps
        ]
        return bounds.index(form) + 1

    def bounds(self, release: str) -> tuple[Form, ...]:
        """The forms whose intervals were asked for."""
        return tuple(self._bounds.get(release, ()))

    def hidden(self) -> str:
        """A name for a column or a CTE that nobody sees."""
        self._hiding += 1
        return f"{self._hidden}t{self._hiding}"

    def done(self) -> tuple[Step, ...]:
        """The steps, with all that was asked of them."""
        return tuple(
            replace(step, bounds=self.bounds(step.name)) if isinstance(step, Release) else step
            for step in self.steps
        )

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
