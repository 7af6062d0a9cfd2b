"""Levels of columns, rights down to one of them, and consents of rows: what a policy says of a random catalog on top.

Rows that differ below the levels alone must not be told apart: `blurred` gives rows in which each value is another one of
the same level, and every statement has the same exact answer over them.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from math import floor
from typing import Final, Literal

from privacy.fuzzer.catalogs import VALUES, Catalog, Column, Table
from privacy.fuzzer.chance import Chance
from property.small_worlds import Row, Stored

from gateway.catalog.domains import Interval, Values
from gateway.catalog.tables import Column as Declared
from gateway.catalog.values import InvalidValue, Value, read_value

Form = Literal["steps", "periods", "prefixes", "table"]
_SHARE: Final = 0.5
_CONSENTED: Final = 0.25
_DUPLICATED: Final = 0.3
_EXACT_MEASURES: Final = 0.25
_WHOLE: Final = (("1", "10", "50"), ("2", "6"), ("10",), ("7", "70"))
_DECIMAL: Final = (("0.5", "10"), ("0.01", "1", "30"))
_PERIODS: Final = (("day", "month", "year"), ("month", "quarter"), ("year",))
_PREFIXES: Final = (("3", "1"), ("2", "1"), ("1",))
_FORMS: Final[Mapping[str, tuple[Form, ...]]] = {
    **dict.fromkeys(("integer", "bigint"), ("steps", "steps", "table")),
    "smallint": ("steps",),
    "numeric(10,2)": ("steps",),
    **dict.fromkeys(("date",), ("periods", "table")),
    "timestamp": ("periods",),
    **dict.fromkeys(("text", "varchar(8)"), ("prefixes", "prefixes", "table")),
}
_RUNGS: Final = ("fine", "mid", "coarse")
_CONSENTS: Final = (
    *("?{care}|[care]", "?{care,research}|[care, research]", "?{research}|[research]"),
    *("?{}|[]", "?{NULL,care}|[NULL, care]", None),
)


@dataclass(frozen=True)
class Ladder:
    """The levels of a column, and the place of the finest that anybody may read; `rungs` are the rows of a table."""

    table: str
    column: str
    form: Form
    names: tuple[str, ...]
    place: int
    rungs: tuple[Row, ...] = ()

    @property
    def level(self) -> str:
        return self.names[self.place]

    @property
    def feature(self) -> str:
        """Of statements that name the column."""
        return f"level of {self.form}"

    def is_named(self, sql: str) -> bool:
        """Whether a statement names the column, or one that is called the same."""
        return f".{self.column}" in sql


def with_ladders(made: Catalog) -> Catalog:
    """The catalog with levels and consents, by chance of its seed; everything else stays as it is."""
    chance = Chance(f"levels {made.seed}")
    if chance.happens(_CONSENTED):
        made = _with_consents(chance, made)
    if not chance.happens(_SHARE):
        return made
    among = [
        (table, column)
        for table in made.protected
        for column in table.columns[1:]
        if column.type in _FORMS and column.name not in {"ev", "no"}
        # row rules read what is stored
        and not (column.name == "k" and "subject.word" in made.text)
    ]  # fmt: skip
    ladders = [_ladder(chance, *one) for one in chance.some(among, 1, min(4, len(among)))]
    sharp = chance.happens(_EXACT_MEASURES)
    return _declared(made, ladders, sharp=sharp)


def blurred(made: Catalog) -> Mapping[str, Sequence[Row]]:
    """The rows with each value replaced by the first of its level that is ever stored."""
    rows = dict(made.rows)
    for one in made.ladders:
        table = next(each for each in made.tables if each.name == one.table)
        place = [each.name for each in table.columns].index(one.column)
        alike = _alike(one, made)
        rows[one.table] = [
            (*row[:place], alike(row[place]), *row[place + 1 :]) for row in rows[one.table]
        ]
    return rows


def _ladder(chance: Chance, table: Table, column: Column) -> Ladder:
    form = chance.one_of(_FORMS[column.type])
    if form == "table":
        place = chance.one_of((1, 1, 2))
        return Ladder(table.name, column.name, form, _RUNGS, place, _rungs(chance, column.type))
    names = chance.one_of({
        "steps": _DECIMAL if column.type.startswith("numeric") else _WHOLE,
        "periods": _PERIODS,
        "prefixes": _PREFIXES,
    }[form])  # fmt: skip
    return Ladder(table.name, column.name, form, names, chance.between(0, len(names) - 1))


def _rungs(chance: Chance, of: str) -> tuple[Row, ...]:
    """Codes with what they belong to; some codes are missing, some are there twice."""
    values = [one for one in VALUES[of] if "inf" not in one]
    codes = chance.some(values, 3, len(values))
    mids = chance.some(values, 2, 3)
    coarse = chance.some(values, 2, 2)
    rows = [(code, chance.one_of(mids), chance.one_of((*coarse, None))) for code in codes]
    if chance.happens(_DUPLICATED):
        rows += [(codes[0], chance.one_of(mids), chance.one_of(coarse))]
    return tuple(rows)


def _declared(made: Catalog, ladders: Sequence[Ladder], *, sharp: bool) -> Catalog:
    text, tables, rows = made.text, list(made.tables), dict(made.rows)
    definitions = []
    for number, one in enumerate(ladders):
        name = f"ladder{number}"
        text = _in_column(text, one.table, one.column, f", levels: {name}")
        if one.form == "table":
            table = next(each for each in made.tables if each.name == one.table)
            column = table.column(one.column)
            assert column is not None
            of = column.type
            lines = "".join(f'      {each}: {{type: "{of}"}}\n' for each in one.names)
            text = text.replace(
                "access:\n", f"  {name}:\n    public: true\n    columns:\n{lines}access:\n", 1
            )
            definitions.append(f"  {name}: {{table: {name}, columns: [{', '.join(one.names)}]}}\n")
            keys = (
                ("UNIQUE (fine)",) if len({row[0] for row in one.rungs}) == len(one.rungs) else ()
            )
            columns = tuple(Column(each, of) for each in one.names)
            tables.append(Table(name, columns, protected=False, keys=keys))
            rows[name] = list(one.rungs)
        else:
            key = "prefixes" if one.form == "prefixes" else "steps"
            definitions.append(f"  {name}: {{{key}: [{', '.join(one.names)}]}}\n")
    text = text.replace("access:\n", f"levels:\n{''.join(definitions)}access:\n", 1)
    entries = "".join(f", {{{one.table}.{one.column}: {one.level}}}" for one in ladders)
    for use in ("aggregate", "group_by", "filter", "join"):
        if use != "aggregate" or not sharp:
            text = text.replace(f'{use}: ["*"]', f'{use}: ["*"{entries}]')
    return replace(
        made,
        text=text,
        tables=tuple(tables),
        rows=rows,
        ladders=tuple(ladders),
        blurs=not sharp,
    )


def _in_column(text: str, table: str, column: str, added: str) -> str:
    """The policy with more behind the last field of a column."""
    start = text.index(f"      {column}: {{", text.index(f"  {table}:\n"))
    end = text.index("\n", start) - 1
    return text[:end] + added + text[end:]


def _with_consents(chance: Chance, made: Catalog) -> Catalog:
    """Rows of events are read for the purposes alone that are among their consents."""
    events = made.tables[1]
    wide = replace(events, columns=(*events.columns, Column("consents", "text[]")))
    text = made.text.replace(
        "  codes:\n", '      consents: {type: "text[]", class: sensitive}\n  codes:\n', 1
    )
    rule = '    rows: {events: "request.purpose = ANY (consents)"}\n'
    text = text.replace(
        "    budget: {epsilon: 1000000}\n", f"    budget: {{epsilon: 1000000}}\n{rule}", 1
    )
    rows = dict(made.rows)
    rows["events"] = [(*row, chance.one_of(_CONSENTS)) for row in rows["events"]]
    tables = tuple(wide if one is events else one for one in made.tables)
    return replace(made, text=text, tables=tables, rows=rows)


def _alike(ladder: Ladder, made: Catalog) -> Callable[[Stored], Stored]:
    """From a stored value to the first one that is read alike."""
    declared = made.policy.dataset.table(ladder.table)
    column = None if declared is None else declared.column(ladder.column)
    assert column is not None
    first: dict[Hashable, Stored] = {}
    for text in VALUES[_type(ladder, made)]:
        found = _read(text, column, ladder)
        if found is not None:
            first.setdefault(found, text)

    def alike(text: Stored) -> Stored:
        found = None if text is None else _read(text, column, ladder)
        return text if found is None else first.get(found, text)

    return alike


def _type(ladder: Ladder, made: Catalog) -> str:
    table = next(one for one in made.tables if one.name == ladder.table)
    return next(one.type for one in table.columns if one.name == ladder.column)


def _read(text: str, column: Declared, ladder: Ladder) -> Hashable | None:
    """What the value is at its level, in a tuple; None of a value that nothing is said of here."""
    value = _value(text, column)
    if value is None:
        return None
    domain = column.domain
    if isinstance(domain, Values) and value not in domain:
        return ("outside",)
    if isinstance(domain, Interval):
        low, high = domain.low, domain.high
        value = min(max(value, low), high)
    match ladder.form:
        case "steps":
            assert isinstance(value, int | Fraction)
            step = Fraction(ladder.level)
            return (floor(Fraction(value) / step) * step,)
        case "periods":
            assert isinstance(value, date)
            return _period(value, ladder.level)
        case "prefixes":
            return (str(value)[: int(ladder.level)],)
        case "table":
            return _on_rungs(value, column, ladder)


def _period(value: date, level: str) -> Hashable:
    quarter = (value.month - 1) // 3
    return {
        "day": (value.year, value.month, value.day),
        "month": (value.year, value.month),
        "quarter": (value.year, quarter),
        "year": (value.year,),
    }[level]


def _on_rungs(value: Value, column: Declared, ladder: Ladder) -> Hashable | None:
    found = {row[ladder.place] for row in ladder.rungs if _value(str(row[0]), column) == value}
    if len(found) > 1:
        return None  # one of the rows is taken; which one is not said
    named = next(iter(found), None)
    return ("outside",) if named is None else (_value(named, column),)


def _value(text: str, column: Declared) -> Value | None:
    if text.startswith("?"):
        return None
    try:
        return read_value(text, column.type)
    except InvalidValue:
        return None
