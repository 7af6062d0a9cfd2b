"""Intervals are extended by what a histogram shows that weights take, and wherever a loss is told it is told the same.

Noise is nothing here: an interval without a loss is the value, so all of the rest is the loss.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from endtoend.clinic_gateway import AskedGateway, a_gateway, clinic_in_duckdb, shown
from endtoend.clinic_policy import PRICE, clinic_policy
from fix_servers import SharedServers

from gateway.frontends.pgwire.explanation import plan_lines
from gateway.requests.answer_json import estimate_json
from gateway.requests.request import Answer, ClippedScope, Estimate, Request
from gateway.trail.search import latest_records

_MEASURES = (
    "COUNT(*) AS n, 2 * COUNT(*) AS twice, SUM(cost) AS paid, AVG(cost) AS mean, COUNT(*) - COUNT(cost) AS free,"
    " COUNT(DISTINCT patient_id) AS patients, GREATEST(COUNT(*), 3) AS at_least,"
    " COUNT(*) / NULLIF(SUM(COUNT(*)) OVER (), 0) AS part, DP_INTERVAL_LOW(COUNT(*)) AS low, DP_INTERVAL_HIGH(COUNT(*)) AS high"
)
_SQL = f"SELECT {_MEASURES} FROM visits"


@pytest.fixture(scope="module")
def gateway(
    tmp_path_factory: pytest.TempPathFactory, servers: SharedServers
) -> Iterator[AskedGateway]:
    folder: Path = tmp_path_factory.mktemp("losses")
    text = clinic_policy(
        {
            "DATASET": "losses",
            "SOURCE": "LOSSES",
            "MECHANISM": "gaussian",
            "GROUPS": "10000",
            "PRICE": PRICE,
            "BUDGET": "1e40",
            "REUSE": "{max_age: 7d}",
            "CLIP": f"{{price: {PRICE}, max_age: 7d, default: 1, max: 2}}",
        }
    )
    source = shown(clinic_in_duckdb(folder / "losses.duckdb"))
    with a_gateway({"losses": text}, {"LOSSES": source}, servers) as opened:
        yield opened


def estimated(gateway: AskedGateway, sql: str) -> Estimate:
    return gateway.asking.estimate(gateway.subjects["alice"], Request(sql, dataset="losses"))


def rows_scope(answer: Answer) -> ClippedScope:
    [found] = [one for one in answer.clipped if not one.over.startswith("units of ")]
    return found


def row(answer: Answer) -> tuple[dict[str, float], dict[str, tuple[float, float] | None]]:
    """The values of the only row, and their intervals."""
    [values], [intervals] = list(answer.rows), list(answer.intervals)
    names = [one.name for one in answer.columns]
    return (
        {name: float(value or "nan") for name, value in zip(names, values, strict=True)},
        dict(zip(names, intervals, strict=True)),
    )


def test_interval_is_extended_by_the_share_of_rows_that_weights_take(gateway: AskedGateway) -> None:
    """Upward, for counts and sums of what is not negative; in the columns of an answer, in SQL and by simulation."""
    answer = gateway.answer(_SQL, "losses")
    values, intervals = row(answer)
    share = rows_scope(answer).rows
    assert share is not None
    assert 0.05 < share < 0.95
    for name in ("n", "twice", "paid", "at_least"):
        low, high = intervals[name] or (0.0, 0.0)
        assert low == pytest.approx(values[name], rel=1e-3)
        assert high == pytest.approx(values[name] / (1 - share), rel=2e-3)
    assert intervals["n"] == pytest.approx((values["low"], values["high"]), rel=1e-3)
    for name in ("mean", "free", "patients", "part"):
        low, high = intervals[name] or (0.0, 0.0)
        assert (low, high) == pytest.approx((values[name],) * 2, rel=1e-3, abs=1e-3)


def test_answer_from_memory_has_the_same_intervals(gateway: AskedGateway) -> None:
    """A repeat says what the first one said, of the clip and in each cell."""
    first, again = (gateway.answer(_SQL, "losses") for _ in range(2))
    assert again.reused is not None
    assert again.clipped == first.clipped
    simulated = [one.name for one in first.columns].index("at_least")
    for one, other in zip(first.intervals, again.intervals, strict=True):
        for place, (left, right) in enumerate(zip(one, other, strict=True)):
            if place == simulated:
                assert left == pytest.approx(right, rel=1e-3)
            else:
                assert left == right


def test_interval_is_not_extended_where_the_histogram_speaks_of_other_rows(
    gateway: AskedGateway,
) -> None:
    """A filter may select the very units that are clipped: nothing is known of them, and nothing is said."""
    answer = gateway.answer("SELECT COUNT(*) AS n FROM visits WHERE cost > 100", "losses")
    scope = rows_scope(answer)
    assert (scope.units, scope.units_at_most, scope.rows) == (None, None, None)
    assert any("how much this takes is not known" in one for one in answer.notices)
    values, intervals = row(answer)
    assert intervals["n"] == pytest.approx((values["n"],) * 2, rel=1e-3)


def test_share_is_not_told_of_groups_that_are_found_in_the_data(gateway: AskedGateway) -> None:
    """A person counts in some of them at most, which the histogram does not know: it would say less than is cut."""
    answer = gateway.answer(
        "SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis", "losses"
    )
    assert (rows_scope(answer).units, rows_scope(answer).rows) == (None, None)
    for cells, ends in zip(answer.rows, answer.intervals, strict=True):
        assert ends[1] == pytest.approx((float(cells[1] or "nan"),) * 2, abs=0.51)


def test_estimate_says_the_loss_beside_the_margin_of_the_noise(gateway: AskedGateway) -> None:
    """As a share of the column, in JSON, and in the lines of EXPLAIN; not before the histogram is there, nor of a mean."""
    sql = "SELECT extract(year FROM visit_date) AS y, COUNT(*) AS n, SUM(cost) AS paid, AVG(cost) AS mean FROM visits GROUP BY y"
    before = estimated(gateway, sql)
    assert [one.expected_loss for one in before.columns] == [None] * 4
    assert not [line for line in plan_lines(before) if "visible loss about" in line]
    answer = gateway.answer(sql, "losses")
    share = rows_scope(answer).rows
    assert share is not None
    after = estimated(gateway, sql)
    assert [one.expected_loss for one in after.columns] == [None, share, share, None]
    columns = estimate_json(after)["columns"]
    assert [one.get("expected_loss") for one in columns] == [
        None,
        float(f"{share:.3g}"),
        float(f"{share:.3g}"),
        None,
    ]
    assert (after.columns[1].expected_margin_95 or 0) < 1e-3
    said = [line for line in plan_lines(after) if "visible loss about" in line]
    assert len(said) == 2
    [notice] = [
        one
        for one in answer.notices
        if "counts in full up to a norm" in one and not one.startswith("units")
    ]
    assert f"Notice: {notice}" in plan_lines(after)


def test_cut_row_numbers_are_said_in_answers_and_explain(gateway: AskedGateway) -> None:
    """Row R and all later rows have the number R, and it is said; of the first rows, the negative control, it is not."""
    numbered = (
        "SELECT COUNT(*) AS n FROM (SELECT row_number() OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS r"
        " FROM visits) t WHERE r = {}"
    )
    [cut] = [
        one for one in gateway.answer(numbered.format(10**9), "losses").notices if "end at" in one
    ]
    most = int(cut.removeprefix("row numbers of each patient end at ").partition(":")[0])
    for number, said in ((1, False), (most - 1, False), (most, True), (most + 1, True)):
        sql = numbered.format(number)
        told = [line for line in plan_lines(estimated(gateway, sql)) if "row numbers of" in line]
        notices = [one for one in gateway.answer(sql, "losses").notices if "row numbers of" in one]
        assert told == [f"Notice: {one}" for one in notices]
        assert bool(notices) is said


def test_history_names_scope_and_clip_of_an_answer(gateway: AskedGateway) -> None:
    """For whoever got the answer: a connection that wants no notices reads it there."""
    answer = gateway.answer("SELECT AVG(minutes) FROM calls", "losses")
    scope = rows_scope(answer)
    told = f"SELECT clipped FROM gateway.queries WHERE query_id = '{answer.query_id}'"
    assert [row[0] for row in gateway.answer(told, "losses").rows] == [
        f"calls: norm {scope.limit:.4g}"
    ]
    persons = gateway.answer("SELECT AVG(income) FROM patients", "losses")
    untold = told.replace(answer.query_id, persons.query_id)
    assert [row[0] for row in gateway.answer(untold, "losses").rows] == [None]


def test_trail_names_scope_and_clip_of_an_answer(gateway: AskedGateway) -> None:
    """Of the charge and of the answer, in whole numbers; a query without weights has none."""
    answer = gateway.answer("SELECT VAR_POP(minutes) FROM calls", "losses")
    persons = gateway.answer("SELECT COUNT(*) FROM patients", "losses")
    with gateway.foundation.engine.connect() as connection:
        records = list(latest_records(connection, 20))
    of_answer = [one for one in records if one.get("query_id") == answer.query_id]
    assert {one["kind"] for one in of_answer} == {"charged", "answered"}
    told = [{"over": "calls", "limit_squared": round(rows_scope(answer).limit ** 2)}]
    assert all(one["attributes"]["clipped"] == told for one in of_answer)
    of_persons = [one for one in records if one.get("query_id") == persons.query_id]
    assert of_persons
    assert all("clipped" not in (one.get("attributes") or {}) for one in of_persons)
