"""Golden lists of everything that an analyst can reach: nothing was left out of the review.

`executable.txt` has every function that is not immutable and can be called, volatile ones first;
`readable.txt` every relation that can be read. A line more is something that PostgreSQL added or that
the template gave away; look at it, then take it back in `lockdown` or add it to the list:
`pytest tests/twin/test_golden_lists.py --update-cases` writes both lists as they are now, and whoever keeps
the difference says that each line of it was looked at.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest
from fix_twin import CLINIC, as_gateway

from gateway.twin import Twin, TwinRefused, TwinSession
from gateway.twin.stand_ins import STATISTICS_VIEWS_KEPT
from gateway.twin.template import STATISTICS_KEPT, VOLATILE_KEPT

_VIEWS = sorted(STATISTICS_VIEWS_KEPT)

_EXECUTABLE = """
SELECT CASE provolatile WHEN 'v' THEN 'volatile ' ELSE 'stable ' END || p.oid::regprocedure
FROM pg_proc p
WHERE provolatile <> 'i' AND has_function_privilege(p.oid, 'EXECUTE')
ORDER BY provolatile DESC, p.oid::regprocedure::text COLLATE "C"
"""
_READABLE = """
SELECT c.oid::regclass FROM pg_class c
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p', 'S') AND has_any_column_privilege_of_server(c.oid, 'SELECT')
ORDER BY c.oid::regclass::text COLLATE "C"
"""
_LISTS = {"executable.txt": _EXECUTABLE, "readable.txt": _READABLE}
_WRITABLE = """
SELECT c.oid::regclass, a.privilege_type
FROM pg_class c, aclexplode(c.relacl) a
WHERE a.grantee <> c.relowner AND a.privilege_type NOT IN ('SELECT', 'REFERENCES')
"""
_SUSPECT = """
SELECT proname FROM pg_proc
WHERE provolatile = 'i' AND has_function_privilege(oid, 'EXECUTE')
  AND (proname ~ '_to_xml|^pg_(stat|control|ls_[a-z]*dir|read|current|last|backend|terminate|wal_)' OR prosrc ~ 'SPI')
"""


@pytest.fixture(scope="module", autouse=True)
def written_again(request: pytest.FixtureRequest, twin: Twin) -> None:
    """Golden files change by `--update-cases` alone, and before any test looks at them."""
    if request.config.getoption("--update-cases"):
        with twin.session("alice", CLINIC) as session:
            for name, query in _LISTS.items():
                lines = _column(session.run(query))
                _path(name).write_text("".join(f"{line}\n" for line in lines))


def test_executable_functions_are_those_that_were_reviewed(attacker: TwinSession) -> None:
    """Every function that is volatile or stable and can be called is on the golden list."""
    assert _column(attacker.run(_EXECUTABLE)) == _golden("executable.txt")


def test_readable_relations_are_those_that_were_reviewed(attacker: TwinSession) -> None:
    """Every relation that can be read is on the golden list; none of them is a table of the clinic."""
    readable = _column(attacker.run(_READABLE))
    assert readable == _golden("readable.txt")
    assert not {"patients", "visits"} & set(readable)


def test_volatile_functions_are_those_that_are_kept(attacker: TwinSession) -> None:
    """What is volatile and callable is kept by name, and every name kept is one of this version."""
    found = attacker.run(
        "SELECT DISTINCT proname FROM pg_proc "
        "WHERE provolatile = 'v' AND has_function_privilege(oid, 'EXECUTE')"
    )
    assert set(_column(found)) == set(VOLATILE_KEPT)


def test_statistics_kept_do_not_count(twin: Twin, attacker: TwinSession) -> None:
    """The statistics that can be read are there, and stay as they are whatever anybody does."""
    found = _column(attacker.run("SELECT proname FROM pg_proc WHERE proname ~ '^pg_stat_get_'"))
    assert set(found) >= STATISTICS_KEPT
    before = {view: attacker.run(f"SELECT * FROM {view} ORDER BY 1, 2") for view in _VIEWS}
    attacker.run("SELECT count(*) FROM pg_class, pg_attribute")
    with twin.session("somebody new", CLINIC) as session:
        session.run("SELECT count(*) FROM pg_attribute")
    assert before == {view: attacker.run(f"SELECT * FROM {view} ORDER BY 1, 2") for view in _VIEWS}


def test_immutable_functions_read_nothing(attacker: TwinSession) -> None:
    """No function that calls itself immutable has a name like those that read the server's state."""
    assert attacker.run(_SUSPECT) == (("pg_wal_lsn_diff",),)


def test_nothing_can_be_written(attacker: TwinSession) -> None:
    """No relation gives anyone but its owner more than reading and referencing."""
    assert attacker.run(_WRITABLE) == ()


def test_readable_relations_can_be_read(attacker: TwinSession) -> None:
    """A catalog browser meets no error: every relation that says it can be read, can be."""
    for relation in _golden("readable.txt"):
        try:
            attacker.run(f"SELECT * FROM {relation}")
        except TwinRefused as error:
            pytest.fail(f"{relation}: {error}")


def test_review_is_of_what_everyone_has(twin: Twin) -> None:
    """The negative control: an ordinary database gives more than the list has."""
    with as_gateway(twin) as gateway:
        functions = gateway.execute(
            "SELECT count(*) FROM pg_proc "
            "WHERE provolatile <> 'i' AND has_function_privilege('public', oid, 'EXECUTE')"
        ).fetchone()
    assert functions is not None
    assert functions[0] > len(_golden("executable.txt")) + 200


def _golden(name: str) -> list[str]:
    return _path(name).read_text().splitlines()


def _path(name: str) -> Path:
    return Path(__file__).with_name(name)


def _column(rows: Sequence[tuple[str | None, ...]]) -> list[str]:
    return [value or "" for (value,) in rows]
