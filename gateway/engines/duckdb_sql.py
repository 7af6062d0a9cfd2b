"""DuckDB SQL of a statement: its text and its parameters, `$1`, `$2`, … and a list.

SQLAlchemy compiles a statement object once and caches it. No database is reached here.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from duckdb_sqlalchemy import Dialect
from sqlalchemy import Select

_DIALECT: Final = Dialect(paramstyle="numeric_dollar")
_Process = Callable[[Any], object]


@dataclass(frozen=True)
class DuckdbSql:
    """One statement: its text, and for each of its places the name, the value and what is made of a value."""

    text: str
    places: tuple[tuple[str, Any, _Process | None], ...]

    def parameters(self, given: Mapping[str, list[str | None]]) -> list[object]:
        """In the order of their numbers; those that are `given` in the place of what stands in the statement."""
        return [
            value if process is None else process(value)
            for name, there, process in self.places
            for value in (given.get(name, there),)
        ]


class DuckdbStatements:
    """What statements were compiled to, as long as somebody holds them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: WeakKeyDictionary[Select[Any], DuckdbSql] = WeakKeyDictionary()

    def find(self, statement: Select[Any]) -> DuckdbSql:
        """The SQL of this statement, compiled if it has to be."""
        with self._lock:
            found = self._known.get(statement)
        if found is None:
            found = compile_for_duckdb(statement)
            with self._lock:
                self._known[statement] = found
        return found


def compile_for_duckdb(statement: Select[Any]) -> DuckdbSql:
    """Its text, and its parameters by place."""
    compiled: Any = statement.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True})
    values, binds = compiled.construct_params(_check=False), compiled.binds
    places = []
    for name in compiled.positiontup or ():
        bind = binds.get(name)
        kind = None if bind is None else bind.type.dialect_impl(_DIALECT)
        places.append((name, values[name], None if kind is None else kind.bind_processor(_DIALECT)))
    return DuckdbSql(str(compiled), tuple(places))
