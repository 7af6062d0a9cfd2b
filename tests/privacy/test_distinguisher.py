"""Nobody can tell from answers whether one person is in the data, better than epsilon says: tried on the whole line.

Two gateways answer the same questions about two clinics that differ in one person who does everything to stand
out. The short form here is on DuckDB and in the pure currency, with reproducible streams; `long_distinguisher`
does the same with more answers, on PostgreSQL too, in both currencies, and on what PostgreSQL makes of releases.

A gateway that keeps its promise is accused with a chance below 1e-9 for each question, 1e-7 for all together.
"""

from collections.abc import Iterator

import pytest
from fix_state import StateServer
from privacy.asking_often import EPSILON, Broken, Sides, duckdb_sources, found_loss, open_sides
from privacy.line import Line
from privacy.neighbouring import HANGING, REFUSED, SHAPES, Shape

from gateway.errors import BackendUnavailable, InternalError, Refusal
from gateway.events import Crashed, SourceFailed
from gateway.question import Answer, Request
from gateway.twin import Twin

TRAIN, TEST = 300, 1_200  # of each side, where a new answer costs no new run of the source
DELTA = 1e-6
_BY_NAME = {shape.name: shape for shape in SHAPES}
_TWICE_RUN = "one answer in another"  # its second release has to be run for every answer
_VARYING = frozenset({"seq", "mac", "at", "query_id", "duration_us"})


@pytest.fixture(scope="module")
def sides(
    state_server: StateServer, twin: Twin, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sides]:
    home = tmp_path_factory.mktemp("sides")
    with open_sides(state_server, twin, home, duckdb_sources(home), "laplace") as sides:
        yield sides


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_answers_give_away_no_more_than_epsilon_when_a_person_stands_out(
    sides: Sides, shape: Shape
) -> None:
    """For every kind of question, the loss that can be shown is at most what was paid."""
    less = 10 if shape.name == _TWICE_RUN else 1
    found = found_loss(sides, shape, train=TRAIN // less, test=TEST // less, delta=DELTA)
    assert found.epsilon <= EPSILON, found


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape",
    [HANGING, *(_BY_NAME[name] for name in ("having", "order and limit", "presence of a group"))],
    ids=lambda shape: shape.name,
)
def test_rows_and_errors_give_away_no_more_than_epsilon_when_they_hang_on_noise(
    sides: Sides, shape: Shape
) -> None:
    """What PostgreSQL makes of releases, its errors too, says no more than the releases."""
    found = found_loss(sides, shape, train=60, test=240, delta=DELTA, finishing=True)
    assert found.epsilon <= EPSILON, found


@pytest.mark.parametrize(
    ("name", "bug"),
    [
        ("count", Broken(noise=2)),
        ("listed groups", Broken(noise=2)),
        ("count of rows", Broken(rows=10**4)),
        ("sum with outliers", Broken(rows=10**4)),
        ("found groups", Broken(threshold=False)),
        ("presence of a group", Broken(threshold=False)),
    ],
    ids=str,
)
def test_distinguisher_finds_a_planted_bug(sides: Sides, name: str, bug: Broken) -> None:
    """The test above can fail: half the noise, a bound for rows instead of persons, a threshold left out."""
    found = found_loss(sides, _BY_NAME[name], train=500, test=2_500, bug=bug, delta=DELTA)
    assert found.epsilon > EPSILON, found


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_all_but_released_values_is_the_same_when_a_person_is_there(
    sides: Sides, shape: Shape
) -> None:
    """Columns, price, charge, delta, notices, the estimate, and of listed groups the rows and their keys."""
    one, other = (_told(line, shape) for line in sides.both)
    assert one == other


def _told(line: Line, shape: Shape) -> dict[str, object]:
    before = len(line.records())
    answer = line.answer(shape.sql)
    estimate = line.asking.estimate(line.alice, Request(shape.sql))
    told: dict[str, object] = {
        "columns": answer.columns,
        "price": (answer.price, answer.charged, answer.rho, answer.delta),
        "notices": answer.notices,
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
    for record in line.records()[before:]:
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
        before = len(line.records())
        refused = _refused(line, sql)
        said = refused and (refused.code, refused.title, refused.detail, refused.hint)
        told.append((said, _records(line, before)))
    assert told[0] == told[1]


def test_nothing_crashed_on_either_side_when_everything_was_asked(sides: Sides) -> None:
    """No question of this file ends in a bug of ours or in an error of the source."""
    for line in sides.both:
        for sql in (*(shape.sql for shape in SHAPES), *REFUSED):
            refused = _refused(line, sql)
            assert not isinstance(refused, (InternalError, BackendUnavailable)), sql
        assert not [event for event in line.told if isinstance(event, (Crashed, SourceFailed))]


def _refused(line: Line, sql: str) -> Refusal | None:
    try:
        line.answer(sql)
    except Refusal as refusal:
        return refusal
    return None
