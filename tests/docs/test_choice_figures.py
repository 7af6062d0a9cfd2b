"""The figures of docs/sql.md about aggregates and choices are those of the code."""

import re
from fractions import Fraction
from math import exp, log
from typing import Final

import pytest
from docs.checks import ROOT
from docs.sql import table, words
from noise.choices import exponential, flipping
from sensitivity.analyses import analysed

from gateway.binding import aggregates as measures
from gateway.binding import extensions as spellings
from gateway.noise.allocation import slots_of
from gateway.noise.exponential import selection_for, selection_within

TEXT: Final = (ROOT / "docs" / "sql.md").read_text()
ACCEPTED: Final = (measures.AGGREGATES - measures.REFUSED) | spellings.OURS.keys()
_PLACES: Final = 3


def costs(text: str) -> dict[str, tuple[str, str]]:
    """What the document says of each aggregate: its mechanism and its measurements."""
    rows = table(text, "aggregate")
    return {name: (row[1], row[2]) for row in rows for name in words(row[0])}


def _asked(name: str) -> str:
    if name in measures._PAIRS:
        return f"{name}(income, birth_year)"
    if name in measures._PERCENTILES:
        return f"{name}(0.5) WITHIN GROUP (ORDER BY income)"
    asked = {
        "mode": "mode() WITHIN GROUP (ORDER BY region)",
        "dp_top": f"dp_top(region, {_PLACES})",
    }
    return asked.get(name, f"{name}(income)")


def measured(name: str) -> tuple[str, str]:
    """What the code makes of it."""
    sql = f"SELECT {_asked(name)} FROM patients"
    found = [analysed(sql, pairs=pairs) for pairs in (False, True)]
    counts = [slots_of([one]) for one in found]
    shown = ["k" if name == "dp_top" and one == _PLACES else str(one) for one in counts]
    return ("choice" if found[0].choices else "noise", " / ".join(shown))


def percent(chance: float) -> str:
    """Two digits, or whole ones."""
    return f"{100 * chance:.{0 if chance >= 0.0995 else 2}{'f' if chance >= 0.0995 else 'g'}} %"


def chances() -> list[list[str]]:
    """How often the wrong one of two is named."""
    eta = Fraction(1, 10)
    pure, zcdp = selection_for(eta, 1), selection_within(eta**2 / 8, 1)
    return [
        [
            str(lead),
            percent(flipping([0, lead], pure.scale)[0]),
            percent(exponential([0, lead], zcdp.scale)[0]),
            percent(min(1.0, 2 * exp(-lead * float(eta) / 2))),
        ]
        for lead in (10, 20, 50, 100)
    ]


def test_every_aggregate_that_is_accepted_stands_in_the_table_with_its_price() -> None:
    """Mechanism and measurements of each are those of the code, in both directions."""
    said = costs(TEXT)
    assert said == {name: measured(name) for name in ACCEPTED}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("| `regr_count` | noise | 1 / 1", "| `regr_count` | noise | 2 / 1"), ("| `mode` | choice |", "| `moods` | choice |")],
)  # fmt: skip
def test_table_is_found_fault_with_when_it_is_wrong(right: str, wrong: str) -> None:
    """A wrong number and a wrong name are noticed."""
    assert right in TEXT
    assert costs(TEXT.replace(right, wrong)) != {name: measured(name) for name in ACCEPTED}


def test_chances_of_the_wrong_condition_are_those_of_the_mechanisms() -> None:
    """The textbook's question, at the scales that the price buys; with another price the numbers are others."""
    assert table(TEXT, "lead of") == chances()
    assert table(TEXT.replace("| 10 | 18 %", "| 10 | 19 %"), "lead of") != chances()


def test_leads_that_are_enough_are_those_of_the_formula() -> None:
    """(R/η)·ln(20·n) rows for 20 diagnoses of ten rows each; for five places η is a fifth."""
    found = re.search(
        r"For (\d+) diagnoses, R = (\d+) and ε = 1 .*?lead of (\d+) visits .*?of\s+(\d+) for each of the first five",
        TEXT,
        re.DOTALL,
    )
    assert found is not None
    many, rows, one, five = map(int, found.groups())
    assert one == round(rows * log(20 * many))
    assert five == round(5 * rows * log(20 * many))
    bought = selection_for(Fraction(1), rows)
    assert bought.shortfall(many, Fraction(1, 20)) <= one
