"""Statements that are much alike: few tables, few constants, joins of persons with persons, unions, parts of a person.

Where statements differ in little, what tells releases apart has to see that little: see `identities`.
"""

import re
from collections.abc import Mapping
from typing import Final

from privacy.fuzzer.catalogs import Catalog, Table
from privacy.fuzzer.chance import Chance

_FEW: Final = 4


class Likenesses:
    """Statements over the tables of a catalog; each has one number that is compared and added up."""

    def __init__(self, chance: Chance, catalog: Catalog) -> None:
        self._chance = chance
        self._numbers = {
            table.name: column
            for table in catalog.protected
            if (column := _number(table)) is not None
        }
        self._constants = _constants(catalog, self._numbers)
        self._names = 0

    @staticmethod
    def can_be_said(catalog: Catalog) -> bool:
        """Whether there are two tables of persons, and both have a number."""
        return len(catalog.protected) == 2 and all(
            _number(one) is not None for one in catalog.protected
        )

    def statement(self) -> str:
        self._chance.note("likeness")
        sql, number, unit = self._side()
        units, numbers = [unit], [number]
        for _ in range(self._chance.between(0, 3)):
            side, number, unit = self._side()
            join = self._chance.one_of(("JOIN", "LEFT JOIN", "LEFT JOIN"))
            more = f" AND {self._compared(number)}" if self._chance.happens(0.4) else ""
            sql += f" {join} {side} ON {unit} = {self._chance.one_of(units)}{more}"
            units.append(unit)
            numbers.append(number)
        where = self._where(units, numbers)
        measure = self._chance.one_of(
            ("COUNT(*)", f"COUNT({self._chance.one_of(units)})", f"SUM({self._chance.one_of(numbers)})")
        )  # fmt: skip
        if self._chance.happens(0.2):
            measure += f" FILTER (WHERE {self._compared(self._chance.one_of(numbers))})"
        return f"SELECT {measure} FROM {sql}{where}"

    def _alias(self) -> str:
        self._names += 1
        return f"a{self._names}"

    def _table(self, alias: str) -> tuple[str, str, str]:
        """As it is, with its number and its unit."""
        events, people = sorted(self._numbers)
        name = self._chance.one_of((events, people, people))
        return f"{name} {alias}", f"{alias}.{self._numbers[name]}", f"{alias}.u"

    def _side(self) -> tuple[str, str, str]:
        alias, inner = self._alias(), self._alias()
        sql, number, unit = self._table(inner)
        kind = self._chance.weighted((
            (9, "table"), (3, "filtered"), (2, "by person"), (2, "outer"), (3, "union"), (1, "window"),
        ))  # fmt: skip
        match kind:
            case "table":
                return sql, number, unit
            case "filtered":
                query = (
                    f"SELECT {unit} AS u, {number} AS n FROM {sql} WHERE {self._compared(number)}"
                )
            case "by person":
                made = self._chance.one_of(("COUNT(*)", f"MAX({number})", f"SUM({number})"))
                where = f" WHERE {self._compared(number)}" if self._chance.happens(0.7) else ""
                query = f"SELECT {unit} AS u, {made} AS n FROM {sql}{where} GROUP BY {unit}"
            case "outer":
                other, theirs, same = self._table(self._alias())
                on = f"{same} = {unit} AND {self._compared(theirs)}"
                query = f"SELECT {unit} AS u, {theirs} AS n FROM {sql} LEFT JOIN {other} ON {on}"
            case "window":
                made = f"SUM({number}) OVER (PARTITION BY {unit})"
                query = f"SELECT {unit} AS u, {made} AS n FROM {sql}"
            case _:
                query = self._union(sql, number, unit)
        return f"({query}) {alias}", f"{alias}.n", f"{alias}.u"

    def _union(self, sql: str, number: str, unit: str) -> str:
        other, theirs, same = self._table(self._alias())
        shown = [self._chance.one_of((one, one, self._constant())) for one in (number, theirs)]
        sides = [
            f"SELECT {who} AS u, {what} AS n FROM {where} WHERE {self._compared(of)}"
            for who, what, where, of in ((unit, shown[0], sql, number), (same, shown[1], other, theirs))
        ]  # fmt: skip
        return " UNION ALL ".join(sides)

    def _where(self, units: list[str], numbers: list[str]) -> str:
        unit, number = self._chance.one_of(units), self._chance.one_of(numbers)
        sql, theirs, same = self._table(self._alias())
        asked = f" AND {self._compared(theirs)}" if self._chance.happens(0.6) else ""
        return self._chance.weighted((
            (8, ""),
            (3, f" WHERE {self._compared(number)}"),
            (1, f" WHERE {unit} IS NULL"),
            (1, f" WHERE {number} IS NOT NULL"),
            (2, f" WHERE EXISTS (SELECT 1 FROM {sql} WHERE {same} = {unit}{asked})"),
            (1, f" WHERE NOT EXISTS (SELECT 1 FROM {sql} WHERE {same} = {unit}{asked})"),
        ))  # fmt: skip

    def _compared(self, number: str) -> str:
        return f"{number} {self._chance.one_of(('>', '>', '<='))} {self._constant()}"

    def _constant(self) -> str:
        return self._chance.one_of(self._constants)


def _number(table: Table) -> str | None:
    fit = [
        one.name for one in table.columns[1:] if one.summable and one.name in {"x", "y", "n", "d"}
    ]
    return fit[0] if fit else None


def _constants(catalog: Catalog, numbers: Mapping[str, str]) -> list[str]:
    """Some that are stored: what is compared with them parts the rows."""
    found: set[int] = set()
    for table in catalog.protected:
        place = [one.name for one in table.columns].index(numbers[table.name])
        stored = (row[place] for row in catalog.rows[table.name])
        found |= {int(one) for one in stored if one is not None and re.fullmatch(r"-?\d{1,4}", one)}
    every = sorted(found or {1})
    return [str(one) for one in every[:: max(1, len(every) // _FEW)]]
