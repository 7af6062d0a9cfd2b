"""Which choices aggregates need: histograms, candidates, and what is refused."""

from fractions import Fraction

import pytest
from sensitivity.analyses import analysed, dataset, whole

from gateway.catalog.domains import Values
from gateway.errors import Code, Refusal
from gateway.sensitivity.analysis import EnumeratedGroups, ThresholdGroups
from gateway.sensitivity.choice_aggregates import MOST_CELLS
from gateway.sensitivity.choices import (
    BinnedRows,
    Choice,
    Chosen,
    End,
    Frequent,
    ListedRows,
    QuantileLevel,
    Sought,
)
from gateway.sensitivity.formulas import Linear

TABLE = dataset(
    4,
    {
        "x": ("integer", whole(0, 10**6)),
        "y": ("integer", whole(1, 50)),
        "k": ("integer", whole(1, 9_000)),
        "name": ("text", None),
        "word": ("text", Values(("b", "a", "c"))),
        "many": ("integer", whole(1, 19_000)),
        "free": ("double precision", None),
    },
    groups=2,
)


def _choices(sql: str) -> tuple[Choice, ...]:
    return analysed(sql, of=TABLE).choices


def _only(sql: str) -> Choice:
    [one] = _choices(sql)
    return one


def _percentile(share: str, of: str = "x") -> str:
    return f"percentile_cont({share}) WITHIN GROUP (ORDER BY {of})"


@pytest.mark.parametrize(
    ("sql", "sought"),
    [
        ("MIN(x)", End.LOWEST),
        ("MAX(DISTINCT x)", End.HIGHEST),
        (_percentile("0.25"), QuantileLevel(Fraction(1, 4))),
        (_percentile("0.25", "x DESC"), QuantileLevel(Fraction(3, 4))),
        (_percentile("0"), End.LOWEST),
        (_percentile("0", "x DESC"), End.HIGHEST),
        (_percentile("0.333333333333333333333"), QuantileLevel(Fraction(1, 3))),
        ("MODE() WITHIN GROUP (ORDER BY word)", Frequent()),
    ],
)
def test_aggregate_seeks_what_it_says(sql: str, sought: Sought) -> None:
    """Quantiles by their share from below, the ends as ends; the norm of four rows in one group bounds them all."""
    found = _only(f"SELECT {sql} FROM t")
    assert found.sought == sought
    assert found.rows == 4 * found.whole
    assert found.whole == 2**16


def test_several_quantiles_of_one_column_read_one_histogram() -> None:
    """Another filter, or another expression, is another histogram."""
    analysis = analysed(
        f"SELECT {_percentile('0.1')}, MAX(x), {_percentile('0.1')} FILTER (WHERE y > 3), MIN(x + 1), COUNT(*) FROM t",
        of=TABLE,
    )
    assert analysis.formulas[:4] == tuple(map(Chosen, range(4)))
    assert isinstance(analysis.formulas[4], Linear)
    assert len(analysis.choices) == 4
    assert len(analysis.histograms) == 3


def test_buckets_are_as_many_as_the_groups_leave_room_for() -> None:
    """A narrow domain has a bucket for each value; with more groups the buckets of a wide one are fewer."""
    assert _only("SELECT MIN(y) FROM t").histogram.candidates == 50
    assert 9_000 <= _only("SELECT MIN(x) FROM t").histogram.candidates <= 10_000
    analysis = analysed("SELECT k, MIN(x) FROM t GROUP BY k", of=TABLE)
    assert isinstance(analysis.groups, EnumeratedGroups)
    [one] = analysis.choices
    assert 100 <= one.histogram.candidates * 9_000 <= MOST_CELLS
    analysis = analysed("SELECT name, MIN(x) FROM t GROUP BY name", of=TABLE)
    assert isinstance(analysis.groups, ThresholdGroups)
    assert 1_000 < analysis.choices[0].histogram.candidates < 9_000


def test_filters_narrow_the_candidates() -> None:
    """What a WHERE leaves of a domain is all that can come out."""
    found = _only("SELECT MIN(x) FROM t WHERE x BETWEEN 10 AND 19")
    assert isinstance(found.histogram, BinnedRows)
    assert [found.histogram.answer(place) for place in range(found.histogram.candidates)] == [
        *range(10, 20)
    ]


def test_candidates_of_a_mode_are_the_declared_values() -> None:
    """In their order; NULL is none of them, for it is never the most frequent value."""
    found = _only("SELECT MODE() WITHIN GROUP (ORDER BY word) FROM t")
    assert isinstance(found.histogram, ListedRows)
    assert found.histogram.values == ("a", "b", "c")
    truth = _only("SELECT MODE() WITHIN GROUP (ORDER BY y > 3) FROM t")
    assert isinstance(truth.histogram, ListedRows)
    assert truth.histogram.values == (False, True)


def test_first_places_are_a_choice_each() -> None:
    """Three places are three choices, of which the mode is the first; more than there are values are refused."""
    found = _choices(
        "SELECT DP_TOP(word, 3), DP_TOP(word, 2), MODE() WITHIN GROUP (ORDER BY word) FROM t"
    )
    assert [one.sought for one in found] == [Frequent(1), Frequent(2), Frequent(3)]
    with pytest.raises(Refusal, match="more than the 3 possible values"):
        _choices("SELECT DP_TOP(word, 4) FROM t")


def test_values_are_listed_once_for_all_places_of_one_argument() -> None:
    """A hundred places of thousands of values share one list; another filter or argument has its own."""
    found = _choices(
        "SELECT DP_TOP(k, 40), DP_TOP(k, 100), DP_TOP(many, 2), DP_TOP(k, 2) FILTER (WHERE y > 3) FROM t"
    )
    places = [one.sought.place for one in found if isinstance(one.sought, Frequent)]
    assert places == [*range(1, 101), 1, 2, 1, 2]
    assert len({id(one.histogram) for one in found}) == 3
    lists = [one.histogram for one in found if isinstance(one.histogram, ListedRows)]
    assert [one.candidates for one in lists] == [9_000] * 100 + [19_000] * 2 + [9_000] * 2
    assert {one.where is None for one in lists[:102]} == {True}
    assert {one.where is None for one in lists[102:]} == {False}


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT DP_TOP(name, 2) FROM t", Code.NO_BOUND),
        ("SELECT MODE() WITHIN GROUP (ORDER BY name) FROM t", Code.NO_BOUND),
        ("SELECT MODE() WITHIN GROUP (ORDER BY x) FROM t", Code.NO_BOUND),
        ("SELECT k, MODE() WITHIN GROUP (ORDER BY many) FROM t GROUP BY k", Code.NOT_ANSWERED_YET),
        ("SELECT MAX(free) FROM t", Code.NO_BOUND),
    ],
)
def test_what_has_no_candidates_is_refused(sql: str, code: Code) -> None:
    """No domain, no choice; and no more candidates in all groups than can be held."""
    with pytest.raises(Refusal) as refused:
        _choices(sql)
    assert refused.value.code is code


def test_choices_alone_measure_nothing_where_groups_are_listed() -> None:
    """Where they are found in the data, units are counted for the threshold."""
    assert analysed("SELECT word, MAX(x) FROM t GROUP BY word", of=TABLE).slots == ()
    assert len(analysed("SELECT name, MAX(x) FROM t GROUP BY name", of=TABLE).slots) == 1
