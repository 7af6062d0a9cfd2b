"""Models of policy files and the types of their fields.

The models are the source of the JSON Schema. `gateway policy schema` prints the schema, for editors that complete
and check. The models know one file: `files/tables` and `files/access` check whether names exist and bounds fit a
type.

Scalar fields are parsed from their text. YAML gives no types here, so `no`, `1e-6` and `0123` mean what the field
says, or are refused. The JSON Schema tells editors, which do guess types, what is valid.
"""

import re
from collections.abc import Callable
from datetime import timedelta
from fractions import Fraction
from typing import Annotated, Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from gateway.catalog.tables import ColumnClass
from gateway.catalog.values import InvalidValue
from gateway.catalog.zones import UTC_NAME
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


COLUMN_NAME = "[A-Za-z_][A-Za-z0-9_$]{0,62}"
_WORD = "letters, digits and `_`, beginning with a letter, at most 63"
MOST_ROWS = 65_536  # R · 2^16 must fit the weights of contribution bounding
MOST_GROUPS = 1_000_000
LONGEST_GRID_MS = 60_000
MOST_TIMEOUTS = 1_000
WIDEST_COUNTS = 1_000_000_000
LONGEST_TEXTS = 10_000

TableName = Annotated[
    str,
    *word_field(
        "a table's name",
        f"(?:{COLUMN_NAME}\\.)?{COLUMN_NAME}",
        f"{_WORD}; `schema.table` with a schema",
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
UnitName = Annotated[
    str, *word_field("a unit", "[a-z][a-z0-9_-]{0,62}", "one word, such as patient")
]
ZoneName = Annotated[
    str, *word_field("a time zone", "[A-Za-z][A-Za-z0-9_+/-]{0,62}", "as PostgreSQL names it")
]
TeamName = Annotated[
    str, *word_field("a team's name", "[^@:\\s][^@:]{0,62}", "without `@` and `:`")
]
SubjectName = Annotated[
    str, *word_field("a subject's name", "[a-z0-9][a-z0-9._-]{0,62}", "as in subjects.yaml")
]


class Model(BaseModel):
    """Frozen; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class WindowModel(Model):
    """A rate limit within the lifetime budget; calendar periods in UTC."""

    every: Literal["day", "week", "month"]
    epsilon: SomeEpsilon


class LifetimeModel(Model):
    """The budget of all analysts together, for ever."""

    epsilon: SomeEpsilon
    delta: AnyDelta


class BudgetModel(Model):
    """The budget of one analyst or one team; delta is the dataset's unless it is given."""

    epsilon: SomeEpsilon
    delta: AnyDelta | None = None
    window: WindowModel | None = None


class PerQueryModel(Model):
    """The default price of a query, and the lowest and highest price that a query may name."""

    default: SomeEpsilon
    min: SomeEpsilon | None = None
    max: SomeEpsilon


class PrivacyModel(Model):
    """The privacy unit, the budget, and the noise."""

    unit: UnitName
    budget: LifetimeModel
    per_query: PerQueryModel
    mechanism: Literal["auto", "laplace", "gaussian"] = "auto"
    teams: dict[TeamName, BudgetModel] = Field(default_factory=dict)


_Members = Annotated[list[Written], Field(min_length=1, max_length=10_000)]


class DomainModel(Model):
    """The values of a column: `between` two bounds, or `in` a list."""

    between: Annotated[list[Written], Field(min_length=2, max_length=2)] | None = None
    in_: _Members | None = Field(default=None, alias="in")


class ReportModel(Model):
    """How results of a column are reported."""

    ranges: Written


class ColumnModel(Model):
    """One column."""

    type: Line
    class_: ColumnClass | None = Field(default=None, alias="class")
    domain: DomainModel | None = None
    step: Written | None = None
    max_length: Annotated[int, *integer_field("`max_length`", 1, LONGEST_TEXTS)] | None = None
    immutable: Choice = False
    joins: Line | None = None
    report: ReportModel | None = None


class TableModel(Model):
    """One table: protected, with a unit key, or public."""

    public: Choice = False
    unit_key: ColumnName | None = None
    rows_per_unit: Annotated[int, *integer_field("`rows_per_unit`", 1, MOST_ROWS)] | None = None
    groups_per_unit: Annotated[int, *integer_field("`groups_per_unit`", 1, MOST_GROUPS)] | None = (
        None
    )
    columns: dict[ColumnName, ColumnModel] = Field(default_factory=dict)


class UseModel(Model):
    """The permitted operations and their columns: `table.column`, `class:quasi`, or `*`."""

    aggregate: list[Line] = Field(default_factory=list)
    group_by: list[Line] = Field(default_factory=list)
    filter: list[Line] = Field(default_factory=list)
    join: list[Line] = Field(default_factory=list)


class RuleModel(Model):
    """One rule: it permits or forbids, if its condition is true."""

    id: RuleId
    effect: Literal["permit", "forbid"]
    when: Line
    tables: Annotated[list[TableName], Field(min_length=1)] | None = None
    use: UseModel | None = None
    rows: dict[TableName, Line] = Field(default_factory=dict)
    budget: BudgetModel | None = None


class AuditModel(Model):
    """The settings of the overlap auditor."""

    min_units: Annotated[int, *integer_field("`min_units`", 1, 1_000_000)] = 10
    narrow_cells: Annotated[int, *integer_field("`narrow_cells`", 0, 1_000_000)] = 1
    trust_groups: list[Annotated[list[SubjectName], Field(min_length=2)]] = Field(
        default_factory=list
    )
    opaque_predicates: Literal["refuse", "count_as_unknown", "allow"] = "refuse"


class ReuseModel(Model):
    """How long a noisy answer can be reused free of charge, and who may receive whose answers."""

    max_age: Duration | None = None
    tell: Literal["group", "everyone"] = "group"


class LimitsModel(Model):
    """The largest answer, and how many queries of a subject may be stopped in a day."""

    enumerated_groups: Annotated[int, *integer_field("`enumerated_groups`", 1, 1_000_000)] = 10_000
    result_rows: Annotated[int, *integer_field("`result_rows`", 1, 10_000_000)] = 100_000
    timeouts_per_day: Annotated[int, *integer_field("`timeouts_per_day`", 1, MOST_TIMEOUTS)] = 3


class CountsModel(Model):
    """How counts are reported."""

    count: Annotated[int, *integer_field("`count`", 1, WIDEST_COUNTS)]


class AnswersModel(Model):
    """What an answer shows of its noise, and when it is sent."""

    clamp_results: Choice = True
    suppress_small: Choice = False
    reply_grid_ms: Annotated[int, *integer_field("`reply_grid_ms`", 1, LONGEST_GRID_MS)] | None = (
        None
    )
    report: CountsModel | None = None


class PolicyModel(Model):
    """A whole policy file: one dataset."""

    gateway: Literal["1"] = Field(json_schema_extra={"const": 1, "type": "integer"})
    dataset: DatasetName
    source: Line
    time_zone: ZoneName = UTC_NAME
    privacy: PrivacyModel
    tables: Annotated[dict[TableName, TableModel], Field(min_length=1)]
    access: list[RuleModel] = Field(default_factory=list)
    audit: AuditModel = Field(default_factory=AuditModel)
    reuse: ReuseModel = Field(default_factory=ReuseModel)
    limits: LimitsModel = Field(default_factory=LimitsModel)
    answers: AnswersModel = Field(default_factory=AnswersModel)


def policy_schema() -> dict[str, Any]:
    """By alias, as people write the keys."""
    schema = PolicyModel.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
