"""Columns of a policy file that no query reads, and columns that are read from a JSON document among them.

Takes the models of a table's columns, gives `UnusedColumn`s and `JsonSource`s, or complaints.

INVARIANT: a column that is read from a document is no key of any kind, and never immutable: what is in a document is bound
by no constraint.
"""

from collections.abc import Iterator

from gateway.catalog.json_values import (
    LONGEST_JSON,
    LONGEST_JSONB,
    InvalidPath,
    JsonSource,
    read_path,
)
from gateway.catalog.unused_types import JSON_TYPES, UnusedColumn, bare_type, is_unused
from gateway.policy.model import ColumnModel, TableModel
from gateway.policy.validate import Complaints, FieldPath, suggestion
from gateway.policy.yaml import quote_word

_READ_BY_RULES = frozenset({"text[]", "varchar[]", "character varying[]"})
_EXAMPLE = "write `from: \"details ->> 'smoker'\"`"


def is_unread(model: ColumnModel) -> bool:
    """Whether the column is declared with a type that no query reads."""
    return (
        model.from_ is None
        and is_unused(model.type)
        and bare_type(model.type) not in _READ_BY_RULES
    )


def read_unused(model: TableModel) -> Iterator[UnusedColumn]:
    """The columns of a table that no query reads."""
    for name, one in model.columns.items():
        if is_unread(one):
            shown = " ".join(one.type.lower().split())
            yield UnusedColumn(name, shown, one.class_, one.max_length)


def require_plain_unused(model: TableModel, path: FieldPath, complaints: Complaints) -> None:
    """A column that no query reads has a type and a class; a document has a longest length too."""
    for name, one in model.columns.items():
        if not is_unread(one):
            continue
        given = {
            "domain": one.domain,
            "step": one.step,
            "immutable": one.immutable or None,
            "joins": one.joins,
            "report": one.report,
            "levels": one.levels,
            "nulls": one.nulls,
            "max_length": None if bare_type(one.type) in JSON_TYPES else one.max_length,
        }
        for key in (key for key, value in given.items() if value is not None):
            message = f"a column of the type `{one.type}` must not have `{key}`, because no query reads it"
            complaints.add((*path, "columns", name, key), message, at_key=True)


def read_source(
    model: ColumnModel, table: TableModel, path: FieldPath, complaints: Complaints
) -> JsonSource | None:
    """What `from` says, or None with a complaint."""
    here = (*path, "from")
    before = len(complaints.problems)
    try:
        document, keys = read_path(model.from_ or "")
    except InvalidPath as error:
        complaints.add(here, f"{quote_word(model.from_ or '')}: {error}", _EXAMPLE)
        return None
    if table.public:
        message = "a column of a public table must not have `from`"
        complaints.add(here, message, "declare a view of the table that has it", at_key=True)
    if path[-1] == table.unit_key:
        message = "a unit key must be a column of the source, and must not have `from`"
        complaints.add(here, message, at_key=True)
    for key, value in (("immutable", model.immutable or None), ("joins", model.joins)):
        if value is not None:
            message = (
                f"a column with `from` must not have `{key}`, because no constraint is about it"
            )
            complaints.add((*path, key), message, at_key=True)
    declared = table.columns.get(document)
    if declared is None or not _is_document(declared):
        known = [name for name, one in table.columns.items() if _is_document(one)]
        hint = suggestion(document, known) if known else ""
        hint = hint or f"declare {quote_word(document)} with the type `json` or `jsonb`"
        complaints.add(
            here, f"{quote_word(document)} is no declared JSON column of the table", hint
        )
    if len(complaints.problems) > before or declared is None:
        return None
    is_binary = bare_type(declared.type) == "jsonb"
    longest = declared.max_length or (LONGEST_JSONB if is_binary else LONGEST_JSON)
    return JsonSource(document, keys, longest, is_binary)


def _is_document(model: ColumnModel) -> bool:
    return model.from_ is None and bare_type(model.type) in JSON_TYPES
