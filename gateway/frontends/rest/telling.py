"""An answer as a response, in the format that was asked for.

JSON says everything in its body. CSV and Arrow have rows alone; what was paid, what is left and what else there is
to say stands in headers, as the same JSON in ASCII.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from fastapi.responses import Response, StreamingResponse

from gateway.budget.standing import Standing
from gateway.errors import GatewayError
from gateway.frontends.rest import arrow_stream, csv_text
from gateway.frontends.rest.answered import about_json, answer_json
from gateway.frontends.rest.doors import QuestionDoor
from gateway.frontends.rest.formats import Format
from gateway.frontends.rest.responses import AsciiJson
from gateway.policy.subjects import Subject
from gateway.question import Answer

_LOST_ACCOUNTS: Final = "the accounts cannot be read at the moment; `GET /v1/budget` has them"
_STREAMS: Final[dict[Format, tuple[str, Callable[[Answer], Iterator[bytes]]]]] = {
    Format.CSV: (csv_text.MEDIA_TYPE, csv_text.csv_chunks),
    Format.ARROW: (arrow_stream.MEDIA_TYPE, arrow_stream.arrow_chunks),
}


def told_answer(
    door: QuestionDoor, subject: Subject, dataset: str | None, answer: Answer, wanted: Format
) -> Response:
    if wanted is Format.JSON:
        return AsciiJson(told_json(door, subject, dataset, answer))
    media_type, chunks = _STREAMS[wanted]
    about = about_json(answer, *_accounts(door, subject, dataset))
    return StreamingResponse(
        chunks(answer),
        media_type=media_type,
        headers={
            "X-Gateway-Query-Id": answer.query_id,
            **{f"X-Gateway-{name.title()}": _ascii(part) for name, part in about.items()},
        },
    )


def told_json(
    door: QuestionDoor, subject: Subject, dataset: str | None, answer: Answer
) -> dict[str, Any]:
    """The body of an answer."""
    return answer_json(answer, *_accounts(door, subject, dataset))


def _accounts(
    door: QuestionDoor, subject: Subject, dataset: str | None
) -> tuple[Sequence[Standing], tuple[str, ...]]:
    """An answer is paid for, so it is given even when the accounts cannot be read."""
    try:
        return door.accounts(subject, dataset), ()
    except GatewayError:
        return (), (_LOST_ACCOUNTS,)


def _ascii(content: Any) -> str:  # noqa: ANN401  # JSON
    return json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
