"""What an answer says of the weights of units: where they hold, and what is not known of them."""

from functools import partial

from binding.clinic import CLINIC
from laws import for_each

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.requests.request import ClippedScope
from gateway.results.clipped_scopes import clip_notices, clipped_scopes
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.clip import ClipRule
from gateway.sensitivity.grouping_sets import AnalyzedRelease, analyze_grouping_sets


def analyzed(sql: str, *, pairs: bool = False) -> list[AnalyzedRelease]:
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
                clip=ClipRule(8),
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
            ["visits by visits.diagnosis"],
        ),
        (
            "SELECT region, COUNT(*) FROM visits v JOIN patients p ON v.patient_id = p.patient_id GROUP BY region",
            ["visits and patients by p.region"],
        ),
        ("SELECT COUNT(*) FROM patients", []),
        ("SELECT region, AVG(income) FROM patients GROUP BY region", []),
        ("SELECT COUNT(DISTINCT patient_id) FROM visits", []),
        (
            "SELECT diagnosis, MAX(cost) FROM visits GROUP BY diagnosis",
            ["visits by visits.diagnosis"],
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
        "visits by day: what one patient adds counts in full up to a norm of 2.828 and with less weight beyond"
        " it; how much is cut is not known"
    )
    assert list(clip_notices(())) == []
