"""`policy bounds` finds bounds with noise, through the pipeline, for what it declares and no more."""

from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from fix_policy import BASE, read
from fix_servers import SharedServers, foundation_and_twin
from laws import for_each

from gateway.admin.bounds_search import (
    OPERATOR,
    Search,
    assumed_policies,
    new_search,
    released_bounds,
)
from gateway.admin.check_policies import complete_from_sources
from gateway.budget.report import standings
from gateway.catalog.domains import Interval
from gateway.catalog.tables import Column
from gateway.catalog.types import parse_type
from gateway.cli.policy_bounds import find_bounds
from gateway.errors import BudgetExhausted, OperatorError
from gateway.policy.files.load import LoadedPolicies, read_policies
from gateway.policy.subjects import _RESERVED_NAMES
from gateway.trail.record import utc_now
from gateway.units import Epsilon

POLICY = """
gateway: 1
dataset: SHOP
source: ${SHOP_URL}
privacy:
  unit: customer
  budget: {epsilon: 10, delta: 1e-7}
  per_query: {default: 0.05, max: 10}
tables:
  orders:
    unit_key: customer_id
    values_per_unit: 5
    groups_per_unit: 4
    columns:
      customer_id: {type: bigint, class: identifier}
      total: {type: "numeric(10,2)", class: sensitive}
      placed: {type: date, class: quasi}
      note: {type: text, class: sensitive}
"""
ROWS = """
CREATE TABLE orders (customer_id bigint, total numeric(10,2), placed date, note text);
INSERT INTO orders SELECT i % 20000, (i * 7 % 50000) / 100.0, DATE '2021-03-02' + (i * 31 % 700)::int, 'n'
FROM range(60000) r(i);
"""


@pytest.mark.server
def test_bounds_are_found_and_paid_through_the_pipeline(
    servers: SharedServers, tmp_path: Path
) -> None:
    """Near the truth; charged to the ledger, recorded in a trail that verifies, refused when they do not fit."""
    file = tmp_path / "shop.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(ROWS)
    policies = tmp_path / "policies"
    policies.mkdir()
    (policies / "shop.yaml").write_text(POLICY.replace("SHOP", "bounds_shop", 1))
    (policies / "subjects.yaml").write_text("alice: {role: researcher}\n")
    environment = {"SHOP_URL": f"duckdb:///{file}"}
    loaded = complete_from_sources(read_policies(policies, environment)).loaded
    assert loaded is not None
    dataset = loaded.policies["bounds_shop"].dataset
    searches = [new_search(dataset, f"orders.{name}", None) for name in ("total", "placed")]
    with foundation_and_twin(servers, tmp_path / "home", policies) as (foundation, twin):

        def spent() -> dict[str, Fraction]:
            with foundation.engine.connect() as connection:
                found = standings(connection, utc_now(), dataset="bounds_shop")
                return {one.account: one.epsilon_spent.value for one in found}

        def find(epsilon: str) -> list[tuple[str, Fraction]]:
            price = Epsilon.parse(epsilon)
            found = find_bounds(foundation, twin, loaded, "bounds_shop", searches, epsilon=price)
            return [(one.line, one.paid) for one in found]

        total, placed = find("4")
        assert total[0].startswith("orders.total: domain: {between: [0, 500]}  ")
        assert placed[0].startswith("orders.placed: domain: {between: [2021-03-01, 2023-01-31]}  ")
        paid = total[1] + placed[1]
        assert 0 < paid <= 4
        before = spent()
        assert before["dataset:bounds_shop"] == pytest.approx(float(paid), rel=1e-6)
        assert before["analyst:operator@bounds_shop"] == before["dataset:bounds_shop"]
        with pytest.raises(BudgetExhausted):
            find("40")
        assert spent() == before
        assert foundation.verify_trail().intact


def search_of(of: str, low: object, high: object, step: str, left: int = 3) -> Search:
    column = Column("x", parse_type(of))
    return Search("t", column, Interval(low, high, Fraction(step)), left)  # type: ignore[arg-type]  # of one type


def test_search_becomes_narrower_on_the_grid_of_its_domain() -> None:
    """It never leaves the domain, keeps the step, and ends when the buckets are fine."""
    search: Search | None = search_of("numeric(10,2)", Fraction(-(10**8)), Fraction(10**8), "0.01")
    rounds = 0
    while search is not None:
        rounds += 1
        domain = search.domain
        assert not domain.width % domain.step
        assert not (Fraction(domain.low) - -(10**8)) % domain.step  # type: ignore[arg-type]
        search = search.narrowed(Fraction("3.5"), Fraction(480))
    assert rounds <= 3


def test_last_round_alone_asks_for_quantiles() -> None:
    """MIN and MAX aim within the data however few rows it has; a quantile may miss them all."""
    wide = search_of("integer", -(10**9), 10**9, "1")
    assert wide.sql == 'SELECT MIN("x"), MAX("x") FROM "t"'
    last = replace(wide, left=1)
    assert "percentile_disc(0.995)" in last.sql
    assert last.narrowed(3, 7) is None


@for_each(
    ("of", "low", "high", "said"),
    [
        ("integer", 1937, 2004, ("1937", "2004", None)),
        ("integer", 0, 4_321, ("0", "4400", None)),
        ("bigint", -7, 123_456, ("-10000", "130000", None)),
        ("numeric(8,2)", Fraction("0.31"), Fraction("99.7"), ("0", "100", None)),
        ("double precision", Fraction("0.0031"), Fraction("0.97"), ("0", "0.97", "0.01")),
        (
            "double precision",
            Fraction("0.0031"),
            Fraction("0.0097"),
            ("0.0031", "0.0097", "0.0001"),
        ),
        ("numeric", Fraction("0.0031"), Fraction("970"), ("0", "970", "0.01")),
        ("integer", 5, 5, ("5", "5", None)),
        ("date", date(2021, 3, 9), date(2023, 2, 3), ("2021-03-01", "2023-02-28", None)),
        ("date", date(2021, 3, 9), date(2021, 3, 20), ("2021-03-09", "2021-03-20", None)),
        (
            "timestamp",
            datetime(2021, 3, 9),  # noqa: DTZ001
            datetime(2021, 3, 20),  # noqa: DTZ001
            ("2021-03-09", "2021-03-21", "1s"),
        ),
    ],
    ids=str,
)
def test_suggestion_is_short_and_not_narrower(
    of: str, low: object, high: object, said: tuple[str, str, str | None]
) -> None:
    """Ends are rounded outwards, to two digits of the width or to whole months; a type without steps gets one."""
    wide = (
        (date(1900, 1, 1), date(2100, 1, 1)) if of in {"date", "timestamp"} else (-(10**9), 10**9)
    )
    step = "0.000001" if of in {"double precision", "numeric"} else "1"
    start, end = wide if of in {"date", "timestamp", "integer", "bigint"} else map(Fraction, wide)  # type: ignore[arg-type]
    found = search_of(of, start, end, step).suggestion(low, high)  # type: ignore[arg-type]
    assert (found.low, found.high, found.step) == said


def test_released_bounds_are_in_order_whatever_the_noise_did() -> None:
    """Two quantiles are drawn apart, so the lower one may come out above; without rows there may be none."""
    search = search_of("integer", -1000, 1000, "1")
    assert released_bounds(search, ("7", "3")) == (3, 7)
    assert released_bounds(search, ("7.5", "9")) == (8, 9)
    assert released_bounds(search, (None, "3")) is None


def test_round_has_the_budget_and_bounds_of_the_policy() -> None:
    """It differs by the domain of one column, by its rule, and sells no histogram; only the operator may ask, for that column alone."""
    policy = read(BASE).accepted
    search = new_search(policy.dataset, "patients.weight", ("0", "300"))
    loaded = LoadedPolicies({"clinic": policy}, {}, "digest")
    found = assumed_policies(loaded, "clinic", search)
    [round_] = found.policies.values()
    assert not round_.clipping.price  # all rounds have one price
    clipping = policy.clipping
    assert replace(round_, dataset=policy.dataset, rules=policy.rules, clipping=clipping) == policy
    changed = [
        column.name
        for table, before in zip(round_.dataset.tables, policy.dataset.tables, strict=True)
        for column, was in zip(table.columns, before.columns, strict=True)
        if column != was
    ]
    assert changed == ["weight"]
    assert list(found.subjects) == [OPERATOR.name]
    assert OPERATOR.name in _RESERVED_NAMES  # no subject of a file can have its account
    assert found.digest != loaded.digest


@for_each(
    ("written", "given", "said"),
    [
        ("patients.nope", None, "the policy has no column"),
        ("nope.weight", None, "the policy has no column"),
        ("weight", None, "the policy has no column"),
        ("patients.region", None, "which has no bounds"),
        ("patients.weight", ("9", "1"), "the bounds are reversed"),
        ("patients.weight", ("a", "1"), "--between: "),
    ],
    ids=str,
)
def test_search_is_refused_for_what_has_no_bounds(
    written: str, given: tuple[str, str] | None, said: str
) -> None:
    """Before anything is opened or charged."""
    with pytest.raises(OperatorError, match=said):
        new_search(read(BASE).accepted.dataset, written, given)
