"""An accuracy as somebody says it: what it needs, and what it means."""

from fractions import Fraction

import pytest
from laws import for_each

from gateway.requests.request import Accuracy
from gateway.units import UnitError


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"margin": "30"}, Accuracy(Fraction(30))),
        ({"margin": "1e-3", "confidence": "0.990"}, Accuracy(Fraction(1, 1000), confidence=Fraction(99, 100))),
        ({"margin": "2.5", "rows": "100"}, Accuracy(Fraction(5, 2), rows=100)),
        (
            {"relative": "0.1", "floor": "0.3"},
            Accuracy(relative=Fraction(1, 10), floor=Fraction(3, 10)),
        ),
    ],
)  # fmt: skip
def test_accuracy_is_read_exactly(said: dict[str, str], meant: Accuracy) -> None:
    """Decimals are what they say, and the confidence is 95 % when nothing is said."""
    assert Accuracy.parse(said) == meant


@for_each(
    ("said", "why"),
    [
        ({}, "either `margin` or `relative`"),
        ({"confidence": "0.9"}, "either `margin` or `relative`"),
        ({"margin": "1", "relative": "1", "floor": "1"}, "either `margin` or `relative`"),
        ({"relative": "0.1"}, "`relative` needs `floor`"),
        ({"margin": "1", "floor": "1"}, "`floor` can only be given with `relative`"),
        *(({"margin": one}, "`margin` must be") for one in ("0", "-1", "x", "", "nan", "1e99")),
        ({"relative": "0", "floor": "1"}, "`relative` must be more than 0"),
        ({"relative": "1", "floor": "0"}, "`floor` must be more than 0"),
        *(
            ({"margin": "1", "confidence": one}, "`confidence` must be from 0.5 to 0.9999")
            for one in ("0", "0.4999", "0.99991", "1", "95")
        ),
        ({"margin": "1", "rows": "0"}, "`rows` must be at least 1"),
        ({"margin": "1", "rows": "1.5"}, "`rows` must be a whole number"),
    ],
)
def test_accuracy_is_refused_when_it_says_too_little_or_too_much(
    said: dict[str, str], why: str
) -> None:
    """The message names what is missing or wrong; exponents and digits have an end."""
    if said == {"margin": "1e99"}:
        why = "`margin` has an exponent"
    with pytest.raises(UnitError, match=why.replace(".", r"\.")):
        Accuracy.parse(said)


def test_accuracy_has_one_target() -> None:
    """A relative error is promised from its floor on, so it is that part of the floor."""
    assert Accuracy.parse({"margin": "30"}).target == 30
    assert Accuracy.parse({"relative": "0.05", "floor": "1000"}).target == 50


def test_accuracy_is_said_in_words() -> None:
    """As refusals say it."""
    relative = Accuracy.parse({"relative": "0.05", "floor": "1e3", "rows": "7"})
    assert str(Accuracy.parse({"margin": "30"})) == "a margin of 30 at a confidence of 0.95"
    assert str(relative) == (
        "a relative error of 0.05 for values of at least 1000 at a confidence of 0.95 for groups of 7 rows"
    )
