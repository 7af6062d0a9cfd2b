"""Random datasets as a policy declares them: texts of YAML, the tables of a source, and rows that break every rule.

Declared steps are those of nobody: values lie between them. Domains are left, units are NULL, a person has more
rows and groups than count, and decimals are NaN.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from fix_policy import read
from privacy.fuzzer.chance import Chance
from property.small_worlds import Row, Stored, World

from gateway.policy.policy import Policy

if TYPE_CHECKING:
    from privacy.fuzzer.ladders import Ladder

UNITS: Final[dict[str, tuple[str, ...]]] = {
    "bigint": ("1", "2", "3", "30", "-1", "0", "9223372036854775807", "-9223372036854775808"),
    "integer": ("1", "2", "3", "30", "-1", "0", "2147483647"),
    "text": ("a", "A", "a ", "ä", "", "1", "01", "30"),
    "varchar(12)": ("a", "A", "a ", "ä", "", "1", "01", "30"),
    "uuid": tuple(f"{one:08x}-0000-4000-8000-000000000000" for one in (0, 1, 2, 7, 2**32 - 1)),
}
_WHOLE: Final = ("0", "1", "7", "30", "31", "33", "36", "39", "40", "-1", "12", "100")
_EXACT: Final = ("0", "1", "7", "30", "30.00", "30.5", "31.25", "39.99", "-0.01", "12.3", "100")
_FLOATS: Final = (
    *("0", "-0.0", "1", "30", "30.5", "31.25", "39.9", "0.1", "7", "100", "NaN", "Infinity"),
    *("-Infinity", "1e30", "-3.7", "5e-30", "30.000001", "30.0000000001", "0.10000000001"),
)
_TEXTS: Final = ("", "a", "A", "a ", "ä", "flu", "30", " 30", "030", "it's", "%", "a_b", "\\")
_DAYS: Final = ("2024-01-01", "2024-02-29", "2024-03-01", "2024-12-31", "2023-12-31", "2025-06-01")
_TIMES: Final = (
    *("2024-01-01 00:00:00", "2024-02-29 13:14:15.678901", "2024-12-31 23:59:59.999999"),
    *("2024-03-01 12:00:00", "2019-05-05 05:05:05", "infinity"),
)
VALUES: Final[dict[str, tuple[str, ...]]] = {
    "smallint": (*_WHOLE, "32767", "-32768"),
    "integer": (*_WHOLE, "2147483647", "-2147483648"),
    "bigint": (*_WHOLE, "9223372036854775807", "9007199254740993", "9007199254740992"),
    "numeric(10,2)": (*_EXACT, "99999999.99", "?NaN|"),
    "numeric": (*_EXACT, "9e27", "0.3333333333", "?NaN|", "?-Infinity|"),
    "double precision": (*_FLOATS, "1e308", "-1e308"),
    "real": (*_FLOATS, "3e38"),
    "text": _TEXTS,
    "varchar(8)": _TEXTS,
    "char(3)": ("a", "A", "ab", "abc", "ä", "30"),
    "boolean": ("true", "false"),
    "date": (*_DAYS, "infinity", "-infinity", "0001-01-01"),
    "timestamp": _TIMES,
    "timestamptz": tuple(one if "inf" in one else f"{one}+00" for one in _TIMES),
    "uuid": UNITS["uuid"],
}
_COARSE: Final = (
    *(
        "between: [0, 100]}, step: 10",
        "between: [0, 60]}, step: 20",
        "between: [0, 100]}, step: 50",
    ),
    *("between: [-10, 50]}, step: 5", "between: [30, 40]}, step: 10"),
)
_NUMBERS: Final = (*_COARSE, "between: [0, 100]}, step: 1")
_DECIMALS: Final = (*_NUMBERS, "between: [0, 100]}, step: 0.5", "between: [-1, 1]}, step: 0.01")
_WORDS: Final = ('in: ["a", "A", "flu", "30"]', 'in: ["", "ä", " 30"]')
_DOMAINS: Final[dict[str, tuple[str, ...]]] = {
    "smallint": (*_NUMBERS, "between: [0, 12]", "in: [0, 1, 7, 30]"),
    "integer": (*_NUMBERS, "between: [0, 12]", "in: [0, 1, 7, 30]"),
    "bigint": (*_NUMBERS, "between: [0, 12]", "in: [0, 1, 7, 30]"),
    "numeric(10,2)": (*_DECIMALS, "between: [0, 100]", "in: [0, 1, 30]"),
    "numeric": (*_DECIMALS, "in: [0, 1, 30]"),
    "double precision": _DECIMALS,
    "real": _DECIMALS,
    "text": _WORDS,
    "varchar(8)": _WORDS,
    "char(3)": ('in: ["a", "ab", "abc"]',),
    "date": ("between: [2024-01-01, 2024-12-31]", "between: [2024-02-01, 2024-03-01]"),
    "timestamp": (
        "between: [2024-01-01T00:00:00, 2024-12-31T00:00:00]}, step: 1d",
        "between: [2024-01-01T00:00:00, 2024-03-01T00:00:00]",
    ),
    "timestamptz": ("between: [2024-01-01T00:00:00Z, 2024-12-31T00:00:00Z]",),
}
_BARE: Final = (0.15, frozenset({"double precision", "real", "numeric"}))
_OF_EVENTS: Final = {
    "x": ("integer", "bigint", "smallint"),
    "y": ("integer", "bigint"),
    "n": ("numeric(10,2)", "numeric"),
    "d": ("double precision",),
    "r": ("real",),
    "k": ("text", "varchar(8)"),
    "t": ("text", "char(3)", "varchar(8)"),
    "b": ("boolean",),
    "day": ("date",),
    "seen": ("timestamp",),
    "zone": ("timestamptz",),
    "id": ("uuid",),
}
_KEYS: Final = (
    *("integer", "integer", "bigint", "numeric(10,2)", "numeric", "real", "real"),
    *("double precision", "text", "char(3)", "uuid", "date"),
)
USUAL: Final = frozenset({
    *("30", "31", "33", "36", "1", "30.5", "30.0000000001", "0.1", "0.10000000001", "a", "flu", "ab"),
    *("2024-02-29", "2024-02-29 13:14:15.678901", "00000001-0000-4000-8000-000000000000"),
})  # fmt: skip
"""Values that are stored and written more often than others: where nothing meets, nothing is shown."""
ROWS: Final = 7  # of one person in one table, at most: beyond every cap
SUBJECTS: Final = """\
alice: {role: researcher, purposes: [care]}
bob: {role: regional, word: flu, purposes: [care]}
"""


@dataclass(frozen=True)
class Column:
    """A column of the source; `family` is how it is written in SQL, `summable` that it has a domain of numbers."""

    name: str
    type: str
    domain: str | None = None

    @property
    def summable(self) -> bool:
        return self.domain is not None and "between" in self.domain


@dataclass(frozen=True)
class Table:
    """`keys` are constraints of the source as SQL; the first column of a protected table is the unit's.

    With a `parent`, a table and its key, the first column leads there, and the unit of a row is that of the parent's row.
    """

    name: str
    columns: tuple[Column, ...]
    protected: bool
    rows: int = 1
    groups: int = 1
    keys: tuple[str, ...] = ()
    parent: tuple[str, str] | None = None

    def column(self, name: str) -> Column | None:
        return next((one for one in self.columns if one.name == name), None)


@dataclass(frozen=True)
class Catalog:
    """A dataset, its policy, and everything that is stored; `blurs` if nothing is read finer than the `ladders` permit."""

    seed: str
    text: str
    tables: tuple[Table, ...]
    units: tuple[str, ...]
    rows: Mapping[str, Sequence[Row]]
    ladders: "tuple[Ladder, ...]" = ()
    blurs: bool = False

    @cached_property
    def policy(self) -> Policy:
        found = read(self.text, {"URL": "duckdb:////nowhere.duckdb"})
        assert found.policy is not None, [self.text, *found.said]
        return found.policy

    @property
    def protected(self) -> tuple[Table, ...]:
        return tuple(one for one in self.tables if one.protected)

    @property
    def public(self) -> tuple[Table, ...]:
        return tuple(one for one in self.tables if not one.protected)

    @property
    def constraints(self) -> Mapping[str, Sequence[str]]:
        return {one.name: one.keys for one in self.tables}

    @property
    def world(self) -> World:
        return World(self.rows, keyed=False, dataset=self.policy.dataset)

    @cached_property
    def holds(self) -> bool:
        """Whether a table of which one row of each person is declared has no more.

        Where there are more the answer is bounded all the same; it is another than the declaration says.
        """
        owners = ((one, self.owners(one)) for one in self.protected if one.rows == 1)
        return all(len(self.rows[one.name]) == len(set(units)) for one, units in owners)

    def owners(self, table: Table) -> list[Stored]:
        """The unit of each row; None for rows of nobody."""
        first = [row[0] for row in self.rows[table.name]]
        if table.parent is None:
            return first
        [parent] = [one for one in self.tables if one.name == table.parent[0]]
        place = [one.name for one in parent.columns].index(table.parent[1])
        keys = [row[place] for row in self.rows[parent.name]]
        of_key = {key: unit for key, unit in zip(keys, self.owners(parent), strict=True) if key}
        return [None if key is None else of_key.get(key) for key in first]

    def without(self, unit: Stored) -> World:
        """The world in which this person has no row; None: without the rows of nobody."""
        left = dict(self.rows)
        for one in self.protected:
            pairs = zip(self.rows[one.name], self.owners(one), strict=True)
            left[one.name] = [row for row, owner in pairs if owner != unit]
        return World(left, keyed=False, dataset=self.policy.dataset)


def catalog(seed: str) -> Catalog:
    """Two tables of persons and two that are public."""
    chance = Chance(f"catalog {seed}")
    of = chance.one_of(list(UNITS))
    units = tuple(chance.some(UNITS[of], 3, 5))
    people = _people(chance, of)
    events = _events(chance, of)
    codes = _codes(chance, (people, events))
    grid = Table(
        "grid", (Column("a", "integer"), Column("w", chance.one_of(("text", "integer")))), False
    )
    tables = (people, events, codes, grid)
    rows = {one.name: _own(chance, one, units) for one in (people, events)}
    rows |= {one.name: _of_nobody(chance, one) for one in (codes, grid)}
    return Catalog(seed, _policy(chance, tables), tables, units, rows)


def _people(chance: Chance, unit: str) -> Table:
    columns = [Column("u", unit), *_columns(chance, chance.some(list(_OF_EVENTS), 4, 6))]
    keys = chance.one_of(("PRIMARY KEY (u)", "PRIMARY KEY (u)", "UNIQUE (u)", "UNIQUE (u)", ""))
    rows = 1 if keys else chance.one_of((1, 2))
    return Table("people", tuple(columns), protected=True, rows=rows, keys=(keys,) if keys else ())


def _events(chance: Chance, unit: str) -> Table:
    names = ["x", "k", *chance.some([one for one in _OF_EVENTS if one not in {"x", "k"}], 5, 8)]
    return Table(
        "events",
        (Column("u", unit), *_columns(chance, names)),
        protected=True,
        rows=chance.one_of((1, 2, 3, 4, 5)),
        groups=chance.one_of((1, 2, 3)),
    )


def _columns(chance: Chance, names: Sequence[str]) -> list[Column]:
    columns = []
    for name in names:
        of = chance.one_of(_OF_EVENTS[name])
        bare = chance.happens(_BARE[0]) or of not in _DOMAINS
        columns.append(Column(name, of, None if bare else chance.one_of(_DOMAINS[of])))
    return columns


def _codes(chance: Chance, tables: Sequence[Table]) -> Table:
    """Its key has the type of some column of persons, or one that is compared with it in another."""
    there = [one.type for table in tables for one in table.columns if one.type in _KEYS]
    of = chance.one_of([*there, *_KEYS])
    columns = (Column("code", of), Column("label", "text"), Column("w", "integer"))
    keys = chance.one_of((
        *(("PRIMARY KEY (code)",), ("UNIQUE (code)",), ("UNIQUE (code)",)),
        *(("UNIQUE (code, label)",), ()),
    ))  # fmt: skip
    return Table("codes", columns, protected=False, keys=keys)


def _own(chance: Chance, table: Table, units: Sequence[str]) -> list[Row]:
    rows: list[Row] = []
    single = bool(table.keys)
    for place, unit in enumerate(units):
        most = ROWS if place == 0 else chance.one_of((0, 1, 1, 2, ROWS))
        many = int(chance.happens(0.8)) if single else chance.between(0 if place else 4, most)
        own = [_row(chance, table, unit) for _ in range(many)]
        if len(own) > 1 and place and chance.happens(0.5):
            # all alike but for a column or two: many values of these in one group
            apart = chance.some(range(1, len(table.columns)), 1, 2)
            alike = own[0]
            own = [
                tuple(one[at] if at in apart else alike[at] for at in range(len(alike)))
                for one in own
            ]
        rows += own
    if not any("PRIMARY" in one for one in table.keys):
        rows += [_row(chance, table, None) for _ in range(chance.between(0, 2))]
    return rows


def _row(chance: Chance, table: Table, unit: Stored) -> Row:
    made: list[Stored] = [unit]
    for column in table.columns[1:]:
        among = usual(chance, VALUES[column.type])
        made.append(None if chance.happens(0.08) else chance.one_of(among))
    return tuple(made)


def usual(chance: Chance, among: Sequence[str]) -> Sequence[str]:
    """All of them, or those that are more frequent than others."""
    few = [one for one in among if one in USUAL]
    return few if few and chance.happens(0.65) else among


def _of_nobody(chance: Chance, table: Table) -> list[Row]:
    """Rows of a public table, of which some meet the same values where the source lets them."""
    key, *others = table.columns
    among = [one for one in VALUES[key.type] if "?" not in one]
    rows: list[Row] = []
    for value in chance.some(among, 3, len(among)):
        rest = [chance.one_of(("a", "30", "flu", "7", "1", "x")) for _ in others]
        rows.append(
            (value, *(_of(one, column.type) for one, column in zip(rest, others, strict=True)))
        )
    if any("(code)" in one for one in table.keys):
        return _apart(rows, key.type)
    return [*rows, *chance.some(rows, 0, 3)] if not table.keys else _apart(rows, key.type)


def _of(word: str, of: str) -> str:
    return word if of == "text" or word.isdecimal() else "5"


def _apart(rows: list[Row], of: str) -> list[Row]:
    """One row for each value, whatever its spelling."""
    found: dict[object, Row] = {}
    for row in rows:
        text = str(row[0])
        found.setdefault(_value(text, of), row)
    return list(found.values())


def _value(text: str, of: str) -> object:
    if of == "real":
        return f"{float(text) + 0:.6g}"
    if of.startswith("numeric") or of == "double precision":
        return float(text) + 0
    return text.rstrip() if of.startswith("char") else text


def _policy(chance: Chance, tables: Sequence[Table]) -> str:
    mechanism = chance.one_of(("laplace", "gaussian"))
    enumerated = chance.one_of((1, 40, 1000, 1000))
    word = next((one for one in tables[1].columns if one.name == "k"), None)
    rows = (
        '\n    rows: {events: "k = subject.word"}'
        if word is not None and chance.happens(0.2)
        else ""
    )
    blank = str(chance.happens(0.2)).lower()
    clamp = str(chance.happens(0.7)).lower()
    return (
        "gateway: 1\ndataset: clinic\nsource: ${URL}\n"
        "privacy:\n  unit: person\n  budget: {epsilon: 1000000, delta: 1e-6}\n"
        f"  per_query: {{default: 1, max: 1000}}\n  mechanism: {mechanism}\n"
        f"tables:\n{''.join(_declared(one) for one in tables)}"
        "access:\n"
        '  - id: everything\n    effect: permit\n    when: subject.role == "researcher"\n'
        f"    tables: [people, events]\n{_USES}    budget: {{epsilon: 1000000}}\n"
        '  - id: own\n    effect: permit\n    when: subject.role == "regional"\n'
        f"    tables: [people, events]\n{_USES}    budget: {{epsilon: 1000000}}{rows}\n"
        f"audit: {{min_units: {chance.one_of((1, 1, 2, 3))}, narrow_cells: 0, opaque_predicates: allow}}\n"
        "reuse: {max_age: 0d}\n"
        f"limits: {{enumerated_groups: {enumerated}, result_rows: 10000}}\n"
        f"answers: {{suppress_small: {blank}, clamp_results: {clamp}}}\n"
        f"clip: {{default: {chance.one_of((1, 1, 2, 4))}}}\n"
    )


_USES: Final = '    use: {aggregate: ["*"], group_by: ["*"], filter: ["*"], join: ["*"]}\n'


def _declared(table: Table) -> str:
    head = f"  {table.name}:\n"
    if table.protected:
        head += f"    unit_key: u\n    rows_per_unit: {table.rows}\n    groups_per_unit: {table.groups}\n"
    else:
        head += "    public: true\n"
    lines = "".join(f"      {one.name}: {{{_said(table, one)}}}\n" for one in table.columns)
    return f"{head}    columns:\n{lines}"


def _said(table: Table, column: Column) -> str:
    said = f'type: "{column.type}"'
    if table.protected:
        said += f", class: {'identifier' if column.name == 'u' else 'sensitive'}"
    if column.domain is not None:
        # a step stands behind the bracket of its domain
        closed = column.domain if "}" in column.domain else f"{column.domain}}}"
        said += f", domain: {{{closed}"
    return said
