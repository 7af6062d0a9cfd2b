"""A diff says by role what became wider or narrower."""

from fix_policy import BASE, Case, loaded, read
from laws import for_each

from gateway.policy.diff import differences
from gateway.policy.files.load import LoadedPolicies

SUBJECTS = "alice: {role: researcher, region: north}\ncarol: {role: auditor}\n"

BUDGET = "clinic, rule researchers: its budget is"
MONTHLY = "delta 0.000001, 0.5 a month"


def policies(old: str = "", new: str = "", subjects: str = SUBJECTS) -> LoadedPolicies:
    return loaded(read(Case("", old, new, ()).text, None).accepted, subjects)


def told(old: str, new: str) -> list[str]:
    found = differences(policies(), policies(old, new))
    return [f"{change.direction} {change.about}: {change.message}" for change in found]


def test_equal_policies_do_not_differ() -> None:
    """Nothing became wider or narrower."""
    assert told("", "") == []


@for_each(
    ("old", "new", "said"),
    [
        (
            "group_by: [patients.region]",
            "group_by: []",
            [
                "narrower clinic, role researcher: may no longer group by patients.region",
                "narrower clinic, rule researchers: it no longer has group by patients.region",
            ],
        ),
        (
            "group_by: [patients.region]",
            "group_by: [patients.region, visits.cost]",
            [
                "wider clinic, role researcher: may now group by visits.cost",
                "wider clinic, rule researchers: it has group by visits.cost",
            ],
        ),
        ("{epsilon: 10,", "{epsilon: 12,", ["wider clinic: the budget is 12, was 10"]),
        (
            "delta: 1e-6}",
            "delta: 1e-7}",
            [
                "narrower clinic: delta is 1e-7, was 0.000001",
                f"changed {BUDGET} epsilon 2, delta 1e-7, 0.5 a month, was epsilon 2, {MONTHLY}",
            ],
        ),
        (
            "budget: {epsilon: 2,",
            "budget: {epsilon: 3,",
            [f"wider {BUDGET} epsilon 3, {MONTHLY}, was epsilon 2, {MONTHLY}"],
        ),
        ("max: 1.0", "max: 0.5", ["narrower clinic: the highest price is 0.5, was 1"]),
        ("min_units: 10", "min_units: 5", ["wider clinic: `min_units` is 5, was 10"]),
        (
            "min_units: 10, ",
            "min_units: 10, opaque_predicates: count_as_unknown, ",
            ["wider clinic: `opaque_predicates` is count_as_unknown, was refuse"],
        ),
        (
            "min_units: 10, ",
            "min_units: 10, opaque_predicates: allow, ",
            ["wider clinic: `opaque_predicates` is allow, was refuse"],
        ),
        ("max_age: 7d", "max_age: 0d", ["changed clinic: `max_age` is 0d, was 7d"]),
        ("max_age: 7d", "max_age: 90m", ["changed clinic: `max_age` is 90m, was 7d"]),
        (
            "reuse:",
            "limits: {result_rows: 10}\nreuse:",
            ["changed clinic: `limits` are others"],
        ),
        (
            "reuse:",
            "limits: {timeouts_per_day: 5}\nreuse:",
            ["wider clinic: `timeouts_per_day` is 5, was 3"],
        ),
        (
            "reuse:",
            "answers: {clamp_results: false}\nreuse:",
            ["wider clinic: `clamp_results` is false, was true"],
        ),
        (
            "reuse:",
            "answers: {suppress_small: true, reply_grid_ms: 100}\nreuse:",
            [
                "narrower clinic: `suppress_small` is true, was false",
                "narrower clinic: `reply_grid_ms` is 100, was none",
            ],
        ),
        (
            "domain: {between: [0, 200000]}, step: 1}",
            "domain: {between: [0, 200000]}, step: 1, report: {ranges: 10000}}",
            ["narrower clinic.patients.income: reported in ranges of 10000, was none"],
        ),
        (
            "reuse:",
            "answers: {report: {count: 5}}\nreuse:",
            ["narrower clinic, results of counts: reported in ranges of 5, was none"],
        ),
        (
            "[1920, 2020]",
            "[1900, 2020]",
            ["changed clinic.patients.birth_year: it is declared otherwise"],
        ),
        (
            "values_per_unit: 10",
            "values_per_unit: 20",
            ["changed clinic.visits: `values_per_unit` is 20, was 10"],
        ),
        (
            "values_per_unit: 10",
            "rows_per_unit: 1",
            [
                "changed clinic.visits: a unit may have one row",
                "changed clinic.visits: `values_per_unit` is 1, was 10",
            ],
        ),
        (
            "reuse:",
            "clip: {price: 0.01, max_age: 1d, default: 8, max: 64, exact: true}\nreuse:",
            [
                "changed clinic: `clip.price` is 0.01, was 0.005",
                "changed clinic: `clip.max_age` is 1d, was 30d",
                "changed clinic: `clip.default` is 8, was declared",
                "changed clinic: `clip.max` is 64, was 16384",
                "changed clinic: `clip.exact` is true, was false",
            ],
        ),
        (
            "request.hour < 6",
            "request.hour < 5",
            ["changed clinic, rule nobody-at-night: it applies when `request.hour < 5`"],
        ),
        (
            "  - id: nobody-at-night\n    effect: forbid\n    when: request.hour < 6\n",
            "",
            ["wider clinic, rule nobody-at-night: it is gone, and forbade"],
        ),
        (
            "unit: patient",
            "unit: person",
            ["changed clinic: the unit is `person`, was `patient`: it cannot change"],
        ),
    ],
)
def test_difference_is_told_with_its_direction(old: str, new: str, said: list[str]) -> None:
    """More that can be learned is wider; what cannot be told is changed."""
    assert told(old, new) == said


def test_difference_of_a_condition_is_told_by_role() -> None:
    """What one role gains and another loses is told for each."""
    found = told('subject.role == "researcher"', 'subject.role == "auditor"')
    roles = [line.partition(":")[0] for line in found]
    assert "narrower clinic, role researcher" in roles
    # the row rule needs a region, which the auditor has not: nothing is gained
    assert "wider clinic, role auditor" not in roles


def test_public_table_is_wider() -> None:
    """Rows that were protected and are public are the widest change there is."""
    text = BASE.replace(
        "  regions: {public: true}",
        "  regions:\n    unit_key: id\n    rows_per_unit: 1\n    columns: {id: {type: bigint, class: identifier}}",
    )
    before = loaded(read(text, None).accepted, SUBJECTS)
    found = differences(before, policies())
    said = [
        (change.direction, change.message) for change in found if change.about == "clinic.regions"
    ]
    assert said == [("wider", "the table is public: its rows are readable as they are")]


def test_subjects_and_datasets_come_and_go() -> None:
    """Who may log in is told too."""
    more = policies(subjects=SUBJECTS.replace("carol", "dave"))
    found = {(change.direction, change.about) for change in differences(policies(), more)}
    assert found == {("wider", "subject dave"), ("narrower", "subject carol")}
    nothing = LoadedPolicies({}, policies().subjects, "00")
    assert [change.direction for change in differences(policies(), nothing)] == ["narrower"]
    assert [change.direction for change in differences(nothing, policies())] == ["wider"]


def test_columns_that_no_query_reads_are_told_of() -> None:
    """A document, and the column that is read from it."""
    line = "      weight: {type: double precision, class: sensitive}\n"
    details = "      details: {type: jsonb, class: sensitive}\n"
    inside = line.replace("sensitive}", "sensitive, from: \"details ->> 'weight'\"}")
    said = told(line, inside + details)
    assert "changed clinic.patients: the columns that no query reads are `details`" in said
    assert any(one.startswith("changed clinic.patients.weight") for one in said), said
