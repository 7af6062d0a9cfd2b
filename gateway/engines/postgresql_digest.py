"""A digest of all that PostgreSQL's catalog says of a table: what a constraint that licenses a step rests on.

It is asked for in two places by one SQL text: before a question is charged, and as part of every statement that the
question runs. Both say the same or nothing is answered.

    which relation the name leads to now; of that its name, schema, kind, heirs and row security; its columns by number
    with name, type, collation and NOT NULL; its constraints and indexes as wholes; what the login may read of it

Why the digest within a statement speaks of the rows that the statement reads (PostgreSQL, one statement that commits by
itself): the statement is analysed first, which leads its names to relations and locks these until it ends; the snapshot
for its execution is taken afterwards. No table that is locked can be renamed, altered or swapped meanwhile, so the name
leads to the relation that is read when the digest is formed as well, and rows and catalog are of one snapshot. What the
catalog of that snapshot says is validated is so for the rows of that snapshot. docs/proofs/licences_held.md.

INVARIANT: content counts, not when a row of the catalog was written: VACUUM and ANALYZE change nothing of it.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import Boolean, Select, Text, bindparam, literal_column, select, text, true

from gateway.engines.preparation import Statement

# `k` and `i` as wholes: with whatever later versions of PostgreSQL will say of a constraint. A table whose name leads
# to nothing has no digest.
_DIGEST: Final = """
(SELECT encode(sha256(convert_to(ROW(
    c.oid, c.relname, c.relnamespace, c.relkind, c.relpersistence, c.relhassubclass, c.relispartition,
    c.relrowsecurity, c.relforcerowsecurity,
    (SELECT string_agg(ROW(
                a.attnum, a.attname, a.atttypid, a.atttypmod, a.attcollation, a.attnotnull, a.attgenerated,
                has_column_privilege(c.oid, a.attnum, 'SELECT'))::text, ';' ORDER BY a.attnum)
     FROM pg_catalog.pg_attribute AS a
     WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
    (SELECT string_agg(k::text, ';' ORDER BY k.oid)
     FROM pg_catalog.pg_constraint AS k WHERE k.conrelid = c.oid),
    (SELECT string_agg(i::text, ';' ORDER BY i.indexrelid)
     FROM pg_catalog.pg_index AS i WHERE i.indrelid = c.oid))::text, 'UTF8')), 'hex')
 FROM pg_catalog.pg_class AS c WHERE c.oid = to_regclass(@NAME@))"""
_HELD: Final = "held"


def digest_query(many: int) -> str:
    """A query for one row with the digest of each name; NULL if a name has no table."""
    return "SELECT " + ", ".join(_DIGEST.replace("@NAME@", "%s") for _ in range(many))


def regclass_name(table: str) -> str:
    """The name of a policy's table as `to_regclass` reads it."""
    schema, _, name = table.rpartition(".")
    return ".".join(f'"{one.replace(chr(34), 2 * chr(34))}"' for one in (schema, name) if one)


def digest_parameters(tables: Sequence[tuple[str, str]]) -> Mapping[str, str]:
    """What a statement that is `require_digests` is executed with: names and digests."""
    found = {}
    for place, (name, digest) in enumerate(tables):
        found[f"gateway_name{place}"] = regclass_name(name)
        found[f"gateway_digest{place}"] = digest
    return found


def require_digests(statement: Statement, many: int) -> Statement:
    """The same rows with two columns more: whether there is a row, and whether all digests are what is expected.

    Where the statement has no rows there is one, of NULLs, which says of the digests all the same.
    """
    conditions = [
        f"coalesce({_escaped(place)} = :gateway_digest{place}, false)" for place in range(many)
    ]
    binds = [
        bindparam(f"gateway_{what}{place}", type_=Text())
        for place in range(many)
        for what in ("name", "digest")
    ]
    said = text(f"SELECT {' AND '.join(conditions) or 'true'} AS {_HELD}").bindparams(*binds)
    probe = said.columns(**{_HELD: Boolean()}).subquery("probe")
    inner = statement.add_columns(literal_column("1").label("there")).subquery("question")
    made: Select[tuple[object, ...]] = select(*inner.c, probe.c[_HELD])
    return made.select_from(probe.outerjoin(inner, true()))


def _escaped(place: int) -> str:
    return _DIGEST.replace("::", r"\:\:").replace("@NAME@", f":gateway_name{place}")
