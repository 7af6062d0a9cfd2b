"""A date that is compared with a timestamp: the auditor reads the rows that the source reads."""

import pytest
from overlap.sequences import Asked
from overlap.walk import DEFAULTS, walked

from gateway.errors import Code

_APART = "visit_date IS DISTINCT FROM timestamp '2024-03-05'"
_ALIKE = "visit_date IS NOT DISTINCT FROM timestamp '2024-03-05'"


def _verdict(*asked: str) -> Code | None:
    case = Asked("", "clinic", tuple(("alice", one) for one in asked))
    refusal = walked(case, DEFAULTS).refusal
    return None if refusal is None else refusal.code


@pytest.mark.parametrize(
    "where",
    [
        _APART,
        f"({_APART})::int = 1",
        f"(CASE WHEN {_APART} THEN 1 ELSE 0 END) = 1",
        f"greatest(({_APART})::int, 0) = 1",
        f"coalesce(nullif({_APART}, false), false)",
        f"({_ALIKE}) IS NOT TRUE",
        f"(CASE WHEN {_ALIKE} THEN 'a' ELSE 'b' END) = 'b'",
        "(CASE visit_date WHEN timestamp '2024-03-05' THEN 1 ELSE 0 END) = 0",
        "(CASE WHEN visit_date IN (timestamp '2024-03-05', date '2024-03-05') THEN 1 ELSE 0 END) = 0",
        "nullif(visit_date, timestamp '2024-03-05') IS NOT NULL",
    ],
)
def test_all_days_but_one_are_refused_beside_all(where: str) -> None:
    """However the day is left out, and with whichever aggregate."""
    count = "SELECT COUNT(*) FROM visits"
    assert _verdict(count, f"{count} WHERE {where}") is not None
    total = "SELECT SUM(cost) FROM visits"
    assert _verdict(total, f"SELECT SUM(CASE WHEN {where} THEN cost END) FROM visits") is not None


def test_timestamp_within_the_day_leaves_nothing_out() -> None:
    """The control: no date equals noon, so that both ask of the same rows."""
    noon = "visit_date IS DISTINCT FROM timestamp '2024-03-05 12:00'"
    count = "SELECT COUNT(*) FROM visits"
    assert _verdict(count, f"{count} WHERE ({noon})::int = 1") is None
