"""The architecture page holds against the code: the walk of a query, and the files of each change."""

import pytest
from docs.checks import ROOT
from docs.markdown import code, rows, sections
from docs.walk import table, traced
from endtoend.clinic_gateway import a_gateway, clinic_in_duckdb, shown
from endtoend.clinic_policy import policy
from fix_servers import SharedServers

pytestmark = pytest.mark.gateway

_PAGE = ROOT / "docs" / "architecture.md"
_BEGIN, _END = "<!-- walk: written by --update-cases -->\n", "<!-- end of the walk -->\n"
_QUERY = "SELECT region, COUNT(*) FROM patients GROUP BY region"
_CHANGES = "Where do I change X?"
_LEAST_CHANGES = 20
_UPDATE = "run `.venv/bin/pytest tests/docs/test_architecture.py --update-cases`"


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory, servers: SharedServers) -> str:
    """The walk of `_QUERY` through a gateway that has just started."""
    source = clinic_in_duckdb(tmp_path_factory.mktemp("walk") / "clinic.duckdb")
    policies = {"clinic": policy("clinic", "SOURCE", "laplace", groups=1)}
    with a_gateway(policies, {"SOURCE": shown(source)}, servers) as gateway, traced() as calls:
        gateway.answer(_QUERY, "clinic")
    return table(calls)


def _shown_walk(page: str) -> str:
    return page[page.index(_BEGIN) + len(_BEGIN) : page.index(_END)].strip() + "\n"


def test_architecture_shows_the_walk_of_a_query(walk: str, pytestconfig: pytest.Config) -> None:
    """The walk on the page is the walk of the code: same functions, same order, same lines."""
    page = _PAGE.read_text()
    if pytestconfig.getoption("--update-cases"):
        _PAGE.write_text(page.replace(_shown_walk(page), walk))
    assert _shown_walk(_PAGE.read_text()) == walk, f"{_UPDATE}; the walk is now:\n{walk}"


def test_walk_passes_every_stage_that_a_fresh_answer_needs(walk: str) -> None:
    """A trace that recorded nothing, or half of the way, would agree with an empty page."""
    for file in (
        "gateway/datasets/view.py",
        "gateway/overlap/auditor.py",
        "gateway/budget/ledger.py",
        "gateway/engines/source.py",
        "gateway/noise/add_noise.py",
        "gateway/stages/finish.py",
        "gateway/trail/record.py",
    ):
        assert f"`{file}:" in walk
    assert _QUERY in _PAGE.read_text()


def _faults(page: str) -> list[str]:
    """Changes without a path, and paths that do not exist."""
    changes = rows(sections(page, 2)[_CHANGES])
    faults = [] if len(changes) >= _LEAST_CHANGES else [f"fewer than {_LEAST_CHANGES} changes"]
    for change, *cells in changes:
        named = [span for cell in cells for span in code(cell) if "/" in span and "--" not in span]
        faults += [f"{change}: {path}" for path in named if not (ROOT / path).exists()]
        if not named:
            faults.append(f"{change}: no path")
    return faults


def test_change_names_files_that_exist() -> None:
    """Each of the likeliest changes names its files, and every file exists."""
    assert _faults(_PAGE.read_text()) == []


@pytest.mark.parametrize(
    ("right", "wrong", "fault"),
    [
        ("`gateway/events.py`;", "`gateway/event.py`;", "an event or log line: gateway/event.py"),
        ("| a metric | `gateway/telemetry/metrics.py` | `docs/metrics-and-logs.md`, `tests/telemetry/` |", "| a metric | - | - |", "a metric: no path"),
    ],
)  # fmt: skip
def test_change_is_found_fault_with_when_its_file_is_missing(
    right: str, wrong: str, fault: str
) -> None:
    """A wrong or missing path in the table is noticed."""
    page = _PAGE.read_text()
    assert right in page
    assert fault in _faults(page.replace(right, wrong))
