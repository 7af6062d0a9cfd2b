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


_ENDS = "row numbers of each patient end at"
_NUMBERED = "FROM (SELECT cost, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY visit_date) AS r FROM visits) t"
_COUNTED = "FROM (SELECT cost, COUNT(*) OVER (PARTITION BY patient_id) AS n FROM visits) t"
_SUMMED = (
    "FROM (SELECT SUM(cost) OVER (PARTITION BY patient_id ORDER BY visit_date ROWS BETWEEN {} AND CURRENT ROW) AS s"
    " FROM visits) t WHERE s > 100"
)


@for_each(
    ("condition", "said"),
    [
        ("r = 1", False),
        ("r <= {below}", False),
        ("r > {below}", False),
        ("{below} >= r", False),
        ("r < {most}", False),
        ("r >= {most}", False),
        ("r IS NOT NULL", False),
        ("r = {most}", True),
        ("r <> {most}", True),
        ("r > {most}", True),
        ("r <= {most}", True),
        ("{most} < r", True),
        ("r <= 3000", True),
        ("r < 3000", True),
        ("r + 1 = 2", True),
        ("r IN (1, 2)", True),
        ("r = 1.5", True),
        ("r < cost", True),
    ],
)
def test_cut_of_row_numbers_is_said_where_a_condition_may_read_it(
    condition: str, *, said: bool
) -> None:
    """A comparison that the cut cannot change is silent; what is not known to be one is told."""
    [release] = analyzed(f"SELECT COUNT(*) {_NUMBERED} WHERE r = 3000")
    [notice] = left_out_notices([release])
    most = int(notice.removeprefix(f"{_ENDS} ").split(":")[0])
    written = condition.format(most=most, below=most - 1)
    found = list(left_out_notices(analyzed(f"SELECT COUNT(*) {_NUMBERED} WHERE {written}")))
    assert found == ([notice] if said else [])


@for_each(
    ("sql", "said"),
    [
        (f"SELECT COUNT(*) {_NUMBERED}", []),
        (f"SELECT AVG(r) {_NUMBERED}", [_ENDS]),
        (f"SELECT MEDIAN(r) {_NUMBERED}", [_ENDS]),
        (f"SELECT r, COUNT(*) {_NUMBERED} GROUP BY r HAVING COUNT(*) > 5", [_ENDS]),
        (f"SELECT COUNT(*) FILTER (WHERE r > 3000) {_NUMBERED}", [_ENDS]),
        (f"SELECT SUM(CASE WHEN r > 3000 THEN cost ELSE 0 END) {_NUMBERED}", [_ENDS]),
        (f"SELECT COUNT(*) FROM (SELECT r AS q {_NUMBERED}) u WHERE q = 3000", [_ENDS]),
        (f"SELECT COUNT(*) FROM (SELECT r * 2 AS q {_NUMBERED}) u WHERE q = 3000", [_ENDS]),
        (
            f"SELECT COUNT(*) FROM (SELECT r {_NUMBERED} UNION ALL SELECT r {_NUMBERED}) u WHERE r = 3000",
            [_ENDS],
        ),
        (f"SELECT AVG(n) {_COUNTED}", ["counts in windows of each patient are those of at most"]),
        (f"SELECT COUNT(*) {_COUNTED} WHERE n > 1", []),
        (f"SELECT COUNT(*) {_SUMMED.format('1 PRECEDING')}", []),
        (
            f"SELECT COUNT(*) {_SUMMED.format('UNBOUNDED PRECEDING')}",
            ["sums in windows of each patient are those of at most"],
        ),
        (
            "SELECT AVG(m) FROM (SELECT AVG(cost) OVER (PARTITION BY patient_id) AS m FROM visits) t",
            [],
        ),
    ],
)
def test_cut_of_windows_is_said_where_a_value_is_read(sql: str, said: list[str]) -> None:
    """Under any name, as a key, in aggregates and in their filters; a frame of few rows and a mean are not cut."""
    found = [one for one in left_out_notices(analyzed(sql)) if _FOUND[:6] not in one]
    assert len(found) == len(said)
    assert all(one.startswith(part) for part, one in zip(said, found, strict=True))


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
