"""`levels:` of a policy file, and the columns that have them.

A definition says how keys may be made coarser: by columns of a public table, by steps, by periods, or by lengths of a
prefix; finest first. A column names its definition, and the levels are made for its type.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from gateway.catalog.tables import Column, ColumnRef, Dataset
from gateway.catalog.types import Family, Kind
from gateway.catalog.values import InvalidValue, read_number
from gateway.policy.levels import (
    PERIODS,
    Level,
    Levels,
    PeriodLevel,
    PrefixLevel,
    StepLevel,
    TableLevel,
)
from gateway.policy.model import LevelsModel, PolicyModel
from gateway.policy.validate import Complaints, FieldPath, suggestion
from gateway.policy.yaml import quote_word

_FORMS = "write `{table: atc_codes, columns: [code, chapter]}`, `{steps: [1, 5, 10]}` or `{prefixes: [5, 3]}`"
_TEXTS = frozenset({Kind.TEXT, Kind.VARCHAR})


def parse_levels(
    model: PolicyModel, dataset: Dataset, complaints: Complaints
) -> Mapping[ColumnRef, Levels]:
    """The levels of each column that has some."""
    definitions = {
        name: _Definition(one, ("levels", name), dataset, complaints)
        for name, one in model.levels.items()
    }
    for definition in definitions.values():
        definition.require_one_form()
    found: dict[ColumnRef, Levels] = {}
    used: set[str] = set()
    for reference, named, path in _levelled(model):
        used.add(named)
        if named not in definitions:
            message = f"the file has no `levels` {quote_word(named)}"
            complaints.add(path, message, suggestion(named, model.levels))
        elif (column := _fit_for_levels(reference, dataset, path, complaints)) is not None:
            found[reference] = definitions[named].of_column(column, path)
    for name in model.levels:
        if name not in used:
            complaints.warn(("levels", name), "no column has these levels", at_key=True)
    return found


def _levelled(model: PolicyModel) -> Iterator[tuple[ColumnRef, str, FieldPath]]:
    for name, table in model.tables.items():
        for each, column in table.columns.items():
            if column.levels is not None:
                path = ("tables", name, "columns", each, "levels")
                yield ColumnRef(name, each), column.levels, path


def _fit_for_levels(
    reference: ColumnRef, dataset: Dataset, path: FieldPath, complaints: Complaints
) -> Column | None:
    table = dataset.table(reference.table)
    column = None if table is None else table.column(reference.column)
    if table is None or column is None:
        return None
    is_key = table.is_key(column) or column.joins is not None
    if table.public or column.is_array or is_key:
        message = "a key, an array or a column of a public table must not have `levels`"
        complaints.add(path, message, at_key=True)
        return None
    return column


@dataclass(frozen=True)
class _Definition:
    """An entry of `levels:`, with its place in the file."""

    model: LevelsModel
    path: FieldPath
    dataset: Dataset
    complaints: Complaints

    def require_one_form(self) -> None:
        model = self.model
        forms = [one is not None for one in (model.table, model.steps, model.prefixes)]
        if sum(forms) != 1 or (model.table is None) is not (model.columns is None):
            self.complaints.add(self.path, "levels have one form", _FORMS, at_key=True)

    def of_column(self, column: Column, path: FieldPath) -> Levels:
        """The levels for the type of a column, whose `levels` are at `path`."""
        model = self.model
        if model.table is not None and model.columns is not None:
            return tuple(self._of_table(model.table, model.columns, column))
        if model.steps is not None:
            return tuple(self._of_steps(model.steps, column, path))
        return tuple(self._of_prefixes(model.prefixes or (), column, path))

    def _add(self, key: str, place: int | None, message: str, hint: str = "") -> None:
        path = (*self.path, key) if place is None else (*self.path, key, place)
        self.complaints.add(path, message, hint)

    def _of_table(self, name: str, columns: Sequence[str], column: Column) -> Sequence[Level]:
        table = self.dataset.table(name)
        if table is None or not table.public:
            known = (one.name for one in self.dataset.tables if one.public)
            self._add(
                "table", None, f"{quote_word(name)} is no public table", suggestion(name, known)
            )
            return ()
        if not table.columns:
            message = f"{quote_word(name)} must declare its columns, because levels depend on them"
            self._add("table", None, message, f"write `columns: {{{columns[0]}: …}}` there")
            return ()
        for place, each in enumerate(columns):
            found = table.column(each)
            if found is None or each in columns[:place]:
                message = (
                    f"{quote_word(each)} is no column of {quote_word(name)}, or is given twice"
                )
                hint = suggestion(each, (one.name for one in table.columns))
                self._add("columns", place, message, hint)
            elif found.type != column.type:
                message = f"{quote_word(each)} is `{found.type}`, but {quote_word(column.name)} is `{column.type}`"
                self._add("columns", place, message)
        return [TableLevel(table, columns[0], each) for each in columns]

    def _of_steps(self, steps: Sequence[str], column: Column, path: FieldPath) -> Sequence[Level]:
        of = column.type
        if of.family is Family.DATE or of.kind is Kind.TIMESTAMP:
            return self._of_periods(steps)
        if of.family not in {Family.WHOLE, Family.EXACT}:
            message = f"`{of}` has no steps: whole and decimal numbers, dates and timestamps have"
            self.complaints.add(path, message)
            return ()
        found: list[Fraction] = []
        for place, written in enumerate(steps):
            try:
                step = read_number(written)
            except InvalidValue as error:
                self._add("steps", place, str(error))
                return ()
            if step <= 0 or (of.resolution is not None and step % of.resolution):
                self._add("steps", place, f"{quote_word(written)} is no step of `{of}`")
                return ()
            found.append(step)
        if any(two <= one or two % one for one, two in pairwise(found)):
            message = "each step must be a multiple of the one before it, the finest first"
            self._add("steps", None, message, "such as [1, 5, 10]")
        return [StepLevel(one) for one in found]

    def _of_periods(self, words: Sequence[str]) -> Sequence[Level]:
        for place, word in enumerate(words):
            if word not in PERIODS:
                message = f"{quote_word(word)} is no step of dates"
                self._add("steps", place, message, f"they are {', '.join(PERIODS)}")
        places = [PERIODS.index(word) for word in words if word in PERIODS]
        if any(one >= two for one, two in pairwise(places)):
            self._add("steps", None, "the steps must be in order, the finest first")
        return [PeriodLevel(word) for word in words]

    def _of_prefixes(
        self, lengths: Sequence[int], column: Column, path: FieldPath
    ) -> Sequence[Level]:
        if column.type.kind not in _TEXTS:
            message = f"`{column.type}` has no prefixes: text and varchar have"
            self.complaints.add(path, message)
        if any(one <= two for one, two in pairwise(lengths)):
            message = "each prefix must be shorter than the one before it, the longest first"
            self._add("prefixes", None, message, "such as [5, 3, 2]")
        return [PrefixLevel(one) for one in lengths]
