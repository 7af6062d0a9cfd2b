"""From a YAML tree to models; problems with their places."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gateway.errors import Code, OperatorError
from gateway.policy.model import PolicyModel
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

FieldPath: TypeAlias = tuple[str | int, ...]


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
        path: FieldPath,
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

    def warn(self, path: FieldPath, message: str, hint: str = "", *, at_key: bool = False) -> None:
        self.warnings.append(PolicyError(self.place(path, at_key=at_key), message, hint))

    def place(self, path: FieldPath, *, at_key: bool = False) -> FilePosition:
        if at_key and (entry := _entry(self.tree, path)) is not None:
            return entry.key.place
        return place_of(self.tree, path)


def _entry(tree: Fields, path: FieldPath) -> MappingEntry | None:
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


_EXPECTED = {
    "model_type": "a mapping",
    "dict_type": "a mapping",
    "list_type": "a list",
    "string_type": "one value",
}


def parse_model(complaints: Complaints) -> PolicyModel | None:
    """The model of the file; None if there are problems."""
    try:
        return PolicyModel.model_validate(complaints.tree.plain())
    except ValidationError as error:
        for each in error.errors(include_url=False):
            _complain(complaints, each)
        return None


def _complain(complaints: Complaints, error: ErrorDetails) -> None:
    # "[key]" is pydantic's word for: it is the key that is wrong, not its value
    path: FieldPath = tuple(part for part in error["loc"] if part != "[key]")
    context: Mapping[str, Any] = error.get("ctx", {})
    kind = error["type"]
    name = _name(path)
    at_key = "[key]" in error["loc"]
    match kind:
        case "policy":
            message = re.sub("^this ", f"{name} ", context["message"])
            complaints.add(path, message, context["hint"], at_key=at_key)
        case "missing":
            complaints.add(path[:-1], f"{name} is missing", _example(path), at_key=True)
        case "extra_forbidden":
            hint = suggestion(str(path[-1]), _keys(path[:-1]))
            complaints.add(path, f"key {name} is not allowed here", hint, at_key=True)
        case "literal_error" | "enum":
            wanted = " or ".join(
                quote_word(word.strip("'")) for word in _words(context["expected"])
            )
            shown = error["input"]
            was = f", not {quote_word(shown)}" if isinstance(shown, str) else ""
            complaints.add(path, f"{name} must be {wanted}{was}")
        case "too_short" | "too_long":
            fewest, most = context.get("min_length"), context.get("max_length")
            bound = f"at least {fewest}" if fewest else f"at most {most}"
            complaints.add(path, f"{name} must have {bound} entries")
        case _:
            expected = _EXPECTED.get(kind, "something else")
            nothing = error["input"] is None
            said = f"{name} has no value" if nothing else f"{name} must be {expected}"
            complaints.add(path, said, "leave the key out, or give it a value" if nothing else "")


def _name(path: FieldPath) -> str:
    """The field name at the end of the path."""
    if not path:
        return "the file"
    if isinstance(path[-1], int):
        return f"an entry of {_name(path[:-1])}"
    return quote_word(path[-1])


def _words(expected: str) -> list[str]:
    return expected.replace(" or ", ", ").split(", ")


def _example(path: FieldPath) -> str:
    return _EXAMPLES.get(str(path[-1]), "")


def _keys(path: FieldPath) -> list[str]:
    """The keys that the models know at this place."""
    kind: object = PolicyModel
    for part in path:
        kind = _inside(kind, str(part))
    model = _model(kind)
    return [] if model is None else list(_fields(model))


def _inside(kind: object, part: str) -> object:
    """The type of the value below `part` in a value of this type."""
    if (model := _model(kind)) is not None:
        return _fields(model).get(part)
    containers = [one for one in _choices(kind) if get_origin(one) in {dict, list}]
    return get_args(containers[0])[-1] if containers else None


def _model(kind: object) -> type[BaseModel] | None:
    for one in _choices(kind):
        if isinstance(one, type) and get_origin(one) is None and issubclass(one, BaseModel):
            return one
    return None


def _choices(kind: object) -> tuple[object, ...]:
    """The types of a union, each without its annotations."""
    if get_origin(kind) is Annotated:
        return _choices(get_args(kind)[0])
    if get_origin(kind) in {Union, UnionType}:
        return tuple(choice for one in get_args(kind) for choice in _choices(one))
    return (kind,)


def _fields(model: type[BaseModel]) -> dict[str, object]:
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


_EXAMPLES = {
    "gateway": "write `gateway: 1`, the version of this format",
    "dataset": "write `dataset: clinic`",
    "source": "write `source: ${CLINIC_URL}`",
    "unit": "write `unit: patient`, the unit whose privacy is protected",
    "budget": "write `budget: {epsilon: 2, delta: 1e-6}`",
    "epsilon": "write `epsilon: 1`",
    "delta": "write `delta: 1e-6`, or 0 for `mechanism: laplace` without thresholds",
    "per_query": "write `per_query: {default: 0.05, max: 0.5}`",
    "when": 'write `when: subject.role == "researcher"`',
    "type": "write `type: text`, or another type of PostgreSQL",
    "max_age": "write `max_age: 7d`",
    "ranges": "write `report: {ranges: 1000}`",
    "count": "write `report: {count: 10}`",
}
