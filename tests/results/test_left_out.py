"""What a statement leaves out whatever the norms are, in sentences: found groups, different values, numbers of persons."""

from laws import for_each
from results.test_clipped_scopes import analyzed

from gateway.results.left_out import left_out_notices

_FOUND = "visits by diagnosis: each patient counts in at most"
_VALUES = "different values of each patient count"
_NUMBERS = "counts and sums of each patient are those of at most"

_PAIRED = "of the rows of one patient that meet in a join at most 256 of each side count"
_PAIRS = "of the rows of one patient that meet in joins at most 65536 pairs count"
_EXISTS = "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.patient_id = v.patient_id"
_SELF = "visits a JOIN visits b ON a.patient_id = b.patient_id"


@for_each(
    ("sql", "said"),
    [
        ("SELECT COUNT(*) FROM visits", []),
        ("SELECT region, COUNT(DISTINCT income) FROM patients GROUP BY region", []),
        ("SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis", [_FOUND]),
        ("SELECT diagnosis, COUNT(DISTINCT patient_id) FROM visits GROUP BY diagnosis", [_FOUND]),
        ("SELECT COUNT(DISTINCT cost) FROM visits", [_VALUES]),
        ("SELECT diagnosis, COUNT(DISTINCT cost) FROM visits GROUP BY 1", [_FOUND, _VALUES]),
        (
            "SELECT AVG(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY 1) t",
            [_NUMBERS],
        ),
        (f"SELECT COUNT(*) FROM {_SELF}", [_PAIRED]),
        (f"SELECT COUNT(*) FROM {_SELF} JOIN visits c ON b.patient_id = c.patient_id", [_PAIRS]),
        (
            "SELECT COUNT(*) FROM visits v JOIN patients p ON v.patient_id = p.patient_id",
            [],
        ),
        (
            f"{_EXISTS} AND w.diagnosis = v.diagnosis)",
            [],
        ),
        (
            f"{_EXISTS} AND w.cost > v.cost)",
            [_PAIRED],
        ),
        ("SELECT AVG(n) FROM (SELECT patient_id, MAX(cost) AS n FROM visits GROUP BY 1) t", []),
    ],
)
def test_limits_are_said_where_they_leave_something_out(sql: str, said: list[str]) -> None:
    """Each once, with its number; nothing is said where a unit has one row."""
    found = list(left_out_notices(analyzed(sql)))
    assert len(found) == len(said)
    assert all(part in one for part, one in zip(said, found, strict=True))
    assert all(any(sign.isdigit() for sign in one) for one in found)
