"""A release handed on: what a connection to the twin runs to get the answer.

INVARIANT: what is handed on was released: SQL over constants, and the constants. Running it again shows nothing more.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.binding.bound import Cut, Sql
from gateway.datasets.bind_question import Understood
from gateway.results.columns import in_ranges
from gateway.results.constants import UNDEFINED, Constant, Filled, filled, with_literals
from gateway.stages.cost import Paid
from gateway.stages.execute import Executed


@dataclass(frozen=True)
class Finishing:
    """SQL over the constants that were released."""

    sql: Sql
    constants: Mapping[str, Constant]

    def with_parameters(self) -> Filled:
        return filled(self.sql, self.constants)

    def with_literals(self) -> str:
        return with_literals(self.sql, self.constants)


@dataclass(frozen=True)
class Handed:
    """`finishing` is None for a statement that touches nothing of the source: it runs as it is."""

    finishing: Finishing | None
    notices: tuple[str, ...] = ()


def handed(
    understood: Understood, paid: Paid, done: Executed | None, *, undefined: bool = False
) -> Handed:
    """What there is to run: with guards where it is known to be `undefined` without."""
    cut = understood.bound
    if not isinstance(cut, Cut) or done is None:
        return Handed(None)
    sql = cut.finishing.guarded if undefined else None
    notices = (
        *paid.notices,
        *in_ranges(one.priced.rolled for one in done.noisy.values()),
        *((UNDEFINED,) if undefined or done.undefined else ()),
    )
    return Handed(Finishing(sql or cut.finishing, done.constants), notices)
