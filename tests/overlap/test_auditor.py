"""Every question has a verdict, whatever was asked and answered before it."""

import pytest
from overlap.chance import situation
from samples import draws

from gateway.errors import Code, OverlapRefused
from gateway.overlap.auditor import History, audit
from gateway.overlap.auditor import find_violation as unguarded

_VERDICTS = {Code.DIFFERENCING, Code.SMALL_GROUP, Code.UNREADABLE_CONDITION}


def said(seed: int) -> str:
    """The verdict on a situation by chance, and every word of it."""
    there = situation(seed)
    try:
        unguarded(there.concerned, History(there.told), there.rules)
    except OverlapRefused as refused:
        return f"{refused.code} {refused.detail} {refused.hint}"
    return "passes"


@pytest.mark.parametrize("first", range(0, 3_000, 1_500))
def test_every_question_has_a_verdict(first: int) -> None:
    """Empty regions, huge and negative counts, NULL keys, ends of domains, columns of another type: nothing raises.

    And the same situation has the same verdict, word for word. `make privacy` asks 100,000.
    """
    seen = [said(seed) for seed in range(first, first + draws(1_500))]
    assert [said(seed) for seed in range(first, first + draws(300))] == seen[: draws(300)]
    assert {one.split()[0] for one in seen} == {"passes", *_VERDICTS}


def test_what_goes_wrong_in_a_comparison_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The net below: an error inside of the auditor is a verdict, too, and refuses that question alone."""

    def broken(*_: object) -> None:
        raise IndexError

    monkeypatch.setattr("gateway.overlap.auditor.find_violation", broken)
    there = situation(1)
    with pytest.raises(OverlapRefused) as refused:
        audit(there.concerned, History(there.told), there.rules)
    assert refused.value.code is Code.NOT_COMPARED
