"""docs/sql.md is what binding does: its examples are bound, its tables are the code's own lists."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import pytest
from binding.clinic import CLINIC
from docs.checks import ROOT
from docs.sql import SUBJECTS, Example, blocks, examples, fault
from docs.sql_limits import LIMITS
from laws import for_each

from gateway.binding.bind import bind
from gateway.binding.bound import Cut, ResultColumn, explain_bound
from gateway.binding.describe import Describe
from gateway.catalog.domains import Anything
from gateway.catalog.tables import Column, Dataset, Table
from gateway.catalog.types import parse_type
from gateway.errors import Refusal
from gateway.twin import Twin, visible_tables

TEXT: Final = (ROOT / "docs" / "sql.md").read_text()
EXAMPLES: Final = examples(TEXT)

# What is broken in the document, and a part of what must be said about it.
BROKEN: Final = [
    ("functions", "| `mod` |", "| `modulo` |", "function not described: ('mod'"),
    ("functions", "| `mod` |", "| `modulo` |", "no such function: ('modulo'"),
    (
        "functions",
        "| `left`, `right` | text, whole constant |",
        "| `left`, `right` | text, whole |",
        "left",
    ),
    ("functions", "| any, … | 1 to 32 |", "| any, … | 1 to 33 |", "coalesce"),
    ("functions", "| `nullif` |", "| `nullif`, `nullif` |", "is there twice"),
    ("lists", "`century`, `decade`", "`decade`", "not described: century"),
    ("lists", "`covar_pop`, `covar_samp`, `regr_slope`", "`covar_samp`, `regr_slope`", "covar_pop"),
    (
        "lists",
        "`stddev_samp`, `corr`",
        "`stddev_samp`, `median`, `corr`",
        "no such aggregates: median",
    ),
    (
        "lists",
        "`row_number`, `lag`, `lead`, `sum`",
        "`rank`, `sum`",
        "windows within a person: rank",
    ),
    ("lists", "`jit`, `lock_timeout`", "`jit`, `role`", "no such settings: role"),
    ("lists", "`year`, `quarter`, `month`, `week`, `day`, `hour`", "`year`, `hour`", "date_trunc"),
    ("lists", "`header`, `true`", "`headers`, `true`", "no such words behind `TO STDOUT`: headers"),
    ("lists", "| wrappers |", "| covers |", "no such list: covers"),
    ("hints", "| `random` | the", "| `randoms` | the", "randoms"),
    ("hints", "use `replace`", "use `place`", "regexp_replace"),
    (
        "casts",
        "| `boolean` | `integer`, `text` |",
        "| `boolean` | `integer` |",
        "('boolean', 'text')",
    ),
    ("casts", "| `boolean` | `integer`,", "| `boolean` | `date`, `integer`,", "no such cast"),
    ("limits", "| 65,536 |", "| 65,535 |", "65,536"),
    ("limits", "| 32 | grouping keys | GW105 |", "| 32 | grouping keys | GW103 |", "grouping keys"),
    ("limits", "| 16 | the exponent of `power` | GW106 |\n", "", "the exponent"),
    ("refusals", "### GW112: rows", "### GW112: the rows", "code not described: GW112"),
    ("refusals", "(errors.md#gw118-", "(errors.md#gw117-", "no link: GW118"),
    (
        "refusals",
        "SELECT count(*) FROM patients; SELECT count(*) FROM visits;",
        "",
        "no example: GW102",
    ),
]

_VISITS: Final = "FROM visits WHERE admitted"
ZONED_WELL: Final = [
    "SELECT count(admitted), count(DISTINCT admitted) FROM visits",
    "SELECT admitted, count(*) FROM visits GROUP BY admitted",
    "SELECT max(admitted) FROM visits",
    "SELECT date_trunc('month', admitted), count(*) FROM visits GROUP BY 1",
    "SELECT extract(year FROM admitted), count(*) FROM visits GROUP BY 1",
    "SELECT count(admitted::date) FROM visits",
    f"SELECT count(*) {_VISITS} > now()",
    f"SELECT count(*) {_VISITS} > visit_date",
    f"SELECT count(*) {_VISITS} + interval '1 day' > '2024-01-31 12:00'",
    f"SELECT count(*) {_VISITS} > '2024-01-31'",
    "SELECT count(*) FROM visits v JOIN visits w USING (patient_id) WHERE v.admitted > w.admitted",
    "SELECT avg(x) FROM (SELECT lag(cost) OVER (PARTITION BY patient_id ORDER BY admitted) AS x FROM visits) t",
]
ZONED_BADLY: Final = [
    "SELECT count(admitted::text) FROM visits",
    "SELECT sum(admitted) FROM visits",
    "SELECT extract(timezone FROM admitted), count(*) FROM visits GROUP BY 1",
    "SELECT to_char(admitted, 'YYYY-MM TZ'), count(*) FROM visits GROUP BY 1",
    f"SELECT count(*) {_VISITS} AT TIME ZONE 'CET' > '2024-01-31'",
    f"SELECT count(*) {_VISITS} > '2024-01-31 12:00 Europe/Berlin'",
]

# What is broken in an example, and what must be said about it.
SPOILED: Final = [
    ("SELECT DISTINCT region, smoker FROM patients;", "SELECT region FROM patients;", "GW110"),
    ("DELETE FROM patients;", "SELECT count(*) FROM patients;", "not refused"),
    ("DELETE FROM patients;", "SELECT * FROM patients;", "GW110"),
    ("SELECT count(name) FROM patients;", "SELECT name FROM patients;", "GW110"),
    ("SELECT version();", "SELECT count(*) FROM patients;", "Cut"),
    ("EXPLAIN SELECT count(*) FROM patients;\n```", "SELECT 1;\n```", "PassThrough"),
]


def _zoned(dataset: Dataset) -> Dataset:
    """The dataset with its timestamps in a time zone."""

    def column(one: Column) -> Column:
        if one.name != "admitted":
            return one
        return replace(one, type=parse_type("timestamp with time zone"), domain=Anything())

    def table(one: Table) -> Table:
        return replace(one, columns=tuple(map(column, one.columns)))

    return replace(dataset, tables=tuple(map(table, dataset.tables)))


@pytest.fixture(scope="module")
def described(twin: Twin) -> Iterator[Describe]:
    with twin.session("alice", visible_tables(CLINIC)) as session:

        def describe(sql: str) -> Sequence[ResultColumn]:
            return [
                ResultColumn(one.name, one.type_oid, one.type_modifier, one.type_name)
                for one in session.describe(sql).columns
            ]

        yield describe


@for_each("example", EXAMPLES, ids=lambda one: f"{one.part} {one.code or ''}".strip())
def test_example_is_understood_or_refused_as_the_document_says(example: Example) -> None:
    """What is shown as SQL is bound; what is shown as refused is refused with the code above it."""
    assert fault(example) is None


def test_examples_are_read_alike_when_postgresql_is_asked_first(described: Describe) -> None:
    """PostgreSQL takes what the document shows, with the same names and types; no more gets through."""
    assert [found for one in EXAMPLES if (found := fault(one, described)) is not None] == []


@pytest.mark.parametrize("sql", ZONED_WELL)
def test_timestamp_with_time_zone_is_understood(sql: str) -> None:
    """It is counted, grouped by, compared, moved and taken apart."""
    assert isinstance(bind(sql, _zoned(CLINIC)), Cut)


@pytest.mark.parametrize("sql", ZONED_BADLY)
def test_timestamp_with_time_zone_is_refused_as_a_text_and_by_abbreviations(sql: str) -> None:
    """What has no total form, or no one meaning, is refused."""
    with pytest.raises(Refusal):
        bind(sql, _zoned(CLINIC))


def test_constant_is_in_utc_when_it_meets_a_time_zone_without_an_offset() -> None:
    """The same moment with and without its offset is the same question."""
    asked = "SELECT count(*) FROM visits WHERE admitted > "
    found = [
        explain_bound(bind(f"{asked}'2024-01-31 12:00{offset}'", _zoned(CLINIC)))
        for offset in ("", "Z", "+01:00")
    ]
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(("right", "wrong", "said"), SPOILED)
def test_example_is_found_fault_with_when_it_is_wrong(right: str, wrong: str, said: str) -> None:
    """An example that is not understood, not refused, or refused otherwise, is noticed."""
    assert right in TEXT
    faults = [fault(one) for one in examples(TEXT.replace(right, wrong))]
    assert any(said in one for one in faults if one is not None)


def test_examples_are_all_read() -> None:
    """No statement of the document is skipped: each part that has SQL gives as many as it ends."""
    written = sum(block.count(";") for block in blocks(TEXT))
    assert len(EXAMPLES) == written - 1  # the one of two statements
    assert TEXT.count("```sql\n") * 2 == TEXT.count("```")


@pytest.mark.parametrize("subject", SUBJECTS)
def test_document_lists_what_the_code_has_and_nothing_else(subject: str) -> None:
    """Functions, words, casts, limits and codes are the code's own, in both directions."""
    assert SUBJECTS[subject](TEXT) == []


@for_each(("subject", "right", "wrong", "said"), BROKEN)
def test_document_is_found_fault_with_when_a_list_is_wrong(
    subject: str, right: str, wrong: str, said: str
) -> None:
    """An entry too many, one too few, or a wrong number is noticed."""
    assert right in TEXT
    assert any(said in problem for problem in SUBJECTS[subject](TEXT.replace(right, wrong, 1)))


@for_each("name", LIMITS)
def test_limit_is_where_the_document_says(name: str) -> None:
    """What is as large as the limit is understood; one more is refused with the code beside it."""
    limit = LIMITS[name]
    bind(limit.text(limit.number), CLINIC)
    with pytest.raises(Refusal) as caught:
        bind(limit.text(limit.number + 1), CLINIC)
    assert caught.value.code is limit.code
