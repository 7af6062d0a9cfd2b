"""System tables of the gateway, which show every subject its own rows: `gateway.budget` and others.

In a statement they are like public tables of a source: read as they are, and constants from then on.

INVARIANT: no table of a policy is in their schema, so a name never means two things.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from gateway.catalog.tables import Column, Table
from gateway.catalog.types import parse_type

SCHEMA: Final = "gateway"

_COLUMNS: Final = {
    "budget": {
        "account": "text",
        "dataset": "text",
        "epsilon_limit": "numeric",
        "epsilon_spent": "numeric",
        "epsilon_remaining": "numeric",
        "delta_limit": "numeric",
        "window_every": "text",
        "window_epsilon_limit": "numeric",
        "window_epsilon_remaining": "numeric",
        "window_reopens_at": "timestamp with time zone",
    },
    "datasets": {
        "dataset": "text",
        "table_name": "text",
        "column_name": "text",
        "data_type": "text",
        "domain": "text",
        "use": "text",
    },
    "queries": {
        "query_id": "text",
        "at": "timestamp with time zone",
        "sql": "text",
        "outcome": "text",
        "reason": "text",
        "charged_epsilon": "numeric",
    },
}

OWN_TABLES: Final[Mapping[str, Table]] = MappingProxyType(
    {
        name: Table(
            f"{SCHEMA}.{name}",
            tuple(Column(column, parse_type(of)) for column, of in columns.items()),
        )
        for name, columns in _COLUMNS.items()
    }
)


def is_system_table(table: Table) -> bool:
    return OWN_TABLES.get(table.name.removeprefix(f"{SCHEMA}.")) is table
