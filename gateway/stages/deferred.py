"""A deferred result: SQL and constants that a wire connection runs on the twin to get the answer itself.

INVARIANT: the SQL reads released constants alone. Running it again shows nothing more.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.binding.bound import Sql
from gateway.results.columns import in_ranges
from gateway.results.constants import (
    UNDEFINED,
    ConstantTable,
    FilledSql,
    fill_constants,
    run_with_guards,
    with_literals,
)
from gateway.stages.execute import Released
from gateway.twin.errors import TwinRefused


@dataclass(frozen=True)
class DeferredSql:
    """SQL over released constants."""

    sql: Sql
    constants: Mapping[str, ConstantTable]

    def with_parameters(self) -> FilledSql:
        return fill_constants(self.sql, self.constants)

    def with_literals(self) -> str:
        return with_literals(self.sql, self.constants)


@dataclass(frozen=True)
class DeferredStatement:
    """`finishing` is None for a statement that touches no table of the source: it runs as it is."""

    finishing: DeferredSql | None
    notices: tuple[str, ...] = ()


def defer_query(done: Released) -> DeferredStatement:
    """The SQL to run, with guards if the finishing has no value without them."""
    query, undefined = done.query, _is_undefined(done)
    sql = query.cut.finishing.guarded if undefined else None
    notices = (
        *done.bill.cost.notices,
        *in_ranges(one.priced.rolled for one in done.noisy.values()),
        *((UNDEFINED,) if undefined or done.undefined else ()),
    )
    return DeferredStatement(DeferredSql(sql or query.cut.finishing, done.constants), notices)


def _is_undefined(done: Released) -> bool:
    """Whether the finishing needs its guards; the connection that runs it is told of every other error."""
    query = done.query
    if query.cut.finishing.guarded is None:
        return False
    with query.session() as twin:
        try:
            return run_with_guards(
                query.cut.finishing, done.constants, twin, query.most_rows
            ).undefined
        except TwinRefused:
            return False
