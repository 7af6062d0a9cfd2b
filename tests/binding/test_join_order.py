"""The order of relations that are joined with commas."""

import pytest
from binding.clinic import CLINIC

from gateway.binding.bind import bind
from gateway.binding.join_order import MOST_RELATIONS
from gateway.errors import Code, LimitExceeded, UnsupportedSql


def _joined(relations: int) -> str:
    names = ", ".join(f"patients p{number}" for number in range(relations))
    pairs = [f"p{number}.patient_id = p0.patient_id" for number in range(1, relations)]
    return f"SELECT COUNT(*) FROM {names} WHERE {' AND '.join(pairs)}"


def test_order_is_sought_for_a_limited_number_of_relations() -> None:
    """One relation more than the limit is refused before any order is tried."""
    with pytest.raises(LimitExceeded) as refused:
        bind(_joined(MOST_RELATIONS + 1), CLINIC)
    assert refused.value.code is Code.SQL_TOO_LARGE


def test_order_is_refused_when_relations_do_not_meet() -> None:
    """Without the equality of one relation there is no order, however many others meet."""
    bind(_joined(4), CLINIC)
    with pytest.raises(UnsupportedSql) as refused:
        bind(
            _joined(4).replace("p3.patient_id = p0.patient_id", "p3.birth_year = p0.birth_year"),
            CLINIC,
        )
    assert refused.value.code is Code.UNIT_EQUALITY
