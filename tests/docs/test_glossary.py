"""The glossary names modules that exist and defines every term once, the project's own words among them."""

from collections import Counter

import pytest
from docs.checks import ROOT
from docs.markdown import code, rows

_PAGE = ROOT / "docs" / "glossary.md"
_OWN = {"twin", "trail", "anchor", "release"}
# terms of the field that readers will look up, by the name they will look for
_FIELD = {
    "account",
    "atom",
    "cache hit",
    "charge",
    "choice",
    "composition",
    "contribution bound",
    "cost sharing",
    "decision",
    "differencing",
    "domain",
    "entry",
    "enumerated groups",
    "epoch",
    "forbid",
    "journal",
    "lattice",
    "ledger",
    "lineage",
    "measurement",
    "mechanism",
    "parallel composition",
    "permit",
    "plan",
    "portal",
    "predicate",
    "privacy filter",
    "privacy unit",
    "provenance",
    "region",
    "release cache",
    "residual",
    "row description",
    "scan",
    "seal",
    "sensitivity",
    "session",
    "slot",
    "stability",
    "statement",
    "thresholded groups",
    "tracker",
    "trust group",
    "view",
    "zCDP",
}


def _faults(text: str) -> list[str]:
    """Rows without meaning, source or module, modules that do not exist, and terms that are missing or twice there."""
    entries = rows(text)
    terms = Counter(entry[0] for entry in entries)
    faults = [f"twice: {term}" for term, times in terms.items() if times > 1]
    faults += [f"missing: {term}" for term in sorted((_OWN | _FIELD) - set(terms))]
    for entry in entries:
        modules = code(entry[-1])
        if len(entry) != 4 or not all(entry) or not modules:
            faults.append(f"incomplete: {entry[0]}")
        faults += [f"no such module: {one}" for one in modules if not (ROOT / one).is_file()]
        if entry[0] in _OWN and "own word" not in entry[2]:
            faults.append(f"not marked as an own word: {entry[0]}")
    return faults


def test_glossary_defines_each_term_once_with_its_module() -> None:
    """Every term has a meaning, a source and a module that exists; the own words are marked as such."""
    assert _faults(_PAGE.read_text()) == []


@pytest.mark.parametrize(
    ("right", "wrong", "fault"),
    [
        ("`gateway/twin/twin.py`", "`gateway/twin/double.py`", "no such module"),
        ("| anchor |", "| trail |", "twice: trail"),
        ("| anchor |", "| trail |", "missing: anchor"),
        ("| databases | `gateway/plan/node.py` |", "| | `gateway/plan/node.py` |", "incomplete"),
        ("| own word | `gateway/twin/twin.py`", "| me | `gateway/twin/twin.py`", "not marked"),
    ],
)
def test_glossary_is_found_fault_with_when_it_is_wrong(right: str, wrong: str, fault: str) -> None:
    """A missing module, a missing or doubled term and an incomplete row are noticed."""
    text = _PAGE.read_text()
    assert right in text
    assert any(fault in one for one in _faults(text.replace(right, wrong)))
