"""Statements that want all the memory, all the time or all the disk: they end, and the server lives.

They run as a session that switched off what it can, beside a session that must not notice.
"""

import time
from pathlib import Path

import pytest
from fix_twin import CLINIC, OTHER, life_of
from samples import Samples

from gateway.errors import Reason
from gateway.twin import Twin, TwinRefused

_LIMIT_S = 2.0 if Samples.full else 0.5
_ENDS = {Reason.LIMIT_EXCEEDED, Reason.TIMEOUT, Reason.SYNTAX_ERROR}
_ATTACKS = {
    "sort": "SELECT count(*) FROM (SELECT a FROM generate_series(1, 100000000) a ORDER BY -a) s",
    "materialised series": "SELECT count(*) FROM generate_series(1, 1e12)",
    "cross join": "SELECT count(*) FROM pg_proc a, pg_proc b, pg_proc c, pg_proc d",
    "hash": "SELECT count(DISTINCT a::text || repeat('x', 500)) FROM generate_series(1, 100000000) a",
    "recursive rows": (
        "WITH RECURSIVE r(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM r) SELECT count(*) FROM r"
    ),
    "recursive text": (
        "WITH RECURSIVE r(a) AS (SELECT 'xxxxxxxx' UNION ALL SELECT a || a FROM r) "
        "SELECT max(length(a)) FROM r"
    ),
    "one long text": "SELECT length(repeat('x', 1000000000))",
    "many long texts": (
        "SELECT length(string_agg(repeat('x', 100000000), '')) FROM generate_series(1, 9)"
    ),
    "array": "SELECT array_length(array_agg(a), 1) FROM generate_series(1, 1000000000) a",
    "array fill": "SELECT array_length(array_fill(1, ARRAY[1000000, 100]), 1)",
    "json": "SELECT length(jsonb_agg(repeat('x', 1000000))::text) FROM generate_series(1, 5000)",
    "regex": "SELECT repeat('a', 4000) || 'b' ~ '^(a|a|aa|a?)*(.)\\2(a+)+\\1$'",
    "regex sizes": "SELECT 'x' ~ '((((x{1,255}){1,255}){1,255}){1,255}){1,255}'",
    "like": "SELECT repeat('a', 100000) LIKE repeat('%a', 5000) || 'b'",
    "factorial": "SELECT length(factorial(30000)::text), length((2::numeric ^ 100000)::text)",
    "big numbers": "SELECT length(exp(5000::numeric(1000, 500))::text) FROM generate_series(1, 1e9)",
    "text search": "SELECT length(to_tsvector(repeat(md5(random()::text) || ' ', 10000000)))",
    "nested jsonb": "SELECT repeat('[', 100000000)::jsonb",
    "wide rows": (
        "SELECT count(*) FROM (SELECT a, repeat('x', 1000000) b FROM generate_series(1, 1000000) a "
        "ORDER BY b, a) s"
    ),
    "window": (
        "SELECT max(n) FROM (SELECT count(*) OVER (ORDER BY a % 3) n "
        "FROM generate_series(1, 100000000) a) s"
    ),
}


@pytest.mark.parametrize("attack", _ATTACKS.values(), ids=_ATTACKS.keys())
def test_attack_ends_and_the_server_lives(twin: Twin, attack: str) -> None:
    """An error within the limit and its times of grace; no process grows, nobody else notices."""
    life = life_of(twin)
    with (
        twin.session("somebody", OTHER) as beside,
        twin.session("attacker", CLINIC, limit_s=_LIMIT_S) as session,
    ):
        for setting in ("work_mem = '2GB'", "statement_timeout = 0", "hash_mem_multiplier = 100"):
            session.run(f"SET {setting}")
        began = time.monotonic()
        try:
            session.run(attack)
        except TwinRefused as refused:
            assert refused.reason in _ENDS, refused  # noqa: PT017  # some machines get to the end
        assert time.monotonic() - began < _LIMIT_S + 30
        assert beside.run("SELECT 1") == (("1",),)
        assert life_of(twin) is life
    assert _used_on_disk(life.server.where.place.data) < 300_000_000


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT " + "(" * 9_000 + "1" + ")" * 9_000,
        "SELECT 1" + "+1" * 300_000,
        "SELECT " + "abs(" * 4_000 + "1" + ")" * 4_000,
        "SELECT * FROM " + "(SELECT * FROM " * 3_000 + "patients" + ") t" * 3_000,
        "SELECT " + ",".join(["1"] * 5_000),
        "SELECT '" + "x" * 50_000_000 + "'",
        "SELECT '{" + "{" * 1_000_000 + "'::int[]",
        "SELECT '" + "[" * 10_000_000 + "'::jsonb",
        "SELECT 1 IN (" + ",".join(map(str, range(500_000))) + ")",
        "SELECT " + "x" * 1_000_000,
        "SELECT CASE " + "WHEN true THEN 1 " * 100_000 + "END",
        "SELECT * FROM patients "
        + " ".join(f"JOIN patients p{n} USING (patient_id)" for n in range(2_000)),
        "SELECT " + "*, " * 1_600 + "* FROM patients",
    ],
    ids=lambda text: text[:18],
)
def test_describing_something_huge_ends_and_the_server_lives(twin: Twin, statement: str) -> None:
    """Parsing alone is bounded too: by the stack, the address space and the clock."""
    life = life_of(twin)
    with twin.session("attacker", CLINIC, limit_s=_LIMIT_S) as session:
        began = time.monotonic()
        try:
            session.describe(statement)
        except TwinRefused as refused:
            assert refused.reason in {*_ENDS, Reason.NOT_PERMITTED}, refused  # noqa: PT017  # see above
        assert time.monotonic() - began < _LIMIT_S + 30
    with twin.session("somebody", OTHER) as beside:
        assert beside.run("SELECT 1") == (("1",),)
    assert life_of(twin) is life


def _used_on_disk(top: Path) -> int:
    return sum(path.stat().st_size for path in top.rglob("*") if path.is_file())
