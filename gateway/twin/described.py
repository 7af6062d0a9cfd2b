"""What PostgreSQL says of a statement without running it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DescribedParameter:
    """A parameter; `type_name` is `format_type(type_oid, -1)`."""

    type_oid: int
    type_name: str


@dataclass(frozen=True)
class DescribedColumn:
    """A column of the result; `type_name` is `format_type(type_oid, type_modifier)`."""

    name: str
    type_oid: int
    type_modifier: int
    type_name: str


@dataclass(frozen=True)
class Described:
    """The types of the parameters and the columns; a statement without a result has none."""

    parameters: tuple[DescribedParameter, ...]
    columns: tuple[DescribedColumn, ...]
