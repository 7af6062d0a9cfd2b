"""`together:` of a rule to restrictions on the columns of one statement.

INVARIANT: a word means columns of all protected tables of the dataset, not only those of the rule: a statement that reads
another table too is restricted by what it uses there.
"""

from collections.abc import Sequence

from gateway.catalog.tables import ColumnClass, ColumnRef, Dataset
from gateway.policy.combinations import ColumnSelection, Together
from gateway.policy.model import TogetherModel
from gateway.policy.validate import Complaints, FieldPath, suggestion
from gateway.policy.yaml import quote_word


def parse_together(
    model: TogetherModel, dataset: Dataset, path: FieldPath, complaints: Complaints
) -> Together:
    """The restrictions; words that mean nothing are complained of."""
    if not model.forbid and not model.at_most:
        complaints.add(path, "this restricts nothing", "write `forbid` or `at_most`", at_key=True)
    forbid = tuple(
        _combination(words, dataset, (*path, "forbid", place), complaints)
        for place, words in enumerate(model.forbid)
    )
    at_most = tuple(
        (_selection(word, dataset, (*path, "at_most", word), complaints, at_key=True), most)
        for word, most in model.at_most.items()
    )
    return Together(forbid, at_most)


def _combination(
    words: Sequence[str], dataset: Dataset, path: FieldPath, complaints: Complaints
) -> tuple[ColumnSelection, ...]:
    for place, word in enumerate(words):
        if word in words[:place]:
            complaints.add((*path, place), f"{quote_word(word)} is given twice")
    return tuple(
        _selection(word, dataset, (*path, place), complaints) for place, word in enumerate(words)
    )


def _selection(
    word: str,
    dataset: Dataset,
    path: FieldPath,
    complaints: Complaints,
    *,
    at_key: bool = False,
) -> ColumnSelection:
    """`class:quasi`, `visits.diagnosis`, or `diagnosis` of every table."""
    there = {
        ColumnRef(table.name, column.name): column
        for table in dataset.tables
        if not table.public
        for column in table.columns
        if not column.is_array
    }
    if word.startswith("class:"):
        wanted = word.removeprefix("class:")
        found = frozenset(one for one, column in there.items() if column.column_class == wanted)
        known = [f"class:{one}" for one in ColumnClass]
    else:
        found = frozenset(one for one in there if word in {one.column, str(one)})
        known = sorted({name for one in there for name in (one.column, str(one))})
    if not found:
        message = f"{quote_word(word)} is no column of a protected table"
        complaints.add(path, message, suggestion(word, known), at_key=at_key)
    return ColumnSelection(word, found)
