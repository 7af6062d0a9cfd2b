"""What a function takes and gives: families of arguments, the type of the result, constants, NULL.

Binding checks a call against its signature. Operators have none: the grammar says what they take, and `operator_type`
says what they give.

INVARIANT: what a signature does not allow is refused.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Final, TypeAlias

from gateway.catalog.types import ColumnType, Family
from gateway.errors import Code, SyntaxRefused, UnsupportedSql
from gateway.plan.scalars import Literal, Scalar
from gateway.plan.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    NUMBERS,
    NUMERIC,
    TEXT,
    common_type,
    is_number,
    plain,
)

Types: TypeAlias = Sequence[ColumnType]
Families: TypeAlias = frozenset[Family]
ResultType: TypeAlias = Callable[[Types], ColumnType]

NUMBER: Final[Families] = NUMBERS
WHOLE: Final[Families] = frozenset({Family.WHOLE})
TEXTS: Final[Families] = frozenset({Family.TEXT})
ANY: Final[Families] = frozenset(Family)
LARGEST_PLACE: Final = 10_000
LONGEST_CONSTANT: Final = 1_000


class Nullable(Enum):
    """Whether the binder takes a call for one that can be NULL."""

    ALWAYS = "always"
    WITH_FIRST = "where its first argument can be"
    WITH_ALL = "where all its arguments can be"


@dataclass(frozen=True, slots=True)
class Signature:
    """`arguments` are the families allowed at each place; the last repeats up to `most`."""

    arguments: tuple[Families, ...]
    result: ResultType
    least: int = 1
    most: int = 1
    literal: frozenset[int] = frozenset()
    """The places where only a constant may stand: a pattern, a length."""
    smallest: int | None = 0
    """The smallest and the largest number that may stand as a constant; None: any."""
    largest: int | None = LARGEST_PLACE
    same_type: bool = False
    """Whether all arguments are brought into one type; a constant without a type takes that of the others."""
    nullable: Nullable = Nullable.ALWAYS
    check: Callable[[str, Sequence[Scalar]], None] | None = None
    """Refuses what families and constants do not say."""

    def is_nullable(self, arguments: Sequence[Scalar]) -> bool:
        match self.nullable:
            case Nullable.WITH_FIRST:
                return arguments[0].nullable
            case Nullable.WITH_ALL:
                return all(one.nullable for one in arguments)
            case _:
                return True


def check_arguments(name: str, signature: Signature, arguments: Sequence[Scalar]) -> None:
    """Refuse a call whose arguments the signature does not allow."""
    if not signature.least <= len(arguments) <= signature.most:
        raise SyntaxRefused(
            Code.TYPE_MISMATCH, f"`{name}` does not accept {len(arguments)} arguments"
        )
    for place, argument in enumerate(arguments):
        _check_argument(name, signature, place, argument)
    if signature.same_type:
        first, *others = (argument.type for argument in arguments)
        for other in others:
            if common_type(plain(first), plain(other)) is None:
                raise SyntaxRefused(
                    Code.TYPE_MISMATCH, f"`{name}` does not accept {first} together with {other}"
                )
    if signature.check is not None:
        signature.check(name, arguments)


def _check_argument(name: str, signature: Signature, place: int, argument: Scalar) -> None:
    allowed = signature.arguments[min(place, len(signature.arguments) - 1)]
    if argument.type.family not in allowed:
        raise SyntaxRefused(Code.TYPE_MISMATCH, f"`{name}` does not accept {argument.type}")
    if place not in signature.literal:
        return
    if not isinstance(argument, Literal) or argument.value is None:
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED, f"argument {place + 1} of `{name}` must be a constant"
        )
    value = argument.value
    if isinstance(value, str) and len(value) > LONGEST_CONSTANT:
        raise UnsupportedSql(Code.FUNCTION_UNSUPPORTED, f"a text argument of `{name}` is too long")
    if isinstance(value, int | Fraction) and not _is_within(value, signature):
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED, f"`{name}` does not accept the number {value}"
        )


def _is_within(value: int | Fraction, signature: Signature) -> bool:
    small = signature.smallest is None or signature.smallest <= value
    return small and (signature.largest is None or value <= signature.largest)


def always(kind: ColumnType) -> ResultType:
    return lambda _: kind


def first_type(types: Types) -> ColumnType:
    return plain(types[0])


def common_result(types: Types) -> ColumnType:
    kind = types[0]
    for other in types[1:]:
        kind = common_type(kind, other) or kind
    return kind


def exact_or_double(types: Types) -> ColumnType:
    """As sqrt, power, ln: numeric stays numeric, everything else is computed as double."""
    floats = [kind for kind in types if kind.family is Family.FLOAT]
    exact = any(kind.family is Family.EXACT for kind in types)
    return NUMERIC if exact and not floats else DOUBLE


def round_type(types: Types) -> ColumnType:
    if len(types) > 1:
        return NUMERIC
    return NUMERIC if types[0].family is Family.EXACT else DOUBLE


ONE_NUMBER: Final = Signature((NUMBER,), round_type)
REAL: Final = Signature((NUMBER,), exact_or_double)
TO_BOOLEAN: Final = always(BOOLEAN)
TO_DATE: Final = always(DATE)
TO_INTEGER: Final = always(INTEGER)
TO_TEXT: Final = always(TEXT)


def sum_type(of: ColumnType) -> ColumnType:
    if of.family is Family.FLOAT:
        return of
    return BIGINT if of.family is Family.WHOLE and of != BIGINT else NUMERIC


def mean_type(of: ColumnType) -> ColumnType:
    return DOUBLE if of.family is Family.FLOAT else NUMERIC


def operator_type(  # noqa: PLR0911 - one answer for each kind of operand
    operator: str, left: ColumnType, right: ColumnType
) -> ColumnType | None:
    """The type of `left operator right`; None when PostgreSQL has no such operator, or none is safe."""
    if is_number(left) and is_number(right):
        kind = common_type(plain(left), plain(right))
        if operator == "^":
            return NUMERIC if kind == NUMERIC else DOUBLE
        if operator == "%" and kind is not None and kind.family is Family.FLOAT:
            return None
        return kind
    if left == DATE and right == DATE and operator == "-":
        return INTEGER
    if left == DATE and right.family is Family.WHOLE and operator in {"+", "-"}:
        return DATE
    if right == DATE and left.family is Family.WHOLE and operator == "+":
        return DATE
    return None
