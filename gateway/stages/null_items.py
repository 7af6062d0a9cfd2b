"""Statements of which some items cannot be answered: these are NULL, and the rest is answered.

Takes a question that asks for this (`gateway.unsupported = 'null'`) and its dataset. Gives the bound statement, or the
refusal of the whole. A refusal concerns an item if the item is refused without the others, and beside a count of rows where
it has no aggregate of its own.

INVARIANT: only what depends on the text and the policy is tried: binding, the decision and the analysis. The auditor's
verdicts and the budget are on the statement that remains, as one: nobody learns from a single answer which items the
auditor would let pass, and no item is left out so that the others fit the budget.
INVARIANT: nothing is told but refusals that the analyst would have got for the item by itself, at no charge.
INVARIANT: work is bounded. Each item is bound once or twice alone, and the rest once; `SelectList.read` bounds items times
pieces of the text. Texts of which a piece costs more, such as many joins, end with `_MOST_SECONDS` of processor time.
Either way the whole is refused as without the setting, and the twin is not asked for columns.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from time import thread_time
from typing import Final

from gateway.binding.bound import Cut, ResultColumn
from gateway.binding.select_items import SelectList
from gateway.binding.text.classify import Statement, classify
from gateway.datasets.dataset import ServedDataset
from gateway.datasets.view import Borrow, BoundQuery, Question
from gateway.errors import Code, Reason, Refusal
from gateway.requests.request import NullItem
from gateway.stages.analyze import analyze_query

_REASONS: Final = frozenset(
    {Reason.UNSUPPORTED_SQL, Reason.NOT_PERMITTED, Reason.UNBOUNDED, Reason.NOT_AGGREGATE}
)
_CODES: Final = frozenset({Code.SQL_SYNTAX, Code.NOT_GROUPED, Code.TYPE_MISMATCH})
"""What the gateway cannot read though PostgreSQL, which is asked first, can."""
_OF_THE_SUBJECT: Final = frozenset(
    {Code.DATASET_NOT_PERMITTED, Code.PURPOSE_NOT_PERMITTED, Code.SUBJECT_SUSPENDED}
)
_TEXT: Final = "text"
_MOST_SECONDS: Final = 2.0


def bind_answerable(question: Question, dataset: ServedDataset, borrow: Borrow) -> BoundQuery:
    """The question with NULL in the place of items that cannot be answered, or the refusal of the whole."""
    try:
        return _bind(question, dataset, borrow)
    except Refusal as refusal:
        if not _may_concern_item(refusal):
            raise
        items = _Items.of(question, dataset, borrow)
        refused = {} if items is None else items.refused()
        if items is None or not refused or not items.chosen.keeps_rows(refused):
            raise
    return items.bind_rest(refused)


def _bind(question: Question, dataset: ServedDataset, borrow: Borrow) -> BoundQuery:
    """Bind and analyse: all refusals that depend on the text and the policy alone."""
    query = dataset.views.bind(question, borrow)
    if isinstance(query.bound, Cut):
        analyze_query(query, dataset)
    return query


def _may_concern_item(refusal: Refusal) -> bool:
    return (
        refusal.reason in _REASONS or refusal.code in _CODES
    ) and refusal.code not in _OF_THE_SUBJECT


@dataclass(frozen=True)
class _Items:
    """The items of one statement, tried one by one."""

    question: Question
    dataset: ServedDataset
    borrow: Borrow
    statement: Statement
    chosen: SelectList

    @classmethod
    def of(cls, question: Question, dataset: ServedDataset, borrow: Borrow) -> "_Items | None":
        statement = classify(question.request.sql)
        chosen = SelectList.read(statement.query)
        return None if chosen is None else cls(question, dataset, borrow, statement, chosen)

    def refused(self) -> Mapping[int, Refusal]:
        """The items that are refused by themselves; none where trying them all takes too long.

        A refusal that can concern no item is that of the whole.
        """
        found, end = {}, thread_time() + _MOST_SECONDS
        for place in self.chosen.replaceable:
            if thread_time() > end:
                return {}
            refusal = self._refusal(self.chosen.alone(place)[0])
            if refusal is None:
                continue
            beside = self.chosen.beside_count(place)
            if (
                beside is None
                or refusal.reason is not Reason.NOT_AGGREGATE
                or self._refusal(beside) is not None
            ):
                found[place] = refusal
        return found

    def _refusal(self, text: str) -> Refusal | None:
        """Why the text is refused, if that may concern an item; None: it is answered."""
        try:
            _bind(self._asked(text), self.dataset, self.borrow)
        except Refusal as refusal:
            if not _may_concern_item(refusal):
                raise
            return refusal
        return None

    def bind_rest(self, refused: Mapping[int, Refusal]) -> BoundQuery:
        """The statement without these items."""
        columns = {place: self._column(place) for place in refused}
        types = {place: (one.name, one.type_name) for place, one in columns.items()}
        query = _bind(self._asked(self.chosen.with_nulls(types)), self.dataset, self.borrow)
        nulled = tuple(
            NullItem(
                columns[place].name, one.code.value, f"{one}; {one.hint}" if one.hint else str(one)
            )
            for place, one in refused.items()
        )
        return replace(query, nulled=nulled)

    def _column(self, place: int) -> ResultColumn:
        """Name and type of an item as PostgreSQL has them in the statement, else in the item alone, else as text."""
        if self._described is not None:
            return self._described[place]
        text, there = self.chosen.alone(place)
        try:
            return self.dataset.views.columns(self._asked(text), self.borrow)[there]
        except Refusal:
            return ResultColumn(self.chosen.items[place].name, 0, -1, _TEXT)

    @cached_property
    def _described(self) -> tuple[ResultColumn, ...] | None:
        try:
            found = self.dataset.views.columns(self.question, self.borrow)
        except Refusal:
            return None
        return found if len(found) == len(self.chosen.items) else None

    def _asked(self, text: str) -> Question:
        old = self.statement
        sql = f"{old.head}{text}{old.tail}" if old.head else text
        return replace(self.question, request=replace(self.question.request, sql=sql))
