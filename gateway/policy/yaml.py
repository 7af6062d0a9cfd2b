"""YAML 1.2 reader without surprises: every scalar stays text, with its position.

A file becomes a tree of `Fields`, `Items` and `Text`. No type is guessed: `no`, `0123`, `12:30` and `1e-6` stay
as written until their field says what they are. Tags, anchors, aliases, merge keys, directives, duplicate keys
and second documents are refused, so a file means what its reader sees.

INVARIANT: the work is linear in the file, and file, lines, nesting and nodes are bounded; a hostile file is
refused within seconds. Refusals quote positions and the file's own words, never the library's messages.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final, NoReturn, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, StreamMark, YAMLError
from ruamel.yaml.events import (
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
)

from gateway.errors import Code, OperatorError
from gateway.lru_cache import LruCache

LARGEST_FILE: Final = 1 << 20
LONGEST_LINE: Final = 1 << 16
DEEPEST_NESTING: Final = 32
MOST_NODES: Final = 200_000
_LONGEST_QUOTE: Final = 60

# Control characters, old line breaks, and characters that make text look other than it is read.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\u202a-\u202e\u2066-\u2069\ud800-\udfff"
    "\ufffe\uffff]"
    "|\r(?!\n)"
)
_LONG_LINE = re.compile(f"^.{{{LONGEST_LINE + 1}}}", re.MULTILINE)
_DIRECTIVE = re.compile("^%", re.MULTILINE)
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})

_MOST_PARSED: Final = 1 << 19

# ruamel.yaml's messages and the gateway's; the first that fits counts.
_PROBLEMS: Final = (
    ("mapping values are not allowed", "a `:` is not expected here", "put such text in quotes"),
    ("could not find expected ':'", "this line has no `:`", "write `key: value`"),
    ("expected ',' or", "a `,` or a closing bracket is missing", ""),
    ("expected <block end>", "the indentation does not match the lines above", ""),
    ("'\\t'", "a tab cannot be used here", "indent with spaces"),
    ("cannot start any token", "a text cannot begin with this character", "put it in quotes"),
    ("while scanning a quoted scalar", "the quotes are not closed", ""),
    ("escape", "this escape is not known in double quotes", "use single quotes or double the `\\`"),
    ("expected '<document start>'", "this line does not continue the lines above", ""),
)


@dataclass(frozen=True)
class FilePosition:
    """A position in a file, as editors count: lines and columns begin with 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Text:
    """A scalar as written, without its quotes."""

    place: FilePosition = field(compare=False)
    text: str
    quoted: bool = False

    @property
    def is_null(self) -> bool:
        return not self.quoted and self.text in _NULLS

    def plain(self) -> str | None:
        return None if self.is_null else self.text


@dataclass(frozen=True)
class Items:
    place: FilePosition = field(compare=False)
    items: "tuple[Node, ...]"

    def plain(self) -> "list[Plain]":
        return [item.plain() for item in self.items]


@dataclass(frozen=True)
class MappingEntry:
    key: Text
    value: "Node"


@dataclass(frozen=True)
class Fields:
    place: FilePosition = field(compare=False)
    entries: Mapping[str, MappingEntry]

    def plain(self) -> "dict[str, Plain]":
        return {name: entry.value.plain() for name, entry in self.entries.items()}


Node: TypeAlias = Text | Items | Fields
Plain: TypeAlias = str | list["Plain"] | dict[str, "Plain"] | None


# one file of many is changed at a time, and the others are read again with it. A tree takes twenty times as much memory
# as its text
_PARSED: Final[LruCache[tuple[bytes, str, Code], Fields]] = LruCache(
    _MOST_PARSED, lambda key, _: len(key[0])
)


def file_problem(
    code: Code, place: FilePosition | Path, message: str, hint: str = ""
) -> OperatorError:
    """The one form of errors about a file."""
    return OperatorError(code, f"{place}: {message}", hint)


def quote_word(text: str) -> str:
    """A word of the file in the form of messages."""
    shown = text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "..."
    return "`" + " ".join(_FORBIDDEN.sub("?", shown).split()) + "`"


def place_of(node: Node, path: tuple[str | int, ...]) -> FilePosition:
    """The position of the value at `path`, or of the last existing part of the path."""
    for step in path:
        if isinstance(node, Fields) and step in node.entries:
            node = node.entries[str(step)].value
        elif isinstance(node, Items) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
        else:
            break
    return node.place


def read_yaml(path: Path, *, inside: Path, code: Code) -> Fields:
    """Read `path`, which must be an ordinary file that really lies `inside` that directory."""
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(inside.resolve(strict=True)):
            raise file_problem(
                code, path, "leads outside the policies directory", "copy the file there"
            )
        data = read_ordinary_file(real)
        if data is None:
            raise file_problem(code, path, "is not an ordinary file")
    except FileNotFoundError:
        raise file_problem(code, path, "the file does not exist") from None
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links is a RuntimeError
        why = error.strerror if isinstance(error, OSError) else None
        raise file_problem(code, path, f"cannot be read: {why or 'not a usable path'}") from None
    return parse_yaml(data, file=str(path), code=code)


def read_ordinary_file(path: Path) -> bytes | None:
    """The beginning of a file, up to one byte more than a policy may have; None if it is no ordinary file."""
    with open(path, "rb", opener=_open_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return None
        return file.read(LARGEST_FILE + 1)


def parse_yaml(data: bytes, *, file: str, code: Code) -> Fields:
    """The tree of a file's content; `file` is its name in messages. A content that was read before is not parsed again."""

    def parse() -> Fields:
        return _Composer(_checked(data, file, code), file, code).document()

    return _PARSED.get((data, file, code), parse)


def _open_without_waiting(path: str, flags: int) -> int:
    """Open without blocking: a pipe in the place of a file must not stop the gateway."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)


def _checked(data: bytes, file: str, code: Code) -> str:
    """The file as text; invisible and misleading characters are refused."""
    if len(data) > LARGEST_FILE:
        raise file_problem(code, Path(file), f"is larger than {LARGEST_FILE} bytes")
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        place = _place(file, before, len(before))
        raise file_problem(code, place, "is not UTF-8 text", "save the file as UTF-8") from None
    for pattern, message, hint in (
        (_FORBIDDEN, "there is an invisible or control character", "remove it, or retype it"),
        (_LONG_LINE, f"the line is longer than {LONGEST_LINE} characters", "break the line"),
        (_DIRECTIVE, "a line cannot begin with `%`", "the format is always YAML 1.2"),
    ):
        if found := pattern.search(text):
            raise file_problem(code, _place(file, text, found.start()), message, hint)
    return text


def _place(file: str, text: str, index: int) -> FilePosition:
    line = text.count("\n", 0, index) + 1
    return FilePosition(file, line, index - text.rfind("\n", 0, index))


class _Composer:
    """Builds the tree from ruamel.yaml's events, so that none of its constructors ever runs."""

    def __init__(self, text: str, file: str, code: Code) -> None:
        self._file = file
        self._code = code
        self._events: Iterator[Event] = YAML(typ="safe", pure=True).parse(text)
        self._here = FilePosition(file, 1, 1)
        self._nodes = 0

    def document(self) -> Fields:
        root: Fields | None = None
        while (event := self._next()) is not None:
            if isinstance(event, DocumentStartEvent) and root is not None:
                self._refuse(
                    self._here, "a second document begins", "write one document in each file"
                )
            if isinstance(event, NodeEvent):
                node = self._node(event, 1)
                if not isinstance(node, Fields):
                    self._refuse(node.place, "the file must be a mapping", "write `key: value`")
                root = node
        if root is None:
            self._refuse(FilePosition(self._file, 1, 1), "the file is empty", "write `key: value`")
        return root

    def _next(self) -> Event | None:
        try:
            event = next(self._events, None)
        except MarkedYAMLError as error:
            self._refuse(self._mark(error.problem_mark or error.context_mark), *_explain(error))
        except (YAMLError, ValueError, OverflowError):  # the latter two from `"\U00110000"`
            self._refuse(self._here, "the following text cannot be read as YAML")
        if event is not None:
            self._here = self._mark(event.start_mark)
        return event

    def _node(self, event: Event | None, depth: int) -> Node:
        place = self._here
        self._nodes += 1
        if self._nodes > MOST_NODES:
            self._refuse(place, f"the file has more than {MOST_NODES} values")
        if getattr(event, "anchor", None) is not None:  # an alias has one too
            self._refuse(place, "anchors and aliases are not supported", "write the value in full")
        if getattr(event, "tag", None) is not None:
            self._refuse(place, "tags are not supported", "remove the words that begin with `!`")
        if isinstance(event, CollectionStartEvent) and depth > DEEPEST_NESTING:
            self._refuse(place, f"this is nested deeper than {DEEPEST_NESTING} levels")
        if isinstance(event, MappingStartEvent):
            return self._fields(place, depth)
        if isinstance(event, CollectionStartEvent):
            items = []
            while not isinstance(item := self._next(), SequenceEndEvent):
                items.append(self._node(item, depth + 1))
            return Items(place, tuple(items))
        if not isinstance(event, ScalarEvent):
            self._refuse(place, "the following text cannot be read as YAML")
        if _FORBIDDEN.search(event.value):  # it was written as an escape
            self._refuse(place, "the text has an invisible or control character", "remove it")
        return Text(place, event.value, quoted=event.style is not None)

    def _fields(self, place: FilePosition, depth: int) -> Fields:
        entries: dict[str, MappingEntry] = {}
        while not isinstance(event := self._next(), MappingEndEvent):
            key = self._node(event, depth + 1)
            if not isinstance(key, Text) or key.is_null:
                self._refuse(key.place, "a key must be text", "write `key: value`")
            if key.text == "<<":
                self._refuse(key.place, "merge keys are not supported", "write the keys in full")
            if key.text in entries:
                first = entries[key.text].key.place.line
                self._refuse(key.place, f"key {quote_word(key.text)} is already in line {first}")
            value = self._node(self._next(), depth + 1)
            if isinstance(value, Text) and value.is_null and not value.text:
                value = Text(
                    key.place, ""
                )  # nothing stands nowhere: the key is what people look for
            entries[key.text] = MappingEntry(key, value)
        return Fields(place, MappingProxyType(entries))

    def _mark(self, mark: StreamMark | None) -> FilePosition:
        return (
            self._here if mark is None else FilePosition(self._file, mark.line + 1, mark.column + 1)
        )

    def _refuse(self, place: FilePosition, message: str, hint: str = "") -> NoReturn:
        raise file_problem(self._code, place, message, hint)


def _explain(error: MarkedYAMLError) -> tuple[str, str]:
    said = f"{error.context} {error.problem}"
    for theirs, ours, hint in _PROBLEMS:
        if theirs in said:
            return ours, hint
    return "this cannot be read as YAML", ""
