"""Problems of a policy file: all of them, each with its position."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TypeAlias

from gateway.errors import Code, OperatorError
from gateway.policy.yaml import (
    Fields,
    FilePosition,
    Items,
    MappingEntry,
    Node,
    Text,
    place_of,
    quote_word,
)

Path: TypeAlias = tuple[str | int, ...]


class PolicyError(OperatorError):
    """One problem at one position of a policy file."""

    def __init__(self, place: FilePosition, message: str, hint: str = "") -> None:
        super().__init__(Code.POLICY_INVALID, f"{place}: {message}", hint)
        self.place = place
        self.message = message


@dataclass
class Complaints:
    """Collects errors and warnings of one file while it is read."""

    tree: Fields
    problems: list[OperatorError] = field(default_factory=list)
    warnings: list[PolicyError] = field(default_factory=list)

    def add(
        self,
        path: Path,
        message: str,
        hint: str = "",
        *,
        at_key: bool = False,
        inside: int = 0,
    ) -> None:
        """Add a problem of the value at `path`, of its key, or `inside` characters into its text."""
        place = self.place(path, at_key=at_key)
        if inside and (entry := _entry(self.tree, path)) and isinstance(entry.value, Text):
            place = _within(entry.value, inside)
        self.problems.append(PolicyError(place, message, hint))

    def warn(self, path: Path, message: str, hint: str = "", *, at_key: bool = False) -> None:
        self.warnings.append(PolicyError(self.place(path, at_key=at_key), message, hint))

    def place(self, path: Path, *, at_key: bool = False) -> FilePosition:
        if at_key and (entry := _entry(self.tree, path)) is not None:
            return entry.key.place
        return place_of(self.tree, path)


def _entry(tree: Fields, path: Path) -> MappingEntry | None:
    """The mapping entry that `path` ends in, or the last part of the path that there is."""
    node: Node = tree
    found = None
    for step in path:
        if isinstance(node, Fields):
            if step not in node.entries:
                break
            found = node.entries[str(step)]
            node = found.value
        elif isinstance(step, int) and isinstance(node, Items) and step < len(node.items):
            found, node = None, node.items[step]
        else:
            break
    return found


def _within(text: Text, signs: int) -> FilePosition:
    """A position inside of a one-line text without escapes; otherwise where the text begins."""
    place = text.place
    if "\n" in text.text or "\\" in text.text or (text.quoted and "'" in text.text):
        return place
    return FilePosition(place.file, place.line, place.column + text.quoted + signs)


def suggestion(word: str, known: Iterable[str]) -> str:
    """`did you mean`, or a list of the known words."""
    words = list(known)
    if close := get_close_matches(word, words, n=1):
        return f"did you mean {quote_word(close[0])}?"
    most = 12
    shown = ", ".join(quote_word(one) for one in words[:most])
    return f"known are {shown}{' and others' if len(words) > most else ''}" if words else ""
