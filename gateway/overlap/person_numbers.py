"""What scopes say of numbers that were computed for each person, and which of them are compared.

INVARIANT: a scope without such numbers is compared with all others of its shape.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from gateway.regions.row_readings import EVERY_NUMBER
from gateway.regions.scope import ReleaseScope

_NO_NUMBERS: Final = "none"
_SOME_NUMBERS: Final = "some"
_ANY_NUMBERS: Final = "any"
_NUMBERS_OF_GROUPS: Final = "of groups"
_COMPARED: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        _NO_NUMBERS: (_NO_NUMBERS, _SOME_NUMBERS, _ANY_NUMBERS, _NUMBERS_OF_GROUPS, EVERY_NUMBER),
        EVERY_NUMBER: (EVERY_NUMBER, _NO_NUMBERS),
        _SOME_NUMBERS: (_NO_NUMBERS, _SOME_NUMBERS),
        _ANY_NUMBERS: (_NO_NUMBERS, _ANY_NUMBERS),
        _NUMBERS_OF_GROUPS: (_NO_NUMBERS,),
    }
)
"""A region of any numbers was not released: persons with some numbers were, and their own region is compared with these.
Numbers of groups are compared with each other as groups: as persons, those of different rows would look equal.
"""


def numbers_of(scope: ReleaseScope) -> str:
    """What it says of the numbers of persons: nothing, a condition, that they may be any, or a condition on rows."""
    if scope.row_reading:
        return scope.row_reading
    if scope.any_numbers:
        return _ANY_NUMBERS
    if scope.of_groups:
        return _NUMBERS_OF_GROUPS
    return _SOME_NUMBERS if scope.numbers else _NO_NUMBERS


def compared_numbers(scope: ReleaseScope) -> Sequence[str]:
    """What the scopes that are compared with it say of them."""
    kind = numbers_of(scope)
    return _COMPARED.get(kind, (kind,))
