"""Stored answers for repeated Idempotency-Keys: released and charged once, returned unchanged.

An answer is written to the state before it is sent, so other processes have it too, and this one after a
restart, for a day. The largest answers are in memory alone.

INVARIANT: noise is never drawn twice for one price: a key whose answer is no longer stored is refused.
"""

import json
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from fractions import Fraction
from itertools import islice
from threading import Lock
from typing import Any, Final

from sqlalchemy import Connection, Engine, func, select, text
from sqlalchemy.dialects.postgresql import insert

from gateway.auth.key_store import translate_state_errors
from gateway.budget.account import ratio_text
from gateway.columnar.intervals import IntervalRows
from gateway.columnar.texts import TextRows
from gateway.errors import BackendUnavailable, Code
from gateway.events import Emit, StateForged, ignore_event
from gateway.requests.request import Answer, AnswerColumn, CacheUse, ClippedScope
from gateway.state.tables import FORGET, kept_answers, trail_records
from gateway.trail.record import RecordKind
from gateway.trail.seal import Seal, is_mac
from gateway.units import Delta, Epsilon

LONGEST_TEXT: Final = 2_000_000
_MOST_ANSWERS: Final = 1_000
_MOST_CELLS: Final = 2_000_000
_BYTES_OF_A_CELL: Final = 64
_ROWS_AT_ONCE: Final = 2_048
_FORGOTTEN_AT_ONCE: Final = 10
_FORGET: Final = text(f"SELECT {FORGET}({_FORGOTTEN_AT_ONCE})")
_ENDS: Final = (RecordKind.ANSWERED, RecordKind.REUSED, RecordKind.REFUSED, RecordKind.FAILED)


class StoredAnswers:
    """The newest answers in memory, and those of a day in the state, by query id."""

    def __init__(
        self, state: Engine | None = None, seal: Seal | None = None, emit: Emit = ignore_event
    ) -> None:
        if state is not None and seal is None:
            raise ValueError("answers in the state are sealed")
        self._state = state
        self._seal = seal
        self._emit = emit
        self._lock = Lock()
        # the newest stay, not those asked for last: a client that repeats a key drives out no other's answer
        self._answers: OrderedDict[str, tuple[str, Answer]] = OrderedDict()
        self._cells = 0

    def keep(self, answer: Answer, subject: str) -> None:
        """Store an answer that a subject was charged for; on return it is durable, unless it is large."""
        self._hold(answer, subject)
        if self._state is None or self._seal is None:
            return
        written = answer_text(answer)
        if written is None:
            return
        mac = self._seal.answer(answer.query_id, subject, written)
        row = insert(kept_answers).values(
            query_id=answer.query_id, at=func.now(), answer=written, mac=mac
        )
        with _reached(self._state) as connection, connection.begin():
            connection.execute(row.on_conflict_do_nothing())
            # each new one removes some that are a day old: there is no other moment for that
            connection.execute(_FORGET)

    def find(self, query_id: str, subject: str) -> Answer | None:
        """The stored answer to this subject's query; refused if it was changed, or belongs to another subject."""
        with self._lock:
            whose, known = self._answers.get(query_id, (subject, None))
        if known is not None:
            if whose != subject:
                raise self._forged(query_id)
            return known
        if self._state is None or self._seal is None:
            return None
        query = select(kept_answers.c.answer, kept_answers.c.mac)
        with _reached(self._state) as connection:
            row = connection.execute(query.where(kept_answers.c.query_id == query_id)).one_or_none()
        if (
            row is None or row.mac is None
        ):  # answers from before seals were introduced are not returned any more
            return None
        if not is_mac(self._seal.answer(query_id, subject, row.answer), row.mac):
            raise self._forged(query_id)
        return answer_of(row.answer)

    def _forged(self, query_id: str) -> BackendUnavailable:
        self._emit(StateForged(f"the answer that is kept of question `{query_id}` was changed"))
        hint = "the operator's log has the details; `gateway audit verify` finds the row"
        return BackendUnavailable(Code.EARLIER_FORGED, hint=hint)

    def ended(self, query_id: str) -> bool:
        """True if no process works on this query any more, according to the trail."""
        if self._state is None:
            return True
        record = trail_records.c
        query = select(record.seq).where(record.query_id == query_id, record.kind.in_(_ENDS))
        with _reached(self._state) as connection:
            return connection.execute(query.limit(1)).scalar_one_or_none() is not None

    def _hold(self, answer: Answer, subject: str) -> None:
        """Remember it, and forget older ones for it."""
        with self._lock:
            self._answers[answer.query_id] = subject, answer
            self._cells += _cells(answer)
            while len(self._answers) > _MOST_ANSWERS or self._cells > _MOST_CELLS:
                _, (_, gone) = self._answers.popitem(last=False)
                self._cells -= _cells(gone)


@contextmanager
def _reached(state: Engine) -> Iterator[Connection]:
    with translate_state_errors(), state.connect() as connection:
        yield connection


def answer_text(answer: Answer) -> str | None:
    """The stored form of an answer and its cost; None if it is too long.

    Writing stops as soon as the limit is exceeded.
    """
    parts, length = [], 0
    for part in _parts(answer):
        parts.append(part)
        length += len(part)
        if length > LONGEST_TEXT:
            return None
    return "".join(parts)


def _parts(answer: Answer) -> Iterator[str]:
    yield '{"rows":['
    yield from _listed(answer.rows)
    yield '],"intervals":['
    yield from _listed(answer.intervals)
    said = {
        "query_id": answer.query_id,
        "columns": [asdict(one) for one in answer.columns],
        "price": answer.price.ratio,
        "charged": answer.charged.ratio,
        "rho": None if answer.rho is None else ratio_text(answer.rho),
        "delta": answer.delta.ratio,
        "notices": answer.notices,
        "reused": None if answer.reused is None else answer.reused.value,
        "clipped": [asdict(one) for one in answer.clipped],
    }
    yield "]," + json.dumps(said, separators=(",", ":"))[1:]


def _listed(rows: Iterable[object]) -> Iterator[str]:
    """The elements, without the brackets around them."""
    rest, comma = iter(rows), ""
    while some := list(islice(rest, _ROWS_AT_ONCE)):
        yield comma + json.dumps(some, separators=(",", ":"))[1:-1]
        comma = ","


def answer_of(written: str) -> Answer:
    """The answer that was kept."""
    said: dict[str, Any] = json.loads(written)
    return Answer(
        query_id=said["query_id"],
        columns=tuple(AnswerColumn(**one) for one in said["columns"]),
        rows=TextRows.of([tuple(row) for row in said["rows"]]),
        intervals=IntervalRows.of(said["intervals"]),
        price=Epsilon.from_ratio(said["price"]),
        charged=Epsilon.from_ratio(said["charged"]),
        rho=None if said["rho"] is None else Fraction(said["rho"]),
        delta=Delta.from_ratio(said["delta"]),
        notices=tuple(said["notices"]),
        # answers from before reuse was introduced do not have this field
        reused=None if said.get("reused") is None else CacheUse(said["reused"]),
        # nor do those from before there were clips
        clipped=tuple(ClippedScope(**one) for one in said.get("clipped", [])),
    )


def _cells(answer: Answer) -> int:
    """The number of cells; long texts count as the cells that take the same memory."""
    cells = len(answer.rows) * len(answer.columns)
    return max(1, cells, answer.rows.size // _BYTES_OF_A_CELL)
