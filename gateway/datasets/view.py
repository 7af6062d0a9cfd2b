"""A view of a dataset: the catalog, the twin database and the bound statements that a set of rules shows.

Subjects under the same rules see the same, so they share a view.

INVARIANT: a view depends only on the dataset and on which rules apply, never on a subject's attributes. Their effect is in
the terms of each decision.
"""

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from gateway.binding.bind import StatementCache
from gateway.binding.bound import Bound, Cut
from gateway.catalog.tables import Dataset
from gateway.lru_cache import LruCache
from gateway.policy.applicable import ApplicableRules
from gateway.policy.decide import Rows, require_permits, visible_by
from gateway.policy.policy import Policy
from gateway.twin import VisibleTables, visible_tables

_MOST: Final = 256
_MOST_PERMITTED: Final = 128

PermittedKey: TypeAlias = tuple[int, tuple[tuple[str, Rows], ...]]


@dataclass(frozen=True)
class View:
    """The part of a dataset that may be seen, as it is bound against and as the twin shows it.

    `permitted` are bound statements over the rows that a subject may read, by the statement and these rows. Each keeps
    the statement that it was made from, so no other statement has its identity.
    """

    dataset: Dataset
    shown: VisibleTables
    statements: StatementCache
    permitted: LruCache[PermittedKey, tuple[Bound, Cut]] = field(
        default_factory=lambda: LruCache(_MOST_PERMITTED, lambda _, __: 1),
        compare=False,
    )


class Views:
    """The views of one policy, made when first needed."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._known: LruCache[tuple[frozenset[str], frozenset[str]], View] = LruCache(_MOST)

    def of(self, rules: ApplicableRules) -> View:
        """What these rules show; a refusal for whom none permits anything."""
        require_permits(rules, self.policy.dataset)
        key = (
            frozenset(rule.id for rule in rules.permits),
            frozenset(rule.id for rule in rules.forbids),
        )

        def make() -> View:
            dataset = visible_by(rules, self.policy.dataset)
            return View(dataset, visible_tables(dataset), StatementCache(dataset))

        return self._known.get(key, make)

    @property
    def shown(self) -> frozenset[VisibleTables]:
        """All sets of tables that some view shows now."""
        return frozenset(view.shown for view in self._known.values())
