"""What a statement is given for its parameters: constants, and lists of them as arrays."""

from dataclasses import dataclass
from typing import TypeAlias

from gateway.catalog.types import ColumnType
from gateway.plan.scalars import Literal


@dataclass(frozen=True)
class Listed:
    """An array as PostgreSQL writes it; it means what the same text does where it stands in a statement."""

    text: str
    type: ColumnType


Given: TypeAlias = Literal | Listed
