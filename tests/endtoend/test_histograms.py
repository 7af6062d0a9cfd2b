"""The source is asked for histograms of the released groups only, after their release."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from endtoend.clinic_gateway import AskedGateway
from engines.sources import connections_of
from sqlalchemy import event

from gateway.engines.postgresql_preparation import PARSED

_MEDIANS = "SELECT {0}, percentile_disc(0.5) WITHIN GROUP (ORDER BY cost) FROM visits GROUP BY {0}"


@contextmanager
def _told(gateway: AskedGateway, dataset: str) -> Iterator[list[tuple[str, Any]]]:
    """Every statement that the source is sent, and what is bound in it."""
    engine = connections_of(gateway.asking.served.all()[dataset].source).engine
    found: list[tuple[str, Any]] = []

    def listen(*said: Any) -> None:  # noqa: ANN401 - as drivers take it
        _, _, statement, given, context, _ = said
        if not context.execution_options.get(PARSED):
            found.append((statement, given))

    event.listen(engine, "before_cursor_execute", listen)
    try:
        yield found
    finally:
        event.remove(engine, "before_cursor_execute", listen)


@pytest.mark.parametrize("dataset", ["laplace"])  # whose statements can be listened to
def test_source_is_not_asked_for_histograms_when_no_group_is_shown(
    gateway: AskedGateway, dataset: str
) -> None:
    """Visits of one person each are too small to be shown: nothing is read of what they cost."""
    with _told(gateway, dataset) as told:
        assert len(gateway.answer(_MEDIANS.format("visit_id"), dataset).rows) == 0
    assert sum('"visits"' in statement for statement, _ in told) == 1
    assert not any("shown" in statement for statement, _ in told)


@pytest.mark.parametrize("dataset", ["laplace"])  # whose statements can be listened to
def test_source_is_told_of_the_groups_that_are_shown_and_of_no_others(
    gateway: AskedGateway, dataset: str
) -> None:
    """The keys that are bound are those of the answer, in its order: NULL among them."""
    with _told(gateway, dataset) as told:
        answer = gateway.answer(_MEDIANS.format("diagnosis"), dataset)
    shown = [row[0] for row in answer.rows]
    assert len(shown) > 1
    [(_, given)] = [one for one in told if "shown" in one[0]]
    values = given.values() if isinstance(given, dict) else given
    assert [one for one in values if isinstance(one, list)] == [shown]
