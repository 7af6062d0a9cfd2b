"""The answer to a query whose idempotency key was charged before: the one that the first query got.

While the first query is answered, the second waits. A gateway that died between the charge and the answer leaves no
record; so the second waits no longer than a statement may take.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from gateway.budget.charge import Receipt
from gateway.errors import Code, SourceStopped, SyntaxRefused
from gateway.requests.idempotency import StoredAnswers
from gateway.requests.request import Answer
from gateway.stages.reply_grid import Pace
from gateway.units import Epsilon

_LOOK_S: Final = 0.1  # how often the first answer is looked for


def find_first_answer(  # noqa: PLR0913 - a receipt, and how its answer is waited for
    receipt: Receipt,
    subject: str,
    kept: StoredAnswers,
    *,
    limit_s: float,
    now: Callable[[], datetime],
    pace: Pace,
    cancelled: threading.Event,
) -> Answer:
    """The answer to the charge of this receipt, for nothing; refused if it is not kept any more."""
    until = receipt.at + timedelta(seconds=limit_s)
    while True:
        ended = kept.ended(receipt.query_id) or now() >= until
        found = kept.find(receipt.query_id, subject)
        if found is not None:
            return replace(found, charged=Epsilon.zero())
        if ended:
            raise SyntaxRefused(
                Code.IDEMPOTENCY_MISMATCH,
                "the answer for this key is no longer stored",
                "send the query with a new key; it is charged again",
            )
        if pace.wait(cancelled, _LOOK_S):
            raise SourceStopped(Code.SOURCE_CANCELLED)
