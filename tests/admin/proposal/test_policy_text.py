"""`policy init` writes what the catalog tells of a schema, marks the rest, and reads no value."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest
from fix_gateway import no_gateway
from fix_sample import plain
from laws import for_each
from sqlalchemy import URL
from warm_python import forks

from gateway.cli import main

SCHEMAS = Path(__file__).parents[2] / "cases" / "schemas"


def duckdb_of(folder: Path, name: str) -> str:
    """The URL of a file with one of the standard schemas."""
    file = folder / f"{name}.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute((SCHEMAS / f"{name}.sql").read_text())
    return f"duckdb:///{file}"


@pytest.fixture
def shop(sample_database: URL) -> str:
    """The URL of a PostgreSQL database with the shop, and a value that nobody may see."""
    with psycopg.connect(plain(sample_database), autocommit=True) as connection:
        connection.execute((SCHEMAS / "shop.sql").read_bytes())
        connection.execute("INSERT INTO regions VALUES (1, 'a value that nobody may see')")
    return plain(sample_database)


def written(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str]:
    """What `policy init` says on standard output and on standard error."""
    assert main(["policy", "init", *words]) == 0
    told = capsys.readouterr()
    return told.out, told.err


def checked(folder: Path, text: str, url: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of `policy check` for a policy over this source."""
    monkeypatch.setenv("SOURCE_URL", url)
    file = folder / "proposed.yaml"
    file.write_text(text)
    return main(["policy", "check", str(file)])


@pytest.mark.server
def test_init_takes_from_a_shop_what_its_catalog_tells(
    shop: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Paths, CHECKs, lengths, comments, schemas and public tables; and no value of a row."""
    text, told = written(
        capsys, shop, "--unit", "customers.customer_id", "--public", "regions,products"
    )
    assert "nobody may see" not in text
    for line in (
        "unit: {name: customer, table: customers, key: customer_id}\n",
        "  # everybody who ever bought\n  customers:\n    unit_key: customer_id\n    rows_per_unit: 1\n",
        "gender: {type: character(1), class: quasi, domain: {in: [f, m, x]}}\n",
        "region_id: {type: smallint, class: quasi, joins: regions.region_id}\n",
        "      # who pays: a private person or a business\n      segment: {type: varchar(20), class: quasi",
        "class: quasi, domain: {in: [private, business]}}\n",
        "status: {type: text, class: quasi, domain: {in: [new, paid, shipped, returned]}}\n",
        "  order_items:\n    unit_key: orders.customer_id\n",
        "quantity: {type: integer, class: sensitive, domain: {between: [1, 100]}}\n",
        "search_path: [public, support]\n",
        "  tickets:\n    unit_key: customer_id\n",
        "rows protect the customer of `referrer_id`, and not that of `referred_id`\n",
        "  regions:\n    public: true\n    columns:\n      region_id: {type: smallint}\n",
        "  products:\n    public: true\n",
    ):
        assert line in text, line
    assert "is left out" not in text
    assert "tables: 6 protected, 2 public, 0 left out\n" in told
    assert told.endswith("next: decide them, then `gateway policy check policies`\n")
    assert f"{text.count('# decide:')} lines to decide" in told
    assert checked(tmp_path, text, shop, monkeypatch) == 0


@pytest.fixture
def fleet(sample_database: URL) -> str:
    """The URL of a PostgreSQL database with the tables of an ORM, which has no foreign keys."""
    with psycopg.connect(plain(sample_database), autocommit=True) as connection:
        connection.execute((SCHEMAS / "prisma.sql").read_bytes())
    return plain(sample_database)


@pytest.mark.server
def test_init_says_where_a_key_may_be_that_no_constraint_tells(
    fleet: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of tables that are left out; a tool's own table needs no decision."""
    text, _ = written(capsys, fleet, "--unit", "User.id")
    for line in (
        "if `ownerId` is one, add --key Device.ownerId=User.id\n",
        "it refers to `Device`, which is left out\n",
        "if it is about nobody, add --public Product\n",
        "\n  # `_prisma_migrations` is left out: a tool keeps its migrations there\n",
        "\n      createdAt: {type: timestamp, class: quasi} ",
        "# decide: domain: {between: [2000, 2030]}\n",
    ):
        assert line in text, line
    assert "join: [" not in text


@pytest.mark.server
def test_init_takes_a_key_that_somebody_names(
    fleet: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The paths over it are those of a declared key, and `policy check` takes the policy with its rule."""
    words = ("--unit", "User.id", "--key", "Device.ownerId=User.id", "--public", "Product")
    text, told = written(capsys, fleet, *words)
    assert "  Device:\n    unit_key: ownerId\n" in text
    assert "  Reading:\n    unit_key: Device.ownerId " in text
    assert "ownerId: {type: text, class: identifier, joins: User.id}\n" in text
    assert "installedAt: {type: timestamptz, class: quasi}" in text
    assert "#      join: [OrderItem.productId]\n" in text
    assert "tables: 5 protected, 1 public, 1 left out\n" in told
    head, rule = text.split("#access:\n")
    whole = head + "access:\n" + rule.replace("\n#", "\n").removeprefix("#")
    assert checked(tmp_path, whole, fleet, monkeypatch) == 0
    assert "0 rules" not in capsys.readouterr().out


@pytest.mark.server
@for_each(
    ("key", "said"),
    [
        ("Device.ownerId=User.name", "`User.name` is not unique by a constraint"),
        ("Device.owner=User.id", "no column `Device.owner` that can be a key"),
        ("Device.kind=User.id", "no column `Device.kind` that can be a key"),
        ("Device.id", "does not lead from one table to another"),
        ("Order.userId=Order.id", "does not lead from one table to another"),
        ("Device.id=User.id", "have different types"),
    ],
    ids=str,
)
def test_init_refuses_a_key_that_can_be_none(
    fleet: str, capsys: pytest.CaptureFixture[str], key: str, said: str
) -> None:
    """Named keys need what declared ones have."""
    assert main(["policy", "init", fleet, "--key", key]) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert told.out == ""


@for_each("name", ["omop", "tpch"])
def test_check_accepts_what_init_proposes(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With unit paths and all marks; without any edit."""
    url = duckdb_of(tmp_path, name)
    text, told = written(capsys, url)
    assert checked(tmp_path, text, url, monkeypatch) == 0
    said = capsys.readouterr().out
    assert f"{text.count('# decide:')} lines to decide: search for `# decide:`" in said
    assert f"{text.count('# decide:')} lines to decide" in told


def test_init_leaves_tables_of_nobody_out_of_a_hospital(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each with a marked line; one with addresses of persons is not called public."""
    text, told = written(capsys, duckdb_of(tmp_path, "omop"))
    assert "unit: {name: person, table: person, key: person_id}" in text
    assert "gender_concept_id: {type: integer, class: quasi}" in text
    assert (
        "`concept` is left out: no key leads from it to person.person_id; if it is about nobody"
        in text
    )
    assert (
        "`location` is left out: no key leads from it to person.person_id; it seems to be about persons"
        in text
    )
    assert "--public care_site,concept\n" in told
    assert "this is a guess from the keys" in told
    url = f"duckdb:///{tmp_path / 'omop.duckdb'}"
    public, _ = written(capsys, url, "--public", "concept,location")
    assert "joins: concept.concept_id" in public
    assert "public: true  " in public  # marked
    assert "is it about nobody (address_1)?" in public


def test_init_does_not_accept_a_lookup_without_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who names `gender_concept_id` is told why it cannot be a person's key, in the policy too."""
    text, told = written(capsys, duckdb_of(tmp_path, "omop"), "--unit", "person.gender_concept_id")
    assert "warning: the column refers to another table, so it is a code" in told
    [line] = [line for line in text.splitlines() if line.startswith("  unit:")]
    assert "# decide: the column refers to another table" in line


def test_init_refuses_what_it_cannot_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unclear units and unknown tables are refused with what to write."""
    file = tmp_path / "readings.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE readings (taken timestamp, value double)")
    assert main(["policy", "init", f"duckdb:///{file}"]) == 2
    assert "the catalog does not tell whose privacy is protected" in capsys.readouterr().err
    url = duckdb_of(tmp_path, "tpch")
    for words, said in (
        (("--unit", "customer.nope"), "--unit: the source has no column `customer.nope`"),
        (("--public", "nope"), "--public: the source has no table `nope`"),
    ):
        assert main(["policy", "init", url, *words]) == 2
        assert said in capsys.readouterr().err


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[tuple[int, "subprocess.Popen[bytes]"]]:
    """`policy init` of a hospital with a terminal in front of it; its policy goes to a pipe."""
    ours, theirs = pty.openpty()
    source = duckdb_of(tmp_path, "omop")
    with forks():
        process = subprocess.Popen(
            [sys.executable, "-m", "gateway", "policy", "init", source],
            stdin=theirs,
            stderr=theirs,
            stdout=subprocess.PIPE,
            env=no_gateway(),
        )
    os.close(theirs)
    yield ours, process
    process.kill()
    process.communicate()
    os.close(ours)


@pytest.mark.gateway
def test_init_asks_for_the_unit_on_a_terminal(
    terminal: tuple[int, "subprocess.Popen[bytes]"],
) -> None:
    """The candidates come with numbers; what is neither a number nor a column is asked for again."""
    ours, process = terminal
    os.write(ours, b"nothing\nvisit_occurrence.visit_occurrence_id\n")
    out, _ = process.communicate(timeout=30)
    said = os.read(ours, 100_000).decode()
    assert "1  person.person_id" in said
    assert "`nothing` names no table" in said
    assert b"unit_key: visit_occurrence_id" in out
    assert b"is this whose privacy" not in out


def test_enum_labels_and_comments_are_read_from_duckdb(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A comment is one line, and never a mark."""
    file = tmp_path / "shop.duckdb"
    comment = "first\nsecond # decide: nothing"
    label = "a 'b', c"
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            "CREATE TABLE customers (id bigint PRIMARY KEY, amount integer,"
            f" mood ENUM ('fine', '{label.replace(chr(39), 2 * chr(39))}'))"
        )
        connection.execute(
            f"COMMENT ON COLUMN customers.amount IS {json.dumps(comment)!r}".replace('"', "")
        )
    text, told = written(capsys, f"duckdb:///{file}")
    assert "\n      # first" in text
    assert f"{text.count('# decide:')} lines to decide" in told
    assert "decide nothing" in text
    assert f'mood: {{type: text, class: sensitive, domain: {{in: [fine, "{label}"]}}}}\n' in text


def test_init_writes_columns_that_no_query_reads_as_comments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A document shows how a key of it is declared, and the comments are a valid policy without their signs."""
    file = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            "CREATE TABLE patients (patient_id uinteger PRIMARY KEY, details JSON, photo blob, tags varchar[][], hits ubigint)"
        )
    url = f"duckdb:///{file}"
    text, _ = written(capsys, url, "--unit", "patients.patient_id")
    for line in (
        "      patient_id: {type: uinteger, class: identifier}\n",
        "      # details: {type: json, class: sensitive}   # no query reads it; a value of it is a column:\n",
        "      # details_key: {type: text, class: sensitive, from: \"details ->> 'key'\"}\n",
        "      # photo: no query reads this type (blob); a view of the table can have hex(photo) instead\n",
        "      # tags: no query reads this type (varchar[][]); a view of the table can have tags[1][1] instead\n",
        "      hits: {type: ubigint, class: sensitive}",
    ):
        assert line in text, text
    assert checked(tmp_path, text, url, monkeypatch) == 0
    read = text.replace("      # details", "      details")
    assert checked(tmp_path, read, url, monkeypatch) == 0
