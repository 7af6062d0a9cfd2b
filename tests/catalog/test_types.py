"""Types are known by PostgreSQL's names."""

import pytest
from laws import for_each

from gateway.catalog.types import Family, TypeUnknown, parse_type


@for_each(
    ("written", "name", "family"),
    [
        ("int", "integer", Family.WHOLE),
        ("INT8", "bigint", Family.WHOLE),
        ("smallint", "smallint", Family.WHOLE),
        ("numeric", "numeric", Family.EXACT),
        ("decimal( 12 , 2 )", "numeric(12,2)", Family.EXACT),
        ("numeric(5)", "numeric(5,0)", Family.EXACT),
        ("float8", "double precision", Family.FLOAT),
        ("Double  Precision", "double precision", Family.FLOAT),
        ("real", "real", Family.FLOAT),
        ("text", "text", Family.TEXT),
        ("varchar", "character varying", Family.TEXT),
        ("varchar(20)", "character varying(20)", Family.TEXT),
        ("char", "character(1)", Family.TEXT),
        ("character(3)", "character(3)", Family.TEXT),
        ("bool", "boolean", Family.BOOLEAN),
        ("date", "date", Family.DATE),
        ("timestamp", "timestamp without time zone", Family.TIMESTAMP),
        ("timestamp with time zone", "timestamp with time zone", Family.TIMESTAMP),
        ("timestamptz", "timestamp with time zone", Family.TIMESTAMP),
        ("uuid", "uuid", Family.UUID),
    ],
)
def test_type_has_one_canonical_name(written: str, name: str, family: Family) -> None:
    """As `format_type` writes it; reading it again gives the same type."""
    found = parse_type(written)
    assert (str(found), found.family) == (name, family)
    assert parse_type(str(found)) == found


@for_each(
    "written",
    [
        "",
        "money",
        "text[]",
        "integer(4)",
        "numeric(0)",
        "numeric(2,3)",
        "numeric(1001,0)",
        "varchar(0)",
        "varchar(5,2)",
        "varchar(20",
        "timestamp(3)",
        "date with time zone",
        "integer; drop table x",
        "jsonb",
        "interval",
    ],
)
def test_type_that_is_not_known_is_refused(written: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(TypeUnknown):
        parse_type(written)
