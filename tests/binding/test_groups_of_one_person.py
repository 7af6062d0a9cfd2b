"""Groups by keys of unit paths: each is of one person and never shown, so they are refused before anything is charged."""

from pathlib import Path

import pytest

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.catalog.tables import Dataset
from gateway.errors import Code, NotAggregate
from gateway.policy.files.load import read_policy
from gateway.policy.validate import Complaints
from gateway.policy.yaml import read_yaml

_POLICY = """
gateway: 1
dataset: shop
source: ${URL}
privacy:
  unit: {name: customer, table: customers, key: customer_id}
  budget: {epsilon: 10, delta: 1e-6}
  per_query: {default: 0.05, max: 1.0}
tables:
  customers:
    unit_key: customer_id
    rows_per_unit: 1
    columns:
      customer_id: {type: bigint, class: identifier}
  orders:
    unit_key: customer_id
    rows_per_unit: 10
    columns:
      customer_id: {type: bigint, class: identifier, joins: customers.customer_id}
      order_id: {type: bigint, class: identifier}
      batch: {type: bigint, class: quasi}
  lines:
    unit_key: orders.customer_id
    rows_per_unit: 10
    columns:
      order_id: {type: bigint, class: identifier, joins: orders.order_id}
      amount: {type: integer, class: sensitive, domain: {between: [0, 20]}}
access: []
"""
_REFUSED = (
    "SELECT order_id, SUM(amount) FROM lines GROUP BY order_id",
    "SELECT order_id, COUNT(*) FROM orders GROUP BY order_id",
    "SELECT n, COUNT(*) FROM (SELECT order_id AS n FROM lines) v GROUP BY n",
    "SELECT l.order_id, batch, SUM(amount) FROM orders o, lines l WHERE o.order_id = l.order_id GROUP BY 1, 2",
    (
        "SELECT COUNT(*) FROM orders WHERE order_id IN"
        " (SELECT order_id FROM lines GROUP BY order_id HAVING SUM(amount) > 30)"
    ),
)
_ANSWERED = (
    "SELECT batch, COUNT(*) FROM orders GROUP BY batch",
    "SELECT order_id % 10, COUNT(*) FROM lines GROUP BY 1",
    "SELECT order_id, COUNT(*) FROM lines GROUP BY ROLLUP (order_id)",
    "SELECT COUNT(DISTINCT order_id) FROM lines",
    # the group of NULL is of all customers without an order
    "SELECT order_id, COUNT(*) FROM customers LEFT JOIN orders USING (customer_id) GROUP BY order_id",
    (
        "SELECT AVG(x) FROM (SELECT o.customer_id, l.order_id, SUM(amount) AS x FROM orders o"
        " JOIN lines l ON o.order_id = l.order_id GROUP BY o.customer_id, l.order_id) v"
    ),
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder: Path = tmp_path_factory.mktemp("policy")
    (folder / "shop.yaml").write_text(_POLICY)
    complaints = Complaints(
        read_yaml(folder / "shop.yaml", inside=folder, code=Code.POLICY_INVALID)
    )
    policy = read_policy(complaints, None)
    assert policy is not None
    return policy.dataset


def test_groups_by_a_key_of_a_unit_path_are_refused(shop: Dataset) -> None:
    """The refusal names the key, and what to group by instead."""
    for sql in _REFUSED:
        with pytest.raises(NotAggregate) as refused:
            bind(sql, shop)
        assert "`order_id` belongs to one person" in refused.value.detail, sql
        assert "the unit key" in refused.value.hint, sql


def test_groups_that_may_hold_several_persons_are_bound(shop: Dataset) -> None:
    """Values computed from a key, totals beside it, NULL of an outer join and groups within a person are bound."""
    for sql in _ANSWERED:
        assert isinstance(bind(sql, shop), Cut), sql
