"""Whether SQL for the twin gives the same each time."""

import pytest
from laws import for_each

from gateway.binding.bound import Sql
from gateway.binding.provenance.effort import is_deterministic

STEADY = [
    "SELECT AVG(m1) AS value FROM _r1",
    "SELECT k1 FROM _r1 WHERE m1 > 100 ORDER BY m1 DESC LIMIT 3",
    "SELECT EXISTS (SELECT 1 FROM _r1 WHERE m1 > 5) AS value",
    "SELECT CAST(round(m1 / 2.0, 1) AS numeric) AS value FROM _r1",
    "SELECT lower(k1), date_trunc('month', CAST('2024-03-05' AS date)) FROM _r1",
]
UNSTEADY = [
    "SELECT random() AS value",
    "SELECT m1 * random() AS value FROM _r1",
    "SELECT current_date AS value",
    "SELECT CURRENT_TIMESTAMP AS value FROM _r1",
    "SELECT localtime AS value",
    "SELECT now() AS value",
    "SELECT clock_timestamp() AS value",
    "SELECT gen_random_uuid() AS value",
    "SELECT current_user AS value",
    "SELECT nextval('s') AS value",
    "SELECT a_function_that_nobody_knows(m1) FROM _r1",
]


@pytest.mark.parametrize("text", STEADY)
def test_sql_is_steady_when_its_functions_are_known(text: str) -> None:
    """What is computed from constants alone has a name by which it is found again."""
    assert is_deterministic(Sql("", text))


@for_each("text", UNSTEADY)
def test_sql_is_not_steady_when_it_may_give_something_else_next_time(text: str) -> None:
    """Chance, clocks, who asks, and what is not on the list, in the body or in a CTE before it."""
    assert not is_deterministic(Sql("", text))
    assert not is_deterministic(Sql(f"q AS ({text})", "SELECT 1 AS value FROM q"))
