"""A shop in three schemas, in PostgreSQL and in DuckDB, with views over it, and a gateway in this process over both.

Noise is next to nothing, so that answers are compared with plain numbers.
"""

import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import duckdb
import psycopg
from endtoend.clinic_gateway import dsn, shown
from endtoend.clinic_policy import PRICE
from fix_servers import SharedServers, foundation_and_twin
from psycopg import sql
from sqlalchemy import URL

from gateway.admin.key_actions import create_key
from gateway.app import open_policies, open_query_service, serve_wire
from gateway.auth.key_store import KeyOrder
from gateway.cancellation import CancelEvent
from gateway.policy.subjects import Subject
from gateway.postgres_server import Lease
from gateway.query_service import QueryService
from gateway.requests.request import Answer, Request

HOST: Final = "127.0.0.1"
POSTGRESQL, DUCKDB = "shop", "shop_file"
_BUDGET: Final = "1e40"
SCHEMA: Final = """
CREATE SCHEMA sales; CREATE SCHEMA hr; CREATE SCHEMA "Back Office";
CREATE TABLE regions (region varchar PRIMARY KEY, country varchar);
CREATE TYPE standing AS ENUM ('new', 'Gold', 'it''s');
CREATE TABLE customers (customer_id bigint PRIMARY KEY, region varchar REFERENCES regions,
    standing standing, code char(4), details json, parts integer[],
    third bigint GENERATED ALWAYS AS (customer_id % 3) STORED);
CREATE TABLE sales.orders (order_id bigint PRIMARY KEY, customer_id bigint, total integer);
CREATE TABLE "Back Office"."Order Items"
    (item_id bigint PRIMARY KEY, "Customer Id" bigint, "Unit Price" integer);
CREATE TABLE hr.salaries (person_id bigint PRIMARY KEY, salary integer);
CREATE TABLE hr.regions (region varchar PRIMARY KEY, secret varchar);
INSERT INTO regions VALUES ('north', 'A'), ('south', 'B');
INSERT INTO customers (customer_id, region, standing, code, details) SELECT i, CASE WHEN i % 2 = 0 THEN 'north' ELSE 'south' END,
    (CASE WHEN i % 4 = 0 THEN 'Gold' WHEN i % 4 = 1 THEN 'it''s' WHEN i % 4 = 2 THEN 'new' END)::standing,
    CASE WHEN i % 2 = 0 THEN 'ab' ELSE 'abcd' END,
    (CASE i % 4 WHEN 0 THEN '{"smoker": true, "body": {"weight": 1e400}, "since": "2024-02-30"}'
        WHEN 1 THEN '{"smoker": "no", "body": {"weight": 82.5}, "since": "2024-02-29", "smoker": false}'
        WHEN 2 THEN '{"smoker": null, "body": {"weight": " 500 "}, "since": 7}' ELSE '[]' END)::json
    FROM generate_series(1, 40) AS g(i);
INSERT INTO sales.orders SELECT i, (i - 1) % 40 + 1, 10 FROM generate_series(1, 80) AS g(i);
INSERT INTO "Back Office"."Order Items" SELECT i, i, 5 FROM generate_series(1, 40) AS g(i);
"""
_POLICY: Final = """
gateway: 1
dataset: @DATASET@
source: ${@SOURCE@}
search_path: [@FIRST@, sales, archive, hr]
privacy:
  unit: customer
  budget: {epsilon: @BUDGET@, delta: 0}
  per_query: {default: @PRICE@, min: 1e-9, max: @PRICE@}
  mechanism: laplace
tables:
  customers:
    unit_key: customer_id
    rows_per_unit: 1
    columns:
      customer_id: {type: bigint, class: identifier}
      region: {type: text, class: quasi, domain: {in: [north, south]}}
      standing: {type: text, class: quasi, domain: {in: [new, Gold, "it's"]}}
      third: {type: bigint, class: quasi, domain: {between: [0, 2]}}
      code: {type: text, class: quasi, domain: {in: [ab, abcd]}}
      details: {type: json, class: sensitive, max_length: 300}
      parts: {type: "integer[]", class: sensitive}
      smoker: {type: boolean, class: sensitive, from: "details ->> 'smoker'"}
      weight: {type: "numeric(5,1)", class: sensitive, domain: {between: [0, 300]}, from: "details -> 'body' ->> 'weight'"}
      since: {type: date, class: quasi, domain: {between: [2024-01-01, 2024-12-31]}, from: "details ->> 'since'"}
  orders:
    unit_key: customer_id
    rows_per_unit: 4
    columns:
      order_id: {type: bigint, class: identifier}
      customer_id: {type: bigint, class: identifier, joins: customers.customer_id}
      total: {type: integer, class: sensitive, domain: {between: [0, 100]}}
  "Back Office.Order Items":
    unit_key: Customer Id
    rows_per_unit: 4
    columns:
      item_id: {type: bigint, class: identifier}
      "Customer Id": {type: bigint, class: identifier}
      "Unit Price": {type: integer, class: sensitive, domain: {between: [0, 100]}}
  "sales.cheap orders":
    unit_key: customer_id
    rows_per_unit: 4
    columns:
      customer_id: {type: bigint, class: identifier}
      total: {type: integer, class: sensitive, domain: {between: [0, 50]}}
  hr.salaries:
    unit_key: person_id
    rows_per_unit: 1
    columns:
      person_id: {type: bigint, class: identifier}
      salary: {type: integer, class: sensitive, domain: {between: [0, 100]}}
  @FIRST@.regions: {public: true}
audit: {min_units: 1, narrow_cells: 0, opaque_predicates: allow}
clip: {default: 1024, price: 0}
access:
  - id: analysts
    effect: permit
    when: subject.role == "analyst"
    tables: [customers, orders, "Back Office.Order Items", "sales.cheap orders", @FIRST@.regions]
    use: {aggregate: ["*"], group_by: ["*"], filter: ["*"], join: ["*"]}
    budget: {epsilon: @BUDGET@}
  - id: everything
    effect: permit
    when: subject.role == "auditor"
    tables: [customers, hr.salaries]
    use: {aggregate: ["*"]}
    budget: {epsilon: 1}
"""


@dataclass(frozen=True)
class Shop:
    """The running gateway: over the query service, and by its wire."""

    asking: QueryService
    alice: Subject
    port: int
    key: str = field(repr=False)

    def answer(self, text: str, dataset: str) -> Answer:
        return self.asking.answer(self.alice, Request(text, dataset=dataset), CancelEvent())

    def connect(self, dataset: str, **options: str) -> psycopg.Connection:
        return psycopg.connect(
            host=HOST,
            port=self.port,
            user="alice",
            password=self.key,
            dbname=dataset,
            sslmode="disable",
            autocommit=True,
            **options,  # type: ignore[arg-type]  # libpq's
        )


@contextmanager
def a_shop(server: Lease, servers: SharedServers) -> Iterator[Shop]:
    """The gateway with both datasets, gone afterwards."""
    home = Path(tempfile.mkdtemp(prefix="gw-test-"))
    home.chmod(0o711)
    try:
        with _in_postgresql(server) as source:
            environment = {"FIRST": shown(source), "SECOND": _in_duckdb(home)}
            _write_policies(home / "policies")
            yield from _served(home, environment, servers)
    finally:
        shutil.rmtree(home)


def _write_policies(folder: Path) -> None:
    folder.mkdir()
    (folder / "subjects.yaml").write_text("alice: {role: analyst}\ncarol: {role: auditor}\n")
    for name, source, first in (
        (POSTGRESQL, "FIRST", "public"),
        (DUCKDB, "SECOND", "main"),
    ):
        text = _POLICY.replace("@DATASET@", name).replace("@SOURCE@", source)
        text = text.replace("@FIRST@", first).replace("@PRICE@", PRICE).replace("@BUDGET@", _BUDGET)
        if name == DUCKDB:
            text = text.replace('"Unit Price": {type: integer', '"Unit Price": {type: hugeint')
        (folder / f"{name}.yaml").write_text(text)


def _served(home: Path, environment: dict[str, str], servers: SharedServers) -> Iterator[Shop]:
    with (
        foundation_and_twin(servers, home / "state", home / "policies") as (foundation, twin),
        socket.create_server((HOST, 0)) as listener,
    ):
        policies = open_policies(foundation, environment=environment)
        twin.wait_until_started()
        order = KeyOrder("alice", "os:op", datetime.now(UTC), None)
        create_key(foundation.journal, foundation.trail, order, lambda _: True)
        with (
            closing(open_query_service(foundation, policies, twin, "rest")) as asking,
            serve_wire(foundation, policies, asking, listener),
        ):
            alice = policies.value.subjects["alice"]
            yield Shop(asking, alice, listener.getsockname()[1], order.key.reveal())


@contextmanager
def _in_postgresql(server: Lease) -> Iterator[URL]:
    name = f"shop_{secrets.token_hex(6)}"
    password = server.superuser_password
    admin = server.address.url(user=server.superuser, password=password, database="postgres")
    with psycopg.connect(dsn(admin), autocommit=True) as connection:
        database = sql.Identifier(name)
        connection.execute(sql.SQL("CREATE DATABASE {} STRATEGY file_copy").format(database))
        try:
            with psycopg.connect(dsn(admin.set(database=name))) as inside:
                inside.execute(SCHEMA.encode())
                inside.execute("CREATE DOMAIN place AS varchar(30)")
                inside.execute("ALTER TABLE customers ALTER COLUMN region TYPE place")
                inside.execute("CREATE DOMAIN amount AS integer CHECK (VALUE >= 0)")
                inside.execute("ALTER TABLE sales.orders ALTER COLUMN total TYPE amount")
                inside.execute(
                    "ALTER TABLE sales.orders ALTER COLUMN order_id ADD GENERATED ALWAYS AS IDENTITY"
                )
                inside.execute(
                    'CREATE VIEW sales."cheap orders" AS'
                    " SELECT customer_id, total FROM sales.orders WHERE total <= 50"
                )
            yield admin.set(database=name)
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(database))


def _in_duckdb(home: Path) -> str:
    """A file whose view reads the orders from a Parquet file beside it."""
    files = home / "parquet"
    files.mkdir()
    with duckdb.connect(str(home / "store.duckdb")) as connection:
        wide = SCHEMA.replace('"Unit Price" integer', '"Unit Price" hugeint')
        connection.execute(wide.replace(" STORED", ""))
        connection.execute(f"COPY sales.orders TO '{files}/orders.parquet' (FORMAT parquet)")
        connection.execute(
            'CREATE VIEW sales."cheap orders" AS SELECT customer_id, total'
            f" FROM read_parquet('{files}/orders.parquet') WHERE total <= 50"
        )
    url = URL.create("duckdb", database=str(home / "store.duckdb"))
    return shown(url.update_query_dict({"allowed_directories": str(files)}))
