"""The hint of a refused SELECT of individual rows names an aggregate that is answered."""

import re

import pytest
from binding.cases import Case, every
from binding.clinic import CLINIC
from laws import for_each

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.errors import Code, NotAggregate

# of a recursive query there are no rows to count: what is refused is the recursion
_ROWS = [
    case
    for case in every()
    if case.expected == Code.PERSON_ROWS and "RECURSIVE" not in case.sql.upper()
]


@for_each("case", _ROWS, ids=lambda case: case.name)
def test_hint_of_refused_rows_binds(case: Case) -> None:
    """It counts rows or groups of a table that the statement names, and is a release."""
    with pytest.raises(NotAggregate) as refused:
        bind(case.sql, CLINIC)
    _, _, example = refused.value.hint.partition(", such as ")
    table = re.findall(r"FROM ([a-z_]+)", example)[-1]
    assert table in case.sql.lower()
    assert isinstance(bind(example, CLINIC), Cut)
