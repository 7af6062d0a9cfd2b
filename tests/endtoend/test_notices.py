"""What a connection is told of an answer, at each detail: price, quota, margins, and what the answer is not."""

import re
from collections.abc import Iterator
from fractions import Fraction

import pytest
from endtoend.clinic_gateway import AskedGateway, a_gateway, shown
from endtoend.clinic_policy import clinic_policy
from endtoend.conftest import Sources
from fix_servers import SharedServers

from gateway.cancellation import CancelEvent
from gateway.requests.request import Answer, Notice, NoticeDetail, Request, UnsupportedItems
from gateway.units import Epsilon

@pytest.fixture(scope="module")
def noisy(sources: Sources, servers: SharedServers) -> Iterator[AskedGateway]:
    values = {"PRICE": "0.5", "MOST": "50", "BUDGET": "1000", "GROUPS": "10000", "REUSE": "{max_age: 7d}"}
    kinds = {"laplace": "laplace", "gaussian": "gaussian", "ranged": "laplace"}
    policies = {name: clinic_policy({**values, "DATASET": name, "SOURCE": name.upper(), "MECHANISM": m}) for name, m in kinds.items()}
    policies["ranged"] += "answers: {report: {count: 10}}\n"
    places = zip(kinds, (sources.plain, sources.duckdb, sources.listed), strict=True)
    urls = {name.upper(): shown(url) for name, url in places}
    with a_gateway(policies, urls, servers) as opened:
        yield opened

def test_x(noisy: AskedGateway) -> None:
    for sql in ("SELECT region, COUNT(*) AS n, AVG(income) AS mean FROM patients GROUP BY region",
        "SELECT region, COUNT(*) AS n, AVG(income) AS mean FROM patients GROUP BY region",
        "SELECT region, COUNT(*) AS n, DP_INTERVAL_LOW(n) AS lo FROM patients GROUP BY region",
        "SELECT MEDIAN(birth_year) AS m, MAX(birth_year) AS x, STDDEV(income) AS s, MODE() WITHIN GROUP (ORDER BY region) AS mo FROM patients",
        "SELECT region, COUNT(*) AS n, sum(count(*)) OVER (ORDER BY region) AS running FROM patients GROUP BY region",
        "SELECT birth_year, COUNT(*) AS n FROM patients GROUP BY birth_year HAVING COUNT(*) > 5 LIMIT 3",
        "SELECT region, COUNT(*) AS n, array_agg(income) AS a FROM patients GROUP BY region",
        "SELECT 1 FROM patients LIMIT 1", "SELECT version()", "SELECT region FROM regions", "SELECT DISTINCT region FROM patients",
        "SELECT epsilon_remaining FROM gateway.budget", "SELECT COUNT(*) FROM patients WHERE false",
        "SELECT COUNT(*) + (SELECT COUNT(*) FROM visits) AS both, 3 AS three FROM patients",
        "SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis",
        ):
        for ds in ("laplace", "ranged"):
            for d in NoticeDetail:
                r = Request(sql, ds, notices=d, unsupported=UnsupportedItems.NULL)
                got = noisy.asking.release(noisy.subjects["alice"], r, CancelEvent())
                if ds == "laplace" or d is NoticeDetail.BRIEF: print(ds, d, *got.notices, sep="\n    ")
    assert 0
