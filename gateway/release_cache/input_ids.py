"""Identities of staged inputs, known before the inputs are computed.

A plan may read what an earlier release gave: over other content it selects other rows. The content of a release is in
entries that have names, or will have them. If the twin makes the same of it each time, the result has a name too; if not,
it gets a name that nothing else has.

INVARIANT: equal names, equal content.
"""

from collections.abc import Iterator, Mapping

from gateway.binding.bound import Cut, Empty, Fetch, Release, Stage
from gateway.binding.provenance.effort import is_deterministic
from gateway.catalog.tables import is_system_table
from gateway.digest import digest


class Constants:
    """Of one statement; its releases are told one after the other, in their order."""

    def __init__(self, cut: Cut, query_id: str) -> None:
        self._steps = cut.steps
        self._query_id = query_id
        self._names: dict[str, str] = {}
        self._releases = [one.name for one in cut.releases]

    def before(self, place: int) -> Mapping[str, str]:
        """Those that the release at this place can read."""
        for step in self._steps:
            if step.name == self._releases[place]:
                break
            if step.name not in self._names:
                self._names[step.name] = self._named(step)
        return dict(self._names)

    def told(self, place: int, tells: str) -> None:
        """What tells the content of a release."""
        self._names[self._releases[place]] = digest(tells)

    def _named(self, step: Release | Fetch | Empty | Stage) -> str:
        if isinstance(step, Stage):
            if not is_deterministic(step.sql):
                return self._only(step.name)
            return digest(repr((step.sql, step.fields, sorted(self._names.items()))))
        if isinstance(step, Fetch) and is_system_table(step.table):
            return self._only(step.name)
        # what a public table holds is as old as everything that is taken from sheets may be
        return digest(repr(step))

    def _only(self, name: str) -> str:
        return digest(f"{self._query_id} {name}")


def free_stages(cut: Cut) -> Iterator[Stage]:
    """The stages that need no other step: they give the same whenever they run.

    Whether one reads another step is told by the text: who writes a name of ours in a literal waits, no more.
    """
    held: list[str] = []
    for step in cut.steps:
        if isinstance(step, Stage) and is_deterministic(step.sql):
            text = step.sql.text()
            if not any(name in text for name in held):
                yield step
        held.append(step.name)
