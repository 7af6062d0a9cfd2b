"""dbt with its adapter for PostgreSQL: what an analyst does before a model exists, and tests of sources."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from wire_more.clients import HERE, client, read, run
from wire_more.running import RunningGateway

Dbt = Callable[..., str]


@pytest.fixture
def dbt(served: RunningGateway, tmp_path: Path) -> Dbt:
    project = tmp_path / "project"
    shutil.copytree(HERE / "dbt" / "project", project)
    environment = {
        **served.environment(),
        "HOME": str(tmp_path),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "DBT_PROFILES_DIR": str(project),
        "NO_COLOR": "1",
    }

    def ask(*arguments: str, fails: bool = False) -> str:
        command = [client("dbt", "bin", "dbt"), "--no-use-colors", *arguments]
        return run(command, environment, cwd=project, fails=fails)

    return ask


def test_connection_is_good(dbt: Dbt) -> None:
    """`dbt debug` connects and says so."""
    assert "All checks passed!" in dbt("debug")


@pytest.mark.parametrize("table", ["patients", "{{ source('clinic', 'patients') }}"])
def test_query_is_shown(dbt: Dbt, served: RunningGateway, table: str) -> None:
    """`dbt show --inline`, which puts a limit around what is asked."""
    sql = f"select region, count(*) as n from {table} group by 1"
    told = dbt("--quiet", "show", "--inline", sql, "--output", "json")
    rows = read(told)["show"]
    assert {row["region"]: row["n"] for row in rows} == served.counts("patients", "region")


def test_sources_are_tested(dbt: Dbt) -> None:
    """Tests that hold pass, and one that does not fails with the number of rows that break it."""
    assert "PASS=2 WARN=0 ERROR=0" in dbt("test", "--select", "source:clinic.patients")
    told = dbt("test", "--select", "source:clinic.visits", fails=True)
    assert "source_not_null_clinic_visits_diagnosis" in told
    assert "ERROR=1" in told


def test_catalog_is_written(dbt: Dbt, tmp_path: Path) -> None:
    """`dbt docs generate` finds the columns of the sources and their types."""
    dbt("docs", "generate")
    catalog = read((tmp_path / "project" / "target" / "catalog.json").read_text())
    columns = catalog["sources"]["source.clinic.clinic.visits"]["columns"]
    assert {name: one["type"] for name, one in columns.items()} == {
        "visit_id": "bigint",
        "patient_id": "bigint",
        "diagnosis": "text",
        "cost": "numeric(12,2)",
        "visit_date": "date",
    }


def test_refusal_is_shown(dbt: Dbt) -> None:
    """Why, and what to do instead."""
    told = dbt("show", "--inline", "select * from patients", fails=True)
    assert "individual rows are never returned" in told
    assert "HINT:  use an aggregate" in told
