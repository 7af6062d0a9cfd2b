"""Nobody can tell over REST whether one person is in the data, better than the answers themselves say.

Two gateways that listen over clinics that differ in one person who does everything to stand out, on
DuckDB and on PostgreSQL, with Laplace and with Gaussian noise. What an answer claims is read from the answer. The
same distinguisher is then set on gateways with planted bugs, and has to find each of them: a trial misses its bug
with a chance below 10^-6 (`test_claims` has the sums). Honest gateways are accused with a chance below 4 · 10^-7.

Here are the bugs that a few answers find, and each kind of question on one of the datasets, of gateways in this process;
with `--full-samples` all of both, of two processes `gateway serve`. The long form asks for every loss on every dataset: `long_distinguisher_over_rest`.
"""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import pytest
from fix_state import StateServer
from privacy.over_rest import Asked, ask, found_loss, once
from privacy.planted import planted
from privacy.rest_numbers import fixed, without_random
from privacy.rest_sides import (
    DATASETS,
    RestSides,
    Sources,
    in_threads,
    neighbouring_sources,
    processes,
)
from privacy.shapes import FREE, REFUSED, SHAPES, Shape
from privacy.trials import ALPHA, LONG_TRIALS, TRIALS, Trial
from samples import Samples

from gateway.postgres_server import Lease
from gateway.twin import Twin

T = TypeVar("T")
_TRIALS = (*TRIALS, *(pytest.param(one, marks=pytest.mark.full_samples) for one in LONG_TRIALS))


def _part(asked: Sequence[T], dataset: str) -> Sequence[T]:
    """Everything once over all datasets; with all samples, on every dataset."""
    return asked if Samples.full else asked[DATASETS.index(dataset) :: len(DATASETS)]


def _shapes(dataset: str) -> Sequence[Shape]:
    return _part(SHAPES, dataset)


@pytest.fixture(scope="module")
def sources(sample_server: Lease) -> Iterator[Sources]:
    with neighbouring_sources(sample_server) as sources:
        yield sources


@pytest.fixture(scope="module")
def real(state_server: StateServer, sources: Sources, twin: Twin) -> Iterator[RestSides]:
    """Honest ones. No bug is planted into them: what they have prepared before is their own."""
    opened = (
        processes(state_server, sources)
        if Samples.full
        else in_threads(state_server, sources, twin)
    )
    with opened as sides:
        yield sides


@pytest.fixture(scope="module")
def here(state_server: StateServer, sources: Sources, twin: Twin) -> Iterator[RestSides]:
    with in_threads(state_server, sources, twin) as sides:
        yield sides


@pytest.mark.parametrize("trial", _TRIALS, ids=str)
def test_answers_over_rest_give_away_no_more_than_they_say(real: RestSides, trial: Trial) -> None:
    """Nothing in the whole HTTP answer shows a loss above the price that the answer names."""
    asked = Asked(trial.shape, trial.dataset, trial.epsilon)
    found = found_loss(real, asked, pilot=trial.pilot, test=trial.test, alpha=ALPHA)
    assert not found.loss.accused, found


@pytest.mark.parametrize("trial", _TRIALS, ids=str)
def test_distinguisher_finds_a_planted_bug_over_rest(here: RestSides, trial: Trial) -> None:
    """The test above can fail: with the bug planted, as many answers to the same question accuse the gateway."""
    asked = Asked(trial.shape, trial.dataset, trial.epsilon)
    with planted(trial.bug):
        found = found_loss(here, asked, pilot=trial.pilot, test=trial.test, alpha=ALPHA)
    assert found.loss.accused, found


@pytest.mark.parametrize("dataset", DATASETS)
def test_all_but_released_values_is_the_same_over_rest_when_a_person_is_there(
    real: RestSides, dataset: str
) -> None:
    """Status, headers, columns, scales, prices, accounts, notices, and of listed groups the keys."""
    for shape in _shapes(dataset):
        told = [ask(served, Asked(shape, dataset)) for served in real.both]
        assert all(one.answered for one in told), shape
        one, other = (fixed(each, rows=shape.enumerated) for each in told)
        assert one == other, shape


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("texts", [REFUSED, FREE], ids=["refused", "free"])
def test_answers_without_released_values_are_the_same_over_rest_byte_by_byte(
    real: RestSides, dataset: str, texts: Sequence[str]
) -> None:
    """Where nothing was released, status, headers and body do not differ in anything but the random id."""
    compared = 0
    texts = _part(texts, dataset) if texts is REFUSED else texts
    for sql in texts:
        told = [ask(served, Asked(Shape(sql, sql), dataset)) for served in real.both]
        if any(each.released for each in told):  # some are refused by one kind of gateway only
            one, other = (fixed(each, rows=False) for each in told)
        else:
            one, other = (without_random(each) for each in told)
            compared += 1
        assert one == other, sql
    assert compared >= len(texts) - 2


def test_estimates_and_listings_are_the_same_over_rest_byte_by_byte(real: RestSides) -> None:
    """What costs nothing to ask about a question, or about the data, says nothing about a person."""
    for dataset in DATASETS:
        for shape in _shapes(dataset):
            one, other = (
                once(served, shape.subject, "POST", "/v1/estimate", sql=shape.sql, dataset=dataset)
                for served in real.both
            )
            assert one.answered
            assert without_random(one) == without_random(other), shape
    for path in ("/v1/datasets", "/v1/budget"):
        one, other = (once(served, "alice", "GET", path) for served in real.both)
        assert one.answered
        assert without_random(one) == without_random(other), path


def test_what_is_fixed_differs_over_rest_when_the_question_does(real: RestSides) -> None:
    """The comparisons above can fail: another column, or one more row of listed groups, is seen."""
    shapes = [
        Shape("four", "SELECT region, COUNT(*) FROM patients GROUP BY region"),
        Shape("named", "SELECT region, COUNT(*) AS n FROM patients GROUP BY region"),
        Shape("one", "SELECT region, COUNT(*) FROM patients WHERE region = 'west' GROUP BY region"),
        Shape("no", "SELECT region FROM patients"),
    ]
    for served in real.both:  # both, so that their accounts stay alike
        told = [ask(served, Asked(shape, DATASETS[0])) for shape in shapes]
        assert len({_but_accounts(fixed(one, rows=True)) for one in told}) == len(shapes)


def _but_accounts(text: str) -> str:
    return text.partition('"budget"')[0]
