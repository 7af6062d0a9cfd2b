"""Tables that have their unit through keys: each person is left out with all derived rows, in both databases."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from fix_state import StateServer
from privacy.fuzzer.catalogs import Catalog, Column, Table
from privacy.fuzzer.databases import new_installation
from privacy.fuzzer.statements import Sentence
from privacy.fuzzer.trial import Bench, Outcome, bench_of
from privacy.fuzzer.worlds import Server
from property.schemas import a_database

from gateway.bounding import bounded_release
from gateway.engines.sql import relations
from gateway.errors import Code
from gateway.plan import joins
from gateway.postgres_server import Lease
from gateway.stages.services import Services
from gateway.twin import Twin

_POLICY = """
gateway: 1
dataset: clinic
source: ${URL}
privacy:
  unit: {name: customer, table: customers, key: customer_id}
  budget: {epsilon: 1000000, delta: 1e-6}
  per_query: {default: 1, max: 1000}
  mechanism: gaussian
tables:
  customers:
    unit_key: customer_id
    rows_per_unit: 1
    columns:
      customer_id: {type: bigint, class: identifier}
      region: {type: text, class: quasi, domain: {in: [north, east]}}
  orders:
    unit_key: customers.customer_id
    unit_via: customer_id
    rows_per_unit: 2
    groups_per_unit: 2
    columns:
      customer_id: {type: bigint, class: identifier, joins: customers.customer_id}
      order_no: {type: text, class: identifier}
      total: {type: integer, class: sensitive, domain: {between: [0, 100]}}
      manager: {type: bigint, class: identifier, joins: customers.customer_id}
  lines:
    unit_key: orders.customer_id
    rows_per_unit: 3
    groups_per_unit: 2
    columns:
      order_no: {type: text, class: identifier, joins: orders.order_no}
      line_no: {type: bigint, class: identifier}
      amount: {type: integer, class: sensitive, domain: {between: [-5, 20]}}
      item: {type: text, class: sensitive}
      shipment_id: {type: bigint, class: identifier, joins: shipments.shipment_id}
  parcels:
    unit_key: orders.customer_id
    rows_per_unit: 2
    groups_per_unit: 1
    columns:
      order_no: {type: text, class: identifier, joins: orders.order_no}
      recipient: {type: bigint, class: identifier, joins: customers.customer_id}
      weight: {type: integer, class: sensitive, domain: {between: [0, 9]}}
  returns:
    unit_key: customers.customer_id
    rows_per_unit: 2
    groups_per_unit: 2
    columns:
      line_no: {type: bigint, class: identifier, joins: lines.line_no}
      refund: {type: integer, class: sensitive, domain: {between: [0, 10]}}
  shipments:
    unit_key: customer_id
    rows_per_unit: 2
    columns:
      customer_id: {type: bigint, class: identifier, joins: customers.customer_id}
      shipment_id: {type: bigint, class: identifier}
      cost: {type: integer, class: sensitive, domain: {between: [0, 50]}}
access:
  - id: everything
    effect: permit
    when: subject.role == "researcher"
    tables: [customers, orders, lines, parcels, returns, shipments]
    use: {aggregate: ["*"], group_by: ["*"], filter: ["*"], join: ["*"]}
    budget: {epsilon: 1000000}
audit: {min_units: 1, narrow_cells: 0, opaque_predicates: allow}
reuse: {max_age: 0d}
"""
_B, _V, _I, _T = "bigint", "text", "integer", "text"


def _table(name: str, columns: str, *keys: str, parent: tuple[str, str] | None = None) -> Table:
    named = tuple(Column(*one.split(" ")) for one in columns.split(", "))
    return Table(name, named, protected=True, rows=2, keys=keys, parent=parent)


_ORDERED = ("orders", "order_no")
_TABLES = (
    _table("customers", f"customer_id {_B}, region {_T}", "PRIMARY KEY (customer_id)"),
    _table(
        "orders",
        f"customer_id {_B}, order_no {_V}, total {_I}, manager {_B}",
        "UNIQUE (order_no)",
    ),
    _table(
        "lines",
        f"order_no {_V}, line_no {_B}, amount {_I}, item {_T}, shipment_id {_B}",
        "UNIQUE (line_no)",
        parent=_ORDERED,
    ),
    _table("parcels", f"order_no {_V}, recipient {_B}, weight {_I}", parent=_ORDERED),
    _table("returns", f"line_no {_B}, refund {_I}", parent=("lines", "line_no")),
    _table("shipments", f"customer_id {_B}, shipment_id {_B}, cost {_I}", "UNIQUE (shipment_id)"),
)
_LONG = "k" * 1_000  # as many characters as are read of a text
_UNITS = ("1", "2", "3", "4")


def _rows() -> dict[str, list[tuple[str | None, ...]]]:
    """Customer 1 has more of everything than counts and is everybody's manager; some keys lead nowhere, some to nobody."""
    orders: list[tuple[str | None, ...]] = [
        *(("1", f"a{n}", "100", "1") for n in range(6)),
        ("2", "b", "30", "1"), ("2", "B", "0", "1"), ("3", "c", "7", "1"), ("4", "d ", None, "4"),
        (None, "n", "50", "1"), ("9", "z", "60", "2"), ("3", None, "5", "1"),
        ("2", f"{_LONG}a", "9", "1"), ("3", f"{_LONG}b", "9", "1"),
    ]  # fmt: skip
    numbers = [*(f"a{n % 6}" for n in range(9)), "b", "B", "c", "c", "d ", "n", "lost", None, "d"]
    numbers += [f"{_LONG}{one}" for one in "aaabbb"]
    lines: list[tuple[str | None, ...]] = [
        (no, str(place), str(20 - place), ("x", "y", None)[place % 3], str(place % 2 + 1))
        for place, no in enumerate(numbers)
    ]
    parcels: list[tuple[str | None, ...]] = [
        (no, str(place % 4 + 1), str(place))
        for place, no in enumerate(("a0", "a0", "a1", "a2", "b", "c", "d ", "n", None, "lost"))
    ]
    returns: list[tuple[str | None, ...]] = [
        *((str(place % 18), str(place % 11)) for place in range(24)),
        (None, "3"), ("77", "4"),
    ]  # fmt: skip
    return {
        "customers": [(one, ("north", "east")[int(one) % 2]) for one in _UNITS],
        "orders": orders,
        "lines": lines,
        "parcels": parcels,
        "returns": returns,
        "shipments": [("1", "1", "50"), ("2", "2", "40"), (None, "3", "30")],
    }


CATALOG = Catalog("unit paths", _POLICY, _TABLES, (*_UNITS, "9"), _rows())

ANSWERED = {
    "one key": "SELECT COUNT(*), SUM(amount) FROM lines",
    "a chain": "SELECT COUNT(*), SUM(refund), AVG(refund) FROM returns",
    "keys that are found": "SELECT item, COUNT(*), SUM(amount) FROM lines GROUP BY item",
    "filter": "SELECT SUM(amount) FROM lines WHERE item = 'x' OR amount < 5",
    "different values": "SELECT COUNT(DISTINCT amount), MEDIAN(amount), MAX(refund) FROM lines l JOIN returns r USING (line_no)",
    "key that is counted": "SELECT COUNT(DISTINCT order_no), COUNT(order_no) FROM lines",
    "parent": "SELECT COUNT(*), SUM(l.amount), SUM(o.total) FROM lines l JOIN orders o ON l.order_no = o.order_no",
    "parent the other way": "SELECT SUM(l.amount) FROM orders o JOIN lines l ON o.order_no = l.order_no WHERE o.total > 5",
    "parent by USING": "SELECT SUM(amount), COUNT(*) FROM orders JOIN lines USING (order_no)",
    "parent by comma": "SELECT SUM(l.amount) FROM lines l, orders o WHERE o.order_no = l.order_no",
    "parent and person": (
        "SELECT c.region, COUNT(*), COUNT(DISTINCT c.customer_id) FROM customers c JOIN orders o ON"
        " c.customer_id = o.customer_id JOIN lines l ON l.order_no = o.order_no GROUP BY c.region"
    ),
    "comma in another order": (
        "SELECT c.region, SUM(l.amount) FROM customers c, lines l, orders o"
        " WHERE l.order_no = o.order_no AND c.customer_id = o.customer_id GROUP BY c.region"
    ),
    "two children": "SELECT COUNT(*), SUM(l.amount), SUM(p.weight) FROM lines l JOIN parcels p ON l.order_no = p.order_no",
    "child with itself": "SELECT COUNT(*) FROM lines a JOIN lines b ON a.order_no = b.order_no AND a.line_no <> b.line_no",
    "chain of joins": (
        "SELECT COUNT(*), SUM(r.refund) FROM returns r JOIN lines l ON r.line_no = l.line_no"
        " JOIN orders o ON o.order_no = l.order_no"
    ),
    "key in every arm of OR": (
        "SELECT SUM(l.amount) FROM lines l, orders o WHERE (o.order_no = l.order_no AND l.item = 'x' AND o.total > 9)"
        " OR (l.amount < 9 AND l.order_no = o.order_no)"
    ),
    "key in every arm of ON": (
        "SELECT COUNT(*) FROM lines l JOIN orders o ON (o.order_no = l.order_no AND l.item = 'x')"
        " OR (l.order_no = o.order_no AND o.total > 9)"
    ),
    "key in every arm in EXISTS": (
        "SELECT COUNT(*) FROM orders o WHERE EXISTS (SELECT 1 FROM lines l WHERE (l.order_no = o.order_no AND l.amount > 12)"
        " OR (l.order_no = o.order_no AND l.item = 'y' AND o.total > 3))"
    ),
    "comma after ON": (
        "SELECT COUNT(*), SUM(r.refund) FROM returns r, customers c JOIN orders o ON c.customer_id = o.customer_id, lines l"
        " WHERE l.line_no = r.line_no AND l.order_no = o.order_no AND c.region = 'north'"
    ),
    "CROSS JOIN before LEFT JOIN": (
        "SELECT COUNT(*), SUM(p.weight) FROM orders o CROSS JOIN lines l LEFT JOIN parcels p ON p.order_no = l.order_no"
        " WHERE o.order_no = l.order_no"
    ),
    "children without their parent": "SELECT SUM(r.refund) FROM returns r JOIN lines l USING (line_no) WHERE l.amount > 3",
    "left join of a child": "SELECT COUNT(*), COUNT(l.line_no), SUM(l.amount) FROM orders o LEFT JOIN lines l ON l.order_no = o.order_no",
    "left join of a parent": "SELECT COUNT(*), SUM(o.total) FROM lines l LEFT JOIN orders o ON l.order_no = o.order_no",
    "EXISTS": "SELECT COUNT(*) FROM orders o WHERE EXISTS (SELECT 1 FROM lines l WHERE l.order_no = o.order_no AND l.amount > 12)",
    "EXISTS of the parent": "SELECT COUNT(*) FROM lines l WHERE EXISTS (SELECT 1 FROM orders o WHERE l.order_no = o.order_no AND o.total > 9)",
    "NOT EXISTS of a sibling": (
        "SELECT COUNT(*) FROM lines a WHERE NOT EXISTS (SELECT 1 FROM lines b WHERE b.order_no = a.order_no"
        " AND b.line_no <> a.line_no)"
    ),
    "IN": "SELECT COUNT(*), SUM(total) FROM orders WHERE order_no IN (SELECT order_no FROM lines WHERE item = 'x')",
    "IN of a chain": "SELECT SUM(amount) FROM lines WHERE line_no IN (SELECT line_no FROM returns WHERE refund > 2)",
    "UNION ALL": "SELECT COUNT(*), SUM(v) FROM (SELECT amount AS v FROM lines UNION ALL SELECT refund FROM returns) t",
    "UNION ALL of keys": (
        "SELECT COUNT(*), SUM(o.total) FROM (SELECT order_no FROM lines UNION ALL SELECT order_no FROM parcels) k"
        " JOIN orders o ON o.order_no = k.order_no"
    ),
    "each person first": (
        "SELECT AVG(s), COUNT(*) FROM (SELECT o.customer_id, SUM(l.amount) AS s FROM lines l JOIN orders o"
        " ON l.order_no = o.order_no GROUP BY o.customer_id) t"
    ),
    "window of a person": (
        "SELECT COUNT(*), SUM(amount) FROM (SELECT l.amount, ROW_NUMBER() OVER (PARTITION BY o.customer_id ORDER BY l.amount)"
        " AS n FROM lines l JOIN orders o USING (order_no)) t WHERE n = 1"
    ),
    "subquery of the child": (
        "SELECT SUM(t.amount) FROM (SELECT order_no AS k, amount FROM lines WHERE amount > 2) t JOIN orders o ON t.k = o.order_no"
    ),
    "CTE": "WITH l AS (SELECT order_no, amount FROM lines), o AS (SELECT order_no AS n, total FROM orders)"
    " SELECT COUNT(*), SUM(l.amount), SUM(o.total) FROM l JOIN o ON l.order_no = o.n",
    "both units": (
        "SELECT COUNT(*), SUM(l.amount) FROM lines l JOIN orders o ON l.order_no = o.order_no"
        " JOIN shipments s ON s.customer_id = o.customer_id"
    ),
}  # fmt: skip

REFUSED = {
    "manager": "SELECT COUNT(*) FROM orders o JOIN customers c ON o.manager = c.customer_id",
    "managers of two": "SELECT COUNT(*) FROM orders a JOIN orders b ON a.manager = b.manager",
    "recipient": "SELECT COUNT(*) FROM parcels p JOIN customers c ON p.recipient = c.customer_id",
    "recipient in EXISTS": "SELECT COUNT(*) FROM customers c WHERE EXISTS (SELECT 1 FROM parcels p WHERE p.recipient = c.customer_id)",
    "recipient in IN": "SELECT COUNT(*) FROM customers WHERE customer_id IN (SELECT recipient FROM parcels)",
    "shipment beside the order": "SELECT COUNT(*) FROM lines l JOIN shipments s ON l.shipment_id = s.shipment_id",
    "parent with itself": "SELECT COUNT(*) FROM orders a JOIN orders b ON a.order_no = b.order_no",
    "key of an expression": "SELECT COUNT(*) FROM lines l JOIN orders o ON l.order_no || '' = o.order_no",
    "key in one arm of OR": "SELECT COUNT(*) FROM lines l JOIN orders o ON l.order_no = o.order_no OR o.total > 3",
    "grandparent's key": "SELECT COUNT(*) FROM returns r JOIN parcels p ON r.line_no = p.recipient",
    "another key under its name": (
        "SELECT COUNT(*) FROM (SELECT item AS order_no FROM lines) l JOIN orders o ON l.order_no = o.order_no"
    ),
}  # fmt: skip

NAMED = {
    "manager": "orders.manager",
    "recipient": "parcels.recipient",
    "recipient in EXISTS": "parcels.recipient",
    "recipient in IN": "parcels.recipient",
    "shipment beside the order": "lines.shipment_id",
}


@pytest.fixture(scope="module")
def services(
    state_server: StateServer, twin: Twin, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Services]:
    with new_installation(state_server, twin, tmp_path_factory.mktemp("paths")) as line:
        yield line.asking.services


@pytest.fixture(scope="module")
def server(sample_server: Lease) -> Iterator[Server]:
    with a_database(sample_server) as url, Server.open(url, "paths") as server:
        yield server


@pytest.fixture(scope="module")
def made(server: Server, services: Services) -> Iterator[Bench]:
    with bench_of(server, services, CATALOG) as made:
        yield made


def _tried(made: Bench, title: str, sql: str) -> Outcome:
    return made.try_sentence(title, Sentence(sql, (), frozenset(), "alice"))


def test_person_with_all_derived_rows_moves_no_measurement_by_more_than_declared(
    made: Bench,
) -> None:
    """In both databases, over chains, joins, EXISTS, unions and windows; orphans and rows of nobody do not count."""
    wrong = []
    for title, sql in ANSWERED.items():
        outcome = _tried(made, title, sql)
        if outcome.code is not None or outcome.found.problems or len(outcome.found.engines) < 2:
            wrong.append(
                f"{title}: {outcome.said} {outcome.found.engines} {outcome.found.problems[:3]}"
            )
    assert not wrong, "\n".join(wrong)


def test_join_over_another_key_is_refused_by_its_name(made: Bench) -> None:
    """A key that is not on the unit path joins nothing protected, whatever is declared of it."""
    found = {title: _tried(made, title, sql) for title, sql in REFUSED.items()}
    assert {title: one.code for title, one in found.items()} == dict.fromkeys(
        REFUSED, Code.UNIT_EQUALITY
    )
    for title, edge in NAMED.items():
        assert f"`{edge}` is not the unit path of" in found[title].said


@pytest.mark.parametrize("title", ["manager", "recipient", "shipment beside the order"])
def test_join_over_another_key_would_move_more_than_declared(
    made: Bench, monkeypatch: pytest.MonkeyPatch, title: str
) -> None:
    """The negative control: rows of two persons that meet, and no comparison of their units."""
    monkeypatch.setattr(joins, "is_on_unit", lambda *_: True)
    sides = relations.Relations._sides

    def apart(self: relations.Relations, node: joins.Join) -> tuple[Any, Any]:
        left, right = sides(self, node)
        return left, replace(right, unit=None)

    monkeypatch.setattr(relations.Relations, "_sides", apart)
    # under a name of its own: what is bound is remembered
    sql = REFUSED[title].replace("COUNT(*)", "COUNT(*) AS planted")
    outcome = _tried(made, f"planted {title}", sql)
    assert any(" > " in one for one in outcome.found.problems), outcome.said


_DOUBLED = "SELECT COUNT(*), SUM(amount) FROM lines"


def _doubled() -> Catalog:
    """One order number of two customers, and no constraint against it."""
    rows = dict(CATALOG.rows)
    rows["orders"] = [*rows["orders"], ("3", "two", "1", "1"), ("4", "two", "1", "1")]
    more = [("two", str(100 + place), "20", "x", "1") for place in range(9)]
    rows["lines"] = [*rows["lines"], *more]
    tables = [replace(one, keys=()) if one.name == "orders" else one for one in _TABLES]
    return replace(CATALOG, seed="doubled", rows=rows, tables=tuple(tables))


def test_table_is_not_read_when_no_constraint_makes_its_parent_unique(
    server: Server, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its rows nor those of what is below it; read all the same, one person would move more than declared."""
    with bench_of(server, services, _doubled()) as made:
        for title in ("one key", "a chain", "EXISTS", "UNION ALL"):
            assert _tried(made, title, ANSWERED[title]).code is Code.SOURCE_SCHEMA
        assert _tried(made, "parent alone", "SELECT COUNT(*) FROM orders").code is None
        monkeypatch.setattr(bounded_release, "require_unit_paths", lambda plan, _: plan)
        outcome = _tried(made, "planted", _DOUBLED)
    assert any(" > " in one for one in outcome.found.problems)
