"""One question in several spellings is one question: neither the order of its keys and measures nor its names cost anything.

Over visits, of which a person may have several, so that weights and samples depend on all groups of a person.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import groupby
from typing import Final

import pytest
from endtoend.reuse.datasets import CLIPPED, CLIPPED_ZCDP, Opened, Place, opened
from fix_servers import SharedServers

from gateway.postgres_server import Lease
from gateway.requests.request import CacheUse

_M: Final = "extract(month FROM visit_date)"
_LATE: Final = "visit_date >= '2024-07-01'"
_LISTED: Final = f"SELECT {_LATE} AS late, {_M} AS m, COUNT(*) AS n FROM visits GROUP BY 1, 2"
_FOUND: Final = f"SELECT diagnosis, {_M} AS m, COUNT(*) AS n FROM visits GROUP BY 1, 2"
_JOIN: Final = "SELECT {} AS r, {} AS d, COUNT(*) AS n, SUM({}) AS s FROM {} GROUP BY 1, 2"
_FIRST: Final = (
    "(SELECT *, row_number() OVER (PARTITION BY patient_id ORDER BY visit_date) AS r FROM visits) v"
    " WHERE r <= 2 GROUP BY 1, 2"
)
_RENAMED: Final = (
    "WITH a AS (SELECT visit_date AS w, diagnosis AS d FROM visits WHERE NOT cost <= 100)"
)
_SPELLINGS: Final = {
    "order of listed keys": (
        _LISTED,
        f"SELECT {_M} AS m, {_LATE} AS late, COUNT(*) AS n FROM visits GROUP BY 1, 2",
    ),
    "order of found keys": (_FOUND, _FOUND.replace("GROUP BY 1, 2", "GROUP BY 2, 1")),
    "aliases": (
        _FOUND,
        "SELECT extract(month FROM x.visit_date) AS b, x.diagnosis AS a, COUNT(*) AS c FROM visits x GROUP BY b, a",
    ),
    "order of measures": (
        "SELECT diagnosis, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY 1",
        "SELECT diagnosis, SUM(cost) AS s, COUNT(*) AS n FROM visits GROUP BY 1",
    ),
    "order of tables, whose aliases sort the other way": (
        _JOIN.format(
            "p.region",
            "v.diagnosis",
            "v.cost",
            "visits v JOIN patients p ON v.patient_id = p.patient_id",
        ),
        _JOIN.format(
            "z.region", "a.diagnosis", "a.cost", "patients z JOIN visits a USING (patient_id)"
        ),
    ),
    "equal conditions and a CTE": (
        _FOUND.replace(" GROUP", " WHERE cost > 100 GROUP"),
        f"{_RENAMED} SELECT {_M.replace('visit_date', 'w')} AS m, d, COUNT(1) AS n FROM a GROUP BY 1, 2",
    ),
    "order of all beside a window": (
        f"SELECT diagnosis, {_M} AS m, COUNT(*) AS n, SUM(cost) AS s FROM {_FIRST}",
        f"SELECT {_M} AS m, diagnosis, SUM(cost) AS s, COUNT(*) AS n FROM {_FIRST}",
    ),
    "a grouping set of the rows": (
        f"SELECT {_M} AS m, {_LATE} AS late, COUNT(*) AS n FROM visits GROUP BY ROLLUP (1, 2)",
        _LISTED,
    ),
}


@pytest.fixture(scope="module")
def houses(sample_server: Lease, servers: SharedServers) -> Iterator[Opened]:
    with opened(
        sample_server, servers, clipped=len(_SPELLINGS), clipped_zcdp=len(_SPELLINGS) + 3
    ) as one:
        yield one


@pytest.fixture(params=[CLIPPED, CLIPPED_ZCDP])
def place(request: pytest.FixtureRequest, houses: Opened) -> Place:
    kind: str = request.param
    return houses.place(kind)


@pytest.fixture
def zcdp(houses: Opened) -> Place:
    return houses.place(CLIPPED_ZCDP)


@pytest.mark.parametrize("spellings", _SPELLINGS.values(), ids=_SPELLINGS)
def test_question_is_free_in_another_spelling(place: Place, spellings: tuple[str, str]) -> None:
    """The second answer is the first one, for nothing, and the estimate says so."""
    place.ask(spellings[0])
    told, again = place.estimate(spellings[1]), place.ask(spellings[1])
    assert (again.reused, again.charged.value) == (CacheUse.SAME, Fraction(0))
    assert told.price.value == 0


@pytest.mark.parametrize(
    "spellings",
    [_SPELLINGS["order of listed keys"], (_FOUND, _SPELLINGS["aliases"][1])],
    ids=["listed", "found"],
)
def test_each_group_keeps_its_numbers_in_the_other_order(
    zcdp: Place, spellings: tuple[str, str]
) -> None:
    """Columns and rows are in the order of the statement, and the same group has the same numbers."""
    first, again = zcdp.ask(spellings[0]), zcdp.ask(spellings[1])
    keys = [(row[0], row[1]) for row in first.rows]
    assert len(keys) > 2
    assert {(a, b): n for a, b, n in first.rows} == {(a, b): n for b, a, n in again.rows}
    for answer in (first, again):
        written_first = [row[0] for row in answer.rows]
        assert len(list(groupby(written_first))) == len(set(written_first))


def test_other_keys_are_another_question(zcdp: Place) -> None:
    """The negative control: one key less is measured anew, as a person weighs otherwise over fewer groups."""
    zcdp.ask(_LISTED)
    assert zcdp.ask(f"SELECT {_M} AS m, COUNT(*) AS n FROM visits GROUP BY 1").charged.value
