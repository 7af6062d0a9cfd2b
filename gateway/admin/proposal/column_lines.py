"""Columns of a proposed policy: types, classes, domains and references, from the catalog alone.

A domain is proposed where the catalog has it: in a CHECK, in an enum type, or in the name of a calendar's part. No
value of a row is read, so everything else is a marked line.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Final

from gateway.admin.proposal.marks import mark
from gateway.admin.proposal.vocabulary import (
    class_of,
    example_range,
    guess_range,
    is_category,
    is_personal,
    names_lookup,
)
from gateway.catalog.domains import Bound
from gateway.catalog.tables import ColumnClass
from gateway.catalog.types import ColumnType, Family
from gateway.catalog.values import Value
from gateway.engines.catalog.check_constraints import (
    ConstraintLimits,
    Operator,
    constraint_limits,
    parse_comparisons,
)
from gateway.engines.catalog.describe import SourceColumn, SourceTable

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_MOST_LISTED: Final = 200
_MEASURED: Final = frozenset({Family.WHOLE, Family.EXACT, Family.FLOAT})
_EXAMPLES: Final = {
    Family.DATE: "{between: [2015-01-01, 2030-12-31]}",
    Family.TIMESTAMP: "{between: [2015-01-01, 2030-12-31]}",
}


@dataclass(frozen=True)
class ProposedColumn:
    """One column as a line of a policy; `undecided` is what its owner has to say, if anything.

    `is_listed` is true of a column with few values, by which answers can be grouped.
    """

    name: str
    fields: tuple[tuple[str, str], ...]
    column_class: ColumnClass | None
    undecided: str = ""
    is_listed: bool = False

    @property
    def line(self) -> str:
        inside = ", ".join(f"{key}: {value}" for key, value in self.fields)
        return f"{self.name}: {{{inside}}}"


def propose_column(
    table: SourceTable,
    column: SourceColumn,
    *,
    suggested: ColumnClass | None,
    joins: str | None,
) -> ProposedColumn:
    """A column of a protected table; its keys suggest a class, or else its name does."""
    of = column.read_type
    own = frozenset({column.name}) in table.unique
    found = ColumnClass.IDENTIFIER if own else suggested or class_of(column.name, of)
    fields = [("type", _type(column)), ("class", str(found))]
    if joins is not None:
        fields.append(("joins", joins))
    if found is ColumnClass.IDENTIFIER:
        return ProposedColumn(column.name, tuple(fields), found)
    if suggested is not None:  # a code of another table: its groups are found in the data
        return ProposedColumn(column.name, tuple(fields), found, is_listed=True)
    domain, undecided = _domain(table, column, of)
    if domain is not None:
        fields.append(("domain", domain))
    if of.resolution is None and of.family in _MEASURED and domain is not None:
        fields.append(("step", "0.01"))
    if of.family is Family.TIMESTAMP and domain is not None:
        fields.append(("step", "1s"))
    listed = of.family is Family.BOOLEAN or (domain or "").startswith("{in:")
    return ProposedColumn(column.name, tuple(fields), found, undecided, is_listed=listed)


def public_column(column: SourceColumn) -> ProposedColumn:
    """A column of a public table: its type is all that is asked for."""
    return ProposedColumn(column.name, (("type", _type(column)),), None)


def _domain(table: SourceTable, column: SourceColumn, of: ColumnType) -> tuple[str | None, str]:
    """The domain if the catalog has one, and what is left to decide."""
    if of.family is Family.BOOLEAN:
        return None, ""
    if column.labels:
        return listed_domain(column.labels), ""
    listed, limits = _limits(table, column, of)
    if listed:
        return listed_domain(listed), ""
    checked = _checked(limits, of)
    if checked is not None:
        return checked, ""
    guessed = guess_range(column.name, of)
    if guessed is not None:
        low, high = guessed
        return f"{{between: [{low}, {high}]}}", "a guess by the name"
    return None, _question(column, of, limits)


def _limits(
    table: SourceTable, column: SourceColumn, of: ColumnType
) -> tuple[list[str], ConstraintLimits]:
    """The texts that the CHECKs of a table list for a column, and their limits of other types."""
    # a proof would ask for the collation, too; here texts are what their author wrote
    written = [text.replace("::bpchar", "::text") for text in table.checks]
    said = [one for text in written for one in parse_comparisons(text) if one.column == column.name]
    if of.family is not Family.TEXT:
        return [], constraint_limits(said, of, exact_text=True)
    lists = [
        [constant.text for constant in one.constants]
        for one in said
        if one.operator is Operator.AMONG and all(constant.quoted for constant in one.constants)
    ]
    short = [texts for texts in lists if len(texts) <= _MOST_LISTED]
    return (short[0] if short else []), ConstraintLimits()


def _question(column: SourceColumn, of: ColumnType, limits: ConstraintLimits) -> str:
    if of.family is Family.TEXT:
        return (
            "domain: {in: [one, another]}, or leave it open" if is_category(column.name, of) else ""
        )
    if of.family is Family.UUID or (of.family is Family.WHOLE and names_lookup(column.name)):
        return ""  # a code: its groups are found in the data
    example = _EXAMPLES.get(of.family) or example_range(column.name, of)
    if of.family in _MEASURED and limits.low is not None:
        example = f"{{between: [{_text(limits.low)}, 1000]}}"
    if of.family in {Family.DATE, Family.TIMESTAMP} and is_personal(column.name):
        example = "{between: [1900-01-01, 2030-12-31]}"
    step = ", step: 0.01" if of.resolution is None else ""
    step = ", step: 1s" if of.family is Family.TIMESTAMP else step
    return f"domain: {example}{step}"


def _checked(limits: ConstraintLimits, of: ColumnType) -> str | None:
    if limits.members is not None and len(limits.members) <= _MOST_LISTED:
        if of.family in {Family.FLOAT, Family.TIMESTAMP}:
            return None
        return listed_domain(_text(one) for one in sorted(limits.members, key=_text))
    if limits.low is None or limits.high is None:
        return None
    return f"{{between: [{_text(limits.low)}, {_text(limits.high)}]}}"


def _text(value: Value | Bound) -> str:
    """A value as a policy writes it."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Fraction):
        whole = value.denominator == 1
        return str(value.numerator) if whole else f"{float(value):.15g}"
    return str(value)


def listed_domain(texts: Iterable[str]) -> str:
    """A list of values as a policy writes it."""
    return f"{{in: [{', '.join(quoted(text) for text in texts)}]}}"


def quoted(text: str) -> str:
    """A text as a YAML scalar within brackets."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _type(column: SourceColumn) -> str:
    """A comma would end the value."""
    short = {
        "character varying": "varchar",
        "timestamp without time zone": "timestamp",
        "timestamp with time zone": "timestamptz",
    }
    text = column.declared_type
    for long, written in short.items():
        text = text.replace(long, written)
    return f'"{text}"' if "," in text else text


def column_lines(
    columns: Iterable[ProposedColumn], comments: Mapping[str, str], indent: str = "      "
) -> Iterator[str]:
    """The lines of the columns, their comments above them and what is undecided behind them."""
    for one in columns:
        if told := comments.get(one.name):
            yield f"{indent}# {one_line(told)}"
        yield mark(f"{indent}{one.line}", one.undecided) if one.undecided else f"{indent}{one.line}"


def one_line(text: str) -> str:
    """A comment of the source as one line that no reader takes for a mark."""
    flat = " ".join(text.split())
    plain = "".join(sign if sign.isprintable() else "?" for sign in flat)
    return plain.replace("decide:", "decide")
