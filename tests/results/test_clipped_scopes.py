"""What an answer says of the weights of units: where they hold, and what is not known of them."""

from dataclasses import replace
from fractions import Fraction
from functools import partial

from binding.clinic import CLINIC
from clipping.populations import Population, Question
from laws import for_each
from numpy import array, concatenate

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.clipping.norm_histogram import NormHistogram, norm_of
from gateway.clipping.served_histogram import ServedHistogram
from gateway.requests.request import ClippedScope
from gateway.results.clipped_scopes import clip_notices, clipped_scopes
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.clip import ClipRule
from gateway.sensitivity.grouping_sets import AnalyzedRelease, analyze_grouping_sets


def analyzed(sql: str, *, pairs: bool = False, square: int = 8) -> list[AnalyzedRelease]:
    bound = bind(sql, CLINIC)
    assert isinstance(bound, Cut)
    return [
        analyze_grouping_sets(
            one.plan,
            partial(
                analyze_release,
                pairs=pairs,
                enumerated_groups=100,
                min_units=10,
                clip=ClipRule(square),
            ),
        )
        for one in bound.releases
    ]


def scopes(sql: str, *, pairs: bool = False) -> list[tuple[str, float]]:
    return [(one.over, one.limit) for one in clipped_scopes(analyzed(sql, pairs=pairs), {})]


@for_each(
    ("sql", "over"),
    [
        ("SELECT COUNT(*) FROM visits", ["visits"]),
        (
            "SELECT diagnosis, COUNT(*), SUM(cost) FROM visits GROUP BY diagnosis",
            ["visits by diagnosis"],
        ),
        (
            "SELECT region, COUNT(*) FROM visits v JOIN patients p ON v.patient_id = p.patient_id GROUP BY region",
            ["visits and patients by region"],
        ),
        ("SELECT COUNT(*) FROM patients", []),
        ("SELECT region, AVG(income) FROM patients GROUP BY region", []),
        ("SELECT COUNT(DISTINCT patient_id) FROM visits", []),
        (
            "SELECT diagnosis, MAX(cost) FROM visits GROUP BY diagnosis",
            ["visits by diagnosis"],
        ),
        ("SELECT MEDIAN(income), MODE() WITHIN GROUP (ORDER BY region) FROM patients", []),
    ],
)
def test_scope_is_told_where_units_have_weights(sql: str, over: list[str]) -> None:
    """Tables with several rows of a unit, and nothing else; one scope however many aggregates there are."""
    for pairs in (False, True):
        found = scopes(sql, pairs=pairs)
        assert [name for name, _ in found if not name.startswith("units of ")] == over
        assert all(limit == 8**0.5 for name, limit in found if name in over)


def test_notice_of_a_scope_says_that_the_loss_is_not_known() -> None:
    """Shares would follow from a released histogram; without one there is no number to say."""
    [notice] = clip_notices([ClippedScope("visits by day", "patient", 8**0.5)])
    assert notice == (
        "visits by day: each patient counts in full up to a norm of 2.828 and with less weight beyond it; how much"
        " this takes is not known"
    )
    assert list(clip_notices(())) == []


# 12 of 20,000 units have 300 rows; a histogram at this price has noise of 64 units in each bucket
_HEAVY = Population.of(concatenate([array([[1]] * 15_000 + [[3]] * 4_988), array([[300]] * 12)]))
_ASKED = Question(_HEAVY, Fraction(1, 100), pure=False)
_SHARE = 5_000 / 20_000


def _told(
    histogram: NormHistogram, sql: str = "SELECT COUNT(*) FROM visits", *, square: int = 8
) -> ClippedScope:
    [release] = analyzed(sql, square=square)
    [part] = release.parts
    served = {
        (0, tuple(name for name, _ in part.plan.keys)): ServedHistogram(histogram, exact=True)
    }
    [scope] = clipped_scopes([release], served)
    return scope


def test_units_at_most_are_no_fewer_than_there_are_though_a_histogram_hides_some() -> None:
    """Of 60 histograms at least 54 leave the true share open; the estimate alone, the negative control, is often below it."""
    found = [_told(_ASKED.histogram(seed)) for seed in range(60)]
    bounds = [one.units_at_most for one in found]
    assert sum(one is not None and one >= _SHARE for one in bounds) >= 54
    assert sum(one.units is None or one.units < _SHARE for one in found) >= 15
    assert all(one is not None and one < _SHARE + 0.12 for one in bounds)


def test_units_at_most_are_told_where_shares_are_told_and_nowhere_else() -> None:
    """Of groups that are found in the data a histogram knows too little, and so do histograms of other rows."""
    shown = _ASKED.histogram(1)
    hidden = _told(shown, "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis")
    assert (hidden.units, hidden.units_at_most, hidden.rows) == (None, None, None)


def test_clip_inside_of_a_bucket_concerns_all_units_of_it_at_most() -> None:
    """All units have 11 rows, and the declared clip is 10. A clip between buckets, the negative control, has shares."""
    asked = Question(Population.of(array([[11]] * 3_000)), Fraction(1), pure=False)
    for seed in range(20):
        inside = _told(asked.histogram(seed), square=100)
        assert (inside.units, inside.rows, inside.units_at_most) == (None, None, 1.0)
        beyond = _told(asked.histogram(seed), square=128)
        assert beyond.units_at_most is not None
        assert beyond.units_at_most < 0.1
        below = _told(asked.histogram(seed), square=64)
        assert below.rows is not None
        assert below.rows > 0.1
    [notice] = clip_notices([_told(asked.histogram(0), square=100)])
    assert "that concerns at most" in notice
    assert notice.endswith("which share of the rows it takes is not known")


def test_notice_of_a_scope_says_what_a_histogram_cannot_show() -> None:
    """A bound for the units, and the share of the rows that it shows; no share that noise hides is called small."""
    scope = ClippedScope("visits", "patient", 16.0, 0.01, 0.0033, units_at_most=0.0172)
    [notice] = clip_notices([scope])
    assert notice == (
        "visits: each patient counts in full up to a norm of 16 and with less weight beyond it; that concerns at most"
        " about 1.7 % of them and takes about 0.33 % of the rows, not counting a few with more rows than a histogram"
        " can show"
    )
    [exact] = clip_notices([replace(scope, units_at_most=0.0)])
    assert "concerns less than 0.1 % of them" in exact
    [hidden] = clip_notices([replace(scope, units=None, rows=None)])
    assert hidden == (
        "visits: each patient counts in full up to a norm of 16 and with less weight beyond it; that concerns at most"
        " about 1.7 % of them; which share of the rows it takes is not known"
    )


# 5 of 20,000 units have half of the rows, and no bucket of theirs stands out
_FEW = Question(
    Population.of(concatenate([array([[1]] * 19_995), array([[4_000]] * 5)])),
    Fraction(1, 100),
    pure=False,
)


def test_share_of_rows_is_not_told_where_nothing_visible_is_above_the_clip() -> None:
    """It would be 0, and is a half. Where many units are above the clip, the negative control, it is told."""
    for seed in range(20):
        histogram = _FEW.histogram(seed)
        hidden, shown = _told(histogram), _told(_MANY.histogram(seed))
        if norm_of(histogram.visible - 1) <= hidden.limit:
            assert (hidden.units, hidden.rows) == (None, None)
        assert shown.rows is not None
        assert 0.9 < shown.rows < 0.99
    assert sum(_told(_FEW.histogram(seed)).rows is None for seed in range(20)) >= 18


# a quarter of them have 100 rows
_MANY = Question(
    Population.of(concatenate([array([[1]] * 15_000), array([[100]] * 5_000)])),
    Fraction(1, 100),
    pure=False,
)
