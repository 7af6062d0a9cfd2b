"""docs/sql.md says of its example conditions whether they are sets of values or opaque: it is what the code does."""

import pytest
from docs.checks import ROOT
from docs.markdown import sections
from regions.ward import scope

from gateway.regions.grid import MOST_CELLS

TEXT = (ROOT / "docs" / "sql.md").read_text()


def faults(text: str) -> list[str]:
    """Examples that the code reads in another way than their row says, in the table of conditions."""
    found = []
    for line in sections(text, 2)["Earlier queries"].splitlines():
        if not line.startswith("| opaque: ") and not line.startswith("| a set of values "):
            continue
        kind, examples = line.strip("|").split("|")
        for condition in examples.split("`")[1::2]:
            table = "visits" if "cost" in condition else "patients"
            unread = scope(f"SELECT COUNT(*) FROM {table} WHERE {condition}").unreadable
            if bool(unread) != kind.strip().startswith("opaque"):
                found.append(condition)
    return found


def test_examples_are_read_as_the_document_says() -> None:
    """Every example of a set of values is a region, and every opaque one is not."""
    assert faults(TEXT) == []
    assert f"more than {MOST_CELLS:,} values" in TEXT


@pytest.mark.parametrize(
    ("right", "wrong", "fault"),
    [
        ("| a set of values |", "| opaque: nothing |", "birth_year + 1 < 1951"),
        (
            "| opaque: dates that are made of numbers |",
            "| a set of values |",
            "make_date(birth_year, 6, 1)",
        ),
    ],
)
def test_checker_notices_when_the_document_is_wrong(right: str, wrong: str, fault: str) -> None:
    """The negative control: a row under another heading is told."""
    assert right in TEXT
    found = faults(TEXT.replace(right, wrong))
    assert any(one.startswith(fault) for one in found)
