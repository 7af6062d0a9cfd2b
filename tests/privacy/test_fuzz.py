"""Random SQL texts through the whole line, in all neighbouring worlds at once. For longer: `long_fuzz.py`."""

from collections.abc import Iterator

import pytest
from fix_state import StateServer
from privacy.fuzzer.catalogs import Catalog, catalog
from privacy.fuzzer.databases import new_installation
from privacy.fuzzer.plants import found_with, swap_found
from privacy.fuzzer.statements import Sentence
from privacy.fuzzer.tally import Tally
from privacy.fuzzer.trial import bench, shown, trials
from privacy.fuzzer.worlds import Server
from property.schemas import a_database
from samples import draws

from gateway.postgres_server import Lease
from gateway.regions.lineage import Lineage
from gateway.regions.region import EVERYTHING
from gateway.stages.services import Services
from gateway.twin import Twin


@pytest.fixture(scope="module")
def services(
    state_server: StateServer, twin: Twin, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Services]:
    with new_installation(state_server, twin, tmp_path_factory.mktemp("fuzz")) as line:
        yield line.asking.services


@pytest.fixture(scope="module")
def server(sample_server: Lease) -> Iterator[Server]:
    with a_database(sample_server) as url, Server.open(url, "fuzz") as server:
        yield server


def test_random_text_moves_by_no_more_than_declared_when_a_person_is_left_out(
    server: Server, services: Services
) -> None:
    """In both databases, in every group and jointly; nothing raises, and no question ends in a bug of ours."""
    tally, problems = Tally(), []
    for seed in ("small 1", "small 2"):
        for made, outcome in trials(server, services, seed, draws(14, fewest=6)):
            tally.note(outcome)
            if outcome.found.problems:
                problems.append(shown(made.catalog, outcome))
    assert not problems, "\n".join(problems)
    assert tally.compared > tally.statements // 2
    assert tally.runs > 4 * tally.compared
    assert min(tally.engines["duckdb"], tally.engines["postgresql"]) > draws(10, fewest=4)


@pytest.mark.parametrize(
    ("name", "told"), [("spellings", " > "), ("weights", " > "), ("levels", "are told apart")]
)
def test_planted_bug_is_found_by_random_texts(
    server: Server, services: Services, name: str, told: str
) -> None:
    """What was broken once would be found again; groups that are finer than a right permits, too."""
    found = found_with(server, services, name, catalogs=80, planted=True)
    assert found is not None
    assert any(told in one for one in found.found.problems)


def test_values_of_one_level_are_not_told_apart(server: Server, services: Services) -> None:
    """The statements that show the planted bug have nothing to show without it."""
    assert found_with(server, services, "levels", catalogs=1, planted=False) is None


def test_planted_licence_that_outlives_its_constraint_is_found(
    server: Server, services: Services
) -> None:
    """A table is swapped for one without its key between two questions on a kept connection."""
    assert any(" > " in one for one in swap_found(server, services, catalogs=4, planted=True))


_ABOVE = "SELECT COUNT(*) FROM people WHERE x > {}"


def test_releases_that_are_taken_for_the_same_are_found(
    server: Server, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statements that differ in one constant are told apart; where regions are all the same, that is seen."""
    seed = next(str(one) for one in range(1, 500) if _has_numbers(catalog(str(one))))
    assert not _taken_for_the_same(server, services, seed)
    monkeypatch.setattr(Lineage, "region", lambda *_: EVERYTHING)
    assert _taken_for_the_same(server, services, seed)


def _has_numbers(made: Catalog) -> bool:
    """Whether persons, with one row each, differ in a number."""
    people = made.tables[0]
    names = [one.name for one in people.columns]
    if not made.holds or not people.keys or "[0, 100]" not in str(people.column("x")):
        return False
    return len({row[names.index("x")] for row in made.rows["people"]} & {"1", "30", "31", "36"}) > 1


def _taken_for_the_same(server: Server, services: Services, seed: str) -> bool:
    found: list[str] = []
    with bench(server, services, seed) as made:
        for number in (0, 1, 30, 31, 36, 39):
            said = Sentence(_ABOVE.format(number), (), frozenset(), "alice")
            found += made.try_sentence(f"{seed}/{number}", said).found.problems
    return any("taken for the same" in one for one in found)
