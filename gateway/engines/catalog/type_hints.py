"""What to do about a column whose type in the source is not the declared one: the type to declare, or the cast in a view.

A cast is named only if it fails for no value. A view or a generated column of the source computes it.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from gateway.engines.catalog.describe import SourceColumn

TEXT_ARRAYS: Final = frozenset({"text[]", "character varying[]", "varchar[]"})
"""As PostgreSQL and DuckDB call them."""
_CASTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "json": "{} ->> 'key'",
        "jsonb": "{} ->> 'key'",
        "inet": "host({})",
        "cidr": "{}::text",
        "macaddr": "{}::text",
        "macaddr8": "{}::text",
        "bytea": "encode({}, 'hex')",
        "blob": "hex({})",
        "citext": "{}::text",
        "name": "{}::text",
        "xml": "{}::text",
        "utinyint": "{}::smallint",
        "usmallint": "{}::integer",
        "uinteger": "{}::bigint",
        "ubigint": "{}::numeric(20,0)",
        "hugeint": "TRY_CAST({} AS bigint)",
        "uhugeint": "TRY_CAST({} AS bigint)",
        "interval": "extract(epoch FROM {})",
        "time": "extract(hour FROM {})",
        "time without time zone": "extract(hour FROM {})",
        "money": "{}::numeric",
        "timestamp_s": "{}::timestamp",
        "timestamp_ms": "{}::timestamp",
        "timestamp_ns": "{}::timestamp",
    }
)
_BRACKETS: Final = re.compile(r"\([^)]*\)")


def type_hint(found: SourceColumn, *, is_key: bool) -> str:
    """What to write for a column of the source that a policy declares with another type."""
    if found.base and is_key:
        return "keys are read as they are stored, so they cannot be enums or domains: give the column a type of its own"
    if found.has_known_type:
        plain = str(found.read_type)
        return f'write `type: "{plain}"`' if "," in plain else f"write `type: {plain}`"
    if found.type in TEXT_ARRAYS:
        return "write `type: text[]`: row rules read it, and no question does"
    name = _BRACKETS.sub("", found.type)
    cast = _CASTS.get(name)
    if name.endswith("]"):
        cast = "{}[1]"
    elif found.base:
        cast = f"{{}}::{found.base}"
    if cast is None:
        return "no question can use this type: leave the column out"
    shown = cast.format(found.name)
    return f"leave the column out, or declare a view of the table that has `{shown}` instead"
