"""The values of keys among listed groups."""

import pytest

from gateway.regions.key_cells import values_at
from gateway.sensitivity.analysis import EnumeratedGroups


@pytest.mark.parametrize(
    ("keys", "place", "values"),
    [
        ((), 0, ()),  # conditions that leave no value: it was an internal error once
        (((1, "a"), (1, "b"), (2, "a"), (2, "b")), 0, (1, 2)),
        (((1, "a"), (1, "b"), (2, "a"), (2, "b")), 1, ("a", "b")),
    ],
)
def test_values_of_a_key_are_those_of_all_groups(
    keys: tuple[tuple[int | str, ...], ...], place: int, values: tuple[int | str, ...]
) -> None:
    """Each value once, in order; none where there is no group."""
    assert values_at(EnumeratedGroups(keys), place) == values
