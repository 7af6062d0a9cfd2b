"""Estimates of many grouping sets: what takes too many steps to compare is refused, for nothing and before it is compared."""

from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

import pytest
from endtoend.clinic_gateway import AskedGateway, a_gateway, clinic_in_duckdb, shown
from fix_servers import SharedServers
from laws import for_each

from gateway.errors import Code, UnsupportedSql
from gateway.requests.request import Request

_CLINIC = Path(__file__).parents[2] / "policies" / "clinic.yaml"
_MOMENT = "extract(doy FROM prescribed_at), extract(isodow FROM prescribed_at), extract(week FROM prescribed_at)"
_SETS = f"GROUP BY CUBE (drug, date_trunc('day', prescribed_at), {_MOMENT}"
_MANY = [
    f"SELECT count(*) FROM prescriptions {_SETS})",
    f"SELECT count(*) FROM prescriptions WHERE extract(hour FROM prescribed_at) < 8 {_SETS}, date_trunc('quarter', prescribed_at))",
]
_FEW = """SELECT count(*) FROM prescriptions WHERE extract(hour FROM prescribed_at) < 8
GROUP BY CUBE (drug, date_trunc('day', prescribed_at), date_trunc('month', prescribed_at))"""


@pytest.fixture(scope="module")
def installation(
    tmp_path_factory: pytest.TempPathFactory, servers: SharedServers
) -> Iterator[AskedGateway]:
    source = shown(clinic_in_duckdb(tmp_path_factory.mktemp("many") / "clinic.duckdb"))
    environment = MappingProxyType({"CLINIC_URL": source})
    with a_gateway({"clinic": _CLINIC.read_text()}, environment, servers) as opened:
        yield opened


@for_each("sql", _MANY)
def test_many_sets_over_a_moment_are_refused(installation: AskedGateway, sql: str) -> None:
    """Neither an estimate nor an answer compares them."""
    alice = installation.subjects["alice"]
    with pytest.raises(UnsupportedSql) as caught:
        installation.asking.estimate(alice, Request(sql, "clinic"))
    assert caught.value.code is Code.CLAUSE_UNSUPPORTED
    assert "fewer grouping sets" in str(caught.value.hint)
    with pytest.raises(UnsupportedSql):
        installation.answer(sql, "clinic")


def test_few_sets_over_a_moment_are_estimated(installation: AskedGateway) -> None:
    """A report of eight sets is far from the bound."""
    estimate = installation.asking.estimate(installation.subjects["alice"], Request(_FEW, "clinic"))
    assert estimate.price.value > 0
