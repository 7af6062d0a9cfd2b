"""Tables that have their unit through keys: notes of events, and marks of notes; and relations that read them.

Some notes belong to no event, some to an event of nobody. Their keys are unique in the parents, which do not say so for the
children's sake: there is no foreign key.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from privacy.fuzzer.catalogs import VALUES, Catalog, Column, Table
from privacy.fuzzer.chance import Chance
from privacy.fuzzer.words import Relation, Seen, Words
from property.small_worlds import Row, Stored

_SHARE: Final = 0.5
_KEYS: Final[dict[str, Callable[[int], str]]] = {
    "bigint": lambda place: str(place * 7 - 3),
    "integer": lambda place: str(place - 2),
    "text": lambda place: ("e", "E", "e ", "ä")[place % 4] + str(place // 4),
    "uuid": lambda place: f"{place:08x}-0000-4000-8000-00000000000{place % 10}",
}
_NUMBERS: Final = ("-1", "0", "1", "7", "30", "31", "100")
_WORDS: Final = ("a", "A", "flu", "", "30", None)
_TOLD: Final = "between: [2024-01-01T00:00:00Z, 2024-12-31T00:00:00Z]"
_DOMAIN: Final = "between: [0, 100]}, step: 10"
_DECLARED: Final = """
  notes:
    unit_key: {end}
    rows_per_unit: {rows}
    groups_per_unit: {groups}
    columns:
      ev: {{type: "{of}", class: identifier, joins: events.ev}}
      no: {{type: bigint, class: identifier}}
      x: {{type: integer, class: sensitive, domain: {{between: [0, 100]}}, step: 10}}
      k: {{type: text, class: sensitive}}
      told: {{type: timestamptz, class: sensitive, domain: {{{told}}}}}
  marks:
    unit_key: events.u
    rows_per_unit: {rows}
    groups_per_unit: {groups}
    columns:
      no: {{type: bigint, class: identifier, joins: notes.no}}
      y: {{type: integer, class: sensitive, domain: {{between: [0, 100]}}, step: 10}}
access:
"""


def with_children(made: Catalog) -> Catalog:
    """The catalog with tables below its events, by chance of its seed; everything else stays as it is."""
    chance = Chance(f"children {made.seed}")
    if not chance.happens(_SHARE):
        return made
    of = chance.one_of(list(_KEYS))
    events = made.tables[1]
    keyed = replace(
        events,
        columns=(*events.columns, Column("ev", of)),
        keys=(*events.keys, "UNIQUE (ev)"),
    )
    notes = Table(
        "notes",
        (Column("ev", of), Column("no", "bigint"), Column("x", "integer", _DOMAIN), Column("k", "text"), Column("told", "timestamptz", _TOLD)),
        protected=True,
        rows=2,
        keys=("UNIQUE (no)",),
        parent=("events", "ev"),
    )  # fmt: skip
    marks = Table(
        "marks",
        (Column("no", "bigint"), Column("y", "integer", _DOMAIN)),
        protected=True,
        rows=2,
        parent=("notes", "no"),
    )
    key = _KEYS[of]
    rows = dict(made.rows)
    rows["events"] = [
        (*row, None if chance.happens(0.08) else key(place))
        for place, row in enumerate(rows["events"])
    ]
    rows["notes"] = _notes(chance, [row[-1] for row in rows["events"]], key(999))
    rows["marks"] = [
        (_lost(chance, chance.one_of(rows["notes"])[1], "-5"), chance.one_of(_NUMBERS))
        for _ in range(chance.between(0, 20))
    ]
    declared = _DECLARED.format(
        end="events.u",
        rows=chance.one_of((1, 2, 3)),
        groups=chance.one_of((1, 2)),
        of=of,
        told=_TOLD,
    )
    text = made.text.replace("access:\n", declared.lstrip("\n"), 1)
    text = text.replace("tables: [people, events]", "tables: [people, events, notes, marks]")
    added = f'      ev: {{type: "{of}", class: identifier}}\n'
    text = text.replace("  codes:\n", f"{added}  codes:\n", 1)
    people, _, codes, grid = made.tables
    return replace(
        made,
        text=text,
        tables=(people, keyed, codes, grid, notes, marks),
        rows=rows,
    )


def _notes(chance: Chance, keys: list[Stored], orphan: str) -> list[Row]:
    """Of some events many, of most none."""
    rows: list[Row] = []
    for _ in range(chance.between(3, 24)):
        liked = keys[0] if chance.happens(0.3) else chance.one_of(keys)
        parent = _lost(chance, liked, orphan)
        told = chance.one_of((*VALUES["timestamptz"], None))
        number, word = chance.one_of(_NUMBERS), chance.one_of(_WORDS)
        rows.append((parent, str(len(rows)), number, word, told))
    return rows


def _lost(chance: Chance, key: Stored, orphan: str) -> Stored:
    return chance.weighted(((18, key), (1, orphan), (1, None)))


class Children:
    """Relations with the rows of a child, which have their unit in a column of a parent."""

    def __init__(
        self, chance: Chance, catalog: Catalog, words: Words, alias: Callable[[], str]
    ) -> None:
        self._chance = chance
        self._catalog = catalog
        self._words = words
        self._alias = alias

    def relation(self, table: Table) -> Relation:
        """The child with its parents, or by itself."""
        self._chance.note("unit through keys")
        make = self._chance.weighted((
            (5, self._joined), (2, self._query), (2, self._siblings), (2, self._with_child), (1, self._alone),
        ))  # fmt: skip
        return make(table)

    def _parent(self, table: Table) -> tuple[Table, str]:
        assert table.parent is not None
        name, key = table.parent
        return next(one for one in self._catalog.tables if one.name == name), key

    def _joined(self, table: Table) -> Relation:
        """One join after the other up to the table with the unit."""
        alias = self._alias()
        sql, columns = f"{table.name} {alias}", self._words.seen(table, alias)
        key = f"{alias}.{table.columns[0].name}"
        while table.parent is not None:
            table, target = self._parent(table)
            alias = self._alias()
            pair = [key, f"{alias}.{target}"]
            on = " = ".join(self._chance.shuffled(pair))
            parent = f"{table.name} {alias}"
            if "JOIN" not in sql and self._chance.happens(0.4):
                self._chance.note("parent JOIN child")
                sql = f"{parent} JOIN {sql} ON {on}"
            else:
                self._chance.note("child JOIN parent")
                sql = f"{sql} JOIN {parent} ON {on}"
            columns = (*columns, *self._words.seen(table, alias))
            key = f"{alias}.{table.columns[0].name}"
        return Relation(f"({sql})", columns, key)

    def _query(self, table: Table) -> Relation:
        """The same as a query, with commas in any order, by chance with the key in both arms of an OR."""
        self._chance.note("child, parent")
        first, name = self._alias(), self._alias()
        items, on, tables = [*self._words.seen(table, first)], [], [f"{table.name} {first}"]
        while table.parent is not None:
            below = f"{first}.{table.columns[0].name}"
            table, target = self._parent(table)
            first = self._alias()
            tables.append(f"{table.name} {first}")
            on.append(f"{below} = {first}.{target}")
        if self._chance.happens(0.3):
            self._chance.note("key in every arm of OR")
            inside = Relation("", tuple(items), None)
            arms = [
                " AND ".join(self._chance.shuffled([*on, self._words.condition(inside)]))
                for _ in range(2)
            ]
            on = [f"(({arms[0]}) OR ({arms[1]}))"]
        listed = ", ".join(f"{one.sql} AS c{place}" for place, one in enumerate(items))
        query = (
            f"SELECT {first}.{table.columns[0].name} AS u, {listed}"
            f" FROM {', '.join(self._chance.shuffled(tables))} WHERE {' AND '.join(on)}"
        )
        seen = [replace(one, sql=f"{name}.c{place}") for place, one in enumerate(items)]
        return Relation(f"({query}) {name}", tuple(seen), f"{name}.u")

    def _siblings(self, table: Table) -> Relation:
        """Two children of one parent, and the parent's unit."""
        self._chance.note("child JOIN child")
        one, other = self._joined(table), self._alias()
        key = table.columns[0].name
        met = next((part for part in one.sql.strip("()").split() if part.endswith(f".{key}")), None)
        more: tuple[Seen, ...] = self._words.seen(table, other)
        return Relation(
            f"{one.sql} JOIN {table.name} {other} ON {other}.{key} = {met}",
            (*one.columns, *more),
            one.unit,
        )

    def _with_child(self, table: Table) -> Relation:
        """Rows of the parent that have a child, or have none."""
        parent, target = self._parent(table)
        outer = self.relation(parent) if parent.parent is not None else self._plain(parent)
        met = next((one.sql for one in outer.columns if one.sql.endswith(f".{target}")), None)
        if met is None:
            return outer
        alias = self._alias()
        inside = Relation("", self._words.seen(table, alias), None)
        key, condition = f"{alias}.{table.columns[0].name}", self._words.condition(inside)
        no = self._chance.one_of(("", "NOT "))
        self._chance.note(f"{no}EXISTS of a child")
        text = self._chance.one_of((
            f"{no}EXISTS (SELECT 1 FROM {table.name} {alias} WHERE {key} = {met} AND {condition})",
            f"{met} IN (SELECT {key} FROM {table.name} {alias} WHERE {condition})",
        ))  # fmt: skip
        return replace(outer, where=(*outer.where, text))

    def _plain(self, table: Table) -> Relation:
        alias = self._alias()
        return Relation(f"{table.name} {alias}", self._words.seen(table, alias), f"{alias}.u")

    def _alone(self, table: Table) -> Relation:
        """Without the unit in any column: its key stands where a unit would."""
        self._chance.note("child alone")
        alias = self._alias()
        return Relation(
            f"{table.name} {alias}",
            self._words.seen(table, alias),
            f"{alias}.{table.columns[0].name}",
        )
