"""What the endpoints for questions answer, as OpenAPI says it. Tests hold every answer against these."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Cell = bool | int | float | str | None
Way = Literal["same", "rollup", "filter"]
Ends = Annotated[list[float | str], Field(min_length=2, max_length=2)]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ColumnShape(_Shape):
    """`type` is PostgreSQL's name; of what is exact there is no mechanism and no scale.

    `rank_error` is there for quantiles, MIN, MAX, MODE and DP_TOP, and for arrays of them.
    """

    name: str
    type: str
    noisy: bool
    mechanism: str | None = None
    scale: float | str | None = None
    rank_error: int | None = None


class PrivacyShape(_Shape):
    """`reused` is how the answer came from answers that were given before, null where something was measured anew."""

    epsilon: float
    charged_epsilon: float
    rho: float | None = None
    delta: float
    reused: Way | None


class WindowShape(_Shape):
    every: str
    epsilon_limit: float
    epsilon_spent: float
    epsilon_remaining: float
    reopens_at: str


class AccountShape(_Shape):
    account: str
    dataset: str
    epsilon_limit: float
    epsilon_spent: float
    epsilon_remaining: float
    delta_limit: float
    window: WindowShape | None


class AccountsShape(_Shape):
    accounts: list[AccountShape]


class AnswerShape(_Shape):
    """`intervals` are 95 % and shaped like `rows`."""

    query_id: str
    columns: list[ColumnShape]
    rows: list[list[Cell]]
    intervals: list[list[Ends | None]]
    privacy: PrivacyShape
    budget: AccountsShape
    notices: list[str]


class ExpectedShape(_Shape):
    """`promised_margin` is there with `accuracy`: the margin at its confidence, at this price."""

    name: str
    expected_margin_95: float | str | None
    promised_margin: float | str | None = None
    expected_rank_error_95: int | None = None


class EstimateShape(_Shape):
    """`price` is what would be charged now, `reused` how the question would be answered from earlier answers."""

    decision: Literal["permit"]
    price: float
    reused: Way | None
    columns: list[ExpectedShape]
    notices: list[str]


class UsableColumnShape(_Shape):
    """`domain` is there when the policy bounds the column; `use` says what it may be used for."""

    model_config = ConfigDict(extra="allow", strict=True)

    name: str
    type: str
    use: list[str]


class UsableTableShape(_Shape):
    table: str
    columns: list[UsableColumnShape]


class DatasetShape(_Shape):
    dataset: str
    tables: list[UsableTableShape]


class DatasetsShape(_Shape):
    datasets: list[DatasetShape]


class PastShape(_Shape):
    query_id: str
    at: str
    sql: str
    outcome: str
    reason: str | None = None
    charged_epsilon: float


class QueriesShape(_Shape):
    queries: list[PastShape]
