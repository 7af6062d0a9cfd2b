"""pgjdbc, by a small Java program: everything a Java application or tool does with a database."""

from collections.abc import Callable
from pathlib import Path

import pytest
from wire_more.clients import HERE, JDBC_DRIVER, program, run, told
from wire_more.running import RunningGateway

Facts = dict[str, list[list[str]]]
Ask = Callable[..., Facts]
TIMES = range(8)  # the driver's statement is the server's from the fifth on


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled programs."""
    assert JDBC_DRIVER.exists(), "pgjdbc is not installed: run tests/wire_more/install.sh as root"
    compiled = tmp_path_factory.mktemp("classes")
    sources = sorted((HERE / "jdbc").glob("*.java"))
    options = ["-Xlint:all", "-Werror", "-encoding", "UTF-8", "-cp", JDBC_DRIVER, "-d", compiled]
    run([program("javac"), *options, *sources], {})
    return compiled


@pytest.fixture(scope="module")
def java(served: RunningGateway, classes: Path) -> Ask:
    def ask(about: str, zone: str = "Europe/Berlin") -> Facts:
        options = [f"-Duser.timezone={zone}", "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8"]
        paths = f"{JDBC_DRIVER}:{classes}"
        return told(
            run([program("java"), *options, "-cp", paths, "Asked", about], served.environment())
        )

    return ask


@pytest.fixture(scope="module")
def catalog(java: Ask) -> Facts:
    return java("catalog")


@pytest.fixture(scope="module")
def statements(java: Ask) -> Facts:
    return java("statements")


@pytest.fixture(scope="module")
def prepared(java: Ask) -> Facts:
    return java("prepared")


@pytest.fixture(scope="module")
def refusals(java: Ask) -> Facts:
    return java("refusals")


def test_catalog_shows_names_that_are_ours(catalog: Facts) -> None:
    """The dataset is a catalog, the subject a user, and nothing else of a server is seen."""
    assert catalog["product"] == [["PostgreSQL", "true"]]
    assert catalog["user"] == [["alice"]]
    assert catalog["catalogs"] == [["clinic"]]
    assert catalog["schema"] == [["public", "clinic"]]
    assert catalog["schemas"] == [["gateway"], ["information_schema"], ["pg_catalog"], ["public"]]
    assert catalog["valid"] == [["true"]]


def test_catalog_shows_tables(catalog: Facts) -> None:
    """With the filter that tools use, and without."""
    names = ["calls", "patients", "regions", "visits"]
    assert catalog["tables"] == [["public", name, "TABLE"] for name in names]
    of_ours = [["gateway", name] for name in ("budget", "datasets", "queries")]
    assert catalog["any table"] == [*of_ours, *(["public", name] for name in names)]
    assert ["visits", "SELECT"] in catalog["privileges"]
    assert "procedures" not in catalog


def test_catalog_shows_columns_with_their_types(catalog: Facts) -> None:
    """Names, types by name and number, sizes, whether there may be NULL."""
    assert catalog["columns"] == [
        ["visit_id", "int8", "-5", "19", "0", "NO", "1"],
        ["patient_id", "int8", "-5", "19", "0", "NO", "2"],
        ["diagnosis", "text", "12", "2147483647", "0", "YES", "3"],
        ["cost", "numeric", "2", "12", "2", "NO", "4"],
        ["visit_date", "date", "91", "13", "0", "NO", "5"],
    ]
    assert catalog["some columns"] == [["patients", "region"], ["regions", "region"]]
    assert {"int8", "numeric", "text", "date", "timestamptz"} <= {
        name for name, _ in catalog["types"]
    }


def test_catalog_shows_keys(catalog: Facts) -> None:
    """What the policy says of keys: a person has one row, and calls and visits belong to persons."""
    calls, visits = (["patients", "patient_id", name, "patient_id"] for name in ("calls", "visits"))
    assert catalog["imported keys"] == [visits]
    assert catalog["exported keys"] == [calls, visits]
    assert catalog["patients' keys"] == [["patients", "patient_id", "1"]]
    assert catalog["indexes"] == [["patients", "f", "patient_id"]]
    assert catalog["best row"] == [["patient_id", "int8"]]


def test_statements_answer_what_is_in_the_clinic(statements: Facts, served: RunningGateway) -> None:
    """Groups, their types, and days in the time zone of the client."""
    true = served.counts("patients", "region")
    assert [(region, int(count)) for region, count, _ in statements["regions"]] == sorted(
        true.items(), key=str
    )
    assert statements["shape"] == [
        ["region", "text", "java.lang.String"],
        ["n", "int8", "java.lang.Long"],
        ["mean", "numeric", "java.math.BigDecimal"],
    ]
    years = served.true("SELECT year(visit_date), count(*) FROM visits GROUP BY 1 ORDER BY 1")
    assert statements["days"] == [
        [f"{year}-01-01 00:00:00+01", str(count)] for year, count in years
    ]


def test_statements_give_values_of_every_type(statements: Facts) -> None:
    """Each as Java has it; a moment of Berlin is an hour earlier by the clock of the world."""
    numbers = ["20000", "20000", "20000", "20000.0", "20000"]
    assert statements["values"] == [
        [*numbers, "2024-02-29", "2024-02-29 12:30:00.0", "2024-02-29T11:30:00Z", "true"]
    ]


def test_statements_hear_settings(statements: Facts) -> None:
    """SHOW tells what the client sent and set, and the accounts."""
    assert statements["zone"] == [["Europe/Berlin"]]
    assert int(statements["version"][0][0]) >= 160_000
    assert statements["budget"] == [["analyst:alice@clinic"], ["dataset:clinic"]]
    assert statements["kept"] == [["1e29"]]


def test_several_statements_give_their_results_in_turn(statements: Facts) -> None:
    """Rows of the twin, of questions, and what changes nothing, in one message."""
    assert statements["several"] == [["1"], ["20000"], ["updated 0"], ["120000"]]
    assert statements["batch"] == [["2"]]


@pytest.mark.parametrize("mode", ["simple", "extended"])
def test_every_protocol_of_queries_answers(statements: Facts, mode: str) -> None:
    """As the driver is told to ask."""
    assert statements[mode] == [["120000"]]


def test_results_are_cut_and_scrolled_by_the_driver(statements: Facts) -> None:
    """`setMaxRows` ends a result early; a scrollable result goes back."""
    assert [region for region, _ in statements["most rows"]] == ["east", "north"]
    assert statements["scrolled"] == [["4", "west"], ["1", "east", "true"]]
    assert statements["plan"][1] == ["  ->  count: 95 % within ±0"]


@pytest.mark.parametrize("kind", ["int", "long"])
def test_parameters_are_numbers(prepared: Facts, served: RunningGateway, kind: str) -> None:
    """Each value has its own answer, before and after the statement is the server's."""
    sql = "SELECT count(*) FROM patients WHERE birth_year >= {}"
    assert prepared[kind] == _each(served, sql, [str(1950 + time) for time in TIMES])


@pytest.mark.parametrize("kind", ["decimal", "double"])
def test_parameters_are_fractions(prepared: Facts, served: RunningGateway, kind: str) -> None:
    """A cost is compared exactly."""
    sql = "SELECT count(*) FROM visits WHERE cost < {}"
    assert prepared[kind] == _each(served, sql, [f"{1500 + time}.25" for time in TIMES])
    assert len({count for (count,) in prepared[kind]}) > 4


def test_parameters_are_texts_and_lists(prepared: Facts, served: RunningGateway) -> None:
    """One by one, several with other types, and as an array."""
    regions = ["'north'", "'south'"] * 4
    sql = "SELECT count(*) FROM patients WHERE region = {}"
    assert prepared["string"] == _each(served, sql, regions)
    sql = "SELECT count(*) FROM patients WHERE region = 'east' AND birth_year BETWEEN 1950 AND {}"
    assert prepared["three"] == _each(served, sql, [str(1970 + time) for time in TIMES])
    sql = "SELECT count(*) FROM patients WHERE region IN ('north', 'west') AND birth_year <> {}"
    assert prepared["any"] == _each(served, sql, ["0"] * 8)
    patterns = [f"'{letter}%'" for letter in "abcdefgh"]
    sql = "SELECT count(*) FROM visits WHERE diagnosis LIKE {}"
    assert prepared["like"] == _each(served, sql, patterns)
    assert prepared["part"] == [["7"], ["84"]] * 4
    assert prepared["in the answer"] == [[str(20_000 + time)] for time in TIMES]
    assert prepared["on the twin"] == [[str(1 + time)] for time in TIMES]


@pytest.mark.parametrize("kind", ["date", "local date", "local time"])
def test_parameters_are_days(prepared: Facts, served: RunningGateway, kind: str) -> None:
    """Old and new classes of Java name the same day."""
    days = [f"DATE '2022-01-{day:02}'" for day in range(1, 9)]
    assert prepared[kind] == _each(
        served, "SELECT count(*) FROM visits WHERE visit_date < {}", days
    )


def test_parameters_are_moments_of_the_client(prepared: Facts, served: RunningGateway) -> None:
    """Half past midnight in Berlin is of that day, and compares with a day as there."""
    sql = "SELECT count(*) FROM visits WHERE visit_date::timestamp < {}"
    moments = [f"TIMESTAMP '2022-01-{day:02} 00:30:00'" for day in range(1, 9)]
    assert prepared["timestamp"] == _each(served, sql, moments)
    assert prepared["moment"] == [["2024-06-30T22:30:00Z", "2024-07-01"]] * 8
    sql = "SELECT count(*) FROM visits WHERE visit_date < {}"
    assert prepared["before the moment"] == _each(served, sql, ["DATE '2024-07-01'"] * 8)


def test_rows_read_alike_as_text_and_in_binary(prepared: Facts, served: RunningGateway) -> None:
    """Values of many types from the first time on, when they are text, to the last, when they are not."""
    [(count, total, mean)] = served.true(
        "SELECT count(*), sum(cost), round(avg(cost) * 100) FROM visits WHERE visit_date < '2021-01-01'"
    )
    row = ["2020-01-01", "false", str(count), str(total), f"{mean:.0f}", "wörd", "2020-01-01"]
    assert prepared["shown"] == [row] * 8


def test_prepared_statements_are_described(prepared: Facts) -> None:
    """What PostgreSQL infers for parameters and columns, before anything is asked."""
    assert prepared["parameters"] == [["int4", "text"]]
    assert prepared["columns"] == [["total", "numeric", "patients", "true"]]


def test_cursors_fetch_by_and_by(java: Ask, served: RunningGateway) -> None:
    """`setFetchSize` within a transaction: all rows, in order, and of two results in turn."""
    cursors = java("cursors")
    years = served.true("SELECT birth_year, count(*) FROM patients GROUP BY 1 ORDER BY 1")
    assert cursors["years"] == [[str(year), str(count)] for year, count in years]
    first = served.true("SELECT region, count(*) FROM patients GROUP BY 1 ORDER BY 1")
    second = served.true(
        "SELECT diagnosis, count(*) FROM visits WHERE diagnosis IS NOT NULL GROUP BY 1 ORDER BY 1"
    )
    assert cursors["together"] == [
        [str(one) for one in (*left, *right)] for left, right in zip(first, second, strict=False)
    ]
    assert cursors["of a series"] == [[str(number)] for number in range(1, 26)]


def test_copies_come_out_and_never_in(java: Ask, served: RunningGateway) -> None:
    """`CopyManager` reads answers as text and CSV; rows of persons do not come by it, and nothing goes in."""
    copies = java("copies")
    true = served.true("SELECT region, count(*) FROM patients GROUP BY 1 ORDER BY 1")
    lines = "".join(f"{region},{count}|" for region, count in true)
    assert copies["text"] == [["4", lines]]
    assert copies["csv"] == [["4", f"region,n|{lines}"]]
    assert [copies[about][0][0] for about in ("of rows", "into")] == ["0A000", "0A000"]
    assert copies["after"] == [["1", "120000|"]]
    assert copies["held"] == [[str(one) for one in row] for row in true]


def test_escapes_of_jdbc_are_understood(java: Ask, served: RunningGateway) -> None:
    """Days, moments and functions in braces, which the driver writes anew."""
    copies = java("copies")
    years = served.true("SELECT year(visit_date), count(*) FROM visits GROUP BY 1 ORDER BY 1")
    assert copies["functions"] == [["A", str(year), str(count)] for year, count in years]
    assert copies["escapes"] == [[str(count)] for year, count in years if year == 2023]


def test_statements_stop_when_they_are_told_to(java: Ask) -> None:
    """By `setQueryTimeout` and by `cancel()`; the connection goes on."""
    stopping = java("stopping")
    assert stopping["timeout"] == stopping["cancel"] == [["57014"]]
    assert stopping["after"] == [["20000"]]


@pytest.mark.parametrize(
    ("about", "state", "code"),
    [
        ("rows", "42501", "GW110"),
        ("syntax", "42601", "GW101"),
        ("delete", "0A000", "GW104"),
        ("table", "0A000", "GW104"),
        ("setting", "0A000", "GW104"),
        ("function", "0A000", "GW106"),
    ],
)
def test_refusals_carry_state_detail_and_hint(
    refusals: Facts, about: str, state: str, code: str
) -> None:
    """`getSQLState` and the server's message are what an application decides by and shows."""
    [[told_state, severity, message, detail, _hint]] = refusals[about]
    assert (told_state, severity) == (state, "ERROR")
    assert detail.startswith(f"{code}: ")
    assert message


@pytest.mark.parametrize(
    ("about", "state", "message"),
    [
        ("no table", "42P01", 'relation "secrets" does not exist'),
        ("no column", "42703", 'column "salary" does not exist'),
        ("division", "22012", "division by zero"),
        ("type", "22P02", 'invalid input syntax for type integer: "x"'),
    ],
)
def test_errors_of_postgresql_are_its_own(
    refusals: Facts, about: str, state: str, message: str
) -> None:
    """In the words by which tools know them."""
    [[told_state, _, told_message, *_]] = refusals[about]
    assert (told_state, told_message) == (state, message)


def test_refusal_tells_what_to_do(refusals: Facts) -> None:
    """The hint of the refusal that everybody meets first."""
    assert refusals["rows"][0][4].startswith("use an aggregate, such as SELECT COUNT(*)")


def test_transactions_fail_and_are_rolled_back(refusals: Facts) -> None:
    """A refusal fails the transaction, nothing goes on in it, and a savepoint or its end heals it."""
    assert refusals["before"] == refusals["rolled back"] == refusals["after"] == [["20000"]]
    assert refusals["inside"] == [["42501"], ["42703"]]
    assert refusals["failed"] == [["25P02"], ["25P02"]]
    assert refusals["read only"] == [["20000"]]


def test_driver_saves_its_transactions(refusals: Facts) -> None:
    """`autosave=always` sets savepoints around every statement."""
    assert refusals["saved"] == [["42501"]]
    assert refusals["goes on"] == [["20000"]]


@pytest.mark.parametrize(("zone", "shown"), [("UTC", "+00"), ("America/St_Johns", "-03:30")])
def test_days_begin_where_the_client_is(java: Ask, zone: str, shown: str) -> None:
    """What `date_trunc` gives is of the zone that the client sends."""
    statements = java("statements", zone)
    assert statements["zone"] == [[zone]]
    assert statements["days"][0][0] == f"2020-01-01 00:00:00{shown}"


def _each(served: RunningGateway, sql: str, values: list[str]) -> list[list[str]]:
    """The one number of each question, as text."""
    return [[str(served.true(sql.format(value))[0][0])] for value in values]
