"""Tables as a source describes them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SourceColumn:
    """`type` is the name PostgreSQL has for it; another database's own where there is none.

    `exact_text` is true where the source takes two texts for equal only when they are the same.
    """

    name: str
    type: str
    not_null: bool
    exact_text: bool = False


@dataclass(frozen=True)
class SourceForeignKey:
    """One column that leads to one column of another table; `at` are that table's schema and name."""

    column: str
    table: str
    target: str
    at: tuple[str, str]


@dataclass(frozen=True)
class SourceTable:
    """`unique` are the sets of columns that no two rows share, by a constraint that always holds.

    `checks` are conditions that are false for no row, in the source's own words.
    """

    schema: str
    name: str
    columns: tuple[SourceColumn, ...]
    unique: tuple[frozenset[str], ...] = ()
    foreign_keys: tuple[SourceForeignKey, ...] = ()
    checks: tuple[str, ...] = ()

    def column(self, name: str) -> SourceColumn | None:
        return next((one for one in self.columns if one.name == name), None)
