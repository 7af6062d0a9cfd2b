"""Policy template from a source's schema alone; it permits nothing until a person completes it.

No value is read, so no domain can be known; a comment marks each place that needs one. Names that suggest a
person's key are marked as a guess.
"""

import re
from collections.abc import Iterator
from typing import Final

from gateway.catalog.types import Family, TypeUnknown, parse_type
from gateway.engines.catalog.describe import (
    SourceColumn,
    SourceTable,
    SourceTables,
    describe_source,
)
from gateway.engines.connections import open_source
from gateway.errors import Code, OperatorError
from gateway.policy.model import COLUMN_NAME
from gateway.policy.policy import SourceUrl

_NAME: Final = re.compile(COLUMN_NAME)
_EXAMPLES: Final = {
    Family.WHOLE: "{between: [0, 100]}",
    Family.EXACT: "{between: [0, 1000]}, step: 0.01",
    Family.FLOAT: "{between: [0, 1]}, step: 0.001",
    Family.TEXT: "{in: [one, another]}",
    Family.DATE: "{between: [2020-01-01, 2030-12-31]}",
    Family.TIMESTAMP: "{between: [2020-01-01, 2030-12-31]}, step: 1d",
}
_HEAD: Final = """\
# A policy to begin with, made from the schema of the source; no value was read.
# It permits nothing yet. Go through what is marked `TODO`, then `gateway policy check` it.
# docs/policies.md explains every key.
gateway: 1
dataset: {dataset}
source: {source}

privacy:
  unit: person                          # TODO whose privacy is protected
  budget: {{epsilon: 1, delta: 1e-7}}     # TODO for everyone together, for ever
  per_query: {{default: 0.01, max: 0.1}}

tables:
"""
_TAIL: Final = """
# Nobody may ask anything until a rule permits it. TODO
access: []
#  - id: analysts
#    effect: permit
#    when: subject.role == "researcher" && request.purpose in subject.purposes
#    tables: [{table}]
#    use: {{aggregate: [class:sensitive], group_by: [class:quasi], filter: [class:quasi]}}
#    budget: {{epsilon: 0.5}}

# How results look, and when they leave.
# answers: {{suppress_small: true, report: {{count: 10}}, reply_grid_ms: 100}}
"""


def policy_template(source: SourceUrl, written: str, dataset: str | None) -> str:
    """The text of a policy file for this source, whose URL is `written` in it."""
    with open_source(source.url) as connection:
        described = describe_source(connection)
    tables = [
        table
        for table in described.tables
        if _NAME.fullmatch(table.name)
        and _NAME.fullmatch(table.schema)
        and any(_known(column) for column in table.columns)
    ]
    if not tables:
        raise OperatorError(
            Code.SOURCE_UNUSABLE,
            "this login may not read any table of the source",
            "grant SELECT on the tables to it",
        )
    name = dataset or _dataset(source)
    body = "\n".join(line for table in tables for line in _table(table, described))
    first = _name(tables[0], described)
    return _HEAD.format(dataset=name, source=written) + body + "\n" + _TAIL.format(table=first)


def _dataset(source: SourceUrl) -> str:
    last = source.identity.rpartition("/")[2].partition(".")[0].lower()
    name = "".join(sign if sign.isascii() and sign.isalnum() else "_" for sign in last)
    return name if name[:1].isalpha() else f"d_{name}"


def _table(table: SourceTable, described: SourceTables) -> Iterator[str]:
    key = _key(table)
    yield f"  {_name(table, described)}:"
    if key is None:
        yield "    # TODO no key could be guessed: name the column with the person of each row,"
        yield "    # or replace both lines by `public: true` if the table is not about persons"
    yield f"    unit_key: {key or 'TODO'}{'' if key is None else '                    # TODO a guess'}"
    unique = key is not None and frozenset({key}) in table.unique
    note = "unique in the source" if unique else "TODO how many rows of one unit count in a group"
    yield f"    rows_per_unit: {1 if unique else 10}                    # {note}"
    if not unique:
        yield "    groups_per_unit: 4                  # TODO in how many groups one unit counts"
    yield "    columns:"
    foreign = {
        one.column: f"{one.table}.{one.target}"
        for one in table.foreign_keys
        if _NAME.fullmatch(one.target)
    }
    for column in table.columns:
        yield _column(column, key, foreign.get(column.name))


def _column(column: SourceColumn, key: str | None, joins: str | None) -> str:
    if not _known(column):
        return (
            f"      # {_safe(column.name)}: no name or type ({_safe(column.type)}) for the gateway"
        )
    kind = parse_type(column.type)
    identifier = column.name == key or joins is not None
    parts = [f"type: {_quoted(str(kind))}", f"class: {'identifier' if identifier else 'sensitive'}"]
    if joins is not None:
        parts.append(f"joins: {joins}")
    example = None if identifier else _EXAMPLES.get(kind.family)
    note = "" if example is None else f"    # TODO class; domain: {example}"
    return f"      {column.name}: {{{', '.join(parts)}}}{note}"


def _quoted(text: str) -> str:
    """A comma would end the value."""
    return f'"{text}"' if "," in text else text


def _key(table: SourceTable) -> str | None:
    """The likeliest key: a unique or referring column, preferably one called an id."""
    unique = [next(iter(key)) for key in table.unique if len(key) == 1]
    leading = [one.column for one in table.foreign_keys]
    guesses = sorted((*leading, *unique), key=lambda name: not name.lower().endswith("id"))
    return next((name for name in guesses if _NAME.fullmatch(name)), None)


def _name(table: SourceTable, described: SourceTables) -> str:
    return described.name(table)


def _known(column: SourceColumn) -> bool:
    if not _NAME.fullmatch(column.name):
        return False
    try:
        parse_type(column.type)
    except TypeUnknown:
        return False
    return True


def _safe(text: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in text)
