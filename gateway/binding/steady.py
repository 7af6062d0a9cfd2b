"""Whether SQL for the twin gives the same over the same constants, whenever it runs."""

from functools import lru_cache
from typing import Final

import sqlglot
from sqlglot import exp

from gateway.binding.bound import Sql
from gateway.binding.dialect import DIALECT
from gateway.binding.effort import KNOWN
from gateway.binding.names import name_of_function

_MOST_REMEMBERED: Final = 1_024
_MOMENTS: Final = (
    exp.CurrentDate,
    exp.CurrentTime,
    exp.CurrentTimestamp,
    exp.Localtime,
    exp.Localtimestamp,
    exp.CurrentUser,
    exp.Rand,
)
_STEADY: Final = KNOWN - {"now"}


@lru_cache(maxsize=_MOST_REMEMBERED)
def is_steady(sql: Sql) -> bool:
    """INVARIANT: functions that are not on the list are taken to give something else each time."""
    query = sqlglot.parse_one(sql.text(), dialect=DIALECT)
    if any(query.find_all(*_MOMENTS)):
        return False
    return all(name_of_function(one) in _STEADY for one in query.find_all(exp.Anonymous))
