"""What documents say of tests, and of a future that has come: named tests exist, and nothing is called missing that is there."""

import re
from collections.abc import Iterator
from typing import Final

from docs.checks import ROOT
from docs.markdown import code

# words of what was to come when they were written; each use has to be meant, and stands below then
_STALE: Final = re.compile(
    r"\b(?:not|no|nothing|never|so)\b[^.|]{0,60}\byet\b|\bis to come\b|\bare to come\b|\bwill be (?:run|answered|added|supported|used)\b"
    r"|\bin a later (?:step|version)\b|\bcoming soon\b|\banswers no SQL\b|\bno endpoint takes\b|\bwhat can be tried now\b",
    re.IGNORECASE,
)
# sentences that are true now, by a part of each: of the wording of a code, or of a moment that comes for every reader
MEANT: Final = (
    "that has not paid yet",  # of an account
)
TESTS: Final = re.compile(r"(tests/[\w./]+\.py)::(test_\w+)")


def named_tests(text: str) -> list[str]:
    """Every test that is named exists: its file, and in it a function of its name."""
    problems = []
    for span in code(text):
        if "::" not in span or not span.startswith("tests/"):
            continue
        found = TESTS.fullmatch(span)
        if found is None:
            problems.append(f"no test is named like this: {span}")
            continue
        path, name = found.groups()
        file = ROOT / path
        if not file.is_file() or not re.search(rf"^def {name}\b", file.read_text(), re.MULTILINE):
            problems.append(f"no such test: {span}")
    return problems


def stale(text: str) -> list[str]:
    """Sentences that speak of what is not there yet, whether or not it is."""
    return [
        f"says what is to come: {found[0]}"
        for found in _STALE.finditer(_flat(text))
        if not _is_meant(_flat(text), found)
    ]


def untested(text: str) -> Iterator[str]:
    """Rows of the tables of promises and defences that name no test."""
    for line in text.splitlines():
        if line.startswith("| ") and line.count(" | ") == 2 and not TESTS.search(line):
            yield line


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _is_meant(text: str, found: re.Match[str]) -> bool:
    around = text[max(0, found.start() - 40) : found.end() + 40].lower()
    return any(one.lower() in around for one in MEANT)
