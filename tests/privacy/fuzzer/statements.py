"""Whole statements by chance: the list, the grouping, what is staged, what is computed over answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from privacy.fuzzer.catalogs import Catalog
from privacy.fuzzer.chance import Chance
from privacy.fuzzer.likenesses import Likenesses
from privacy.fuzzer.relations import Relations
from privacy.fuzzer.words import NUMBERS, Relation, Ways, Words

_ALIKE: Final = 0.1
"""In so many of the catalogs that allow it all statements are much alike."""
_COMPARED: Final = ("<", ">", "<=", "=")


@dataclass(frozen=True)
class Sentence:
    """A statement with the values of its parameters, and the features of the language that it has."""

    sql: str
    values: tuple[str, ...]
    features: frozenset[str]
    subject: str


def is_alike(catalog: Catalog) -> bool:
    """Whether all statements of the catalog are much alike."""
    return Chance(f"alike {catalog.seed}").happens(_ALIKE) and Likenesses.can_be_said(catalog)


def sentence(catalog: Catalog, seed: str) -> Sentence:
    """The statement of this seed."""
    chance = Chance(f"statement {seed}")
    words = Words(chance, catalog.rows)
    if is_alike(catalog):
        said = Likenesses(chance, catalog).statement()
    else:
        said = _Saying(chance, words, Relations(chance, catalog, words)).statement()
    said, values = _numbered(said, words.parameters)
    subject = "bob" if chance.happens(0.15) else "alice"
    if subject == "bob" and "rows:" in catalog.text:
        chance.note("row rule")
    named = {one.feature for one in catalog.ladders if one.is_named(said)}
    if ".told" in said:
        chance.note("moment of a child")
    if " events" in said and "(consents)" in catalog.text and subject == "alice":
        chance.note("consents of rows")
    return Sentence(said, values, frozenset(chance.features | named), subject)


def _numbered(sql: str, values: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """With the parameters that the text has, in one row: parts of a statement may have been left out."""
    found = [place for place in range(1, len(values) + 1) if f"${place}" in sql]
    for new, old in enumerate(found, 1):
        sql = sql.replace(f"${old}", f"${new}")
    return sql, tuple(values[place - 1] for place in found)


class _Saying:
    def __init__(self, chance: Chance, words: Words, relations: Relations) -> None:
        self._chance = chance
        self._words = words
        self._relations = relations

    def statement(self) -> str:
        if self._chance.happens(0.3) and (said := self._of_one_column()) is not None:
            return said
        simple = self._chance.happens(0.4)
        relation = self._relations.any(int(simple))
        where = list(relation.where)
        if self._chance.happens(0.5):
            where.append(self._words.condition(relation))
        if self._chance.happens(0.08) and self._words.staging:
            where.append(self._staged(relation))
        if self._chance.happens(0.03):
            self._chance.note("empty region")
            where.append(self._chance.one_of(("1 = 0", "1 = 1 AND NULL", "false")))
        keys = [] if simple and self._chance.happens(0.7) else self._keys(relation)
        many = 1 if simple else self._chance.weighted(((4, 1), (2, 2), (1, 3)))
        measures = [self._measure(relation) for _ in range(many)]
        body = f"FROM {relation.sql}"
        if where:
            body += f" WHERE {' AND '.join(f'({one})' for one in where)}"
        said = f"SELECT {', '.join([*keys, *measures])} {body}{self._grouped(len(keys), relation)}"
        return self._finished(said, len(keys), len(measures))

    def _of_one_column(self) -> str | None:
        """What is measured of a column where a condition narrows the same column; by chance beside a list."""
        relation = self._relations.plain()
        fit = [one for one in relation.columns if one.bounded and one.kind in NUMBERS]
        if not fit:
            return None
        whole = [one for one in fit if one.kind == "whole"]
        column = self._chance.one_of(whole if whole and self._chance.happens(0.7) else fit)
        self._chance.note("narrowed column")
        alone = Relation(relation.sql, (column,), relation.unit)
        condition = self._words.condition(alone)
        if self._chance.happens(0.5):
            relation = self._relations.with_values(relation)
        one = column.sql
        measure = self._chance.one_of((
            *("COUNT(*)", f"COUNT(DISTINCT {one})", f"COUNT(DISTINCT {one})", f"COUNT(DISTINCT {one})"),
            *(f"SUM({one})", f"AVG({one})", f"COUNT({one})", f"MEDIAN({one})", f"MAX({one})"),
        ))  # fmt: skip
        keys = self._keys(relation)[:1] if self._chance.happens(0.2) else []
        group = self._grouped(len(keys), relation)
        where = self._chance.one_of((f" WHERE {condition}", f" WHERE {condition}", ""))
        if not where and self._chance.happens(0.5):
            measure += f" FILTER (WHERE {condition})"
        return f"SELECT {', '.join([*keys, measure])} FROM {relation.sql}{where}{group}"

    def _grouped(self, keys: int, relation: Relation) -> str:
        if not keys:
            return ""
        places = [str(place + 1) for place in range(keys)]
        listed = ", ".join(places)
        text = f" GROUP BY {listed}"
        if self._chance.happens(0.2):
            sets = self._words.pick((
                (1, "ROLLUP", lambda: f"ROLLUP ({listed})"),
                (1, "CUBE", lambda: f"CUBE ({listed})"),
                (1, "GROUPING SETS", lambda: f"GROUPING SETS (({listed}), ({places[-1]}), ())"),
            ))  # fmt: skip
            text = f" GROUP BY {sets}"
        if self._chance.happens(0.15):
            self._chance.note("HAVING")
            number = self._words.number(relation)
            text += self._chance.one_of((" HAVING COUNT(*) > 1", f" HAVING SUM({number.sql}) > 3"))
        return text

    def _keys(self, relation: Relation) -> list[str]:
        many = self._chance.weighted(((7, 0), (5, 1), (2, 2)))
        keys = []
        for _ in range(many):
            column = self._words.column(relation)
            if column is not None:
                keys.append(self._key(relation, column.sql, column.kind))
        return list(dict.fromkeys(keys))

    def _key(self, relation: Relation, sql: str, kind: str) -> str:
        if self._chance.happens(0.55):
            self._chance.note(f"key of {kind}")
            return sql
        if self._chance.happens(0.15):
            self._chance.note("key CASE")
            return f"CASE WHEN {self._words.condition(relation)} THEN 'one' ELSE 'two' END"
        return self._words.pick(self._ways(sql, kind))

    def _ways(self, sql: str, kind: str) -> Ways:
        def of(*values: str) -> str:
            return self._words.constant("whole", values)

        if kind in NUMBERS:
            return (
                (1, "key of arithmetic", lambda: f"{sql} + {of('1', '30', '0')}"),
                (1, "key of division", lambda: f"{sql} / {of('3', '10')}"),
                (1, "key cast to real", lambda: f"CAST({sql} AS real)"),
                (1, "key cast", lambda: f"CAST({sql} AS {self._chance.one_of(('integer', 'numeric', 'text'))})"),
                (1, "key WIDTH_BUCKET", lambda: f"WIDTH_BUCKET({sql}, 0, 100, 5)"),
                (1, "key FLOOR", lambda: f"FLOOR({sql} / 10)"),
                (1, "key COALESCE", lambda: f"COALESCE({sql}, 0)"),
            )  # fmt: skip
        if kind == "text":
            return (
                (1, "key LOWER", lambda: f"LOWER({sql})"),
                (1, "key LEFT", lambda: f"LEFT({sql}, 1)"),
                (1, "key LENGTH", lambda: f"LENGTH({sql})"),
                (1, "key of a trim", lambda: f"TRIM({sql})"),
                (1, "key of concatenation", lambda: f"{sql} || '|'"),
            )
        if kind in {"date", "timestamp"}:
            return (
                (1, "key EXTRACT", lambda: f"EXTRACT(month FROM {sql})"),
                (1, "key DATE_TRUNC", lambda: f"DATE_TRUNC('month', {sql})"),
                (1, "key to_char", lambda: f"to_char({sql}, 'YYYY-MM')"),
            )
        if kind == "zoned":
            zone = self._chance.one_of(("Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu"))
            return (
                (1, "key EXTRACT of a moment", lambda: f"EXTRACT(hour FROM {sql})"),
                (1, "key DATE_TRUNC of a moment", lambda: f"DATE_TRUNC('day', {sql})"),
                (1, "key DATE_TRUNC to hours", lambda: f"DATE_TRUNC('hour', {sql})"),
                (1, "key cast to a day", lambda: f"CAST({sql} AS date)"),
                (1, "key AT TIME ZONE", lambda: f"DATE_TRUNC('month', {sql} AT TIME ZONE '{zone}')"),
                (1, "key of a moved moment", lambda: f"DATE_TRUNC('week', {sql} + interval '1 day')"),
            )  # fmt: skip
        return ((1, "key IS NULL", lambda: f"{sql} IS NULL"),)

    def _measure(self, relation: Relation) -> str:
        ways = self._counted(relation) if self._chance.happens(0.55) else self._summed(relation)
        text = self._words.pick(ways)
        if self._chance.happens(0.15) and "DP_TOP" not in text:
            self._chance.note("FILTER")
            text += f" FILTER (WHERE {self._words.condition(relation)})"
        elif self._chance.happens(0.06):
            self._chance.note("arithmetic over aggregates")
            text = f"100.0 * {text} / NULLIF(COUNT(*), 0)"
        return text

    def _counted(self, relation: Relation) -> Ways:
        column = self._words.column(relation)
        any_ = "1" if column is None else column.sql
        return (
            (5, "COUNT(*)", lambda: "COUNT(*)"),
            (2, "COUNT(x)", lambda: f"COUNT({any_})"),
            (6, "COUNT(DISTINCT x)", lambda: f"COUNT(DISTINCT {any_})"),
            (2, "COUNT(DISTINCT of a number)", lambda: f"COUNT(DISTINCT {self._words.number(relation).sql})"),
            (2, "COUNT(DISTINCT unit)", lambda: f"COUNT(DISTINCT {relation.unit})"),
            (1, "COUNT(CASE)", lambda: f"COUNT(CASE WHEN {self._words.condition(relation)} THEN 1 END)"),
        )  # fmt: skip

    def _summed(self, relation: Relation) -> Ways:
        def number() -> str:
            return self._words.number(relation).sql

        def listed() -> str:
            found = self._words.column(relation, "boolean", "text", "whole")
            return number() if found is None else found.sql

        spread = self._chance.one_of(("VAR_POP", "STDDEV_SAMP", "VARIANCE"))
        two = self._chance.one_of(("COVAR_POP", "CORR", "REGR_SLOPE", "REGR_COUNT"))
        within = "WITHIN GROUP (ORDER BY"
        return (
            (6, "SUM", lambda: f"SUM({number()})"),
            (4, "AVG", lambda: f"AVG({number()})"),
            (1, "SUM(CASE)", lambda: f"SUM(CASE WHEN {self._words.condition(relation)} THEN {number()} ELSE 0 END)"),
            (1, "VAR", lambda: f"{spread}({number()})"),
            (1, "COVAR", lambda: f"{two}({number()}, {number()})"),
            (1, "MIN", lambda: f"MIN({number()})"),
            (1, "MAX", lambda: f"MAX({number()})"),
            (1, "MEDIAN", lambda: f"MEDIAN({number()})"),
            (1, "percentile_disc", lambda: f"percentile_disc(0.25) {within} {number()})"),
            (1, "percentile_cont of an array", lambda: f"percentile_cont(ARRAY[0.1, 0.9]) {within} {number()})"),
            (1, "MODE", lambda: f"MODE() {within} {listed()})"),
            (1, "DP_TOP", lambda: f"DP_TOP({listed()}, 2)"),
        )  # fmt: skip

    def _staged(self, relation: Relation) -> str:
        """A constant that is an answer itself, or is computed from what is public."""
        column = self._words.column(relation)
        inner = self._relations.plain()
        key = self._words.column(inner)
        if column is None or key is None:
            return "1 = 1"
        self._words.staging = False
        if column.kind == key.kind and self._chance.happens(0.4):
            self._chance.note("staged IN")
            return f"{column.sql} IN (SELECT {key.sql} FROM {inner.sql} GROUP BY {key.sql} HAVING COUNT(*) > 0)"
        if column.kind in NUMBERS:
            number = self._words.number(inner).sql
            query = self._words.pick((
                (1, "staged average", lambda: f"SELECT AVG({number}) FROM {inner.sql}"),
                (1, "staged median", lambda: f"SELECT MEDIAN({number}) FROM {inner.sql}"),
                (1, "staged constant", lambda: f"SELECT {self._words.constant('whole', ('30', '1', '0'))}"),
                (1, "staged public value", lambda: "SELECT MAX(w) FROM codes"),
            ))  # fmt: skip
            return f"{column.sql} {self._chance.one_of(_COMPARED)} ({query})"
        return "1 = 1"

    def _finished(self, said: str, keys: int, measures: int) -> str:
        if self._chance.happens(0.12):
            self._chance.note("ORDER BY LIMIT")
            said += f" ORDER BY {keys + measures} LIMIT 3"
        elif keys and self._chance.happens(0.08):
            self._chance.note("answer in another")
            said = f"SELECT COUNT(*) FROM ({said}) AS z"
        ctes = self._relations.ctes
        return f"WITH {', '.join(ctes)} {said}" if ctes else said
