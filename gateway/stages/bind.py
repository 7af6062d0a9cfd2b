"""Binding and authorization: from a request to a statement that the policy permits on one dataset.

Takes what the client sent. Gives the bound statement, whose releases read permitted rows alone, or the refusal. Of the
session's time zone only `current_date` and its like depend: a statement that depends on more of it is refused.
"""

from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gateway.binding.bound import Cut
from gateway.bounding.time_zone import depends_on_zone
from gateway.datasets.dataset import ServedDataset
from gateway.datasets.view import Borrow, BoundQuery, Question
from gateway.errors import Code, UnsupportedSql
from gateway.policy.subjects import Subject
from gateway.requests.request import Request
from gateway.stages.record import QueryRecord

_AS_UTC: Final = frozenset(
    {"utc", "etc/utc", "uct", "etc/uct", "zulu", "etc/zulu", "universal", "etc/universal"}
    | {"gmt", "etc/gmt", "gmt0", "etc/gmt0", "greenwich", "etc/greenwich"}
)


def ask_question(request: Request, subject: Subject, front_end: str, now: datetime) -> Question:
    """What the subject asks now."""
    return Question(request, subject, front_end, moment_in(request.zone, now))


def bind_query(
    question: Question, dataset: ServedDataset, borrow: Borrow, record: QueryRecord
) -> BoundQuery:
    """Bind the statement against what the subject may see, and decide by the rules of the policy."""
    record.set_dataset(dataset.policy)
    query = dataset.views.bind(question, borrow)
    record.set_decision(query.decision)
    return query


def moment_in(zone: str, now: datetime) -> datetime:
    """The same moment on the clock of a time zone; UTC, if the zone is unknown."""
    if zone.lower() in _AS_UTC:
        return now.astimezone(UTC)
    try:
        return now.astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return now.astimezone(UTC)


def require_zone_does_not_matter(cut: Cut, zone: str) -> None:
    """Refuse a statement whose meaning in this zone differs from its meaning in UTC, in which the source computes."""
    if zone.lower() in _AS_UTC or not any(depends_on_zone(one.plan) for one in cut.releases):
        return
    raise UnsupportedSql(
        Code.CLAUSE_UNSUPPORTED,
        f"the result depends on the session's time zone, which is `{zone[:63]}`",
        "use SET TIME ZONE 'UTC', the time zone of the source",
    )
