"""Models of policy files.

The models are the source of the JSON Schema. `gateway policy schema` prints the schema, for editors that complete
and check. The models know one file: `files/tables` and `files/access` check whether names exist and bounds fit a
type.

`field_types` has the types of their fields.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema

from gateway.catalog.tables import ColumnClass
from gateway.catalog.zones import UTC_NAME
from gateway.policy.field_types import (
    LARGEST_CLIP,
    LONGEST_GRID_MS,
    LONGEST_TEXTS,
    MOST_EXPECTED_GROUPS,
    MOST_GROUPS,
    MOST_LEVELS,
    MOST_ROWS,
    MOST_TIMEOUTS,
    MOST_TOGETHER,
    UNIT_SCHEMA,
    WIDEST_COUNTS,
    AnyDelta,
    AnyEpsilon,
    Choice,
    ColumnName,
    DatasetName,
    Duration,
    LevelsName,
    Line,
    RuleId,
    SchemaName,
    SomeEpsilon,
    SubjectName,
    TableName,
    TeamName,
    UnitKey,
    UnitName,
    Written,
    ZoneName,
    integer_field,
    power_field,
    refuse,
    require_text,
)


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


class UnitModel(Model):
    """The privacy unit: its name, or the name with the table and column of the entity."""

    name: UnitName
    table: TableName | None = None
    key: ColumnName | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: object) -> object:
        """The short form `unit: patient` is a name without a table."""
        if isinstance(value, list) or value is None:
            require_text(value, "a unit")
        return {"name": value} if isinstance(value, str) else value


class _OrName:
    """The schema of a unit: its name alone, or the whole."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [UNIT_SCHEMA, handler(core)]}


class PrivacyModel(Model):
    """The privacy unit, the budget, and the noise."""

    unit: Annotated[UnitModel, _OrName()]
    budget: LifetimeModel
    per_query: PerQueryModel
    mechanism: Literal["auto", "laplace", "gaussian"] = "auto"
    teams: dict[TeamName, BudgetModel] = Field(default_factory=dict)


_Members = Annotated[list[Written], Field(min_length=1, max_length=10_000)]


class DomainModel(Model):
    """The values of a column: `between` two bounds, or `in` a list."""

    between: Annotated[list[Written], Field(min_length=2, max_length=2)] | None = None
    in_: _Members | None = Field(default=None, alias="in")


class LevelsModel(Model):
    """Levels of keys, finest first: columns of a public table, steps, or lengths of a prefix."""

    table: TableName | None = None
    columns: Annotated[list[ColumnName], Field(min_length=1, max_length=MOST_LEVELS)] | None = None
    steps: Annotated[list[Written], Field(min_length=1, max_length=MOST_LEVELS)] | None = None
    prefixes: (
        Annotated[
            list[Annotated[int, *integer_field("a prefix", 1, LONGEST_TEXTS)]],
            Field(min_length=1, max_length=MOST_LEVELS),
        ]
        | None
    ) = None


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
    levels: Line | None = None
    nulls: Literal["none"] | None = None
    from_: Line | None = Field(default=None, alias="from")


class TableModel(Model):
    """One table: protected, with a unit key, or public."""

    public: Choice = False
    unit_key: UnitKey | None = None
    unit_via: ColumnName | None = None
    rows_per_unit: Annotated[int, *integer_field("`rows_per_unit`", 1, MOST_ROWS)] | None = None
    groups_per_unit: Annotated[int, *integer_field("`groups_per_unit`", 1, MOST_GROUPS)] | None = (
        None
    )
    values_per_unit: Annotated[int, *integer_field("`values_per_unit`", 1, MOST_ROWS)] | None = None
    columns: dict[ColumnName, ColumnModel] = Field(default_factory=dict)


@dataclass(frozen=True)
class UseEntry:
    """`table.column`, `class:quasi` or `*`; or a column with the finest level by which it may be used."""

    word: str
    level: str | None = None


def _use_entry(value: object) -> UseEntry:
    if isinstance(value, dict) and len(value) == 1:
        [(column, level)] = value.items()
        return UseEntry(column, require_text(level, "a level"))
    if isinstance(value, dict):
        refuse("an entry has one column and its level", "write `{visits.diagnosis: chapter}`")
    return UseEntry(require_text(value, "this"))


UsedColumns = list[
    Annotated[
        UseEntry,
        PlainValidator(_use_entry),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "string"},
                    {
                        "type": "object",
                        "minProperties": 1,
                        "maxProperties": 1,
                        "additionalProperties": {"type": ["string", "number"]},
                    },
                ]
            }
        ),
    ]
]


class UseModel(Model):
    """The permitted operations and their columns: `table.column`, `class:quasi`, or `*`; `{table.column: level}`."""

    aggregate: UsedColumns = Field(default_factory=list)
    group_by: UsedColumns = Field(default_factory=list)
    filter: UsedColumns = Field(default_factory=list)
    join: UsedColumns = Field(default_factory=list)


class TogetherModel(Model):
    """Which columns one statement may combine: a column, `table.column`, or `class:quasi`."""

    forbid: list[Annotated[list[Line], Field(min_length=2)]] = Field(default_factory=list)
    at_most: dict[Line, Annotated[int, *integer_field("`at_most`", 0, MOST_TOGETHER)]] = Field(
        default_factory=dict
    )


class RuleModel(Model):
    """One rule: it permits or forbids, if its condition is true."""

    id: RuleId
    effect: Literal["permit", "forbid"]
    when: Line
    tables: Annotated[list[TableName], Field(min_length=1)] | None = None
    use: UseModel | None = None
    rows: dict[TableName, Line] = Field(default_factory=dict)
    together: TogetherModel | None = None
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
    """The largest answer, the groups that are expected, and how many queries of a subject may be stopped in a day."""

    enumerated_groups: Annotated[int, *integer_field("`enumerated_groups`", 1, 1_000_000)] = 10_000
    result_rows: Annotated[int, *integer_field("`result_rows`", 1, 10_000_000)] = 100_000
    timeouts_per_day: Annotated[int, *integer_field("`timeouts_per_day`", 1, MOST_TIMEOUTS)] = 3
    expected_groups: Annotated[
        int, *integer_field("`expected_groups`", 1, MOST_EXPECTED_GROUPS)
    ] = 100


class ClipModel(Model):
    """The price of a histogram of norms and how long it serves; the clip without one, and the largest clip.

    At a price of 0 no histogram is measured. `exact`: histograms of the rows that a statement selects.
    """

    price: AnyEpsilon | None = None
    max_age: Duration | None = None
    default: Annotated[int, *power_field("`default`", LARGEST_CLIP)] | None = None
    max: Annotated[int, *power_field("`max`", LARGEST_CLIP)] | None = None
    exact: Choice = False


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
    search_path: Annotated[list[SchemaName], Field(min_length=1, max_length=64)] | None = None
    privacy: PrivacyModel
    tables: Annotated[dict[TableName, TableModel], Field(min_length=1)]
    levels: dict[LevelsName, LevelsModel] = Field(default_factory=dict)
    access: list[RuleModel] = Field(default_factory=list)
    audit: AuditModel = Field(default_factory=AuditModel)
    reuse: ReuseModel = Field(default_factory=ReuseModel)
    limits: LimitsModel = Field(default_factory=LimitsModel)
    clip: ClipModel = Field(default_factory=ClipModel)
    answers: AnswersModel = Field(default_factory=AnswersModel)


def policy_schema() -> dict[str, Any]:
    """By alias, as people write the keys."""
    schema = PolicyModel.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
