"""Tests that share a gateway are run by as few processes as can be."""

from itertools import groupby

import pytest
from order import put_together


def test_order_has_each_folder_in_one_piece(request: pytest.FixtureRequest) -> None:
    """Tests that start something come first, and those of a folder follow each other, however they were shuffled."""
    items = request.session.items[::-1]
    put_together(items)
    starting = [one for one in items if one.get_closest_marker("unit") is None]
    assert items[: len(starting)] == starting
    pieces = [folder for folder, _ in groupby(one.path.parent for one in starting)]
    assert len(pieces) == len(set(pieces))
    assert sorted(map(id, items)) == sorted(map(id, request.session.items))
