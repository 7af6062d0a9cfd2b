"""Content negotiation: the format of an answer, by the Accept header, before anything is charged."""

from enum import Enum
from typing import Final

from gateway.errors import Code, SyntaxRefused


class Format(Enum):
    """Formats by their media types; the first is the default."""

    JSON = "application/json"
    CSV = "text/csv"
    ARROW = "application/vnd.apache.arrow.stream"


_LONGEST: Final = 4096


def format_of(accept: str | None) -> Format:
    """The available format that the client prefers; among equals, the one named more exactly."""
    if accept is None or not accept.strip():
        return Format.JSON
    if len(accept) > _LONGEST:
        raise _none(accept)
    wishes = [_wish(one) for one in accept.split(",") if one.strip()]
    best = max(Format, key=lambda one: _liking(one, wishes))  # the first of equals
    if _liking(best, wishes)[0] <= 0:
        raise _none(accept)
    return best


def _wish(text: str) -> tuple[str, float]:
    name, *parameters = (part.strip() for part in text.split(";"))
    quality = 1.0
    for one in parameters:
        key, _, value = one.partition("=")
        if key.strip().lower() == "q":
            quality = _quality(value.strip())
    return name.lower(), quality


def _quality(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        return 0.0
    return found if 0 <= found <= 1 else 0.0


def _liking(of: Format, wishes: list[tuple[str, float]]) -> tuple[float, int]:
    """The quality of a format, and how exactly it is named: the most exact entry counts."""
    kind = of.value.partition("/")[0]
    for exactness, name in ((2, of.value), (1, f"{kind}/*"), (0, "*/*")):
        found = [quality for wished, quality in wishes if wished == name]
        if found:
            return max(found), exactness
    return 0.0, 0


def _none(accept: str) -> SyntaxRefused:
    known = ", ".join(f"`{one.value}`" for one in Format)
    return SyntaxRefused(
        Code.NO_SUCH_FORMAT, f"`Accept: {accept[:100]}`", f"supported formats are {known}"
    )
