"""A wrong reading of SQL that is rewritten is found by the comparison with plain PostgreSQL."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count

import psycopg
import pytest
from endtoend.clinic_gateway import AskedGateway
from endtoend.plain_postgresql import plain_result
from endtoend.same_answer import differences
from laws import for_each
from sqlglot import exp

from gateway.binding import (
    kept_public_rows,
    other_spellings,
    person_subqueries,
    set_operations,
    unit_aggregates,
)
from gateway.binding.operands import compare
from gateway.binding.regular_expression import RegularExpression
from gateway.plan.joins import Join
from gateway.plan.relations import Window
from gateway.plan.scalars import Ref

Plant = Callable[[pytest.MonkeyPatch], None]
_NUMBERS: Iterator[int] = count(1)


@dataclass(frozen=True)
class Planted:
    """A statement, and a bug that changes what it means. `listed`: it is asked where groups are listed."""

    what: str
    sql: str
    plant: Plant
    listed: bool = False


def _patch(place: object, name: str, wrong: object) -> Plant:
    return lambda patch: patch.setattr(place, name, wrong)


def _inner(left: object, right: object, condition: object, outer: object = None) -> Join:
    return Join(left, right, condition)  # type: ignore[arg-type]  # as they were given


def _reversed_order(child: object, items: tuple[tuple[str, object], ...]) -> Window:
    [(name, call)] = items
    turned = tuple((key, not down) for key, down in call.order)  # type: ignore[attr-defined]
    return Window(child, ((name, replace(call, order=turned)),))  # type: ignore[arg-type, type-var]


def _plain_between(node: exp.Between) -> exp.Expression:
    return exp.Between(this=node.this, low=node.args["low"], high=node.args["high"])


_EXCEPT = """SELECT COUNT(*) FROM (SELECT patient_id, diagnosis FROM visits WHERE cost > 100
EXCEPT SELECT patient_id, diagnosis FROM visits WHERE cost > 2000) t"""
_SERIES = """SELECT d.r, COUNT(p.patient_id) FROM (VALUES ('north'), ('north'), ('mars')) AS d(r)
LEFT JOIN patients p ON p.region = d.r GROUP BY d.r"""
_CASES = (
    Planted(
        "persons without rows are dropped",
        """SELECT COUNT(*) FROM patients p WHERE (SELECT SUM(v.cost) FROM visits v
        WHERE v.patient_id = p.patient_id) IS NULL""",
        _patch(person_subqueries, "Join", _inner),
    ),
    Planted(
        "a count without rows is NULL",
        """SELECT COUNT(*) FROM patients p WHERE (SELECT COUNT(*) FROM visits v
        WHERE v.patient_id = p.patient_id) = 0""",
        _patch(unit_aggregates, "make_call", lambda _, parts: parts[0]),
    ),
    Planted(
        "the first row of a person is the last one",
        """SELECT AVG(cost) FROM (SELECT DISTINCT ON (patient_id) patient_id, cost FROM visits
        ORDER BY patient_id, cost) t""",
        _patch(person_subqueries, "Window", _reversed_order),
    ),
    Planted(
        "EXCEPT is INTERSECT",
        _EXCEPT,
        _patch(set_operations, "Call", lambda _, parts, *__, **___: parts[0]),
    ),
    Planted(
        "NULL is not NULL in a set operation",
        _EXCEPT,
        _patch(set_operations, "_same", lambda one, other: compare("=", Ref(one), Ref(other))),
    ),
    Planted(
        "empty public groups are NULL",
        _SERIES,
        _patch(kept_public_rows, "_or_zero", lambda node: node),
        listed=True,
    ),
    Planted(
        "public rows that are alike count once",
        _SERIES,
        _patch(kept_public_rows, "_ADDED", frozenset()),
        listed=True,
    ),
    Planted(
        "a regular expression matches what it does not",
        "SELECT COUNT(*) FROM patients WHERE region ~ '^n'",
        _patch(RegularExpression, "is_in", lambda _, text: not text.startswith("n")),
    ),
    Planted(
        "the ends of a symmetric BETWEEN are not exchanged",
        "SELECT COUNT(*) FROM patients WHERE birth_year BETWEEN SYMMETRIC 1980 AND 1950",
        _patch(other_spellings, "_symmetric", _plain_between),
    ),
)


def _differences(gateway: AskedGateway, plain: psycopg.Connection, case: Planted) -> list[str]:
    # blanks make a text that nobody has bound before
    answer = gateway.answer(case.sql + " " * next(_NUMBERS), "listed" if case.listed else "laplace")
    return differences(plain_result(plain, case.sql), answer, ordered=False)


@for_each("case", _CASES, ids=lambda case: case.what)
def test_wrong_reading_is_found(
    gateway: AskedGateway, plain: psycopg.Connection, case: Planted
) -> None:
    """Each statement is answered as PostgreSQL does, and not any more when its reading is wrong."""
    assert _differences(gateway, plain, case) == []
    with pytest.MonkeyPatch.context() as patch:
        case.plant(patch)
        assert _differences(gateway, plain, case) != []
