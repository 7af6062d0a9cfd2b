"""Search paths of sessions: what a client may set, and what is read of it."""

import pytest

from gateway.binding.text.search_path import is_search_path, read_search_path, search_path_text

pytestmark = pytest.mark.unit

_READ = {
    "public": ("public",),
    '"$user", public': ("public",),
    "": (),
    '""': (),
    "Sales,PUBLIC": ("sales", "public"),
    '"Back Office" , "sales"': ("Back Office", "sales"),
    "pg_catalog, a": ("a",),
    'a "b': None,
    '"a""b"': None,
    "a;b": None,
}


def test_path_is_read_as_postgresql_reads_it() -> None:
    """Names fold unless they are quoted; a text that is no list of plain names is no path."""
    assert {text: read_search_path(text) for text in _READ} == _READ
    for path in (("public",), ("sales", "Back Office", "Public")):
        assert read_search_path(search_path_text(path)) == path


def test_path_is_refused_when_it_names_a_schema_of_the_system() -> None:
    """Temporary objects are the only ones that an analyst could make; PostgreSQL's own schema comes first."""
    for allowed in (["sales", "public"], ["pg_catalog", "sales"], [""], ["$user"], []):
        assert is_search_path(allowed), allowed
    for refused in (
        ["pg_temp"],
        ["PG_TEMP"],
        [" pg_temp"],
        ["public", "pg_catalog"],
        ["pg_catalog", "pg_catalog"],
        ["pg_toast"],
        ["a,pg_temp"],
        ['a"b'],
        ["E'pg\\x5ftemp'"],
        ["a\tb"],
        ["pg_temp_3"],
    ):
        assert not is_search_path(refused), refused
