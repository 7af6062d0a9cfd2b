"""Which columns one statement may combine: per rule, over everything that a statement uses."""

from itertools import combinations

import pytest
from fix_permissions import ALICE, EVERYTHING, permit, policy_of, question
from fix_policy import with_rules
from laws import for_each

from gateway.catalog.tables import ColumnRef
from gateway.datasets.view import Views
from gateway.errors import Code, NotPermitted
from gateway.policy.combinations import ColumnSelection, Together, require_together
from gateway.policy.diff import differences
from gateway.policy.files.load import LoadedPolicies
from gateway.policy.policy import Policy, Rule
from gateway.twin import Twin

REGION, YEAR, INCOME = (ColumnRef("patients", one) for one in ("region", "birth_year", "income"))
DIAGNOSIS, DAY = ColumnRef("visits", "diagnosis"), ColumnRef("visits", "visit_date")


def one(column: ColumnRef) -> ColumnSelection:
    return ColumnSelection(column.column, frozenset({column}))


TRIPLE = Together(forbid=((one(DIAGNOSIS), one(YEAR), one(REGION)),))
QUASI = ColumnSelection("class:quasi", frozenset({REGION, YEAR, DAY}))
PAIR = Together(at_most=((QUASI, 2),))


def restricted(*restrictions: Together | None) -> Policy:
    """The dataset of the cases, with a rule for each restriction."""
    rules = []
    for place, together in enumerate(restrictions):
        rule = permit(name=f"r{place}")
        rules.append(
            Rule(rule.id, rule.effect, rule.when, rule.tables, rule.use, {}, rule.budget, together)
        )
    return policy_of(*rules)


_JOIN = "FROM patients p JOIN visits v ON p.patient_id = v.patient_id"
_EXISTS = "EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND diagnosis = 'flu')"
_TWO_CTES = """
WITH a AS (SELECT region, COUNT(*) AS n FROM patients WHERE birth_year > 1950 GROUP BY 1),
     b AS (SELECT diagnosis, COUNT(*) AS m FROM visits GROUP BY 1) SELECT * FROM a, b
"""
_STAGED = """
SELECT region, COUNT(*) FROM patients
WHERE birth_year IN (SELECT birth_year FROM patients GROUP BY 1 HAVING COUNT(*) > 9)
  AND 5 < (SELECT COUNT(DISTINCT diagnosis) FROM visits) GROUP BY 1
"""
_UNION = """
SELECT region, COUNT(*) FROM patients GROUP BY 1
UNION ALL SELECT diagnosis, COUNT(*) FROM visits GROUP BY 1
UNION ALL SELECT 'old', COUNT(*) FROM patients WHERE birth_year < 1950
"""
_CASE = "SUM(CASE WHEN diagnosis = 'flu' AND birth_year > 1950 THEN 1 ELSE 0 END)"
COMBINED = (
    f"SELECT region, birth_year, diagnosis, COUNT(*) {_JOIN} GROUP BY 1, 2, 3",
    f"SELECT region, diagnosis, COUNT(*) {_JOIN} WHERE birth_year > 1950 GROUP BY 1, 2",
    f"SELECT region, AVG(birth_year) {_JOIN} WHERE diagnosis = 'flu' GROUP BY 1",
    f"SELECT {_CASE} {_JOIN} WHERE region = 'north'",
    f"SELECT COUNT(*) FILTER (WHERE diagnosis = 'flu'), MAX(birth_year) {_JOIN} WHERE region = 'north'",
    f"SELECT region, COUNT(*) FROM patients p WHERE birth_year > 1950 AND {_EXISTS} GROUP BY 1",
    _TWO_CTES,
    _STAGED,
    _UNION,
)
APART = (
    f"SELECT region, diagnosis, COUNT(*) {_JOIN} GROUP BY 1, 2",
    "SELECT region, birth_year, AVG(income) FROM patients GROUP BY 1, 2",
    f"SELECT diagnosis, AVG(birth_year), COUNT(DISTINCT p.patient_id) {_JOIN} GROUP BY 1",
    "SELECT COUNT(*) FROM patients",
)


@for_each("sql", COMBINED)
def test_statement_that_combines_columns_is_refused_wherever_they_stand(
    sql: str, twin: Twin
) -> None:
    """In keys, conditions, aggregates, subqueries, CTEs, staged parts and sides of unions; other rules permit each alone."""
    views = Views(restricted(TRIPLE))
    with pytest.raises(NotPermitted) as refused:
        views.bind(question(sql), twin.borrowed)
    assert refused.value.code is Code.COMBINATION_NOT_PERMITTED
    assert refused.value.hint == "leave out one of `diagnosis`, `birth_year`, `region`"
    Views(EVERYTHING).bind(question(sql), twin.borrowed)  # negative control


@for_each("sql", APART)
def test_statement_with_fewer_columns_is_permitted(sql: str, twin: Twin) -> None:
    """Two of three, and columns that no restriction names."""
    Views(restricted(TRIPLE, PAIR)).bind(question(sql), twin.borrowed)


def test_restriction_of_one_rule_holds_beside_rules_without(twin: Twin) -> None:
    """Several rules: the strictest; a rule that grants the same without a restriction lifts nothing."""
    for restrictions in ((TRIPLE,), (TRIPLE, None), (None, PAIR, TRIPLE)):
        with pytest.raises(NotPermitted):
            Views(restricted(*restrictions)).bind(question(COMBINED[0]), twin.borrowed)


def test_number_of_columns_is_limited() -> None:
    """Each column counts once, and those outside of the selection do not."""
    used = [REGION, YEAR, DAY, INCOME, DIAGNOSIS]
    for several in (two for count in range(6) for two in combinations(used, count)):
        quasi = [one for one in several if one in QUASI.columns]
        if len(quasi) > 2:
            with pytest.raises(NotPermitted, match="3 columns of `class:quasi`"):
                require_together([PAIR], [*several, *several])
        else:
            require_together([PAIR], [*several, *several])


RULE = "{{id: r, effect: permit, when: true, tables: [patients], budget: {{epsilon: 1}}, together: {0}}}"


def test_restriction_is_read_over_all_protected_tables() -> None:
    """A word means columns of every protected table, also of those that the rule does not grant."""
    text = "{forbid: [[patients.region, visit_date, patient_id]], at_most: {'class:quasi': 2}}"
    [rule] = with_rules(RULE.format(text)).rules
    assert rule.together is not None
    [combination] = rule.together.forbid
    assert [len(one.columns) for one in combination] == [1, 1, 2]
    [(quasi, most)] = rule.together.at_most
    assert (most, quasi.columns) == (2, frozenset({REGION, YEAR, DAY}))


@for_each(
    "text",
    [
        "{}",
        "{forbid: [[region]]}",
        "{forbid: [[region, nope]]}",
        "{forbid: [[region, region]]}",
        "{forbid: [region, birth_year]}",
        "{at_most: {'class:quaso': 2}}",
        "{at_most: {region: -1}}",
        "{at_most: {region: many}}",
        "{at_most: 3}",
        "{allow: [[region, birth_year]]}",
        "{forbid: [[region, regions.region]]}",
    ],
)
def test_restriction_that_means_nothing_is_refused(text: str) -> None:
    """Unknown columns, lists of one, and other keys."""
    with pytest.raises(AssertionError):
        with_rules(RULE.format(text))
    with_rules(RULE.format("{forbid: [[region, birth_year]]}"))  # negative control


def test_forbid_has_no_restriction() -> None:
    """A forbid forbids; it grants nothing that could be restricted."""
    with pytest.raises(AssertionError):
        with_rules(
            "{id: f, effect: forbid, when: true, together: {forbid: [[region, birth_year]]}}"
        )


def test_change_of_a_restriction_is_a_change_of_the_policy() -> None:
    """A new restriction is narrower, a lost one wider."""

    def loaded(policy: Policy) -> LoadedPolicies:
        return LoadedPolicies({policy.name: policy}, {"alice": ALICE}, "00", ())

    free, bound = loaded(restricted(None)), loaded(restricted(TRIPLE))
    assert [one.direction for one in differences(free, bound)] == ["narrower"]
    assert [one.direction for one in differences(bound, free)] == ["wider"]
