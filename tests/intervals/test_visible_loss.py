"""Intervals of counts and sums are extended by what weights are seen to take, to the side where it lies, and no others are."""

from fractions import Fraction
from math import isinf

import numpy as np
import pytest
from laws import for_each
from sensitivity.analyses import analysed, dataset, whole

from gateway.columnar.intervals import IntervalEnds
from gateway.intervals.visible_loss import LossSide, VisibleLoss, form_loss, formula_losses
from gateway.plan.formulas import AggregateRef, Form, NumberForm, Over, Plus, Times
from gateway.sensitivity.clip import ClipRule

EVENTS = dataset(
    100,
    {
        "plus": ("integer", whole(0, 90)),
        "minus": ("integer", whole(-30, 0)),
        "both": ("integer", whole(-5, 40)),
        "one": ("integer", whole(7, 7)),
        "none": ("integer", whole(-7, -7)),
        "name": ("text", None),
    },
    groups=4,
)
A, B = AggregateRef(0), AggregateRef(1)
ABOVE, BELOW, EITHER = (VisibleLoss(0.25, side) for side in LossSide)


def losses(measures: str, *, pairs: bool, share: float = 0.25) -> tuple[VisibleLoss | None, ...]:
    made = analysed(f"SELECT {measures} FROM t", pairs=pairs, of=EVENTS, clip=ClipRule(16))
    return formula_losses(made.formulas, made.measurements, [share] * len(made.measurements))


@for_each(
    ("measure", "side"),
    [
        ("COUNT(*)", LossSide.ABOVE),
        ("COUNT(plus)", LossSide.ABOVE),
        ("COUNT(*) FILTER (WHERE both > 3)", LossSide.ABOVE),
        ("SUM(plus)", LossSide.ABOVE),
        ("SUM(one)", LossSide.ABOVE),
        ("SUM(minus)", LossSide.BELOW),
        ("SUM(none)", LossSide.BELOW),
        ("SUM(both)", LossSide.EITHER),
        ("SUM(both) FILTER (WHERE both > 3)", LossSide.ABOVE),
        ("SUM(plus - 90)", LossSide.BELOW),
        ("AVG(plus)", None),
        ("STDDEV(plus)", None),
        ("CORR(plus, both)", None),
        ("COUNT(DISTINCT u)", None),
        ("COUNT(DISTINCT name)", None),
        ("MAX(plus)", None),
    ],
)
def test_loss_lies_where_rows_add_something(measure: str, side: LossSide | None) -> None:
    """Counts and sums, whichever noise they have; means, deviations, choices and counts of units are not extended."""
    for pairs in (False, True):
        [found] = losses(measure, pairs=pairs)
        assert found == (None if side is None else VisibleLoss(0.25, side))


def test_nothing_is_extended_where_no_loss_is_known() -> None:
    """A share of 0 stands for every part without a histogram of its own rows and keys."""
    for pairs in (False, True):
        assert losses("COUNT(*), SUM(plus), SUM(both)", pairs=pairs, share=0.0) == (None,) * 3


@for_each(
    ("form", "known", "found"),
    [
        (A, (ABOVE,), ABOVE),
        (A, (), None),
        (Times(NumberForm(Fraction(3)), A), (ABOVE,), ABOVE),
        (Times(A, NumberForm(Fraction(-3))), (ABOVE,), BELOW),
        (Times(A, NumberForm(Fraction(-3))), (EITHER,), EITHER),
        (Times(A, NumberForm(Fraction(0))), (ABOVE,), None),
        (Over(A, NumberForm(Fraction(1000))), (BELOW,), BELOW),
        (Over(NumberForm(Fraction(1)), A), (ABOVE,), None),
        (Plus(A, B), (ABOVE, ABOVE), ABOVE),
        (Plus(A, Times(B, NumberForm(Fraction(-1)))), (ABOVE, BELOW), ABOVE),
        (Plus(A, Times(B, NumberForm(Fraction(-1)))), (ABOVE, ABOVE), None),
        (Plus(A, B), (EITHER, EITHER), None),
        (Plus(A, B), (ABOVE, VisibleLoss(0.5, LossSide.ABOVE)), None),
        (Plus(A, B), (ABOVE, None), None),
        (Plus(A, NumberForm(Fraction(5))), (ABOVE,), None),
        (Over(A, B), (ABOVE, ABOVE), None),
        (Times(A, B), (ABOVE, ABOVE), None),
    ],
)
def test_combination_is_extended_where_all_of_it_lies_on_one_side(
    form: Form, known: tuple[VisibleLoss | None, ...], found: VisibleLoss | None
) -> None:
    """A sum of totals that grow together is a total; a difference or a quotient is none."""
    assert form_loss(form, known) == found


def test_interval_is_extended_by_the_share_of_its_end() -> None:
    """A quarter is lost, so an end that is seen stands for four thirds of it; the other end stays."""
    column = IntervalEnds.of([(60.0, 90.0), (-30.0, 30.0), (-90.0, -60.0), None])
    assert list(ABOVE.extended(column)) == [(60, 120), (-30, 40), (-90, -60), None]
    assert list(BELOW.extended(column)) == [(60, 90), (-40, 30), (-120, -60), None]
    assert list(EITHER.extended(column)) == [(40, 120), (-40, 40), (-120, -40), None]


def test_interval_that_would_be_endless_is_none() -> None:
    """An end beyond the largest double is no end."""
    column = IntervalEnds(np.array([0.0]), np.array([1.7e308]), np.array([True]))
    with np.errstate(over="ignore"):
        extended = ABOVE.extended(column)
    assert isinf(extended.high[0])
    assert list(extended) == [None]


@pytest.mark.parametrize("share", [0.001, 0.3, 0.9])
def test_extended_interval_holds_the_uncut_total_of_groups_that_lose_their_share(
    share: float,
) -> None:
    """Where each group loses exactly the share, an interval that holds the weighted total, extended, holds the whole one."""
    for total in (1_000.0, 3.0, 0.0):
        weighted = total * (1 - share)
        [(_, high)] = (
            one or (0.0, -1.0)
            for one in VisibleLoss(share, LossSide.ABOVE).extended(
                IntervalEnds.of([(weighted - 5, weighted)])
            )
        )
        assert high == pytest.approx(total)
