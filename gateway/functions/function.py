"""What is known of one function or operator over rows: all its facets but its SQL, in one frozen record.

Whoever asks something of a call looks its record up in `gateway.functions.table` and asks the facet. The SQL
stands in `gateway.engines.sql.expressions`, under the same name, since this package knows no database.

A signature says what a function takes and gives: families of arguments, the type of the result, constants, NULL.
Binding checks a call against it. Operators have none: the grammar says what they take, and `operator_type` says
what they give.

INVARIANT: a facet that is left out says the least: not computed, not solved, not listed, may be NULL. Facets on
which safety rests have no default (`tests/functions/test_table.py` holds every row to that).
INVARIANT: what a signature does not allow is refused.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Final, Protocol, TypeAlias

from gateway.catalog.types import ColumnType, Family
from gateway.catalog.values import Value
from gateway.errors import Code, SyntaxRefused, UnsupportedSql
from gateway.functions.copy_counts import Copies
from gateway.functions.costs import Cost
from gateway.functions.exact_values import Evaluate
from gateway.functions.grains import Grain
from gateway.functions.range_arithmetic import NOTHING, OPEN, Bounds, Range
from gateway.functions.result_sizes import ResultSize
from gateway.functions.thresholds import Monotone
from gateway.plan.fields import (
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
from gateway.plan.scalars import Call, Literal, Scalar

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


class Nulls(Enum):
    """What a call gives where an operand is NULL."""

    STRICT = "NULL"
    LOGIC = "NULL, or the value it has whatever the operand is"
    OWN = "a value of its own"


class Gaps(Enum):
    """For which operands a call is NULL though none of them is, besides results that do not fit their type."""

    NONE = "none"
    ZERO_DIVISOR = "a divisor of 0"
    CALENDAR = "a result before the calendar begins"
    UNKNOWN = "nobody has said"


class Operands(Protocol):
    """What is known of the operands of a call whose range is wanted; each is looked at when it is asked for."""

    def bounds(self, place: int) -> Bounds: ...

    def in_microseconds(self, place: int) -> Bounds:
        """Of a date or timestamp."""

    def length(self, place: int) -> Bounds:
        """How long a text can be, where its values are listed."""

    def as_results(self) -> list[Bounds]:
        """Of all operands, each as a value of the type of the call."""

    def grain(self, place: int) -> Fraction | None: ...


RangeOf: TypeAlias = Callable[[Call, Operands], Bounds]


@dataclass(frozen=True, slots=True)
class TimePart:
    """Of a function that looks at a part of a time that its first argument names."""

    period: Callable[[Call], int | None]
    """Within how many microseconds of the day all times are alike to it; None: each counts."""
    values: Callable[[Call, Range, int], Iterable[Value] | None]
    """All values within a range, up to a number of them; None: they cannot be listed."""
    is_zoned: bool = False
    """Whether PostgreSQL makes a time with a zone of a date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function or operator. `name` is that of `Call.function`."""

    name: str
    signature: Signature | None
    """None: an operator, or a function whose arguments have a reading of their own (`binding/calls.py`)."""
    nulls: Nulls
    computes: bool
    """Whether it is arithmetic: its operands need a range, and its result is not bounded by its type alone."""
    range: RangeOf
    cost: Cost
    size: ResultSize
    copies: Copies
    gaps: Gaps = Gaps.UNKNOWN
    grain: Grain | None = None
    """A number of which all its values are whole multiples."""
    evaluate: Evaluate | None = None
    """Its value, exactly; None: sources may differ. Of a STRICT function it is asked of values that are there."""
    monotone: Monotone | None = None
    """How a comparison of its value with a constant becomes one of its operand."""
    as_case: Callable[[Call], Scalar] | None = None
    """The CASE that it is in other words."""
    is_distributed: bool = False
    """Whether, computed of a CASE, it is the CASE of what it is of each result."""
    is_one_of: bool = False
    """Whether it has all values that its arguments have, and no other, so that they are listed together."""
    counts: Callable[[Call], bool] | None = None
    """Whether a call gives whole numbers, few enough to list where their range is short."""
    time_part: TimePart | None = None


def no_range(_: Call, __: Operands) -> Bounds:
    return OPEN


def arithmetic_range(
    of: Callable[[Call, Sequence[Range], Operands], Bounds],
) -> RangeOf:
    """The range of arithmetic, for which all operands need one."""

    def find(call: Call, operands: Operands) -> Bounds:
        given = [operands.bounds(place) for place in range(len(call.parts))]
        ranges = [one.range for one in given if one.range is not None]
        if len(ranges) != len(given):
            return OPEN
        if any(one is NOTHING for one in given):
            return NOTHING
        return of(call, ranges, operands)

    return find
