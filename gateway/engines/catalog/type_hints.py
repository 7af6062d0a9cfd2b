"""What to do about a column whose type in the source is not the declared one: the type to declare, or the cast in a view.

A view of the source computes the cast.
"""

from typing import Final

from gateway.catalog.unused_types import JSON_TYPES, bare_type, cast_of, is_unused
from gateway.engines.catalog.describe import SourceColumn

TEXT_ARRAYS: Final = frozenset({"text[]", "character varying[]", "varchar[]"})
"""As PostgreSQL and DuckDB call them."""


def type_hint(found: SourceColumn, *, is_key: bool) -> str:
    """What to write for a column of the source that a policy declares with another type."""
    if found.base and is_key:
        return "keys are read as they are stored, so they cannot be enums or domains: give the column a type of its own"
    if found.has_known_type:
        return f"write `type: {_quoted(found.declared_type)}`"
    if found.type in TEXT_ARRAYS:
        return "write `type: text[]`: row rules read it, and no question does"
    return _unused_hint(found)


def _unused_hint(found: SourceColumn) -> str:
    bare = bare_type(found.base or found.type)
    if bare in JSON_TYPES and not found.base:
        path = f"{found.name} ->> 'key'"
        return f'write `type: {bare}`: no query reads it; another column reads a value `from: "{path}"`'
    cast = cast_of(found.base or found.type, found.name)
    if not cast:
        return "no question can use this type: leave the column out"
    hint = f"declare a view of the table that has `{cast}` instead"
    if is_unused(found.type):
        return f"leave the column out, write `type: {_quoted(found.type)}` to show that it exists, or {hint}"
    return f"leave the column out, or {hint}"


def _quoted(name: str) -> str:
    """A type as a line of a policy has it: a comma or a bracket would end the value."""
    return f'"{name}"' if any(sign in name for sign in ",[]{}") else name
