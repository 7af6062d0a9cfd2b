"""Columns that no query reads, and the columns that are read from documents in them, as a statement names both.

`details ->> 'smoker'` is the column that the policy reads `from` this path. The other spellings of PostgreSQL lead to it, too:
`details #>> '{smoker}'`, `details #>> array['smoker']` and `jsonb_extract_path_text(details, 'smoker')`.

INVARIANT: a path means a column of the catalog, with its rights, or nothing. No document is read for a statement.
"""

import re
from collections.abc import Iterable
from typing import Final

from sqlglot import exp

from gateway.binding.text.dialect import fold_name, identifier, name_of_function
from gateway.catalog.json_values import InvalidPath, read_path, write_path
from gateway.catalog.unused_types import JSON_TYPES, UnusedColumn, bare_type, cast_of
from gateway.errors import Code, UnsupportedSql

_LIST: Final = re.compile(r"\{[A-Za-z_][\w -]*(?:,[A-Za-z_][\w -]*)*\}")
# PostgreSQL takes the text '0' before a cast for a place in an array
_PLACE: Final = re.compile(r"\s*[-+]?[0-9]+\s*")
_CALLS: Final = frozenset({"json_extract_path_text", "jsonb_extract_path_text"})


def document_column(node: exp.Expression) -> exp.Column | None:
    """A value in a document as a column whose name is its path; None where it is no such value."""
    while isinstance(node, exp.Paren):
        node = node.this
    match node:
        case exp.JSONExtractScalar():
            found = _arrows(node)
        case exp.JSONBExtractScalar():
            found = (node.this, _listed(node.expression))
        case exp.Anonymous() if name_of_function(node) in _CALLS and node.expressions:
            found = (node.expressions[0], [_text(one) for one in node.expressions[1:]])
        case _:
            return None
    document, keys = found
    while isinstance(document, exp.Paren):
        document = document.this
    known = [one for one in keys if one is not None and not _PLACE.fullmatch(one)]
    if not isinstance(document, exp.Column) or not known or len(known) != len(keys):
        return None
    if not isinstance(document.this, exp.Identifier):
        return None
    path = write_path(fold_name(document.this), tuple(known))
    made = exp.Column(this=identifier(path))
    for part in ("table", "db"):
        if document.args.get(part) is not None:
            made.set(part, document.args[part].copy())
    return made


def _arrows(node: exp.Expression) -> tuple[exp.Expression, list[str | None]]:
    keys: list[str | None] = []
    while isinstance(node, (exp.JSONExtractScalar, exp.JSONExtract)):
        path = node.expression
        parts = path.expressions if isinstance(path, exp.JSONPath) else []
        one = parts[1] if len(parts) == 2 else None  # noqa: PLR2004 - the root and the key
        key = one.this if isinstance(one, exp.JSONPathKey) else None
        keys.insert(0, key if isinstance(key, str) else None)
        node = node.this
        while isinstance(node, exp.Paren):
            node = node.this
    return node, keys


def _listed(node: exp.Expression) -> list[str | None]:
    while isinstance(node, (exp.Paren, exp.Cast)):
        node = node.this
    if isinstance(node, exp.Array):
        return [_text(one) for one in node.expressions]
    text = _text(node)
    if text is None or not _LIST.fullmatch(text):
        return [None]
    return [*text[1:-1].split(",")]


def _text(node: exp.Expression) -> str | None:
    while isinstance(node, (exp.Paren, exp.Cast)):
        node = node.this
    return str(node.this) if isinstance(node, exp.Literal) and node.is_string else None


def document_of(name: str) -> str:
    """The document that a path leads into; a name that is no path is a document's own."""
    try:
        return read_path(name)[0]
    except InvalidPath:
        return name


def unread_refusal(column: UnusedColumn, paths: Iterable[str]) -> UnsupportedSql:
    """The refusal of a column that no query reads, with what can be read instead."""
    message = f"no query can read `{column.name[:63]}`, which has the type {column.type[:63]}"
    if bare_type(column.type) in JSON_TYPES:
        read = [one for one in paths if document_of(one) == column.name]
        named = ", ".join(f"`{one}`" for one in read[:5])
        hint = f"what can be read of it is {named}" if read else ""
        hint = hint or "ask the owner of the data for a column that is read from a key of it"
    else:
        cast = cast_of(column.type, column.name)
        hint = "ask the owner of the data for a view of the table"
        hint += f" that has `{cast}`" if cast else " without this type"
    return UnsupportedSql(Code.CLAUSE_UNSUPPORTED, message, hint)
