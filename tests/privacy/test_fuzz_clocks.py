"""Statements that read clocks, in all neighbouring worlds at once: no person moves an answer by more than declared."""

from collections.abc import Iterator

import pytest
from fix_state import StateServer
from privacy.fuzzer.catalogs import Catalog, catalog
from privacy.fuzzer.databases import new_installation
from privacy.fuzzer.statements import Sentence
from privacy.fuzzer.trial import bench_of, shown
from privacy.fuzzer.worlds import Server
from property.schemas import a_database
from samples import draws

from gateway.postgres_server import Lease
from gateway.stages.services import Services
from gateway.twin import Twin

_KEYS = (
    "DATE_TRUNC('day', {})",
    "DATE_TRUNC('hour', {}, 'Australia/Lord_Howe')",
    "CAST({} AS date)",
    "EXTRACT(hour FROM {})",
    "DATE_TRUNC('week', {} + interval '1 day') - interval '1 day'",
    "DATE_TRUNC('month', {} AT TIME ZONE 'America/Sao_Paulo')",
    "to_char({}, 'YYYY-MM')",
)
_CONDITIONS = (
    "{} >= '2024-03-31 02:30' AND {} < '2024-10-27 02:30'",
    "{}::date > '2024-02-29'",
    "date_trunc('month', {}) = '2024-03-01'",
    "{} > TIMESTAMPTZ '2024-12-31 23:59:59+00' - interval '10 months'",
    "TIMESTAMPTZ '2025-01-01 00:00+00' - {} < interval '100 days'",
)


@pytest.fixture(scope="module")
def services(
    state_server: StateServer, twin: Twin, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Services]:
    with new_installation(state_server, twin, tmp_path_factory.mktemp("clocks")) as line:
        yield line.asking.services


@pytest.fixture(scope="module")
def server(sample_server: Lease) -> Iterator[Server]:
    with a_database(sample_server) as url, Server.open(url, "clocks") as server:
        yield server


def _moments(made: Catalog) -> list[tuple[str, str]]:
    """The tables of persons with a column of bounded moments."""
    return [
        (table.name, column.name)
        for table in made.tables
        if table.protected
        for column in table.columns
        if column.type == "timestamptz" and column.domain is not None
    ]


def test_clock_moves_no_answer_by_more_than_declared(server: Server, services: Services) -> None:
    """Days, hours and weeks of moments, in several time zones, in both databases; nothing raises."""
    problems, compared, asked = [], 0, 0
    seeds = (number for number in range(1, 1_000) if _moments(catalog(f"clocks {number}")))
    for number in (next(seeds) for _ in range(draws(3, fewest=2))):
        made = catalog(f"clocks {number}")
        table, column = _moments(made)[0]
        name = f"{table}.{column}"
        texts = [f"SELECT {one.format(name)}, COUNT(*) FROM {table} GROUP BY 1" for one in _KEYS]
        texts += [
            f"SELECT COUNT(*) FROM {table} WHERE {one.format(name, name)}" for one in _CONDITIONS
        ]
        with bench_of(server, services, made) as ready:
            for place, text in enumerate(texts):
                outcome = ready.try_sentence(
                    f"{number}/{place}", Sentence(text, (), frozenset(), "alice")
                )
                asked, compared = asked + 1, compared + outcome.compared
                if outcome.found.problems:
                    problems.append(shown(made, outcome))
    assert not problems, "\n".join(problems)
    assert compared > asked // 2
