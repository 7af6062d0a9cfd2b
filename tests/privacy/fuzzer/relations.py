"""FROM clauses of the accepted language as text: tables, joins, windows, each person first, what is public or staged."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from privacy.fuzzer.catalogs import Catalog, Table, usual
from privacy.fuzzer.chance import Chance
from privacy.fuzzer.children import Children
from privacy.fuzzer.words import NUMBERS, Relation, Seen, Words

_ORDERS: Final = ("", " DESC")
_DEEPEST: Final = 2


class Relations:
    """Relations of persons by chance; `ctes` collects what goes before the statement."""

    def __init__(self, chance: Chance, catalog: Catalog, words: Words) -> None:
        self._chance = chance
        self._catalog = catalog
        self._words = words
        self._names = 0
        self._children = Children(chance, catalog, words, self.alias)
        self.ctes: list[str] = []

    def alias(self) -> str:
        self._names += 1
        return f"q{self._names}"

    def table(self) -> Table:
        return self._chance.one_of(self._catalog.protected)

    def plain(self, table: Table | None = None) -> Relation:
        """A table of persons as it is."""
        table = table or self.table()
        if table.parent is not None:
            return self._children.relation(table)
        alias = self.alias()
        return Relation(f"{table.name} {alias}", self._words.seen(table, alias), f"{alias}.u")

    def any(self, depth: int = 0) -> Relation:
        """A relation of persons."""
        if depth >= 2 or self._chance.happens(0.5 if depth else 0.25):
            return self.plain()
        make: Callable[[int], Relation] = self._chance.weighted((
            (2, self._filtered), (4, self._per_person), (3, self._window), (1, self._distinct),
            (3, self._with_persons), (2, self._with_itself), (5, self._with_public),
            (5, self._with_values), (3, self._with_released), (2, self._beside_one_row),
            (3, self._union), (4, self._chain), (2, self._without_partner), (2, self._listed),
        ))  # fmt: skip
        return make(depth)

    def _note(self, feature: str) -> None:
        self._chance.note(feature)

    def _named(self, query: str, columns: list[tuple[str, Seen]]) -> Relation:
        """A query with these columns under a name of its own; as a CTE, by chance."""
        alias = self.alias()
        seen = tuple(replace(one, sql=f"{alias}.{name}") for name, one in columns)
        if self._chance.happens(0.25):
            self._note("CTE")
            self.ctes.append(f"{alias} AS ({query})")
            return Relation(alias, seen, f"{alias}.u")
        return Relation(f"({query}) {alias}", seen, f"{alias}.u")

    def _from(self, relation: Relation, more: str = "") -> str:
        where = [*relation.where, *([more] if more else [])]
        return relation.sql + (f" WHERE {' AND '.join(where)}" if where else "")

    def _handed_on(self, inner: Relation) -> list[tuple[str, Seen]]:
        return [(f"c{place}", one) for place, one in enumerate(inner.columns[:7])]

    def _items(self, inner: Relation, columns: list[tuple[str, Seen]]) -> str:
        return ", ".join([f"{inner.unit} AS u", *(f"{one.sql} AS {name}" for name, one in columns)])

    def _filtered(self, depth: int) -> Relation:
        self._note("subquery")
        inner = self.any(depth + 1)
        columns = self._handed_on(inner)
        condition = self._words.condition(inner)
        return self._named(
            f"SELECT {self._items(inner, columns)} FROM {self._from(inner, condition)}", columns
        )

    def _per_person(self, depth: int) -> Relation:
        self._note("each person first")
        inner = self.any(depth + 1)
        keys = self._chance.some(inner.columns, 0, 2) if self._chance.happens(0.5) else []
        columns = [(f"g{place}", one) for place, one in enumerate(keys)]
        number = self._words.number(inner)
        made = [("w", Seen("COUNT(*)", "whole", ("0", "1", "2", "3"), bounded=True))]
        for name, function in self._chance.some(
            (
                ("s", "SUM"),
                ("m", "MIN"),
                ("l", "MAX"),
                ("v", "AVG"),
                ("o", "COUNT"),
                ("e", "COUNT DISTINCT"),
            ),
            1,
            3,
        ):
            text = (
                f"COUNT(DISTINCT {number.sql})" if " " in function else f"{function}({number.sql})"
            )
            if self._chance.happens(0.25):
                self._note("each person first FILTER")
                text += f" FILTER (WHERE {self._words.condition(inner)})"
            self._note(f"each person first {function}")
            kind = "whole" if function.startswith("COUNT") else "exact"
            made.append((name, Seen(text, kind, (*number.values, "2"), bounded=True)))
        having = ""
        if self._chance.happens(0.3):
            self._note("each person first HAVING")
            having = f" HAVING COUNT(*) {self._chance.one_of(('>', '=', '<='))} {self._chance.between(1, 3)}"
        items = ", ".join(
            [f"{inner.unit} AS u", *(f"{one.sql} AS {name}" for name, one in (*columns, *made))]
        )
        group = ", ".join([str(inner.unit), *(one.sql for _, one in columns)])
        query = f"SELECT {items} FROM {self._from(inner)} GROUP BY {group}{having}"
        return self._named(query, [*columns, *made])

    def _window(self, depth: int) -> Relation:
        inner = self.any(depth + 1)
        columns = self._handed_on(inner)
        order, other = self._words.column(inner), self._words.column(inner)
        number = self._words.number(inner)
        if order is None or other is None:
            return self.plain()
        by = f"PARTITION BY {inner.unit}"
        sorted_by = f"{by} ORDER BY {order.sql}{self._chance.one_of(_ORDERS)}"
        frame = self._chance.one_of((
            "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
            "ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING",
        ))  # fmt: skip
        ones = ("1", "2", "3")
        name, text, like = self._chance.one_of((
            ("window ROW_NUMBER", f"ROW_NUMBER() OVER ({sorted_by})", Seen("", "whole", ones, bounded=True)),
            ("window LAG", f"LAG({other.sql}) OVER ({sorted_by})", other),
            ("window LEAD", f"LEAD({other.sql}) OVER ({sorted_by})", other),
            ("window SUM", f"SUM({number.sql}) OVER ({sorted_by} {frame})", Seen("", "exact", number.values, bounded=True)),
            ("window MAX", f"MAX({number.sql}) OVER ({by})", number),
            ("window COUNT", f"COUNT(*) OVER ({by})", Seen("", "whole", ones, bounded=True)),
            ("window AVG", f"AVG({number.sql}) OVER ({sorted_by} {frame})", Seen("", "exact", number.values, bounded=True)),
        ))  # fmt: skip
        self._note(name)
        query = f"SELECT {self._items(inner, columns)}, {text} AS w FROM {self._from(inner)}"
        return self._named(query, [*columns, ("w", like)])

    def _distinct(self, depth: int) -> Relation:
        self._note("DISTINCT of persons")
        inner = self.any(depth + 1)
        columns = [
            (f"g{place}", one) for place, one in enumerate(self._chance.some(inner.columns, 1, 2))
        ]
        return self._named(
            f"SELECT DISTINCT {self._items(inner, columns)} FROM {self._from(inner)}", columns
        )

    def _with_persons(self, depth: int) -> Relation:
        one, other = self.any(depth + 1), self.plain()
        join = self._chance.one_of(("JOIN", "LEFT JOIN", ","))
        self._note(f"persons {join} persons")
        columns = (*one.columns, *other.columns)
        if join == ",":
            return Relation(
                f"{one.sql}, {other.sql}",
                columns,
                one.unit,
                (*one.where, f"{one.unit} = {other.unit}"),
            )
        more = f" AND {self._words.condition(other)}" if self._chance.happens(0.3) else ""
        return Relation(
            f"{one.sql} {join} {other.sql} ON {one.unit} = {other.unit}{more}",
            columns,
            one.unit,
            one.where,
        )

    def _chain(self, _: int) -> Relation:
        """Tables of persons one after the other, each on the person of any before it, who may be missing."""
        self._note("chain of persons")
        one = self.plain()
        units = [one.unit]
        for _place in range(self._chance.between(1, 3)):
            other = self._filtered(_DEEPEST) if self._chance.happens(0.3) else self.plain()
            unit = self._chance.one_of(units)
            if unit != one.unit:
                self._note("join on the far side's person")
            join = self._chance.one_of(("JOIN", "LEFT JOIN", "LEFT JOIN"))
            more = f" AND {self._words.condition(other)}" if self._chance.happens(0.4) else ""
            one = replace(
                one,
                sql=f"{one.sql} {join} {other.sql} ON {other.unit} = {unit}{more}",
                columns=(*one.columns, *other.columns),
            )
            units.append(other.unit)
        return one

    def _with_itself(self, _: int) -> Relation:
        self._note("self-join of a person")
        table = self._catalog.tables[1]
        one, other = self.plain(table), self.plain(table)
        place = self._chance.between(0, len(one.columns) - 1)
        compared = f"{one.columns[place].sql} {self._chance.one_of(('<', '<>', '='))} {other.columns[place].sql}"
        on = f"{one.unit} = {other.unit} AND {compared}"
        return Relation(
            f"{one.sql} JOIN {other.sql} ON {on}", (*one.columns, *other.columns), one.unit
        )

    def _with_public(self, depth: int) -> Relation:
        """A public table, or a query over public tables alone, on its key, or on what is none."""
        one = self.any(depth + 1)
        codes, grid, *_ = self._catalog.public
        alias = self.alias()
        seen = {column.sql.partition(".")[2]: column for column in self._words.seen(codes, alias)}
        own = {column.sql.partition(".")[2]: column for column in self._words.seen(grid, alias)}
        code, label, w, a = seen["code"], seen["label"], seen["w"], own["a"]
        cast = self._chance.one_of(("real", "text", "numeric"))
        of = {"real": "float", "text": "text", "numeric": "exact"}[cast]
        name, query, key, others = self._chance.weighted((
            (9, ("public table", "codes", code, [label, w])),
            (2, ("public DISTINCT", "(SELECT DISTINCT code FROM codes)", code, [])),
            (1, ("public DISTINCT", "(SELECT DISTINCT a FROM grid)", a, [])),
            (1, ("public GROUP BY", "(SELECT code, COUNT(*) AS w FROM codes GROUP BY code)", code, [w])),
            (1, ("public GROUP BY", "(SELECT a, MAX(a) AS w FROM grid GROUP BY a)", a, [w])),
            (1, ("public UNION", "(SELECT a FROM grid UNION SELECT w FROM codes)", a, [])),
            (1, ("public LIMIT", "(SELECT code, label FROM codes ORDER BY 1, 2 LIMIT 1)", code, [label])),
            (1, ("public expression", "(SELECT a / 2 AS a FROM grid)", a, [])),
            (2, ("public cast", f"(SELECT DISTINCT CAST(a AS {cast}) AS code FROM grid)", replace(code, kind=of), [])),
            (1, ("public filter", "(SELECT code, w FROM codes WHERE w < 30)", code, [w])),
            (5, ("public table by no key", "codes", self._chance.one_of((label, w)), [code, w])),
        ))  # fmt: skip
        met = self._meeting(one, key)
        if met is None:
            return one
        self._note(name)
        join = self._chance.one_of(("JOIN", "LEFT JOIN"))
        self._note(f"persons {join} public")
        return Relation(
            f"{one.sql} {join} {query} {alias} ON {met} = {key.sql}",
            (*one.columns, *others, key), one.unit, one.where,
        )  # fmt: skip

    def _meeting(self, relation: Relation, key: Seen) -> str | None:
        """A column of persons that can be compared with the key."""
        among = NUMBERS if key.kind in NUMBERS else {key.kind}
        found = self._words.column(relation, *among)
        return None if found is None else found.sql

    def _with_values(self, depth: int) -> Relation:
        return self.with_values(self.any(depth + 1))

    def with_values(self, one: Relation) -> Relation:
        """Beside a list that is written out: the same value in other spellings, twice, or once."""
        whole = self._words.column(one, "whole")
        column = self._words.column(one, *NUMBERS, "text", "date", "uuid")
        column = whole if whole is not None and self._chance.happens(0.5) else column
        if column is None:
            return one
        fit = [one for one in column.values if one[-3:].lower() not in {"nan", "ity"}]
        if column.kind in NUMBERS:
            fit = [one for one in fit if one.replace(".", "").isdecimal() and len(one) < 6] or [
                "30"
            ]
        some = self._chance.some(usual(self._chance, fit), 1, 3)
        rows = [self._words.constant(column.kind, [value]) for value in some]
        if column.kind in NUMBERS and self._chance.happens(0.6):
            # one value in several spellings
            spelled = _spellings(some[0])
            rows = self._chance.some(spelled[: self._chance.one_of((3, 3, 5))], 2, 3)
            self._note("VALUES of one number")
        alias = self.alias()
        wide = self._chance.happens(0.3)
        written = ", ".join(
            f"({row}, {place})" if wide else f"({row})" for place, row in enumerate(rows)
        )
        self._note("VALUES")
        names = "(code, place)" if wide else "(code)"
        query = self._chance.weighted((
            (5, f"(VALUES {written}) {alias}{names}"),
            (1, f"(SELECT * FROM (VALUES {written}) v{names}) {alias}"),
            (1, f"(SELECT DISTINCT code FROM (VALUES {written}) v{names}) {alias}"),
            (1, f"(SELECT code FROM (VALUES {written}) v{names} GROUP BY code) {alias}"),
        ))  # fmt: skip
        join = self._chance.one_of(("JOIN", "LEFT JOIN"))
        self._note(f"persons {join} VALUES")
        return Relation(
            f"{one.sql} {join} {query} ON {alias}.code = {column.sql}",
            one.columns,
            one.unit,
            one.where,
        )

    def _with_released(self, depth: int) -> Relation:
        """An answer of the same statement, on all its keys."""
        one, inner = self.any(depth + 1), self.plain()
        key = self._words.column(inner)
        if key is None or not self._words.staging:
            return one
        met = self._meeting(one, key)
        # groups of decimals and floats are not taken to be apart
        rarely = key.kind in {"exact", "float"}
        if met is not None and self._chance.happens(0.1 if rarely else 0.5):
            return self._above_released(one, inner, f"{key.sql} = {met}")
        key = self._staged_key(key)
        alias = self.alias()
        met = self._meeting(one, key)
        if met is None:
            return one
        self._note("persons JOIN released")
        self._words.staging = False
        query = (
            f"SELECT {key.sql} AS code, COUNT(*) AS w FROM {self._from(inner)} GROUP BY {key.sql}"
        )
        join = self._chance.one_of(("JOIN", "LEFT JOIN"))
        counted = Seen(f"{alias}.w", "whole", ("1", "2"))
        return Relation(
            f"{one.sql} {join} ({query}) {alias} ON {met} = {alias}.code",
            (*one.columns, counted),
            one.unit,
            one.where,
        )

    def _above_released(self, one: Relation, inner: Relation, met: str) -> Relation:
        """Compared with an aggregate over everybody's rows with the same value."""
        self._note("subquery of released groups")
        self._words.staging = False
        number, mine = self._words.number(inner), self._words.number(one)
        text = self._chance.one_of((
            f"(SELECT COUNT(*) FROM {self._from(inner, met)}) {self._chance.one_of(('>', '=', '<='))} {self._chance.between(0, 3)}",
            f"(SELECT COALESCE(SUM({number.sql}), 0) FROM {self._from(inner, met)}) <= {mine.sql}",
            f"{mine.sql} >= (SELECT 0.5 * AVG({number.sql}) FROM {self._from(inner, met)})",
        ))  # fmt: skip
        return replace(one, where=(*one.where, text))

    def _staged_key(self, key: Seen) -> Seen:
        """What is computed as a double and printed as something shorter."""
        if key.kind not in NUMBERS or self._chance.happens(0.4):
            return key
        self._note("released key of an expression")
        of = self._chance.one_of(("real", "double precision", "real", "numeric"))
        return replace(key, sql=self._chance.one_of((
            f"CAST({key.sql} AS {of})", f"{key.sql} / 3", f"{key.sql} * CAST(1 AS real)",
            f"CAST({key.sql} AS real) * CAST(0.1 AS real)", f"CAST({key.sql} AS real) + CAST(0.1 AS double precision)",
        )))  # fmt: skip

    def _beside_one_row(self, depth: int) -> Relation:
        one, inner, alias = self.any(depth + 1), self.plain(), self.alias()
        if not self._words.staging:
            return one
        self._words.staging = False
        self._note("persons CROSS JOIN one row")
        number = self._words.number(inner)
        query = self._chance.one_of(
            (
                f"SELECT AVG({number.sql}) AS w FROM {self._from(inner)}",
                "SELECT COUNT(*) AS w FROM codes",
            )
        )
        staged = Seen(f"{alias}.w", "exact", ("1", "30"))
        return Relation(
            f"{one.sql} CROSS JOIN ({query}) {alias}", (*one.columns, staged), one.unit, one.where
        )

    def _union(self, depth: int) -> Relation:
        self._note("UNION ALL")
        one, other = self.any(depth + 1), self.plain()
        pairs = [
            (mine, theirs) for mine in one.columns for theirs in other.columns if mine.kind == theirs.kind
        ][:6]  # fmt: skip
        pairs = [self._or_constant(mine, yours) for mine, yours in pairs]
        columns = [(f"c{place}", mine) for place, (mine, _) in enumerate(pairs)]
        theirs = [(f"c{place}", yours) for place, (_, yours) in enumerate(pairs)]
        query = (
            f"SELECT {self._items(one, columns)} FROM {self._from(one)}"
            f" UNION ALL SELECT {self._items(other, theirs)} FROM {self._from(other)}"
        )
        bounded = [
            (name, replace(mine, bounded=mine.bounded and yours.bounded))
            for (name, mine), (_, yours) in zip(columns, theirs, strict=True)
        ]
        return self._named(query, bounded)

    def _or_constant(self, mine: Seen, yours: Seen) -> tuple[Seen, Seen]:
        """On one side, by chance, one value for all rows."""
        if not self._chance.happens(0.25):
            return mine, yours
        self._note("UNION ALL with a constant")
        said = self._words.constant(yours.kind, yours.values)
        constant = replace(yours, sql=yours.sql if "$" in said else said)
        return (mine, constant) if self._chance.happens(0.5) else (constant, yours)

    def _without_partner(self, depth: int) -> Relation:
        one = self.any(depth + 1)
        if self._chance.happens(0.5):
            self._note("anti-join of persons")
            other = self.plain()
            on = f"{one.unit} = {other.unit} AND {self._words.condition(other)}"
            missing = f"{other.unit} IS NULL"
            return Relation(
                f"{one.sql} LEFT JOIN {other.sql} ON {on}",
                one.columns,
                one.unit,
                (*one.where, missing),
            )
        codes, alias = self._catalog.public[0], self.alias()
        key = self._words.seen(codes, alias)[0]
        met = self._meeting(one, key)
        if met is None:
            return one
        self._note("anti-join of public rows")
        missing = f"{key.sql} IS NULL"
        return Relation(
            f"{one.sql} LEFT JOIN codes {alias} ON {met} = {key.sql}",
            one.columns,
            one.unit,
            (*one.where, missing),
        )

    def _listed(self, depth: int) -> Relation:
        """EXISTS and IN, over persons and over what is public."""
        one, other = self.any(depth + 1), self.plain()
        no = self._chance.one_of(("", "NOT "))
        codes = self._catalog.public[0]
        key = self._words.seen(codes, "z")[0]
        met = self._meeting(one, key)
        inside = Relation("", self._words.seen(codes, "z"), None)
        condition = self._words.condition(other)
        forms: list[tuple[str, str]] = [
            ("EXISTS", f"EXISTS (SELECT 1 FROM {other.sql} WHERE {other.unit} = {one.unit} AND {condition})"),
            ("IN of persons", f"{one.unit} {no}IN (SELECT {other.unit} FROM {other.sql} WHERE {condition})"),
        ]  # fmt: skip
        if met is not None:
            listed = f"SELECT z.code FROM codes z WHERE {self._words.condition(inside)}"
            forms.append(("IN of public rows", f"{met} {no}IN ({listed})"))
        name, text = self._chance.one_of(forms)
        text = f"{no}{text}" if name == "EXISTS" else text
        self._note(f"{no}{name}")
        return replace(one, where=(*one.where, text))


def _spellings(value: str) -> list[str]:
    """Of one number; the first are whole numbers where it is one."""
    whole = "." not in value
    others = [f"{value}.0", f"{value}0e-1"] if whole else [f"{value}0", f"{value}e0"]
    return [value, f"0{value}", f"00{value}", *others]
