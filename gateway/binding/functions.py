"""The functions that are understood over rows of persons, and the types they give.

INVARIANT: everything here is deterministic, free of side effects, independent of session settings, and
can be made total: a later stage gives NULL where PostgreSQL would raise. What is not here is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from gateway.catalog.types import ColumnType, Family
from gateway.plan.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    NUMBERS,
    NUMERIC,
    TEXT,
    TIMES,
    TIMESTAMP,
    common,
    is_number,
    plain,
)

Types: TypeAlias = tuple[ColumnType, ...]
Families: TypeAlias = frozenset[Family]

_NUMBER: Final[Families] = NUMBERS
_WHOLE: Final[Families] = frozenset({Family.WHOLE})
_TEXT: Final[Families] = frozenset({Family.TEXT})
_TIME: Final[Families] = TIMES
_ANY: Final[Families] = frozenset(Family)

MOMENTS: Final = MappingProxyType({"current_date": DATE, "localtimestamp": TIMESTAMP})

TRUNCATED: Final = frozenset(
    {"year", "quarter", "month", "week", "day", "hour", "minute", "second"}
)
OF_DATES: Final = frozenset(
    {"year", "quarter", "month", "week", "day", "dow", "isodow", "doy", "isoyear", "epoch"}
    | {"decade", "century"}
)
EXTRACTED: Final = OF_DATES | {"hour", "minute", "second"}
AGED: Final = frozenset({"year", "month", "day"})


@dataclass(frozen=True, slots=True)
class Function:
    """`arguments` are the families allowed at each place; the last repeats up to `most`."""

    arguments: tuple[Families, ...]
    result: Callable[[Types], ColumnType]
    least: int
    most: int
    literal: frozenset[int] = frozenset()
    """The places where only a constant may stand: a pattern, a length."""


def _always(kind: ColumnType) -> Callable[[Types], ColumnType]:
    return lambda _: kind


def _first(types: Types) -> ColumnType:
    return plain(types[0])


def _unified(types: Types) -> ColumnType:
    kind = types[0]
    for other in types[1:]:
        kind = common(kind, other) or kind
    return kind


def _exact_or_double(types: Types) -> ColumnType:
    """As sqrt, power, ln: numeric stays numeric, everything else is computed as double."""
    floats = [kind for kind in types if kind.family is Family.FLOAT]
    exact = any(kind.family is Family.EXACT for kind in types)
    return NUMERIC if exact and not floats else DOUBLE


def _rounded(types: Types) -> ColumnType:
    if len(types) > 1:
        return NUMERIC
    return NUMERIC if types[0].family is Family.EXACT else DOUBLE


def _one(families: Families, result: Callable[[Types], ColumnType]) -> Function:
    return Function((families,), result, 1, 1)


FUNCTIONS: Final = MappingProxyType(
    {
        # numbers
        "abs": _one(_NUMBER, _first),
        "sign": _one(_NUMBER, _rounded),
        "floor": _one(_NUMBER, _rounded),
        "ceil": _one(_NUMBER, _rounded),
        "ceiling": _one(_NUMBER, _rounded),
        "round": Function((_NUMBER, _WHOLE), _rounded, 1, 2, frozenset({1})),
        "trunc": Function((_NUMBER, _WHOLE), _rounded, 1, 2, frozenset({1})),
        "sqrt": _one(_NUMBER, _exact_or_double),
        "ln": _one(_NUMBER, _exact_or_double),
        "log": _one(_NUMBER, _exact_or_double),
        "exp": _one(_NUMBER, _exact_or_double),
        "power": Function((_NUMBER, _NUMBER), _exact_or_double, 2, 2, frozenset({1})),
        "mod": Function((_WHOLE | {Family.EXACT},) * 2, _unified, 2, 2),
        "width_bucket": Function(
            (_NUMBER, _NUMBER, _NUMBER, _WHOLE), _always(INTEGER), 4, 4, frozenset({1, 2, 3})
        ),
        # text
        "lower": _one(_TEXT, _always(TEXT)),
        "upper": _one(_TEXT, _always(TEXT)),
        "length": _one(_TEXT, _always(INTEGER)),
        "char_length": _one(_TEXT, _always(INTEGER)),
        "left": Function((_TEXT, _WHOLE), _always(TEXT), 2, 2, frozenset({1})),
        "right": Function((_TEXT, _WHOLE), _always(TEXT), 2, 2, frozenset({1})),
        "substr": Function((_TEXT, _WHOLE), _always(TEXT), 2, 3, frozenset({1, 2})),
        "btrim": Function((_TEXT,), _always(TEXT), 1, 2, frozenset({1})),
        "ltrim": Function((_TEXT,), _always(TEXT), 1, 2, frozenset({1})),
        "rtrim": Function((_TEXT,), _always(TEXT), 1, 2, frozenset({1})),
        "replace": Function((_TEXT,), _always(TEXT), 3, 3, frozenset({1, 2})),
        "position": Function((_TEXT,), _always(INTEGER), 2, 2),
        "strpos": Function((_TEXT,), _always(INTEGER), 2, 2),
        "split_part": Function((_TEXT, _TEXT, _WHOLE), _always(TEXT), 3, 3, frozenset({1, 2})),
        "starts_with": Function((_TEXT,), _always(BOOLEAN), 2, 2),
        "concat": Function((_TEXT,), _always(TEXT), 1, 16),
        # dates
        "make_date": Function((_WHOLE,), _always(DATE), 3, 3),
        # any type
        "coalesce": Function((_ANY,), _unified, 1, 32),
        "nullif": Function((_ANY,), _unified, 2, 2),
        "greatest": Function((_ANY,), _unified, 1, 32),
        "least": Function((_ANY,), _unified, 1, 32),
    }
)

SAME_TYPE: Final = frozenset({"coalesce", "nullif", "greatest", "least", "mod"})

# Understood, but only above a release: hints say what to write instead.
INSTEAD: Final = MappingProxyType(
    {
        "to_char": "group by date_trunc or extract and format the result, or group by to_char with year and month",
        "age": "write extract(year from age(…))",
        "date_bin": "use date_trunc",
        "random": "the value of a row must depend only on the row",
        "regexp_replace": "use replace, LIKE or split_part",
    }
)


def sum_type(of: ColumnType) -> ColumnType:
    if of.family is Family.FLOAT:
        return of
    return BIGINT if of.family is Family.WHOLE and of != BIGINT else NUMERIC


def mean_type(of: ColumnType) -> ColumnType:
    return DOUBLE if of.family is Family.FLOAT else NUMERIC


def arithmetic(  # noqa: PLR0911 - one answer for each kind of operand
    operator: str, left: ColumnType, right: ColumnType
) -> ColumnType | None:
    """The type of `left operator right`; None when PostgreSQL has no such operator, or none is safe."""
    if is_number(left) and is_number(right):
        kind = common(plain(left), plain(right))
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
