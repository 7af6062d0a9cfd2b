"""What the gateway says to a question, beside what plain PostgreSQL says of the same rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import psycopg
from endtoend.cases import Case
from endtoend.clinic_gateway import AskedGateway
from endtoend.plain_postgresql import Result, plain_result
from endtoend.same_answer import differences, is_ordered, without_empty_groups

from gateway.errors import Refusal
from gateway.requests.request import Answer
from gateway.units import Epsilon

_DIGITS = 8  # what has no step of its own is rounded before it is added up


@dataclass(frozen=True)
class Verdict:
    """Of one question on one dataset: its words in the table, and whether it is as it should be."""

    question: str
    answer: str
    compared: str
    is_right: bool = True


def verdicts(
    gateway: AskedGateway, plain: psycopg.Connection, questions: Sequence[Case], dataset: str
) -> Iterator[Verdict]:
    """Of every question on the dataset."""
    for case in questions:
        try:
            answer = gateway.answer(case.sql, dataset)
        except Refusal as refusal:
            told = f"{refusal.code.value}: {refusal.detail or refusal.title}"
            yield Verdict(case.title, f"refused with {told}", "")
        else:
            expected = _with_types_of(answer, plain_result(plain, case.sql))
            yield _compared(case, answer, expected)


def _compared(case: Case, answer: Answer, expected: Result) -> Verdict:
    """Groups of few persons may be left out; all others have to be equal."""
    word = "answered" if answer.price > Epsilon.zero() else "answered, public"
    shown = without_empty_groups(answer, expected)
    there = _without_left_out(shown, expected)
    ordered = is_ordered(case.sql)
    found = differences(there, shown, ordered=ordered, digits=_DIGITS)
    if found and not differences(
        _with_sums_of_nothing(shown, there), shown, ordered=ordered, digits=_DIGITS
    ):
        return Verdict(case.title, word, "equal: the sum of no rows is 0 in place of NULL")
    if found:
        return Verdict(case.title, word, f"differs: {'; '.join(found)}", is_right=False)
    missing = len(expected.rows) - len(there.rows)
    if not missing:
        return Verdict(case.title, word, "equal")
    return Verdict(
        case.title, word, f"equal; {missing} of {len(expected.rows)} groups are too small to show"
    )


def _without_left_out(answer: Answer, plain: Result) -> Result:
    """The plain result without the groups whose keys are not in the answer."""
    places = [place for place, one in enumerate(answer.columns) if not one.noisy]
    keys = {tuple(row[place] for place in places) for row in answer.rows}
    return replace(
        plain,
        rows=tuple(row for row in plain.rows if tuple(row[place] for place in places) in keys),
    )


def _with_sums_of_nothing(answer: Answer, plain: Result) -> Result:
    """The plain result with 0 in place of NULL, where the answer has one row and a noisy 0 in this cell."""
    if len(answer.rows) != 1 or len(plain.rows) != 1:
        return plain
    cells = zip(plain.rows[0], answer.rows[0], answer.columns, strict=True)
    row = tuple(
        here if there is None and one.noisy and here is not None and Fraction(here) == 0 else there
        for there, here, one in cells
    )
    return replace(plain, rows=(row,))


def _with_types_of(answer: Answer, plain: Result) -> Result:
    """The plain result, as DuckDB types its texts: it has neither `char(n)` nor `varchar(n)`."""
    columns, padded = [], []
    for place, ((name, of), one) in enumerate(zip(plain.columns, answer.columns, strict=True)):
        is_text = one.type == "text" and of.startswith("character")
        columns.append((name, "text" if is_text else of))
        if is_text and not of.startswith("character varying"):
            padded.append(place)
    rows = tuple(
        tuple(
            cell.rstrip(" ") if cell is not None and place in padded else cell
            for place, cell in enumerate(row)
        )
        for row in plain.rows
    )
    return Result(tuple(columns), rows)
