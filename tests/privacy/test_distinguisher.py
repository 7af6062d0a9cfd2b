"""Nobody can tell from answers whether one person is in the data, better than the price says: tried in this process.

Two gateways answer the same questions about two clinics that differ in one person who does everything to stand
out. The short form here is on DuckDB, with reproducible streams: every kind of question in one of both currencies, with
`--full-samples` in both; `long_distinguisher` does the same with more answers, on PostgreSQL too, and on what PostgreSQL makes of releases. `test_distinguisher_over_rest`
has fewer answers of whole gateways.

A gateway that keeps its promise is accused with a chance below 1e-9 for each question, 1e-7 for all together.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import pytest
from fix_state import StateServer
from privacy.line import Line
from privacy.planted import HALF_THE_NOISE, NO_THRESHOLD, ROWS_INSTEAD_OF_PERSONS, Broken
from privacy.repeated_answers import Sides, duckdb_sources, found_loss, open_sides
from privacy.rest_numbers import follows_from_values
from privacy.shapes import HANGING, REFUSED, SHAPES, Shape
from samples import draws

from gateway.cancellation import CancelEvent
from gateway.errors import BackendUnavailable, InternalError, Refusal
from gateway.events import Crashed, SourceFailed
from gateway.requests.request import Answer, Request
from gateway.twin import Twin

PILOT, TEST = (
    draws(100, fewest=40),
    draws(500, fewest=120),
)  # of each side, where a new answer costs no new run of the source
OF_BUGS = draws(
    1_500, fewest=TEST
)  # noise that is fine beside a person has no single event that tells most
_BY_NAME = {shape.name: shape for shape in SHAPES}
# their second release has to be run for every answer
_TWICE_RUN = frozenset({"one answer in another", "one answer's groups in another"})
_VARYING = frozenset({"seq", "mac", "at", "query_id", "duration_us", "events"})


_MECHANISMS = ("laplace", "gaussian")
_IN_TURN = [
    pytest.param(
        mechanism,
        shape,
        marks=() if place % len(_MECHANISMS) == which else pytest.mark.full_samples,
        id=f"{mechanism}-{shape.name}",
    )
    for place, shape in enumerate(SHAPES)
    for which, mechanism in enumerate(_MECHANISMS)
]


@pytest.fixture(scope="module")
def all_sides(
    state_server: StateServer, twin: Twin, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, Sides]]:
    with ExitStack() as stack:
        opened = {}
        for mechanism in _MECHANISMS:
            home = tmp_path_factory.mktemp("sides")
            sources = duckdb_sources(home)
            opened[mechanism] = stack.enter_context(
                open_sides(state_server, twin, home, sources, mechanism)
            )
        yield opened


@pytest.fixture(params=_MECHANISMS)
def sides(request: pytest.FixtureRequest, all_sides: Mapping[str, Sides]) -> Sides:
    return all_sides[request.param]


@pytest.mark.parametrize(("sides", "shape"), _IN_TURN, indirect=["sides"])
def test_answers_give_away_no_more_than_was_paid_for_when_a_person_stands_out(
    sides: Sides, shape: Shape
) -> None:
    """For every kind of question, the loss that can be shown is at most what was paid."""
    less = 10 if shape.name in _TWICE_RUN else 1
    found = found_loss(sides, shape, pilot=PILOT // less, test=TEST // less)
    assert not found.accused, found


@pytest.mark.parametrize(
    "shape",
    [HANGING, *(_BY_NAME[name] for name in ("having", "order and limit", "presence of a group"))],
    ids=lambda shape: shape.name,
)
def test_rows_and_errors_give_away_no_more_than_was_paid_for_when_they_hang_on_noise(
    sides: Sides, shape: Shape
) -> None:
    """What PostgreSQL makes of releases, its errors too, says no more than the releases."""
    found = found_loss(sides, shape, pilot=60, test=240, finishing=True)
    assert not found.accused, found


@pytest.mark.parametrize(
    ("name", "bug"),
    [
        pytest.param("count", HALF_THE_NOISE, marks=pytest.mark.full_samples),
        pytest.param("listed groups", HALF_THE_NOISE, marks=pytest.mark.full_samples),
        pytest.param("count of rows", ROWS_INSTEAD_OF_PERSONS, marks=pytest.mark.full_samples),
        ("sum with outliers", ROWS_INSTEAD_OF_PERSONS),
        ("median with outliers", ROWS_INSTEAD_OF_PERSONS),
        ("ends with outliers", ROWS_INSTEAD_OF_PERSONS),
        ("found groups", NO_THRESHOLD),
        ("presence of a group", NO_THRESHOLD),
    ],
    ids=str,
)
def test_distinguisher_finds_a_planted_bug(sides: Sides, name: str, bug: Broken) -> None:
    """The tests above can fail: half the noise, a bound for rows instead of persons, a threshold left out."""
    found = found_loss(sides, _BY_NAME[name], pilot=PILOT, test=OF_BUGS, bug=bug)
    assert found.accused, found


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_all_but_released_values_is_the_same_when_a_person_is_there(
    sides: Sides, shape: Shape
) -> None:
    """Columns, price, charge, delta, notices, the estimate, and of listed groups the rows and their keys."""
    one, other = (_told(line, shape) for line in sides.both)
    assert one == other
    assert [_crashes(line) for line in sides.both] == [[], []]


def _crashes(line: Line) -> list[object]:
    """What was a bug of ours, or an error of the source."""
    return [event for event in line.told if isinstance(event, (Crashed, SourceFailed))]


def _told(line: Line, shape: Shape) -> dict[str, object]:
    before = line.last_record()
    subject = line.subjects[shape.subject]
    answer = line.asking.answer(subject, Request(shape.sql), CancelEvent())
    estimate = line.asking.estimate(subject, Request(shape.sql))
    told: dict[str, object] = {
        "columns": answer.columns,
        "price": (answer.price, answer.charged, answer.rho, answer.delta),
        "notices": [one for one in answer.notices if not follows_from_values(one)],
        "estimate": estimate,
        "records": _records(line, before),
    }
    if shape.enumerated:
        told["keys"] = _keys(answer)
    return told


def _keys(answer: Answer) -> list[tuple[str | None, ...]]:
    """The cells that are not noisy, row by row."""
    known = [place for place, column in enumerate(answer.columns) if not column.noisy]
    return [tuple(row[place] for place in known) for row in answer.rows]


def _records(line: Line, before: int) -> list[dict[str, object]]:
    """What the trail says since, without times and numbers of questions."""
    said = []
    for record in line.records(before):
        kept = {name: value for name, value in record.items() if name not in _VARYING}
        taken = kept.get("taken") or ()
        assert isinstance(taken, list | tuple)
        kept["taken"] = [{**each, "at": None} for each in taken]
        said.append(kept)
    return said


@pytest.mark.parametrize("sql", REFUSED)
def test_refusals_are_the_same_when_a_person_is_there(sides: Sides, sql: str) -> None:
    """Code, text, hint and record of a refusal depend on the question and the policy alone."""
    told = []
    for line in sides.both:
        before = line.last_record()
        refused = _refused(line, sql)
        assert not isinstance(refused, (InternalError, BackendUnavailable))
        said = refused and (refused.code, refused.title, refused.detail, refused.hint)
        told.append((said, _records(line, before)))
    assert told[0] == told[1]
    assert [_crashes(line) for line in sides.both] == [[], []]


def _refused(line: Line, sql: str) -> Refusal | None:
    try:
        line.answer(sql)
    except Refusal as refusal:
        return refusal
    return None
