"""Who the analysts are: `subjects.yaml`, one mapping of names to attributes.

A subject's name becomes a login name and part of an account's name (`analyst:alice@clinic`), its
attributes are what conditions and row rules read. A client never supplies its own attributes.

INVARIANT: an attribute is one line of text or a list of such; it is what the file says, unconverted.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from gateway.errors import Code, OperatorError
from gateway.policy.yaml import (
    Fields,
    Items,
    MappingEntry,
    Node,
    Text,
    file_problem,
    quote_word,
    read_yaml,
)

FILE_NAME: Final = "subjects.yaml"
MOST_SUBJECTS: Final = 10_000
MOST_ATTRIBUTES: Final = 64
MOST_VALUES: Final = 256
LONGEST_VALUE: Final = 256

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_TEAM = re.compile(r"[^@:]+")
_ATTRIBUTE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
# Names with another meaning: for PostgreSQL, whose clients log in with them, or in the trail.
_RESERVED_NAMES = frozenset(
    {"anonymous", "gateway", "nobody", "none", "operator", "postgres", "public", "system"}
)
# `subject.name` is the name itself; the others cannot be written after a dot in a condition (CEL).
_RESERVED_ATTRIBUTE = re.compile(
    "name|as|break|const|continue|else|false|for|function|if|import|in|let|loop|package|namespace"
    "|null|return|true|var|void|while"
)
_EXAMPLE: Final = "such as `alice: {role: researcher, purposes: [care-quality]}`"

Attribute: TypeAlias = str | tuple[str, ...]


@dataclass(frozen=True)
class Subject:
    """A subject: its log-in name, and the attributes that conditions may read."""

    name: str
    attributes: Mapping[str, Attribute] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def role(self) -> str | None:
        return self._one("role")

    @property
    def team(self) -> str | None:
        return self._one("team")

    @property
    def purposes(self) -> tuple[str, ...]:
        """The purposes this subject may name; a loaded subject has them as a list."""
        purposes = self.attributes.get("purposes", ())
        return (purposes,) if isinstance(purposes, str) else purposes

    def _one(self, attribute: str) -> str | None:
        value = self.attributes.get(attribute)
        return value if isinstance(value, str) else None


def load_subjects(policies: Path) -> Mapping[str, Subject]:
    """All subjects in `subjects.yaml` of this directory."""
    path = policies / FILE_NAME
    require_subjects(path)
    return subjects_from(read_yaml(path, inside=policies, code=Code.SUBJECTS_INVALID))


def require_subjects(path: Path) -> None:
    """Refuse a missing file, with a hint on what to write."""
    if not path.exists() and not path.is_symlink():
        raise file_problem(
            Code.SUBJECTS_INVALID,
            path,
            "the file does not exist",
            f"write one line for each subject, {_EXAMPLE}",
        )


def subjects_from(root: Fields) -> Mapping[str, Subject]:
    """The subjects of a file's tree."""
    if len(root.entries) > MOST_SUBJECTS:
        raise _problem(root, f"the file has more than {MOST_SUBJECTS} subjects")
    subjects = (_subject(entry) for entry in root.entries.values())
    return MappingProxyType({subject.name: subject for subject in subjects})


def _subject(entry: MappingEntry) -> Subject:
    name = entry.key.text
    if not _NAME.fullmatch(name):
        raise _problem(
            entry.key,
            f"{quote_word(name)} cannot be a subject's name",
            "use up to 63 lower-case letters, digits, `.`, `_` and `-`, beginning with a letter or digit",
        )
    if name in _RESERVED_NAMES or name.startswith("pg_"):
        raise _problem(entry.key, f"the name {quote_word(name)} is reserved", "choose another name")
    if not isinstance(entry.value, Fields):
        raise _problem(
            entry.value,
            f"the attributes of {quote_word(name)} must be a mapping",
            f"{_EXAMPLE}; without any attributes `{name}: {{}}`",
        )
    fields = entry.value.entries
    if len(fields) > MOST_ATTRIBUTES:
        raise _problem(entry.key, f"{quote_word(name)} has more than {MOST_ATTRIBUTES} attributes")
    attributes = {field.key.text: _attribute(field) for field in fields.values()}
    return Subject(name, MappingProxyType(attributes))


def _attribute(entry: MappingEntry) -> Attribute:
    name = entry.key.text
    if not _ATTRIBUTE.fullmatch(name) or _RESERVED_ATTRIBUTE.fullmatch(name):
        raise _problem(
            entry.key,
            f"{quote_word(name)} cannot be an attribute's name",
            "use letters, digits and `_`, but no keyword of conditions",
        )
    many = isinstance(entry.value, Items)
    if name in {"role", "team"} and many:
        raise _problem(entry.value, f"{quote_word(name)} must be one text", f"write `{name}: text`")
    if name == "purposes" and not many:
        raise _problem(entry.value, "`purposes` must be a list", "write `purposes: [care-quality]`")
    if name == "team" and isinstance(entry.value, Text) and not _TEAM.fullmatch(entry.value.text):
        raise _problem(
            entry.value,
            f"{quote_word(entry.value.text)} cannot be a team's name",
            "leave out `@` and `:`, because it becomes part of an account's name",
        )
    if isinstance(entry.value, Items):
        if len(entry.value.items) > MOST_VALUES:
            raise _problem(entry.value, f"{quote_word(name)} has more than {MOST_VALUES} values")
        return tuple(_value(name, item) for item in entry.value.items)
    return _value(name, entry.value)


def _value(name: str, node: Node) -> str:
    if not isinstance(node, Text):
        raise _problem(node, f"{quote_word(name)} must be text or a list of text")
    if node.is_null:
        raise _problem(
            node, f"{quote_word(name)} has no value", "leave it out, or put it in quotes"
        )
    if len(node.text) > LONGEST_VALUE:
        raise _problem(node, f"{quote_word(name)} is longer than {LONGEST_VALUE} characters")
    if not node.text.isprintable():
        raise _problem(node, f"{quote_word(name)} must be one line of visible text")
    return node.text


def _problem(node: Node, message: str, hint: str = "") -> OperatorError:
    return file_problem(Code.SUBJECTS_INVALID, node.place, message, hint)
