"""Documents name tests that exist, and call nothing missing that exists."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs.checks import ROOT
from docs.markdown import sections
from docs.references import MEANT, TESTS, named_tests, stale, untested

from gateway.cli import build_parser

_DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")], key=str)
# what happened before a version is told in the past there
_HISTORY = ROOT / "CHANGELOG.md"
_MODEL = ROOT / "docs" / "threat-model.md"


def _helps(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield parser.format_help()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _helps(below)


@pytest.mark.parametrize("path", _DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_document_is_of_today(path: Path) -> None:
    """Tests that it names exist, and no sentence speaks of what is to come."""
    text = path.read_text()
    assert named_tests(text) == []
    if path != _HISTORY:
        assert stale(text) == []


def test_help_is_of_today() -> None:
    """The same of what the commands say of themselves."""
    assert [problem for text in _helps(build_parser()) for problem in stale(text)] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "This version answers no SQL yet.",
        "No question is asked yet, so it has no effect.",
        "What follows is how it will be run, and what can be tried now.",
        "Reserved: nothing says it\nyet.",
        "for the PostgreSQL interface that is to come; nothing listens there yet",
        "which comes in a later step",
        "No endpoint takes SQL today.",
    ],
)
def test_stale_sentence_is_found(sentence: str) -> None:
    """The sentences that stayed when what they speak of had come, and their like."""
    assert stale(f"# Title\n\nIt works. {sentence}\n")


def test_every_exception_is_used() -> None:
    """An exception that excuses nothing would excuse the next stale sentence."""
    texts = " ".join([*(one.read_text() for one in _DOCUMENTS), *_helps(build_parser())])
    flat = re.sub(r"\s+", " ", texts).lower()
    assert [one for one in MEANT if one.lower() not in flat] == []


@pytest.mark.parametrize(
    "wrong",
    [
        "`tests/docs/test_references.py::test_that_nobody_wrote`",
        "`tests/nowhere/test_truth.py::test_document_is_of_today`",
        "`tests/docs/test_references.py::_helps`",
    ],
)
def test_test_that_does_not_exist_is_found(wrong: str) -> None:
    """A name that is not that of a test, in a file or of a function."""
    assert named_tests(f"see {wrong}")


def test_every_line_of_the_threat_model_names_its_test() -> None:
    """What is promised, and what is a second line, is held by a test; a line without one is found."""
    text = _MODEL.read_text()
    promised = text[text.index("## What is promised") : text.index("## What is not promised")]
    rows = [line for line in untested(promised) if not set(line) <= set("|- ")]
    assert [row for row in rows if not row.endswith("| test |")] == []
    assert list(untested(TESTS.sub("nothing", promised)))
    assert {"Who attacks", "What is promised", "What is not promised"} <= set(sections(text, 2))
