"""The numbers of docs/budget.md are computed again, by the ledger that charges people."""

import re
from collections.abc import Mapping

import pytest
from docs.checks import ROOT
from docs.worked_numbers import Clinic

from docs import worked_numbers as worked
from gateway.budget.account import Currency
from gateway.state.open import State
from gateway.trail.record import Trail

pytestmark = pytest.mark.server

TEXT = (ROOT / "docs" / "budget.md").read_text()


def shown(text: str) -> Mapping[str, str]:
    """The worked parts by their names, without fences."""
    found = re.findall(r"<!-- worked: (.+?) -->\n(.*?)\n<!-- end -->", text, re.DOTALL)
    return {name: re.sub(r"^```\w*\n|\n```$", "", part) for name, part in found}


def computed() -> Mapping[str, str]:
    """What needs no ledger."""
    return {
        "conversions": worked.conversions(),
        "fitting": worked.fitting(),
        "promises": worked.promises(),
        "thresholds": worked.thresholds(),
        "several": worked.several(),
    }


@pytest.mark.parametrize("currency", Currency)
def test_story_of_the_budget_is_what_the_ledger_does(
    state: State, trail: Trail, currency: Currency
) -> None:
    """The balances and refusals of the document are those of a real ledger after these questions."""
    balances, refusals = worked.story(Clinic(state.journal, trail, state.engine, currency))
    parts = shown(TEXT)
    assert parts["story"] == balances
    assert [parts["refusal 1"], parts["refusal 2"]] == refusals


@pytest.mark.parametrize("name", ["conversions", "fitting", "promises", "thresholds", "several"])
def test_worked_number_is_what_the_code_computes(name: str) -> None:
    """Caps in rho, questions that fit, and the halves of delta are computed again."""
    assert shown(TEXT)[name] == computed()[name]


def test_worked_numbers_are_all_computed_again() -> None:
    """No part of the document that is marked as worked goes without its computation."""
    stories = {"story", "refusal 1", "refusal 2"}
    assert set(shown(TEXT)) == stories | set(computed())


@pytest.mark.parametrize(
    ("right", "wrong"), [("1.4784", "1.4785"), ("| 400 | 400 |", "| 400 | 401 |")]
)
def test_worked_number_is_noticed_when_it_is_wrong(right: str, wrong: str) -> None:
    """One wrong digit makes the document differ."""
    assert right in TEXT
    broken = shown(TEXT.replace(right, wrong))
    assert any(broken[name] != part for name, part in computed().items())
