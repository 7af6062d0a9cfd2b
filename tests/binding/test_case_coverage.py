"""The golden cases cover everything that the binder accepts and everything that it must refuse."""

import re

import pytest
from binding.cases import accepted, refused
from binding.corpus import Slot, calls, shown
from laws import for_each
from sqlglot import exp

from gateway.binding import aggregates as measures
from gateway.binding import constants as intervals
from gateway.binding import formatted_keys, windows
from gateway.binding.text import allowlist as shapes
from gateway.binding.text import classify as statement
from gateway.binding.text.classify import StatementKind, classify
from gateway.errors import REASON, Code, Reason
from gateway.functions.table import SIGNATURES
from gateway.functions.times import AGED, EXTRACTED, TRUNCATED

UNSHOWN: dict[Slot, str] = {
    (exp.Parameter, ""): "a golden case has no values for parameters; `test_bind.py` has",
    (exp.Parameter, "this"): "see above",
    (exp.Subquery, "joins"): "a join of queries in brackets is refused behind the shape",
    (exp.DataType, "kind"): "the parser fills it for types of one's own, which are refused",
    (exp.DataType, "values"): "the parser fills it for enumerations, which are no PostgreSQL",
    (exp.Div, "safe"): "the parser leaves it false for PostgreSQL",
    (exp.Array, "value_constructor"): "the parser fills it for other databases",
    (exp.Bracket, "safe"): "the parser leaves it false for PostgreSQL",
    (exp.Bracket, "offset"): "the parser fills it for other databases",
    (exp.JSONPathSubscript, ""): "places in JSON would not be kept as written, so they are refused",
    (exp.JSONPathSubscript, "this"): "see above",
    (exp.CurrentRole, ""): "the parser reads it as a name",
}
"""Parts of the allow-list that no accepted case shows, with the reason."""

PLANS = "\n".join(case.expected for case in accepted())
ACCEPTED_SQL = "\n".join(case.sql for case in accepted())


def test_every_part_of_sql_that_is_let_through_has_an_accepted_case() -> None:
    """Every node type and every argument of the shapes is in an accepted case, or listed with its reason."""
    found = shown()
    wanted = {(kind, "") for kind in shapes._ALLOWED}
    wanted |= {(kind, slot) for kind, slots in shapes._ALLOWED.items() for slot in slots}
    missing = {(kind.__name__, slot) for kind, slot in wanted - found - UNSHOWN.keys()}
    assert not missing
    assert not UNSHOWN.keys() & found
    assert UNSHOWN.keys() <= wanted


@for_each("name", sorted(SIGNATURES))
def test_every_function_has_an_accepted_case(name: str) -> None:
    """Every function over rows is in the plan of an accepted case."""
    assert f"{name}(" in PLANS


@for_each("name", sorted(measures._PLAIN | measures._ORDERED))
def test_every_aggregate_has_an_accepted_case(name: str) -> None:
    """Every aggregate is released in an accepted case."""
    assert re.search(rf"\bm[0-9]+ = {name}\(", PLANS)


@pytest.mark.parametrize("name", sorted(measures.PER_UNIT))
def test_every_aggregate_for_each_person_has_an_accepted_case(name: str) -> None:
    """Every aggregate that is computed person by person is in an accepted case."""
    assert re.search(rf"per unit .*\.m[0-9]+ = {name}\(", PLANS)


@pytest.mark.parametrize(
    "name", sorted(windows._NUMBERING | windows._NEIGHBOURS | windows._SUMMING)
)
def test_every_window_function_has_an_accepted_case(name: str) -> None:
    """Every window function over the rows of a person is in an accepted case."""
    assert re.search(rf"window window.* = {name}\(", PLANS)


def test_every_part_of_a_date_has_an_accepted_case() -> None:
    """Every field of extract and of an age, and every truncation, is in a plan."""
    assert not [part for part in EXTRACTED if f"extract({part} from " not in PLANS]
    assert not [part for part in AGED if f"extract({part} from age(" not in PLANS]
    assert not [part for part in TRUNCATED if f"date_trunc('{part}', " not in PLANS]


def test_every_format_has_an_accepted_case() -> None:
    """Every part of a format that tells groups apart is in an accepted case."""
    written = re.findall(r"to_char\([^,]+, *'([^']*)'", ACCEPTED_SQL, re.IGNORECASE)
    assert not [part for part in formatted_keys._SHOWS if not any(part in one for one in written)]


def test_every_unit_of_an_interval_has_an_accepted_case() -> None:
    """Every unit of an interval is in an accepted case."""
    written = " ".join(re.findall(r"INTERVAL '([^']*)'", ACCEPTED_SQL))
    assert not [unit for unit in intervals._UNITS if not re.search(rf"\b{unit}s?\b", written)]


def test_every_kind_of_statement_has_an_accepted_case() -> None:
    """Every kind of statement, every word that one may begin with and every setting is in a case."""
    statements = [classify(case.sql) for case in accepted()]
    assert {one.kind for one in statements} == set(StatementKind)
    words = {one.text.split()[0].lower() for one in statements if one.kind is StatementKind.PASS}
    assert words >= statement._ALONE | statement._ON_NAMES
    assert not [name for name in statement.SETTINGS if not _is_set(name)]


def _is_set(name: str) -> bool:
    return any(case.sql.lower().startswith(f"set {name} ") for case in accepted())


def test_every_acting_function_name_is_refused_on_the_twin() -> None:
    """What acts is on no list of functions that are understood."""
    acting = shapes._ACTING | set(shapes._ACTING_PREFIXES)
    assert not [name for name in (*SIGNATURES, *calls()) if name in acting]


MUST_BE_REFUSED = {
    "rows of persons": r"^SELECT \* FROM patients$",
    "whole row": r"\bCOUNT\((p|patients)\)",
    "whole row as a key": r"GROUP BY p$",
    "a field of a row": r"\(p\)\.region",
    "a function of a row": r"\bregion\(p\)",
    "ctid": r"\bctid\b",
    "xmin": r"\bxmin\b",
    "xmax": r"\bxmax\b",
    "cmin": r"\bcmin\b",
    "cmax": r"\bcmax\b",
    "tableoid": r"\btableoid\b",
    "INTO": r"\bSELECT .* INTO \w+ FROM",
    "INSERT in a CTE": r"AS \(INSERT\b",
    "UPDATE in a CTE": r"AS \(UPDATE\b",
    "DELETE in a CTE": r"AS \(DELETE\b",
    "MERGE in a CTE": r"AS \(MERGE\b",
    "FOR UPDATE": r"\bFOR UPDATE\b",
    "FOR SHARE": r"\bFOR SHARE\b",
    "FOR NO KEY UPDATE": r"\bFOR NO KEY UPDATE\b",
    "FOR KEY SHARE": r"\bFOR KEY SHARE\b",
    "TABLESAMPLE": r"\bTABLESAMPLE\b",
    "ONLY": r"\bFROM ONLY\b",
    "several statements": r"\bpatients;",
    "unknown table": r"\bFROM (hidden|absent|secret|nowhere|nothing|unknown)\b",
    "LATERAL over persons": r"LATERAL \(SELECT .* FROM (visits|patients)",
    "FULL JOIN": r"\bFULL JOIN\b",
    "NATURAL JOIN": r"\bNATURAL JOIN\b",
    "CROSS JOIN": r"\bpatients p CROSS JOIN visits\b",
    "EXCEPT": r"\bEXCEPT\b",
    "INTERSECT": r"\bINTERSECT\b",
    "DISTINCT ON": r"\bDISTINCT ON\b",
    "LIMIT": r"\bFROM patients .*LIMIT\b",
    "OFFSET": r"\bOFFSET\b",
    "a window of all persons": r"OVER \(ORDER BY income\)",
    "random": r"\brandom\(\)",
    "clock_timestamp": r"\bclock_timestamp\(\)",
    "nextval": r"\bnextval\b",
    "a set of rows": r"\bgenerate_series\(1, birth_year\)",
    "a row constructor": r"\bROW\(region",
    "an array": r"\bARRAY\[(income|region)",
    "regclass": r"::regclass\b",
    "oid": r"AS oid\)",
    "a composite type": r"CAST\(name AS patients\)",
    "COLLATE": r"\bCOLLATE\b",
    "AT TIME ZONE": r"\bAT TIME ZONE\b",
    "a recursive query": r"WITH RECURSIVE .*patients",
    "SUM(DISTINCT)": r"\bSUM\(DISTINCT\b",
    "AVG(DISTINCT)": r"\bAVG\(DISTINCT\b",
    "an ordered set of units": r"WITHIN GROUP \(ORDER BY patient_id\)",
    "GROUPING": r"\bGROUPING\(",
    "= ANY of a query": r"= ANY \(SELECT",
    "> ALL of a query": r"> ALL \(SELECT",
    "a correlated value": r"\(SELECT [^)]*\) FROM (visits|patients) \w+ WHERE \w+\.\w+ = \w+\.region\b",
    **{
        name: rf"\b{name}\("
        for name in (
            "pg_read_file", "lo_import", "query_to_xml", "dblink", "current_setting", "set_config",
            "pg_sleep", "string_agg", "array_agg", "json_agg", "jsonb_agg", "any_value",
            "pg_terminate_backend", "pg_notify", "pg_advisory_lock", "unnest", "gen_random_uuid",
        )
    },
    **{
        word: rf"^{word}\b"
        for word in (
            "DO", "CALL", "LISTEN", "UNLISTEN", "NOTIFY", "LOCK", "VACUUM", "ANALYZE", "PREPARE",
            "EXECUTE", "CREATE", "ALTER", "DROP", "GRANT", "REVOKE", "TRUNCATE", "MERGE", "INSERT",
            "UPDATE", "DELETE", "REFRESH", "CLUSTER", "REINDEX", "COMMENT", "SECURITY LABEL", "LOAD",
            "CHECKPOINT", "REASSIGN", "IMPORT",
        )
    },
    "COPY FROM": r"^COPY .* FROM STDIN",
    "COPY TO a program": r"^COPY .* TO PROGRAM",
}  # fmt: skip


@for_each("what", MUST_BE_REFUSED)
def test_everything_that_must_be_refused_has_a_refused_case(what: str) -> None:
    """Each way to take more than aggregates, or to do something, is shown to be refused."""
    wanted = re.compile(MUST_BE_REFUSED[what], re.IGNORECASE)
    found = [case for case in refused() if wanted.search(" ".join(case.sql.split()))]
    assert found
    assert all(REASON[Code(case.expected)] is not Reason.INTERNAL for case in found)


def test_names_beyond_63_bytes_have_a_refused_case() -> None:
    """A name that PostgreSQL would cut is shown to be refused."""
    found = [case for case in refused() if re.search(r"\w{64}", case.sql)]
    assert {case.expected for case in found} == {Code.NAME_AMBIGUOUS.value}
