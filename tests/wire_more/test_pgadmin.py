"""pgAdmin 4: it connects, and every node of its tree opens, by the app itself. `make pgadmin` runs this alone."""

import json

import pytest
from wire_more.clients import HERE, client, run
from wire_more.running import RunningGateway


@pytest.fixture(scope="module")
def tree(served: RunningGateway) -> dict[str, dict[str, list[str]] | list[str]]:
    """What the nodes are called, and what did not open."""
    given = json.dumps({"port": served.port, "key": served.key})
    command = (client("pgadmin", "bin", "python"), HERE / "pgadmin" / "tree.py")
    found: dict[str, dict[str, list[str]] | list[str]] = json.loads(
        run(command, served.environment(), given=given)
    )
    return found


def test_every_node_opens(tree: dict[str, dict[str, list[str]] | list[str]]) -> None:
    """Nothing that pgAdmin asks to connect, for its tree or for its dashboard is refused."""
    assert tree["failed"] == []


def test_tree_has_the_tables_with_their_keys(
    tree: dict[str, dict[str, list[str]] | list[str]],
) -> None:
    """The dataset is the database, and keys are those of the source."""
    seen = tree["seen"]
    assert isinstance(seen, dict)
    assert seen["database of server"] == ["clinic"]
    assert seen["table of public"] == ["calls", "patients", "regions", "visits"]
    assert seen["constraints of public.patients"] == ["patients_region_fkey", "patients_pkey"]
    assert seen["column of public.regions"] == ["region", "name", "population"]
