"""Types of sources that no query reads, the casts that make readable values of them, and columns that have such types.

A policy may declare such a column, so that analysts see that it exists. A view of the source, or a column that is read
from a JSON document, has its values.

INVARIANT: a cast is named only if it fails for no value, apart from `json` with the sign of code 0, which is no text of PostgreSQL.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from gateway.catalog.types import ALIASES

_RANGES: Final = ("int4", "int8", "num", "ts", "tstz", "date")
_SHAPES: Final = ("line", "lseg", "box", "path", "polygon", "circle", "geometry", "geography")
CASTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "json": "{} ->> 'key'",
        "jsonb": "{} ->> 'key'",
        "hstore": "{} -> 'key'",
        "inet": "host({})",
        "cidr": "{}::text",
        "macaddr": "{}::text",
        "macaddr8": "{}::text",
        "bytea": "encode({}, 'hex')",
        "blob": "hex({})",
        "citext": "{}::text",
        "name": "{}::text",
        "ltree": "{}::text",
        "xml": "{}::text",
        "bit": "{}::text",
        "bit varying": "{}::text",
        "oid": "{}::bigint",
        "interval": "extract(epoch FROM {})",
        "time": "extract(hour FROM {})",
        "time without time zone": "extract(hour FROM {})",
        "time with time zone": "extract(hour FROM {})",
        "money": "{}::numeric",
        "timestamp_s": "TRY_CAST({} AS timestamp)",
        "timestamp_ms": "TRY_CAST({} AS timestamp)",
        "timestamp_ns": "TRY_CAST({} AS timestamp)",
        "uhugeint": "TRY_CAST({} AS bigint)",
        "point": "{}[0]",
        "struct": "{}.field",
        "map": "{}['key']",
        **{f"{name}range": "lower({})" for name in _RANGES},
        **{f"{name}multirange": "lower({})" for name in _RANGES},
        **dict.fromkeys((*_SHAPES, "tsvector", "tsquery", "union", "variant"), ""),
    }
)
"""The expression of a view that reads a value; empty where there is none that fails for no value."""
JSON_TYPES: Final = frozenset({"json", "jsonb"})
_BRACKETS: Final = re.compile(r"\(.*\)", re.DOTALL)
_ARRAY: Final = re.compile(r"(?:\[[0-9]*\])+$")
_SHOWN: Final = frozenset(CASTS) - {
    *("hstore", "citext", "ltree", "geometry", "geography", "blob", "struct", "map", "union"),
    *("variant", "uhugeint", "timestamp_s", "timestamp_ms", "timestamp_ns"),
}
_SHOWN_ARRAYS: Final = frozenset(
    {"smallint", "integer", "bigint", "numeric", "real", "double precision", "text", "boolean"}
    | {"date", "uuid", "timestamp without time zone", "timestamp with time zone", "jsonb", "json"}
)


def bare_type(name: str) -> str:
    """The name of a type without what stands in brackets after it; an array is `text[]`, whatever its dimensions."""
    flat = " ".join(name.lower().split())
    array = _ARRAY.search(flat)
    head = flat if array is None else flat[: array.start()]
    plain = " ".join(_BRACKETS.sub(" ", head).split())
    if plain.startswith("interval "):
        plain = "interval"
    if array is None:
        return plain
    kind = ALIASES.get(plain)
    return f"{plain if kind is None else kind.value}[]"


def is_unused(name: str) -> bool:
    """Whether it is a type of sources that no query reads."""
    bare = bare_type(name)
    return bare in CASTS or bare.endswith("[]")


def cast_of(name: str, column: str) -> str:
    """What a view can have in the place of a column of this type; empty if nothing."""
    bare = bare_type(name)
    if not bare.endswith("[]"):
        return CASTS.get(bare, "").format(column)
    element = bare.removesuffix("[]")
    array = _ARRAY.search(name.strip())
    first = column + "[1]" * (1 if array is None else array[0].count("["))
    return CASTS[element].format(first) if element in CASTS else first


@dataclass(frozen=True)
class UnusedColumn:
    """A column of a source that a policy declares with its type, and that no query reads.

    Of JSON documents longer than `max_length` bytes nothing is read.
    """

    name: str
    type: str
    column_class: str | None = None
    max_length: int | None = None

    @property
    def shown_type(self) -> str:
        """The type by which the twin shows it: its own where every PostgreSQL has it, else text."""
        bare = bare_type(self.type)
        if bare.endswith("[]"):
            return bare if bare.removesuffix("[]") in _SHOWN_ARRAYS else "text[]"
        return bare if bare in _SHOWN else "text"
