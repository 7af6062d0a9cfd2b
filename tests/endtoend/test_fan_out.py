"""Joins in which a row of a person meets several rows of a public table: answered as PostgreSQL does, or refused."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import psycopg
import pytest
from endtoend.clinic_gateway import (
    AskedGateway,
    a_gateway,
    clinic_in_duckdb,
    clinic_in_postgresql,
    dsn,
    shown,
)
from endtoend.clinic_policy import noisy_policies, policy
from endtoend.plain_postgresql import plain_connection, plain_result
from endtoend.same_answer import differences, is_ordered, without_empty_groups
from fix_servers import SharedServers
from laws import for_each

from gateway.errors import Code, Refusal
from gateway.postgres_server import Lease

# no key: a diagnosis has up to three words, one of them twice, and a word has several grades
_WORDS = [
    ("flu", "grippe", 1),
    ("flu", "influenza", 2),
    ("flu", "influenza", 2),
    ("asthma", "wheeze", 3),
    ("crohn's", "ileitis", 4),
    ("crohn's", None, 5),
    ("gout", "podagra", 6),
    (None, "nothing", 7),
]
_TABLE = "CREATE TABLE words (diagnosis text, word text, grade integer)"
_MET = "JOIN words w ON w.diagnosis = v.diagnosis"
_ANSWERED = {
    "all measures": f"SELECT count(*), count(w.word), sum(v.cost), avg(v.cost), sum(w.grade) FROM visits v {_MET}",
    "spreads": f"SELECT variance(v.visit_id % 7), stddev_pop(w.grade), corr(w.grade, v.visit_id % 5) FROM visits v {_MET}",
    "of the public table": f"SELECT w.word, count(*), sum(v.cost) FROM visits v {_MET} GROUP BY w.word ORDER BY 1",
    "of the person": f"""SELECT p.region, count(*) FROM visits v JOIN patients p USING (patient_id) {_MET}
        GROUP BY p.region ORDER BY 1""",
    "filters": f"""SELECT count(*) FILTER (WHERE w.grade > 1), sum(v.cost) FILTER (WHERE w.word = 'grippe'), count(*)
        FROM visits v {_MET} WHERE v.cost > 100 AND w.grade < 5""",
    "grouping sets": f"""SELECT w.word, v.diagnosis, count(*) FROM visits v {_MET}
        GROUP BY ROLLUP (v.diagnosis, w.word) ORDER BY 2, 1, grouping(w.word)""",
    "persons": f"SELECT count(DISTINCT v.patient_id), count(DISTINCT w.word) FROM visits v {_MET}",
    "rows without a partner": f"SELECT count(*), count(w.word) FROM visits v LEFT {_MET}",
    "conditions in the join": f"SELECT count(*), sum(w.grade) FROM visits v LEFT {_MET} AND w.grade <> 2",
    "a public table by its key above": f"""SELECT c.chapter, count(*) FROM visits v {_MET}
        JOIN codes c ON c.code = v.diagnosis GROUP BY c.chapter ORDER BY 1""",
    "two words of one visit": f"""SELECT count(*), sum(x.grade) FROM visits v {_MET}
        JOIN words x ON x.diagnosis = v.diagnosis""",
    "pairs of visits": f"""SELECT count(*), sum(v.cost) FROM visits v JOIN visits o ON o.patient_id = v.patient_id
        AND o.visit_date > v.visit_date {_MET}""",
    "calls of persons with words": f"""SELECT count(*), sum(k.minutes) FROM calls k JOIN
        (SELECT v.patient_id, w.grade FROM visits v {_MET}) t ON t.patient_id = k.patient_id WHERE t.grade < 4""",
    "what was counted of a person": f"""SELECT sum(t.n), count(*) FROM visits v {_MET} JOIN
        (SELECT patient_id, count(*) AS n FROM visits GROUP BY patient_id) t ON t.patient_id = v.patient_id""",
    "persons who have a word": f"""SELECT count(*) FROM (SELECT DISTINCT v.patient_id, w.word FROM visits v {_MET}) t""",
    "the least of a person": f"""SELECT count(*), sum(t.least) FROM
        (SELECT v.patient_id, min(w.grade) AS least FROM visits v {_MET} GROUP BY v.patient_id) t""",
    "both tables one after the other": f"""SELECT count(*) FROM (SELECT v.patient_id FROM visits v {_MET} UNION ALL
        SELECT patient_id FROM calls) t""",
    "a join by commas": "SELECT count(*) FROM visits v, words w WHERE w.diagnosis = v.diagnosis AND w.grade = 2",
}
_REFUSED = {
    "no equality": "SELECT count(*) FROM visits v CROSS JOIN words w",
    "an inequality": "SELECT count(*) FROM visits v JOIN words w ON w.grade > v.cost",
    "a float": "SELECT count(*) FROM visits v JOIN words w ON w.grade = v.weight",
    "a median": f"SELECT median(v.cost) FROM visits v {_MET}",
    "a maximum": f"SELECT max(v.cost) FROM visits v {_MET}",
    "a count of each person": f"""SELECT avg(n) FROM (SELECT v.patient_id, count(*) AS n FROM visits v {_MET}
        GROUP BY v.patient_id) t""",
    "a sum of each person": f"""SELECT avg(n) FROM (SELECT v.patient_id, sum(w.grade) AS n FROM visits v {_MET}
        GROUP BY v.patient_id) t""",
    "a window": f"""SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY v.patient_id ORDER BY w.word) AS n
        FROM visits v {_MET}) t WHERE n = 1""",
    "what is written": "SELECT count(*) FROM visits v JOIN (VALUES ('flu', 1), ('flu', 2)) w(d, n) ON w.d = v.diagnosis",
}


@pytest.fixture(scope="module")
def clinics(
    sample_server: Lease, servers: SharedServers, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[AskedGateway, psycopg.Connection]]:
    """The clinic and a public table without a key; `laplace` is over PostgreSQL, the others over DuckDB."""
    folder: Path = tmp_path_factory.mktemp("fan_out")
    file, other = (clinic_in_duckdb(folder / f"{name}.duckdb") for name in ("clinic", "reused"))
    for url in (file, other):
        with closing(duckdb.connect(str(url.database))) as connection:
            connection.execute(_TABLE)
            connection.executemany("INSERT INTO words VALUES (?, ?, ?)", _WORDS)
    with clinic_in_postgresql(sample_server) as plain:
        with psycopg.connect(dsn(plain)) as filled, filled.cursor() as cursor:
            cursor.execute(_TABLE)
            cursor.executemany("INSERT INTO words VALUES (%s, %s, %s)", _WORDS)
        policies = {
            "laplace": _with_words(policy("laplace", "PLAIN", "laplace", groups=1)),
            "gaussian": _with_words(policy("gaussian", "DUCKDB", "gaussian", groups=1)),
            "reused": _with_words(noisy_policies("1", "10", "1000")["laplace"])
            .replace("dataset: laplace", "dataset: reused")
            .replace("${LAPLACE}", "${REUSED}"),
        }
        environment = {"PLAIN": shown(plain), "DUCKDB": shown(file), "REUSED": shown(other)}
        with (
            a_gateway(policies, environment, servers) as opened,
            plain_connection(plain) as asked,
        ):
            yield opened, asked


def _with_words(text: str) -> str:
    said = """codes: {public: true, columns: {code: {type: text, max_length: 20}, chapter: {type: text, max_length: 20}}}
  words:
    public: true
    columns:
      diagnosis: {type: text, max_length: 20}
      word: {type: text, max_length: 20}
      grade: {type: integer, domain: {between: [0, 10]}}"""
    text = text.replace("codes: {public: true}", said).replace("codes]", "codes, words]")
    return text.replace(
        "diagnosis: {type: text, class", "diagnosis: {type: text, max_length: 20, class"
    )


@pytest.mark.parametrize("dataset", ["laplace", "gaussian"])
@for_each("name", sorted(_ANSWERED))
def test_join_that_multiplies_rows_is_answered_as_postgresql_does(
    clinics: tuple[AskedGateway, psycopg.Connection], name: str, dataset: str
) -> None:
    """Every row is counted as often as it meets a public one."""
    gateway, plain = clinics
    sql = _ANSWERED[name]
    expected = plain_result(plain, sql)
    answer = without_empty_groups(gateway.answer(sql, dataset), expected)
    assert differences(expected, answer, ordered=is_ordered(sql), digits=8) == []


def test_count_of_joined_rows_is_no_count_of_rows(
    clinics: tuple[AskedGateway, psycopg.Connection],
) -> None:
    """What was bought of the one answers the same question again, and never the other."""
    gateway, _ = clinics
    joined = f"SELECT count(*) FROM visits v {_MET}"
    plain = "SELECT count(*) FROM visits v WHERE v.diagnosis IN ('flu', 'asthma', 'crohn''s')"
    first, again = (gateway.answer(joined, "reused") for _ in range(2))
    assert (first.reused, again.reused) == (None, "same")
    assert first.rows == again.rows
    alone = gateway.answer(plain, "reused")
    assert alone.reused is None
    # counts below 0 are shown as 0, intervals are not
    assert list(alone.intervals) != list(first.intervals)
    part = gateway.answer(f"{joined} WHERE w.grade < 10", "reused")
    assert part.reused is None


def test_notice_and_scope_name_the_public_table(
    clinics: tuple[AskedGateway, psycopg.Connection],
) -> None:
    """Of which a row may meet several rows; a table with a proven key is not named."""
    answer = clinics[0].answer(
        f"SELECT count(*) FROM visits v {_MET} JOIN codes c ON c.code = v.diagnosis", "laplace"
    )
    [notice] = [one for one in answer.notices if "no key of" in one]
    assert "`words`" in notice
    assert "codes" not in notice
    assert [one.over for one in answer.clipped] == ["visits and words"]


@pytest.mark.parametrize("dataset", ["laplace", "gaussian"])
@for_each("name", sorted(_REFUSED))
def test_join_that_nothing_bounds_is_refused(
    clinics: tuple[AskedGateway, psycopg.Connection], name: str, dataset: str
) -> None:
    """What needs a bound on the rows of a person, and what a row could meet without any bound."""
    with pytest.raises(Refusal) as refused:
        clinics[0].answer(_REFUSED[name], dataset)
    assert refused.value.code is Code.FAN_OUT
