"""Marks of a proposed policy: comments that name what its owner has to decide, and how many are left.

A mark is a comment, so it changes nothing. Whoever decides a line removes its mark.
"""

from pathlib import Path
from typing import Final

from gateway.policy.yaml import read_ordinary_file

MARK: Final = "# decide:"


def mark(line: str, question: str) -> str:
    """A line with its mark; the marks of a file stand in one column where lines are short."""
    return f"{line:<66}  {MARK} {question}" if line.strip() else f"{line}{MARK} {question}"


def count_marks(text: str) -> int:
    """How many lines of a policy are marked."""
    return sum(MARK in line for line in text.splitlines())


def count_marks_of(path: Path) -> int:
    """How many lines of a file are marked; none of a file that cannot be read."""
    try:
        data = read_ordinary_file(path)
    except (OSError, ValueError):
        return 0
    return 0 if data is None else count_marks(data.decode("utf-8", "replace"))


def lines_to_decide(count: int) -> str:
    """The count in words."""
    return f"{count} line{'' if count == 1 else 's'} to decide"
