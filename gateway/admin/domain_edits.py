"""Domains that are written into a policy file; comments, layout and all other values stay as they are.

An edit takes the text of a file and a domain, and gives the text with it: in the place of the old domain, or behind the
last value of the column. Marks of the column's lines are removed, because the edit decides them. A column whose domain
somebody has decided is not edited.

INVARIANT: the new text means what the old one meant but for the edited domain and step; both are read and compared
before anything is written. The file is replaced as a whole, and only while it has the content that was read.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Final, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from gateway.admin.proposal.marks import MARK
from gateway.catalog.tables import ColumnRef
from gateway.errors import Code, OperatorError
from gateway.policy.files.load import read_policy, sort_problems
from gateway.policy.validate import Complaints
from gateway.policy.yaml import Plain, parse_yaml, read_ordinary_file
from gateway.postgres_server.files import write_durably

_BLOCK_STYLES: Final = frozenset({"|", ">"})


@dataclass(frozen=True)
class DomainEdit:
    """The ends of a column's domain as a policy writes them, and the step that goes with them, if any."""

    reference: ColumnRef
    low: str
    high: str
    step: str | None = None

    @property
    def domain(self) -> str:
        return f"{{between: [{self.low}, {self.high}]}}"


class _Change(NamedTuple):
    """The text between two places, and what stands there instead."""

    start: int
    end: int
    text: str


class _ColumnText(NamedTuple):
    """A column in the text of a file."""

    key: ScalarNode
    fields: MappingNode

    def value(self, name: str) -> Node | None:
        return _value(self.fields, name)


class PolicyFile:
    """The file of a policy, as it was when it was read or written last."""

    def __init__(self, path: Path, environment: Mapping[str, str]) -> None:
        self.path = path
        self._real = path.resolve()
        self._environment = environment
        self._content = self._read()

    @property
    def text(self) -> str:
        return self._content.decode("utf-8")

    def require_writable(self) -> None:
        """Refuse a file that this process could not replace with one of the same owner and rights."""
        there = self._real.stat()
        owned = os.geteuid() in {0, there.st_uid}
        if not (owned and all(os.access(one, os.W_OK) for one in (self._real, self._real.parent))):
            raise _refused(
                f"`{self.path}` cannot be replaced by this user",
                "leave `--write` out, and put the domains in with an editor",
            )

    def write(self, edit: DomainEdit) -> tuple[str, ...]:
        """Write one domain; the lines that changed, as a diff."""
        before = self.text
        after = with_domain(before, edit)
        self._require_valid(after)
        if self._read() != self._content:
            raise _refused(
                f"`{self.path}` has changed since it was read; nothing was written",
                "put the domain that is printed above in with an editor; it is paid for",
            )
        content, there = after.encode(), self._real.stat()
        try:
            write_durably(self._real, content, there)
        except OSError as error:
            raise _refused(
                f"`{self.path}` cannot be written: {(error.strerror or str(error)).lower()}",
                "put the domain that is printed above in with an editor; it is paid for",
            ) from None
        self._content = content
        lines = unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
        # without the names of files, which are one, and the places
        return tuple(one for one in list(lines)[2:] if not one.startswith("@@"))

    def _read(self) -> bytes:
        try:
            content = read_ordinary_file(self._real)
        except OSError as error:
            raise _refused(f"`{self.path}` cannot be read: {error.strerror}") from None
        if content is None:
            raise _refused(f"`{self.path}` is not an ordinary file")
        return content

    def _require_valid(self, text: str) -> None:
        complaints = Complaints(
            parse_yaml(text.encode(), file=str(self.path), code=Code.POLICY_INVALID)
        )
        read_policy(complaints, self._environment)
        if complaints.problems:
            raise sort_problems(complaints.problems)[0]


def require_undecided(text: str, reference: ColumnRef) -> None:
    """Refuse a column that has a domain, unless a mark of its lines says that it is to be decided."""
    column = _find(text, reference)
    if column.value("domain") is not None and not _marks(text, column):
        raise _refused(
            f"`{reference}` has a domain already, and no mark `{MARK}`",
            "leave `--write` out, or remove the domain",
        )
    _changes(text, column, DomainEdit(reference, "0", "1"))


def with_domain(text: str, edit: DomainEdit) -> str:
    """The text with this domain, and without the marks of the column's lines."""
    require_undecided(text, edit.reference)
    column = _find(text, edit.reference)
    changed = text
    for one in sorted(_changes(text, column, edit), reverse=True):
        changed = changed[: one.start] + one.text + changed[one.end :]
    if _meaning(changed) != _with_fields(_meaning(text), edit):
        raise _refused(
            f"the lines of `{edit.reference}` have a form that cannot be edited here",
            f"write `domain: {edit.domain}` with an editor",
        )
    return changed


def _changes(text: str, column: _ColumnText, edit: DomainEdit) -> list[_Change]:
    changes = [_Change(start, end, "") for start, end in _marks(text, column)]
    added = []
    for name, written in (("domain", edit.domain), ("step", edit.step)):
        if written is None:
            continue
        old = column.value(name)
        if old is None:
            added.append(f"{name}: {written}")
        elif isinstance(old, ScalarNode) or _is_flow(old):
            changes.append(_Change(old.start_mark.index, old.end_mark.index, written))
        else:
            raise _refused(
                f"the `{name}` of `{edit.reference}` stands on several lines",
                f"write it as `{name}: {written}` first"
                if name == "step"
                else "write it as `domain: {between: [0, 1]}` first",
            )
    if added:
        changes.append(_added(text, column.fields, added))
    return changes


def _added(text: str, fields: MappingNode, added: list[str]) -> _Change:
    """More fields behind the last one that ends on its own line."""
    values = [value for _, value in fields.value if _is_short(value)]
    place = values[-1].end_mark.index
    if fields.flow_style:
        return _Change(place, place, "".join(f", {one}" for one in added))
    end = text.find("\n", place)
    end = len(text) if end < 0 else end
    returns = "\r" if text[end - 1 : end] == "\r" else ""
    end -= len(returns)
    indent = " " * fields.value[0][0].start_mark.column
    return _Change(end, end, "".join(f"{returns}\n{indent}{one}" for one in added))


def _is_short(value: Node) -> bool:
    """Whether the end of a node is where its text ends."""
    if isinstance(value, ScalarNode):
        return value.style not in _BLOCK_STYLES
    return _is_flow(value)


def _is_flow(node: Node) -> bool:
    return isinstance(node, MappingNode | SequenceNode) and bool(node.flow_style)


def _marks(text: str, column: _ColumnText) -> list[tuple[int, int]]:
    """Where the marks of the column's lines stand, with the spaces before them."""
    start = column.key.start_mark.index
    end = text.find("\n", _end(column.fields))
    end = len(text) if end < 0 else end
    quoted = [(one.start_mark.index, one.end_mark.index) for one in _scalars(column.fields)]
    found = []
    place = text.find(MARK, start, end)
    while place >= 0:
        stop = place + len(MARK)
        if not any(low <= place < high for low, high in quoted):
            stop = min(one for one in (text.find("\n", place), len(text)) if one >= 0)
            stop -= text[stop - 1] == "\r"
            found.append((len(text[:place].rstrip(" \t")), stop))
        place = text.find(MARK, stop, end)
    return found


def _end(node: Node) -> int:
    """Where the last value in a node ends."""
    if isinstance(node, MappingNode) and not node.flow_style:
        return max(_end(value) for _, value in node.value)
    if isinstance(node, SequenceNode) and not node.flow_style:
        return max(map(_end, node.value))
    return int(node.end_mark.index)


def _scalars(node: Node) -> Iterator[ScalarNode]:
    if isinstance(node, ScalarNode):
        yield node
    elif isinstance(node, MappingNode):
        for key, value in node.value:
            yield from _scalars(key)
            yield from _scalars(value)
    else:
        for one in node.value:
            yield from _scalars(one)


def _find(text: str, reference: ColumnRef) -> _ColumnText:
    node: Node | None = YAML(typ="safe", pure=True).compose(text)
    for name in ("tables", reference.table, "columns"):
        node = _value(node, name)
    for key, fields in node.value if isinstance(node, MappingNode) else ():
        if key.value == reference.column and isinstance(fields, MappingNode):
            return _ColumnText(key, fields)
    raise _refused(f"the file has no lines of `{reference}`", "add the column to the policy first")


def _value(node: Node | None, name: str) -> Node | None:
    if not isinstance(node, MappingNode):
        return None
    return next((value for key, value in node.value if key.value == name), None)


def _meaning(text: str) -> dict[str, Plain]:
    return parse_yaml(text.encode(), file="policy", code=Code.POLICY_INVALID).plain()


def _with_fields(meaning: Plain, edit: DomainEdit) -> Plain:
    """The values of a file with those of the edit."""
    node = meaning
    for name in ("tables", edit.reference.table, "columns", edit.reference.column):
        node = node[name] if isinstance(node, dict) else None
    if isinstance(node, dict):
        node["domain"] = {"between": [edit.low, edit.high]}
        node |= {} if edit.step is None else {"step": edit.step}
    return meaning


def _refused(detail: str, hint: str = "") -> OperatorError:
    return OperatorError(Code.ARGUMENT_INVALID, f"--write: {detail}", hint)
