"""Answers that are held for a key: handed out as they were, and bounded in number and size."""

from dataclasses import replace

from gateway.kept import Kept
from gateway.question import Answer, AnswerColumn
from gateway.units import Delta, Epsilon


def _answer(query_id: str, rows: int = 1) -> Answer:
    return Answer(
        query_id,
        (AnswerColumn("n", "bigint", noisy=True),),
        (("5",),) * rows,
        ((None,),) * rows,
        Epsilon.zero(),
        Epsilon.zero(),
        None,
        Delta.zero(),
    )


def test_answer_comes_back_as_it_was() -> None:
    """The very answer is found by the number of its question, and nobody else's."""
    kept, answer = Kept(), _answer("a")
    kept.keep(answer)
    assert kept.find("a") is answer
    assert kept.find("b") is None


def test_oldest_answers_are_let_go_when_there_are_many_or_large_ones() -> None:
    """Memory is bounded by the number of answers and by their cells."""
    kept = Kept()
    for number in range(1_001):
        kept.keep(_answer(str(number)))
    assert kept.find("0") is None
    assert kept.find("1") is not None
    kept.keep(_answer("large", 1_999_999))
    assert kept.find("large") is not None
    assert kept.find("999") is None
    kept.keep(replace(_answer("next")))
    assert kept.find("next") is not None
