"""A policy as a value, and the URL of its source.

INVARIANT: the URL is in no repr and no message; code that needs it asks for it by name.
INVARIANT: two URLs of one database have one identity, whatever their log-in, driver and options. Names of one
server that only a network can recognise as equal count as different.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Final

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from gateway.catalog.tables import ColumnRef, Dataset
from gateway.policy.combinations import Together
from gateway.policy.conditions.condition import Condition
from gateway.policy.levels import ColumnLevel
from gateway.policy.row_rules import RowRule
from gateway.units import Delta, Epsilon

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_LOOPBACK = frozenset({"", "localhost", "127.0.0.1", "::1"})
_POSTGRESQL_PORT = 5432
_DRIVERS = {
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
    "duckdb": "duckdb",
}
# Allowed options behind the `?`. With others the driver might use another database or log-in.
_PARTS = frozenset("12345678")  # in how many parts a large release may be asked for
_OPTIONS = {
    "postgresql": frozenset(
        {
            "application_name",
            "channel_binding",
            "connect_timeout",
            "gssencmode",
            "host",
            "keepalives",
            "keepalives_count",
            "keepalives_idle",
            "keepalives_interval",
            "options",
            "parts",
            "port",
            "sslcert",
            "sslcrl",
            "sslkey",
            "sslmode",
            "sslrootcert",
            "target_session_attrs",
            "tcp_user_timeout",
        }
    ),
    "duckdb": frozenset({"access_mode", "allowed_directories", "memory_limit", "threads"}),
}
_HINT = "write postgresql://user:password@host/database or duckdb:////directory/file.duckdb"


class InvalidSource(ValueError):
    """No valid source; the message never repeats the URL."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class SourceUrl:
    """A database with its URL."""

    backend: str
    identity: str
    url: URL = field(repr=False, compare=False)


def resolve_variables(text: str, environment: Mapping[str, str]) -> str:
    """`text` with its `${VARIABLE}`s replaced."""
    for name in _REFERENCE.findall(text):
        if not environment.get(name):
            hint = f"set it to the URL of the source; {_HINT}"
            raise InvalidSource(f"the environment variable `{name}` is not set", hint)
    if "${" in _REFERENCE.sub("", text):
        raise InvalidSource(
            "a reference is not closed, or does not name a variable", "write `${NAME}`"
        )
    return _REFERENCE.sub(lambda match: environment[match[1]], text)


def placeholder_source(dataset: str) -> SourceUrl:
    """A placeholder for a source that nobody needs to reach; it differs from that of every other dataset."""
    return SourceUrl("unresolved", f"unresolved:{dataset}", URL.create("unresolved"))


def source_from(url: str) -> SourceUrl:
    """The source at a URL."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise InvalidSource("`source` is not a URL", _HINT) from None
    driver = _DRIVERS.get(parsed.drivername)
    if driver is None:
        raise InvalidSource("`source` must begin with postgresql:// or duckdb:///", _HINT)
    for option in parsed.query:
        if option not in _OPTIONS[parsed.get_backend_name()]:
            raise InvalidSource(f"the URL of the source has an option `{option}`", "leave it out")
    if driver == "duckdb":
        return _duckdb(parsed)
    return _postgresql(parsed.set(drivername=driver))


def _duckdb(url: URL) -> SourceUrl:
    file = url.database or ""
    if not file or file == ":memory:" or ":" in file.partition("/")[0]:
        raise InvalidSource("a DuckDB source must be a file", _HINT)
    allowed = url.query.get("allowed_directories", "/")
    if not isinstance(allowed, str) or not Path(allowed).is_absolute():
        hint = "write one directory: ?allowed_directories=/data/parquet"
        raise InvalidSource("`allowed_directories` of the source is not one absolute path", hint)
    path = Path(file).expanduser().resolve()
    return SourceUrl("duckdb", f"duckdb:///{path}", url.set(database=str(path)))


def _postgresql(url: URL) -> SourceUrl:
    if not url.database:
        raise InvalidSource("the URL of the source names no database", _HINT)
    if url.query.get("parts", "1") not in _PARTS:
        raise InvalidSource("`parts` of the source is not a number from 1 to 8", "leave it out")
    hosts, ports = url.query.get("host"), url.query.get("port")
    if isinstance(hosts, tuple) or isinstance(ports, tuple) or "," in (url.host or ""):
        raise InvalidSource("the source must be a single server", _HINT)
    named = (url.host or hosts or "").rstrip(".").lower()
    host = "localhost" if named in _LOOPBACK else hosts if hosts and not url.host else named
    if ports and (url.host or not ports.isdecimal()):
        raise InvalidSource("the port of the source is not a port", _HINT)
    if hosts and url.host:
        raise InvalidSource("the source must be a single server", _HINT)
    port = url.port or int(ports or _POSTGRESQL_PORT)
    shown = f"[{host}]" if host and ":" in host else host
    return SourceUrl("postgresql", f"postgresql://{shown}:{port}/{url.database}", url)


class Operation(StrEnum):
    """What a statement does with a column."""

    AGGREGATE = "aggregate"
    GROUP_BY = "group_by"
    FILTER = "filter"
    JOIN = "join"


class Effect(StrEnum):
    PERMIT = "permit"
    FORBID = "forbid"


class Mechanism(StrEnum):
    AUTO = "auto"
    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"


_DAYS: Final = {"day": 1, "week": 7, "month": 31}


@dataclass(frozen=True)
class Rate:
    """At most this much in each calendar period."""

    every: str
    epsilon: Epsilon

    @property
    def pace(self) -> tuple[object, ...]:
        """The sort key of rates, slowest first."""
        return self.epsilon.value / _DAYS[self.every], self.epsilon.value, self.every


@dataclass(frozen=True)
class Budget:
    """The budget of an account, with the dataset's delta filled in."""

    epsilon: Epsilon
    delta: Delta
    rate: Rate | None = None


@dataclass(frozen=True, eq=False)
class Rule:
    """One rule; it is equal to itself alone. `use` is None if a forbidding rule means every use of its tables.

    `levels` are the finest levels of columns in `use`, for each operation; a column without one is used as it is.

    INVARIANT: columns in `use` and tables in `rows` belong to `tables`; a permitting rule has a budget.
    """

    id: str
    effect: Effect
    when: Condition
    tables: frozenset[str]
    use: Mapping[Operation, frozenset[ColumnRef]] | None
    rows: Mapping[str, RowRule] = field(default_factory=dict)
    budget: Budget | None = None
    together: Together | None = None
    levels: Mapping[Operation, Mapping[ColumnRef, ColumnLevel]] = field(default_factory=dict)


@dataclass(frozen=True)
class Privacy:
    """The ledger's own limits and prices."""

    budget: Budget
    default_price: Epsilon
    lowest_price: Epsilon
    highest_price: Epsilon
    mechanism: Mechanism
    teams: Mapping[str, Budget]


class UnreadableConditions(StrEnum):
    """The treatment of a condition that cannot be compared with others."""

    REFUSE = "refuse"
    COUNT_AS_UNKNOWN = "count_as_unknown"
    ALLOW = "allow"


class AnswerSettings(StrEnum):
    """Who may learn that an answer was given before."""

    GROUP = "group"
    EVERYONE = "everyone"


@dataclass(frozen=True)
class Auditing:
    min_units: int
    narrow_cells: int
    trust_groups: tuple[frozenset[str], ...]
    opaque: UnreadableConditions

    def trusted_with(self, subject: str) -> frozenset[str]:
        """The trust group: subjects that count as one analyst with this one."""
        return next((one for one in self.trust_groups if subject in one), frozenset({subject}))


@dataclass(frozen=True)
class ResultLimits:
    """`expected_groups` stands for the number of groups that are found in the data, where no release tells it."""

    enumerated_groups: int
    result_rows: int
    expected_groups: int = 100


@dataclass(frozen=True)
class Clipping:
    """How the clip of units with several rows is found: the norm up to which the rows of a unit count in full.

    A released histogram of norms costs `price` and serves for `max_age`; where that is 0 none is measured. `default` is the clip without one, None for the
    norm of the rows and groups that are declared; `largest` is the largest that is ever chosen. Both are powers of two.
    `exact`: a histogram is of the rows that a statement selects, not of all rows of its tables.
    """

    price: Epsilon
    max_age: timedelta
    default: int | None
    largest: int
    exact: bool = False


@dataclass(frozen=True)
class ReportedRanges:
    """The widths of the ranges in which counts and results of columns are reported: numbers, days or seconds."""

    count: Fraction | None = None
    columns: Mapping[ColumnRef, Fraction] = field(default_factory=dict)


@dataclass(frozen=True)
class Results:
    """What an answer shows of its noise, and its time grid, if any."""

    clamp: bool = True
    suppress_small: bool = False
    reply_grid_ms: int | None = None
    reported: ReportedRanges = field(default_factory=ReportedRanges)


@dataclass(frozen=True)
class Policy:
    """The content of one policy file."""

    dataset: Dataset
    source: SourceUrl
    privacy: Privacy
    rules: tuple[Rule, ...]
    auditing: Auditing
    max_age: timedelta
    sizes: ResultLimits
    clipping: Clipping
    results: Results = Results()
    timeouts_per_day: int = 3
    tell: AnswerSettings = AnswerSettings.GROUP

    @property
    def name(self) -> str:
        return self.dataset.name

    def given_to(self, subject: str) -> frozenset[str] | None:
        """The subjects whose answers this subject may receive and may know of; None: all subjects."""
        return None if self.tell is AnswerSettings.EVERYONE else self.auditing.trusted_with(subject)


def smallest_budget(budgets: list[Budget]) -> Budget:
    """The least of several budgets: of each part the least, and the slowest rates."""
    rates = [budget.rate for budget in budgets if budget.rate is not None]
    return Budget(
        min(budget.epsilon for budget in budgets),
        min(budget.delta for budget in budgets),
        min(rates, key=lambda rate: rate.pace) if rates else None,
    )
