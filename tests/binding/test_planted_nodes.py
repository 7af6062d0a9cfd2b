"""No part of a text escapes the binder: forbidden nodes are planted everywhere."""

from collections.abc import Iterator

import pytest
from binding.cases import Case, accepted
from binding.clinic import CLINIC
from sqlglot import exp

from gateway.binding.bind import bind, parse
from gateway.binding.bound import Cut, Empty, explain_bound
from gateway.binding.text.classify import StatementKind, classify
from gateway.binding.text.dialect import DIALECT
from gateway.binding.text.lexer import tokens_of
from gateway.binding.text.round_trip import intervals_as_casts
from gateway.errors import Refusal

QUERIES = [
    case
    for case in accepted()
    if classify(case.sql).kind is not StatementKind.PASS and case.sql.strip()
]
_PLANTS = {
    "an unknown table": "(SELECT MAX(planted) FROM hidden)",
    "a value of a person": "(SELECT planted.name FROM patients AS planted LIMIT 1)",
    "persons of one another": "(SELECT COUNT(*) FROM patients AS planted, visits)",
}
_PLACES = (exp.Literal, exp.Column, exp.Star, exp.Anonymous, exp.Boolean)
_EVERY = 3  # a third of the places for each case: all of them are tried for some case
_ENOUGH = 500


def _planted(case: Case, plant: str, first: int) -> Iterator[str]:
    """The statement with the plant in the place of an expression, one place at a time."""
    query = classify(case.sql).query
    text = intervals_as_casts(query, tokens_of(query))
    tree = parse(text, tokens_of(text))
    new = parse(f"SELECT {plant}", tokens_of(f"SELECT {plant}")).expressions[0]
    places = [place for place, node in enumerate(tree.walk()) if isinstance(node, _PLACES)]
    for place in places[first::_EVERY]:
        copy = tree.copy()
        node = list(copy.walk())[place]
        if node.parent is not None:
            node.replace(new.copy())
            yield DIALECT.generate(copy)


@pytest.mark.parametrize("what", _PLANTS)
def test_planted_query_is_refused_wherever_it_stands(what: str) -> None:
    """A query that must not be asked is refused in every place, or dropped unseen with what is not read."""
    refused = 0
    for number, case in enumerate(QUERIES):
        for sql in _planted(case, _PLANTS[what], number % _EVERY):
            try:
                bound = bind(sql, CLINIC)
            except Refusal:
                refused += 1
                continue
            # the list of an EXISTS and a CTE that nobody reads are computed nowhere, and a statement
            # that gives no rows sees empty tables
            assert isinstance(bound, Cut), sql
            if any(isinstance(step, Empty) for step in bound.steps):
                assert not bound.releases, sql
                continue
            assert "planted" not in explain_bound(bound), sql
            assert "hidden" not in explain_bound(bound), sql
    assert refused >= _ENOUGH


def test_planted_query_is_seen_when_it_may_be_asked() -> None:
    """The law above can fail: an aggregate that may be asked is found in what was bound."""
    found = 0
    for number, case in enumerate(QUERIES[::10]):
        for sql in _planted(
            case, "(SELECT AVG(planted.income) FROM patients AS planted)", number % 3
        ):
            try:
                found += "planted" in explain_bound(bind(sql, CLINIC))
            except Refusal:
                continue
    assert found
