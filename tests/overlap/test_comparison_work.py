"""The bound of comparing the parts of one statement: many grouping sets over fine keys are refused, ordinary ones are not."""

import pytest
from laws import for_each
from overlap.walk import SPREAD, parts

from gateway.errors import Code, UnsupportedSql
from gateway.overlap.comparison_work import MOST_WORK, comparison_work, require_comparable
from gateway.overlap.question_part import NewQuery

_ORDINARY = [
    "SELECT count(*) FROM prescriptions GROUP BY CUBE (drug, date_trunc('day', prescribed_at), date_trunc('month', prescribed_at))",
    "SELECT count(*) FROM visits GROUP BY CUBE (diagnosis, visit_date, extract(year FROM visit_date), extract(dow FROM visit_date))",
    "SELECT count(*), avg(income) FROM patients GROUP BY ROLLUP (region, birth_year)",
    "SELECT count(*) FROM patients GROUP BY CUBE (birth_year, region, birth_year / 10, birth_year % 7)",
]


def asked(sql: str) -> list[NewQuery]:
    return [NewQuery(one.scope, SPREAD) for one in parts("clinic", sql)]


def test_many_parts_are_refused() -> None:
    """The refusal says what to leave out; one part fewer is compared."""
    [one] = asked("SELECT count(*) FROM patients WHERE birth_year > 1950")
    most = next(n for n in range(2, MOST_WORK) if comparison_work([one] * n) > MOST_WORK)
    require_comparable([one] * (most - 1))
    with pytest.raises(UnsupportedSql) as caught:
        require_comparable([one] * most)
    assert caught.value.code is Code.CLAUSE_UNSUPPORTED
    assert caught.value.hint


@for_each("sql", _ORDINARY)
def test_ordinary_sets_are_compared(sql: str) -> None:
    """What reports ask for is far below the bound."""
    assert comparison_work(asked(sql)) < MOST_WORK // 5


def test_one_part_takes_no_work() -> None:
    """A statement of one part is compared with nothing of itself."""
    assert comparison_work(asked("SELECT count(*) FROM patients GROUP BY birth_year")) == 0
