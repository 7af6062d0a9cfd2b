"""What is chatter and what is not, and how its words are rewritten; over texts alone."""

import pytest
from binding.cases import every
from binding.clinic import CLINIC
from laws import for_each

from gateway.binding.bind import bind
from gateway.binding.bound import PassThrough
from gateway.binding.catalog_queries import (
    as_catalog_query,
    is_catalog_query,
    replace_session_keywords,
    strip_database_name,
)
from gateway.binding.text.classify import NO_EFFECT, Statement, StatementKind, classify
from gateway.binding.text.lexer import LexemeKind, lexemes
from gateway.errors import Refusal, SyntaxRefused

_USER = 'pg_catalog."current_user"()'

REWRITTEN = {
    "SELECT current_user": f"SELECT {_USER}",
    "select Current_User::text, USER": f'select {_USER}::text, pg_catalog."user"()',
    "SELECT (session_user), (current_catalog)": (
        'SELECT (pg_catalog."session_user"()), (pg_catalog."current_catalog"())'
    ),
    "SELECT 1 WHERE a=current_role OR b<>system_user": (
        'SELECT 1 WHERE a=pg_catalog."current_role"() OR b<>pg_catalog."system_user"()'
    ),
    "SELECT * FROM current_user AS u": f"SELECT * FROM {_USER} AS u",
    "SELECT CASE WHEN a THEN user ELSE user END": (
        'SELECT CASE WHEN a THEN pg_catalog."user"() ELSE pg_catalog."user"() END'
    ),
    "SELECT a OPERATOR(pg_catalog.=) current_user": f"SELECT a OPERATOR(pg_catalog.=) {_USER}",
    "SELECT 'it''s' || current_user": f"SELECT 'it''s' || {_USER}",
    "SELECT E'\\'' || current_user, 'user'": f"SELECT E'\\'' || {_USER}, 'user'",
}
KEPT = (
    "SELECT 'current_user', 'it''s user', E'\\' user', B'0', X'a user'",
    "SELECT 'one'\n 'user', E'one' -- user\n '\\' user'",
    'SELECT "user", "current_user", "a "" user", p."user"',
    "SELECT $$user$$, $a$ $$ user $a$, $_1$user$_1$, a$user$b",
    "SELECT 1 -- current_user",
    "SELECT 1 /* current_user /* user */ user */",
    "SELECT u.user, u.current_user FROM pg_user AS u",
    "SELECT 1 AS user, 2 user, a user, 'x' current_user, f(1) user, a[1] user, $1 user, \"a\" user",
    "SELECT pg_user, users, current_user_id, user_name, current_catalogs FROM pg_user",
    "SELECT user()",
    "SELECT 1",
)

PASSES = (
    "SELECT 1",
    "TABLE pg_class",
    "SELECT * FROM ROWS FROM (generate_series(1, 2), pg_get_keywords()) AS r",
    "WITH RECURSIVE t(a) AS (SELECT 1 UNION SELECT a + 1 FROM t WHERE a < 3) SEARCH DEPTH FIRST BY a SET o SELECT * FROM t",
    "SELECT 'visits'::regclass, $$patients$$, E'visits' -- visits",
    "SELECT relname FROM pg_class TABLESAMPLE system (10) /* patients */",
    "SELECT set_config('jit', 'off', false)",
    "SELECT update_rule, delete_rule FROM information_schema.referential_constraints",
    "SELECT budget, datasets, queries FROM (VALUES (1, 2, 3)) AS v(budget, datasets, queries)",
    "SELECT pg_advisory_unlock_all()",
)
QUESTIONS = (
    "SELECT count(*) FROM visits",
    'SELECT count(*) FROM "visits"',
    "SELECT count(*) FROM VISITS",
    "SELECT count(*) FROM public . /* a */ visits",
    "SELECT * FROM ROWS FROM (generate_series(1, 2)), patients",
    "TABLE ONLY regions",
    "SELECT (SELECT count(*) FROM pg_class, patients)",
    "SELECT * FROM gateway.budget",
    'SELECT * FROM "gateway"."queries"',
    "SELECT null::patients",
    "SELECT 'a' 'b', median(a), 'it''s' FROM pg_class",
    "SELECT dp_interval_low(a) FROM pg_class",
)
ACTS = (
    "SELECT 1 INTO t",
    "SELECT relname INTO TEMP t FROM pg_class",
    "WITH d AS (DELETE FROM pg_class RETURNING 1) SELECT 1",
    "WITH d AS MATERIALIZED (INSERT INTO t VALUES (1) RETURNING 1) SELECT 1",
    "WITH d AS (UPDATE pg_class SET relname = 'x' RETURNING 1) SELECT 1",
    "WITH d AS (SELECT 1) DELETE FROM pg_class",
    "WITH d AS (SELECT 1) MERGE INTO t USING d ON true WHEN MATCHED THEN DO NOTHING",
    "SELECT 1 FROM pg_class FOR UPDATE",
    "SELECT 1 FROM pg_class FOR NO KEY UPDATE",
    "SELECT 1 FROM pg_class FOR KEY SHARE SKIP LOCKED",
    "SELECT 1 FROM pg_class FOR SHARE",
    "SELECT pg_sleep(1)",
    "SELECT pg_catalog.pg_sleep(1)",
    'SELECT "pg_sleep"(1)',
    "SELECT pg_notify('a', 'b')",
    "SELECT pg_advisory_lock(1)",
    "SELECT set_config('jit', 'off', false), pg_terminate_backend(1)",
)
# what no privilege of the twin stops
NEVER = (
    "LISTEN a",
    "NOTIFY a, 'b'",
    "LOCK TABLE pg_class IN ACCESS SHARE MODE",
    "DO $$ BEGIN END $$",
    "ALTER ROLE CURRENT_USER SET work_mem = '64kB'",
    "SET work_mem = '1GB'",
    "SET ROLE postgres",
    "PREPARE TRANSACTION 'x'",
    "COMMIT PREPARED 'x'",
    "SELECT 1; NOTIFY a",
    "EXPLAIN ANALYZE SELECT 1",
    "COPY pg_class TO STDOUT",
    "UNLISTEN a",
)


@pytest.mark.parametrize("text", REWRITTEN)
def test_words_become_calls(text: str) -> None:
    """A word that names the role or the database is a call afterwards, wherever a value can stand."""
    assert replace_session_keywords(text) == REWRITTEN[text]


@for_each("text", KEPT)
def test_text_is_kept_where_no_value_stands(text: str) -> None:
    """Strings, quoted names, comments, and what columns are called stay as they are."""
    assert replace_session_keywords(text) == text


@for_each("text", [*REWRITTEN, *KEPT])
def test_rewriting_again_changes_nothing(text: str) -> None:
    """What was rewritten has no such word any more."""
    assert replace_session_keywords(replace_session_keywords(text)) == replace_session_keywords(
        text
    )


@for_each("text", PASSES)
def test_query_passes_when_it_names_no_visible_table(text: str) -> None:
    """Whether we could read it or not."""
    assert is_catalog_query(text, CLINIC)


@for_each("text", [*QUESTIONS, *ACTS])
def test_query_does_not_pass_when_it_names_a_table_or_acts(text: str) -> None:
    """However the name is spelled, and whatever surrounds it."""
    assert not is_catalog_query(text, CLINIC)


@for_each("text", NEVER)
def test_statement_never_passes_when_no_privilege_stops_it(text: str) -> None:
    """It is refused here, since the twin would run it; a lock that pg_dump wants is not what the twin gets."""
    if text.startswith("LOCK"):
        assert classify(text).text == NO_EFFECT
        return
    with pytest.raises(Refusal):
        classify(text)


def test_only_questions_name_the_tables_of_the_cases() -> None:
    """No statement that was cut into releases would have been taken for chatter."""
    cut = [case.sql for case in every() if not case.refused and "release" in case.expected]
    assert len(cut) > 100
    assert not [
        sql
        for sql in cut
        if classify(sql).kind is not StatementKind.PASS
        and is_catalog_query(classify(sql).query, CLINIC)
    ]


def test_second_statement_is_found_where_only_postgresql_sees_it() -> None:
    """A text that is one statement for us and two for PostgreSQL is refused."""
    text = "SELECT 'a\\'; NOTIFY b --'"
    with pytest.raises(SyntaxRefused):
        as_catalog_query(Statement(StatementKind.QUERY, text, query=text))
    assert as_catalog_query(Statement(StatementKind.QUERY, "SELECT E'a\\'; NOTIFY b --'")).text


def test_passing_statement_is_rewritten_when_it_is_bound() -> None:
    """The text that the twin runs has calls, in a cursor too; what is no query stays as it is."""
    for text, expected in (
        ("SELECT current_user", f"SELECT {_USER}"),
        ("DECLARE c CURSOR FOR SELECT current_user", f"DECLARE c CURSOR FOR SELECT {_USER}"),
        ("COPY (SELECT current_user) TO STDOUT", f"COPY (SELECT {_USER}) TO STDOUT"),
        ("SET application_name = 'current_user'", "SET application_name = 'current_user'"),
    ):
        bound = bind(text, CLINIC)
        assert isinstance(bound, PassThrough)
        assert bound.statement.text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('SELECT 1 FROM "clinic".public.visits', "SELECT 1 FROM public.visits"),
        ("SELECT Clinic.public.visits.cost", "SELECT public.visits.cost"),
        (
            "SELECT 1 FROM clinic.information_schema.tables, clinic.pg_catalog.pg_class",
            "SELECT 1 FROM information_schema.tables, pg_catalog.pg_class",
        ),
        ("SELECT 'clinic.public.visits', clinic.visits", None),
        (
            """SELECT '"clinic"."public"."visits"'::regclass::oid, 'clinic.public.visits'::"regclass" AS a""",
            """SELECT '"public"."visits"'::regclass::oid, 'public.visits'::"regclass" AS a""",
        ),
        ("SELECT 'clinic.visits'::regclass, '\"other\".public.visits'::regclass, 1", None),
        ("SELECT E'clinic.public.visits'::regclass, 'clinic.public.visits'::text, 1", None),
        ('SELECT x.clinic.public.y, "Clinic".public.visits, clinic.other.t', None),
    ],
)
def test_name_of_the_dataset_before_a_schema_is_left_out(text: str, expected: str | None) -> None:
    """A client may write it as the database that it is for it; nothing else is touched."""
    assert strip_database_name(text, CLINIC) == (expected or text)


def test_pieces_are_those_of_the_scanner() -> None:
    """Each kind of piece, and where it ends."""
    text = (
        """a "b""c" 'd''e' E'f\\'g' $h$ ; $h$ $1 1.5e-3 /* /* ; */ */ -- ;\n;N'x' U&'\\' été a$b"""
    )
    pieces = lexemes(text)
    assert [(one.sort, text[one.start : one.end]) for one in pieces] == [
        (LexemeKind.WORD, "a"),
        (LexemeKind.QUOTED, '"b""c"'),
        (LexemeKind.STRING, "'d''e'"),
        (LexemeKind.STRING, "E'f\\'g'"),
        (LexemeKind.STRING, "$h$ ; $h$"),
        (LexemeKind.PARAMETER, "$1"),
        (LexemeKind.NUMBER, "1.5e-3"),
        (LexemeKind.SIGN, ";"),
        (LexemeKind.WORD, "N"),
        (LexemeKind.STRING, "'x'"),
        (LexemeKind.WORD, "U"),
        (LexemeKind.SIGN, "&"),
        (LexemeKind.STRING, "'\\'"),
        (LexemeKind.WORD, "été"),
        (LexemeKind.WORD, "a$b"),
    ]
    assert [one.name for one in lexemes('ÀB "ÀB" ' + "x" * 70)] == ["Àb", "ÀB", "x" * 63]


@pytest.mark.parametrize("text", ["'a", '"a', "$a$ b", "/* /* */", "E'\\'", 'U&"a"'])
def test_text_is_refused_when_a_piece_does_not_end(text: str) -> None:
    """Nothing is guessed about the rest of it."""
    with pytest.raises(SyntaxRefused):
        lexemes(text)
