"""A constraint of the source licenses a skipped step only while it holds: for the very rows that are counted."""

from collections.abc import Iterator

import pytest
from endtoend.changing import PERSONS, SWAP, WITHOUT_KEY, Changing, changing

from gateway.embedded import Lease


@pytest.fixture
def clinic(sample_server: Lease) -> Iterator[Changing]:
    with changing(sample_server) as made:
        yield made


def test_count_is_bounded_when_the_table_was_swapped_for_one_without_its_key(
    clinic: Changing,
) -> None:
    """Between two questions on one kept connection: nobody counts twice."""
    assert clinic.count() == PERSONS
    clinic.run(WITHOUT_KEY)
    clinic.run(SWAP)
    assert clinic.value("SELECT count(*) FROM patients") == PERSONS + 24
    assert clinic.count() == PERSONS
