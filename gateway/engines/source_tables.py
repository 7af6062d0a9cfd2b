"""Tables as a source describes them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SourceColumn:
    """`type` is the name PostgreSQL has for it; another database's own where there is none."""

    name: str
    type: str
    not_null: bool


@dataclass(frozen=True)
class ForeignKey:
    """One column that leads to one column of another table."""

    column: str
    table: str
    target: str


@dataclass(frozen=True)
class SourceTable:
    """`unique` are the sets of columns that no two rows share, by a constraint that always holds."""

    schema: str
    name: str
    columns: tuple[SourceColumn, ...]
    unique: tuple[frozenset[str], ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()

    def column(self, name: str) -> SourceColumn | None:
        return next((one for one in self.columns if one.name == name), None)
