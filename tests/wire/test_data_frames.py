"""pandas, polars, connectorx and ADBC, each in a program of its own, in the environment that `make e2e` makes."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from wire.clients import E2E_PYTHON, run
from wire.gateways import WireGateway

_PROGRAMS: Final = Path(__file__).parent / "programs"
_REGIONS: Final = ["east", "north", "south", "west", None]
_COUNTS: Final = [24, 36, 20, 12, 4]


def said(program: str, *arguments: str) -> dict[str, Any]:
    done = run([E2E_PYTHON, str(_PROGRAMS / program), *arguments], {})
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_pandas_reads_frames(gateway: WireGateway) -> None:
    """Whole, bound, in chunks and with dates; a table of persons is refused."""
    found = said("with_pandas.py", gateway.url())
    assert (found["regions"], found["counts"]) == (_REGIONS, _COUNTS)
    assert found["kinds"] == {"n": "int64"}
    assert found["bound"] == [36]
    assert found["chunks"] == _COUNTS
    assert found["years"][0] == "2020"
    assert "GW110" in found["refused"]


@pytest.mark.parametrize("engine", ["adbc", "connectorx"])
def test_polars_reads_frames_for_one_question(gateway: WireGateway, engine: str) -> None:
    """Its engines wrap a question in COPY, which is charged once; types are PostgreSQL's."""
    before = gateway.charged()
    found = said("with_polars.py", gateway.url(), engine)
    assert (found["regions"], found["counts"]) == (_REGIONS, _COUNTS)
    assert (found["kinds"]["n"], found["kinds"]["day"]) == ("Int64", "Date")
    assert "individual rows" in found["refused"]
    assert gateway.charged() == before + 1


def test_connectorx_reads_by_each_of_its_protocols(gateway: WireGateway) -> None:
    """COPY in binary and CSV, a cursor, and the simple protocol give the same; each is one question."""
    before = gateway.charged()
    found = said("with_connectorx.py", gateway.url())
    assert set(found) == {"binary", "csv", "cursor", "simple"}
    assert [one for one in found.values() if one != [_REGIONS, _COUNTS]] == []
    assert gateway.charged() == before + len(found)


def test_adbc_reads_arrow(gateway: WireGateway) -> None:
    """Tables, bound values, the names of what there is, and refusals after which it goes on."""
    before = gateway.charged()
    found = said("with_adbc.py", gateway.url())
    assert (found["regions"], found["counts"]) == (_REGIONS, _COUNTS)
    assert found["kinds"] == {"region": "string", "n": "int64", "mean": "double"}
    assert found["bound"] == [[36]]
    assert "GW110" in found["refused"]
    assert found["again"]
    assert found["catalogs"] == ["clinic"]
    assert found["tables"] == ["calls", "codes", "patients", "regions", "visits"]
    assert found["columns"]["visit_date"].startswith("date32")
    assert found["vendor"] == "PostgreSQL"
    assert gateway.charged() == before + 3
