"""The time zone of a client: the value of `current_date`, and the refusal of statements that depend on more of the zone."""

from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gateway.binding.bound import Cut
from gateway.bounding.rewrites import depends_on_zone
from gateway.errors import Code, UnsupportedSql

_AS_UTC: Final = frozenset(
    {"utc", "etc/utc", "uct", "etc/uct", "zulu", "etc/zulu", "universal", "etc/universal"}
    | {"gmt", "etc/gmt", "gmt0", "etc/gmt0", "greenwich", "etc/greenwich"}
)


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
