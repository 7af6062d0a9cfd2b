"""Every statement has a verdict: keys, aggregates and tables by chance, read as the pipeline reads them."""

from dataclasses import replace
from random import Random

from laws import for_each
from overlap.walk import DEFAULTS, SPREAD, parts
from samples import draws

from gateway.errors import OverlapRefused, Refusal
from gateway.overlap.auditor import History, NewQuery, PriorRelease, find_violation
from gateway.policy.policy import UnreadableConditions
from gateway.regions.axis import AxisKind
from gateway.regions.scope import ReleaseScope

_KEYS = {
    "prescriptions": (
        "prescribed_at::date::text",
        "to_char(prescribed_at - interval '1 month', 'YYYY-MM-DD HH24')",
        "date_trunc('month', prescribed_at)",
        "dose_mg",
        "dose_mg > 40",
        "prescribed_at",
    ),
    "visits": (
        "visit_date::text",
        "to_char(visit_date - interval '1 month', 'YYYY-MM-DD HH24')",
        "visit_date",
        "visit_date > '2024-02-03'",
        "department",
        "round(cost)",
        "visit_date - date '2024-01-01'",
    ),
}
_VALUES = {
    "prescriptions": ("prescribed_at", "dose_mg", "prescribed_at::date"),
    "visits": ("visit_date", "cost", "visit_date + interval '1 hour'"),
}
_AGGREGATES = (
    "count(*)",
    "min({})",
    "max({})",
    "mode() WITHIN GROUP (ORDER BY {})",
    "count(DISTINCT {})",
    "percentile_disc(ARRAY[0.1, 0.5]) WITHIN GROUP (ORDER BY {})",
    "count(*) FILTER (WHERE {} IS NULL)",
)
_TABLES = (
    "{0}",
    "(SELECT * FROM {0} UNION ALL SELECT * FROM {0}) {0}",
    "(SELECT * FROM {0} UNION ALL SELECT * FROM {0} WHERE 1 IN (1, 2, 1970)) {0}",
    "(SELECT * FROM {0} WHERE patient_id % 2 = 1) {0}",
)


def _statement(chance: Random) -> str:
    table = chance.choice(sorted(_KEYS))
    key, value = chance.choice(_KEYS[table]), chance.choice(_VALUES[table])
    aggregate = chance.choice(_AGGREGATES).format(value)
    given = chance.choice(_TABLES).format(table)
    return f"SELECT {key}, {aggregate} FROM {given} GROUP BY 1"


def _scopes(sql: str) -> list[ReleaseScope]:
    """What the statement is about; nothing if it is refused before."""
    try:
        return [one.scope for one in parts("clinic", sql)]
    except Refusal:
        return []


def _kinds(scope: ReleaseScope) -> list[tuple[str, AxisKind]]:
    axes = [*scope.region.axes, *(one.axis for one in scope.keys if one.axis is not None)]
    return [(one.name, one.kind) for one in axes]


_TWICE = "(SELECT * FROM {0} UNION ALL SELECT * FROM {0}) {0}"
_FOUND_BEFORE = [
    f"SELECT prescribed_at::date::text, min(prescribed_at) FROM {_TWICE.format('prescriptions')} GROUP BY 1",
    (
        "SELECT to_char(visit_date - interval '1 month', 'YYYY-MM-DD HH24'), percentile_disc(ARRAY[0.1,0.5])"
        f" WITHIN GROUP (ORDER BY visit_date) FROM {_TWICE.format('visits')} GROUP BY 1"
    ),
]


@for_each("opaque", list(UnreadableConditions))
def test_statement_by_chance_has_a_verdict(opaque: UnreadableConditions) -> None:
    """One after the other, each compared with all before it; nothing but a refusal is raised."""
    chance = Random(17)  # noqa: S311 - statements to ask
    rules, history = replace(DEFAULTS, opaque=opaque), History()
    asked = _FOUND_BEFORE + [_statement(chance) for _ in range(draws(60))]
    compared = 0
    for number, sql in enumerate(asked):
        scopes = _scopes(sql)
        compared += bool(scopes)
        try:
            find_violation([NewQuery(one, SPREAD) for one in scopes], history, rules)
        except OverlapRefused:
            continue
        for place, one in enumerate(scopes):
            history.add(PriorRelease(f"q{number}.{place}", f"q{number}", one, None, SPREAD))
    assert compared > len(asked) // 2


def test_axes_of_one_name_have_one_kind() -> None:
    """A column's axis and the one of a truth that nobody can read are never called alike."""
    chance = Random(18)  # noqa: S311 - statements to ask
    seen = 0
    for sql in _FOUND_BEFORE + [_statement(chance) for _ in range(draws(60))]:
        kinds: dict[tuple[str, str], AxisKind] = {}
        for scope in _scopes(sql):
            for name, kind in _kinds(scope):
                seen += 1
                assert kinds.setdefault((scope.shape, name), kind) is kind, (sql, name)
    assert seen
