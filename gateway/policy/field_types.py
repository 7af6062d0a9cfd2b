"""The types of fields in policy files: texts that name things, amounts, durations and choices.

Scalar fields are parsed from their text. YAML gives no types here, so `no`, `1e-6` and `0123` mean what the field
says, or are refused. The JSON Schema tells editors, which do guess types, what is valid.
"""

import re
from collections.abc import Callable
from datetime import timedelta
from fractions import Fraction
from typing import Annotated, Any, NoReturn

from pydantic import PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from gateway.catalog.values import InvalidValue
from gateway.policy.yaml import quote_word
from gateway.units import Delta, Epsilon, UnitError

_WHOLE = re.compile(r"[0-9]{1,12}")
_DURATION = re.compile(r"(?P<number>[0-9]{1,6})(?P<unit>[smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_NUMBER_SCHEMA = {"type": ["number", "string"]}


def refuse(message: str, hint: str = "") -> NoReturn:
    """Raise a field error; `{}` in a message belong to the file's text and stay."""
    raise PydanticCustomError("policy", "{message}", {"message": message, "hint": hint})


def require_text(value: object, what: str) -> str:
    if value is None:
        refuse(f"{what} has no value")
    if not isinstance(value, str):
        refuse(
            f"{what} must be one value, not {'a list' if isinstance(value, list) else 'a mapping'}"
        )
    return value


def word_field(what: str, pattern: str, hint: str) -> tuple[PlainValidator, WithJsonSchema]:
    """A word that matches a pattern."""
    shape = re.compile(pattern)

    def read(value: object) -> str:
        text = require_text(value, what)
        if not shape.fullmatch(text):
            refuse(f"{quote_word(text)} cannot be {what}", hint)
        return text

    return PlainValidator(read), WithJsonSchema({"type": "string", "pattern": f"^(?:{pattern})$"})


def integer_field(what: str, low: int, high: int) -> tuple[PlainValidator, WithJsonSchema]:
    """A whole number within bounds."""

    def read(value: object) -> int:
        text = require_text(value, what)
        if not _WHOLE.fullmatch(text) or not low <= int(text) <= high:
            refuse(f"{what} must be a whole number from {low} to {high}, not {quote_word(text)}")
        return int(text)

    return PlainValidator(read), WithJsonSchema(
        {"type": "integer", "minimum": low, "maximum": high}
    )


def power_field(what: str, high: int) -> tuple[PlainValidator, WithJsonSchema]:
    """A power of two from 1 on."""

    def read(value: object) -> int:
        text = require_text(value, what)
        if not _WHOLE.fullmatch(text) or not 1 <= int(text) <= high or int(text).bit_count() != 1:
            refuse(f"{what} must be a power of two from 1 to {high}, not {quote_word(text)}")
        return int(text)

    powers = [1 << bits for bits in range(high.bit_length())]
    return PlainValidator(read), WithJsonSchema({"enum": powers})


def _choice(value: object) -> bool:
    text = require_text(value, "this")
    if text not in {"true", "false"}:
        refuse(f"{quote_word(text)} is neither `true` nor `false`")
    return text == "true"


def _plain(value: object) -> str:
    return require_text(value, "this")


def _amount(of: type[Epsilon] | type[Delta], *, zero: bool) -> Callable[[object], Any]:
    def read(value: object) -> Epsilon | Delta:
        text = require_text(value, of.unit)
        try:
            amount = of.parse(text)
        except UnitError as error:
            refuse(f"{error}, not {quote_word(text)}")
        if not zero and not amount:
            refuse(f"{of.unit} must be above zero")
        return amount

    return read


def _duration(value: object) -> timedelta:
    text = require_text(value, "a duration")
    match = _DURATION.fullmatch(text)
    if match is None:
        refuse(
            f"{quote_word(text)} is not a duration", "a number and a unit: 90s, 15m, 12h, 7d or 4w"
        )
    return timedelta(seconds=int(match["number"]) * _SECONDS[match["unit"]])


def format_duration(duration: timedelta) -> str:
    """A duration as a policy writes it, in the largest unit of which it is a whole number."""
    seconds = int(duration.total_seconds())
    for unit in ("d", "h", "m"):
        if seconds % _SECONDS[unit] == 0:
            return f"{seconds // _SECONDS[unit]}{unit}"
    return f"{seconds}s"


def seconds_of(text: str) -> Fraction:
    """The step of a timestamp."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise InvalidValue(f"{quote_word(text)} is not a duration such as 1s, 15m, 1h or 1d")
    return Fraction(int(match["number"]) * _SECONDS[match["unit"]])


# A number or a word; it is parsed when the type of its column is known.
Written = Annotated[
    str, PlainValidator(_plain), WithJsonSchema({"type": ["string", "number", "boolean"]})
]
Line = Annotated[str, PlainValidator(_plain), WithJsonSchema({"type": "string"})]
Choice = Annotated[bool, PlainValidator(_choice), WithJsonSchema({"type": "boolean"})]
SomeEpsilon = Annotated[
    Epsilon,
    PlainValidator(_amount(Epsilon, zero=False)),
    WithJsonSchema({**_NUMBER_SCHEMA, "exclusiveMinimum": 0}),
]
AnyEpsilon = Annotated[
    Epsilon,
    PlainValidator(_amount(Epsilon, zero=True)),
    WithJsonSchema({**_NUMBER_SCHEMA, "minimum": 0}),
]
AnyDelta = Annotated[
    Delta,
    PlainValidator(_amount(Delta, zero=True)),
    WithJsonSchema({**_NUMBER_SCHEMA, "minimum": 0, "exclusiveMaximum": 1}),
]
Duration = Annotated[
    timedelta,
    PlainValidator(_duration),
    WithJsonSchema({"type": "string", "pattern": "^[0-9]{1,6}[smhdw]$"}),
]


# in quotes, PostgreSQL takes blanks and hyphens too, as in "Order Items"
COLUMN_NAME = "[A-Za-z_](?:[A-Za-z0-9_$ -]{0,61}[A-Za-z0-9_$])?"
_WORD = "letters, digits, `_`, `-` and blanks inside, beginning with a letter, at most 63"
MOST_ROWS = 65_536  # R · 2^16 must fit the weights of contribution bounding
MOST_GROUPS = 1_000_000
LARGEST_CLIP = 1 << 20  # weights keep 10 bits below it
MOST_EXPECTED_GROUPS = 10_000_000
LONGEST_GRID_MS = 60_000
MOST_TIMEOUTS = 1_000
WIDEST_COUNTS = 1_000_000_000
LONGEST_TEXTS = 10_000
MOST_TOGETHER = 1_000
MOST_LEVELS = 20

TableName = Annotated[
    str,
    *word_field(
        "a table's name",
        f"(?:{COLUMN_NAME}\\.)?{COLUMN_NAME}",
        f"{_WORD}; `schema.table` with a schema",
    ),
]
SchemaName = Annotated[
    str,
    *word_field(
        "a schema's name", f"(?![Pp][Gg]_|information_schema$|gateway$){COLUMN_NAME}", _WORD
    ),
]
ColumnName = Annotated[str, *word_field("a column's name", COLUMN_NAME, _WORD)]
RuleId = Annotated[
    str,
    *word_field("a rule's id", "[a-z0-9][a-z0-9_-]{0,63}", "small letters, digits, `-` and `_`"),
]
DatasetName = Annotated[
    str,
    *word_field(
        "a dataset's name",
        "(?!(?:postgres|template[01])$)[a-z][a-z0-9_-]{0,62}",
        "small letters, digits, `-` and `_`; it is a database on the PostgreSQL wire",
    ),
]
UnitKey = Annotated[
    str,
    *word_field(
        "a unit key",
        f"(?:(?:{COLUMN_NAME}\\.)?{COLUMN_NAME}\\.)?{COLUMN_NAME}",
        "a column of the table, or `table.column` at the end of a path of declared keys",
    ),
]
_UNIT = word_field("a unit", "[a-z][a-z0-9_-]{0,62}", "one word, such as patient")
UNIT_SCHEMA = _UNIT[1].json_schema
UnitName = Annotated[str, *_UNIT]
LevelsName = Annotated[str, *word_field("a name of levels", COLUMN_NAME, _WORD)]
ZoneName = Annotated[
    str, *word_field("a time zone", "[A-Za-z][A-Za-z0-9_+/-]{0,62}", "as PostgreSQL names it")
]
TeamName = Annotated[
    str, *word_field("a team's name", "[^@:\\s][^@:]{0,62}", "without `@` and `:`")
]
SubjectName = Annotated[
    str, *word_field("a subject's name", "[a-z0-9][a-z0-9._-]{0,62}", "as in subjects.yaml")
]
