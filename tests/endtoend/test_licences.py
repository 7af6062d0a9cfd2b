"""Licences end to end: spellings of one value and keys that print alike move a count by nobody more than once."""

import pytest
from endtoend.clinic_gateway import AskedGateway

from gateway.errors import Code, Refusal

_ONE_VALUE_TWICE = {
    "other zeros": "JOIN (VALUES (1980), (01980)) v(y) ON v.y = p.birth_year",
    "twice over": """JOIN (VALUES (1980), (01980)) v(y) ON v.y = p.birth_year
        JOIN (VALUES (1980), (01980)) w(y) ON w.y = p.birth_year""",
    "left": "LEFT JOIN (VALUES (1980), (01980)) v(y) ON v.y = p.birth_year",
    "real keys of a release": """JOIN (SELECT CAST(weight AS real) AS y, COUNT(*) AS n FROM visits
        GROUP BY 1) v ON v.y = CAST(p.birth_year AS real)""",
    "real keys, DISTINCT": """JOIN (SELECT DISTINCT CAST(population AS real) AS y FROM regions) v
        ON v.y = CAST(p.birth_year AS real)""",
}
# what an analyst may write in earnest, and the same without the join
_HONEST = {
    "public table by its key": (
        "SELECT COUNT(*) FROM patients p JOIN regions r ON r.region = p.region",
        "SELECT COUNT(*) FROM patients WHERE region IN (SELECT region FROM regions)",
    ),
    "public table, filtered": (
        """SELECT COUNT(*) FROM patients p JOIN (SELECT DISTINCT region FROM regions WHERE region <> 'north') r
        ON r.region = p.region""",
        "SELECT COUNT(*) FROM patients WHERE region IN (SELECT region FROM regions WHERE region <> 'north')",
    ),
    "values": (
        "SELECT COUNT(*) FROM patients p JOIN (VALUES ('north', 1), ('east', 2)) v(r, n) ON v.r = p.region",
        "SELECT COUNT(*) FROM patients WHERE region IN ('north', 'east')",
    ),
    "negative values": (
        "SELECT COUNT(*) FROM patients p JOIN (VALUES (-1), (1980)) v(y) ON v.y = p.birth_year",
        "SELECT COUNT(*) FROM patients WHERE birth_year = 1980",
    ),
    "values and a range": (
        """SELECT COUNT(*) FROM patients p JOIN (VALUES (1980), (1935), (2000)) v(y) ON v.y = p.birth_year
        WHERE p.birth_year >= 1970 AND p.birth_year <= 1990""",
        "SELECT COUNT(*) FROM patients WHERE birth_year = 1980",
    ),
    "among values": (
        "SELECT COUNT(*) FROM patients WHERE birth_year IN (VALUES (1980), (01980))",
        "SELECT COUNT(*) FROM patients WHERE birth_year = 1980",
    ),
    "one row": (
        "SELECT COUNT(*) FROM patients p, (SELECT 1980 AS y) v WHERE p.birth_year >= v.y",
        "SELECT COUNT(*) FROM patients WHERE birth_year >= 1980",
    ),
    "above a mean": (
        "SELECT COUNT(*) FROM patients WHERE birth_year > (SELECT AVG(birth_year) FROM patients)",
        """SELECT COUNT(*) FROM patients p CROSS JOIN (SELECT AVG(birth_year) AS y FROM patients) m
        WHERE p.birth_year > m.y""",
    ),
    "what was released": (
        """WITH means AS (SELECT region, AVG(birth_year) AS mean FROM patients GROUP BY region)
        SELECT COUNT(*) FROM patients p JOIN means m ON m.region = p.region WHERE p.birth_year >= 0""",
        "SELECT COUNT(*) FROM patients WHERE region IS NOT NULL",
    ),
}


@pytest.mark.parametrize("dataset", ["laplace", "gaussian", "listed"])
@pytest.mark.parametrize("joined", _ONE_VALUE_TWICE.values(), ids=_ONE_VALUE_TWICE)
def test_value_in_two_spellings_is_refused_or_met_once(
    gateway: AskedGateway, dataset: str, joined: str
) -> None:
    """Nobody is counted for each spelling, however often the trick is repeated."""
    with pytest.raises(Refusal) as refused:
        gateway.answer(f"SELECT COUNT(*) FROM patients p {joined}", dataset)
    assert refused.value.code is Code.FAN_OUT


@pytest.mark.parametrize("dataset", ["laplace", "gaussian", "listed"])
@pytest.mark.parametrize(("joined", "plain"), _HONEST.values(), ids=_HONEST)
def test_honest_join_is_answered_as_without_a_join(
    gateway: AskedGateway, dataset: str, joined: str, plain: str
) -> None:
    """What meets one row is answered exactly, whether a constraint says so or the statement sees to it."""
    found, expected = (gateway.answer(one, dataset).rows[0][0] for one in (joined, plain))
    assert found == expected
