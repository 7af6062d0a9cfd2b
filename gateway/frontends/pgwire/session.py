"""Protocol state machine of a logged-in wire client, without I/O: its messages, the twin's, and queries in
between.

Statements that read no table of the source are answered by the twin: their messages pass unchanged. For a
query, the twin is asked for names and types when it is parsed and described. When the client wants rows,
everything before has to be answered first, then the pipeline answers (`wanted` is its task, `answered` takes
its result), and the twin runs the resulting statement as the portal that the client bound. Meanwhile later
messages wait in their order.

INVARIANT: a query is asked only if everything before it in its transaction succeeded, so nothing is charged
that PostgreSQL would have skipped. INVARIANT: a malformed body is an error in its place among the answers,
whether its message was handled at once or had to wait. INVARIANT: no answer to the gateway's own statements reaches the client, and
none of the client's messages is lost: each is answered once, in order.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from gateway.errors import Refusal
from gateway.frontends.pgwire import (
    messages,
    pending_replies,
    portal_flow,
    question_flow,
    temp_table_flow,
)
from gateway.frontends.pgwire.classify import (
    AnalystQuery,
    ByName,
    ExecuteQuery,
    Part,
    Plain,
    PrepareQuery,
    Statements,
    TempTableDrop,
    TempTableQuery,
)
from gateway.frontends.pgwire.error_response import (
    NO_FUNCTION_CALLS,
    is_fatal,
    with_close_relation,
)
from gateway.frontends.pgwire.framing import Frame, Malformed, UnknownMessage
from gateway.frontends.pgwire.pending_replies import DueReply, PendingReplies, PendingReply
from gateway.frontends.pgwire.portals import Portal, PreparedNames, PreparedQuery
from gateway.frontends.pgwire.question_flow import FAILED, IDLE, Ask, Given, Outcome, Talk, Work
from gateway.frontends.pgwire.temp_table_flow import TempTables

# messages that a server may send at any time
_ANY_TIME: Final = frozenset({messages.NOTICE, messages.PARAMETER_STATUS, messages.NOTIFICATION})
_COPYING: Final = frozenset({messages.COPY_DATA, messages.COPY_DONE, messages.COPY_FAIL})

Read = TypeVar("Read")


class Session:
    """`talk` has the bytes to send; the sender empties it. `own` are parameters that are not the twin's."""

    def __init__(self, statements: Statements, own: Mapping[bytes, bytes]) -> None:
        self.talk = Talk()
        self.wanted: Ask | None = None
        self.over = False
        self.completed = 0  # statements so far
        self._read = statements
        self._own_parameters = own
        self._owed = PendingReplies()
        self._skipping = False
        self._work: Work | None = None
        self._begun = False
        self._simple = False
        self._waiting: deque[Frame] = deque()
        self._prepared = PreparedNames()
        self._kept = TempTables()
        self._portals: dict[bytes, Portal] = {}
        self._takes = {
            messages.QUERY: self._with(messages.read_query, self._query, simple=True),
            messages.PARSE: self._with(messages.Parse.read, self._parse),
            messages.BIND: self._with(messages.Bind.read, self._bind),
            messages.DESCRIBE: self._with(messages.NamedObject.read, self._describe),
            messages.EXECUTE: self._with(messages.ExecutePortal.read, self._execute),
            messages.CLOSE: self._with(messages.NamedObject.read, self._close),
            messages.FLUSH: self._with(messages.read_nothing, self._flush),
            messages.SYNC: self._sync,  # the twin reads its body, and reports that it is ready in any case
            messages.FUNCTION_CALL: self._function_call,
        }

    @property
    def at_work(self) -> bool:
        """True if the twin has pending answers."""
        return bool(self._owed) or (self._work is not None and self.wanted is None)

    @property
    def behind(self) -> int:
        """The number of the client's messages that wait for a query's answer."""
        return len(self._waiting)

    # from the client

    def from_client(self, frame: Frame) -> None:
        """Handle one message, or queue it."""
        if frame.kind == messages.TERMINATE:
            self.over = True
        elif self._work is not None:
            self._waiting.append(frame)
        else:
            self._take(frame)

    def _take(self, frame: Frame) -> None:
        if frame.kind in self._takes:
            if not self._skipping or frame.kind == messages.SYNC:
                self._takes[frame.kind](frame)
        elif frame.kind not in _COPYING:  # late messages of a COPY that failed are no error
            raise UnknownMessage("a message of an unknown kind")

    def _with(
        self,
        read: Callable[[bytes], Read],
        handle: Callable[[Frame, Read], None],
        *,
        simple: bool = False,
    ) -> Callable[[Frame], None]:
        """A handler of frames that reads the body first; a malformed body never reaches `handle`."""

        def take(frame: Frame) -> None:
            try:
                body = read(frame.body)
            except Malformed as malformed:
                work = question_flow.send_malformed(self.talk, malformed, simple=simple)
                self._begin(work, simple=simple)
                return
            handle(frame, body)

        return take

    def _query(self, frame: Frame, text: bytes) -> None:
        script = self._read.script(text, self._kept.answers)
        if self._touches(b"", b"") and self._later(frame):
            return
        self._prepared.drop(b"")
        self._portals.pop(b"", None)
        if isinstance(script, Refusal):
            self._begin(question_flow.send_refusal(self.talk, script, simple=True), simple=True)
        elif all(isinstance(one, Plain) for one in script):
            plain = b";".join(one.text for one in script if isinstance(one, Plain))
            self._send(messages.query(plain), pending_replies.QUERY)
        else:
            self._begin(question_flow.run_script(self.talk, script, self._by_name), simple=True)

    def _parse(self, frame: Frame, parse: messages.Parse) -> None:
        script = self._read.script(parse.text, self._kept.answers)
        if isinstance(script, Refusal):
            self._begin(self._unparsed(parse.name, script))
            return
        plain = all(isinstance(one, Plain) for one in script)
        if (not plain or self._prepared.get(parse.name) is not None) and self._later(frame):
            return
        before = self._prepared.drop(parse.name)
        if len(script) == 1 and not isinstance(script[0], Plain | PrepareQuery):
            self._prepared.put(parse.name, PreparedQuery(script[0]))
        texts = [self._told(one) for one in script]

        def undo() -> None:
            self._prepared.drop(parse.name)
            if before is not None and parse.name:
                self._prepared.put(parse.name, before)

        # several statements in one Parse: the twin reports PostgreSQL's error
        sent = messages.Parse(parse.name, b";".join(texts), parse.types)
        self._send(sent.write(), PendingReply(DueReply.PARSED, undo=undo))
        if before is not None or not plain:  # the answer to this says what the name stands for
            self._begin(portal_flow.await_replies(self.talk))

    def _unparsed(self, name: bytes, refusal: Refusal) -> Work:
        if not name:  # PostgreSQL forgets the unnamed one before it reads the next
            self._prepared.drop(name)
            self.talk.to_twin += messages.NamedObject(b"S", name).write(messages.CLOSE)
        return (yield from question_flow.send_refusal(self.talk, refusal, simple=False))

    def _by_name(self, part: ByName) -> Work:
        if isinstance(part, TempTableQuery | TempTableDrop):
            return temp_table_flow.run_simple(self.talk, self._kept, part)
        return portal_flow.run_simple(self.talk, self._prepared, part)

    def _told(self, one: Part) -> bytes:
        """The text that the twin gets for a statement that is only parsed."""
        if isinstance(one, PrepareQuery):
            return self._prepared.prepare_text(one)
        return one.described if isinstance(one, AnalystQuery) else one.text

    def _bind(self, frame: Frame, bind: messages.Bind) -> None:
        if bind.statement and self._prepared.stale and self.talk.status != FAILED:
            self._waiting.appendleft(frame)
            self._begin(portal_flow.refresh_names(self.talk, self._prepared))
            return
        if self._touches(bind.statement, bind.portal) and self._later(frame):
            return
        prepared = self._prepared.get(bind.statement)
        self._portals.pop(bind.portal, None)
        if prepared is None:
            self._send(frame.raw, pending_replies.BOUND)
            return
        self._begin(self._bound(Portal(prepared, bind)))

    def _bound(self, one: Portal) -> Work:
        failed = yield from portal_flow.bind_portal(self.talk, one)
        if not failed:
            self._portals[one.bind.portal] = one
        return failed

    def _describe(self, frame: Frame, named: messages.NamedObject) -> None:
        portal = self._portals.get(named.name) if named.what == b"P" else None
        if portal is None or portal.started:
            self._send(frame.raw, pending_replies.DESCRIBED)
        elif not self._later(frame):
            self._begin(portal_flow.describe_portal(self.talk, portal))

    def _execute(self, frame: Frame, execute: messages.ExecutePortal) -> None:
        portal = self._portals.get(execute.portal)
        if portal is None or portal.started:
            self._send(frame.raw, pending_replies.DONE)
        elif self._later(frame):
            pass
        elif isinstance(called := portal.prepared.asking, ExecuteQuery):
            self._begin(
                portal_flow.execute_named(self.talk, self._prepared, portal, called, execute)
            )
        elif isinstance(called, TempTableQuery | TempTableDrop):
            self._begin(temp_table_flow.execute_temp_table(self.talk, self._kept, portal, called))
        else:
            self._begin(portal_flow.execute_portal(self.talk, portal, called, execute))

    def _close(self, frame: Frame, named: messages.NamedObject) -> None:
        statement = named.what == b"S"
        known = self._prepared.get(named.name) if statement else self._portals.get(named.name)
        if known is not None:
            if self._later(frame):
                return
            self._prepared.drop(named.name) if statement else self._portals.pop(named.name)
        self._send(frame.raw, pending_replies.CLOSED)

    def _sync(self, frame: Frame) -> None:
        self._skipping = False
        self._send(frame.raw, pending_replies.SYNC)

    def _flush(self, frame: Frame, body: None) -> None:
        del body
        self.talk.to_twin += frame.raw

    def _function_call(self, frame: Frame) -> None:
        del frame
        self._begin(
            question_flow.send_refusal(self.talk, NO_FUNCTION_CALLS, simple=True), simple=True
        )

    def _touches(self, statement: bytes, portal: bytes) -> bool:
        """True if one of the names belongs to a query."""
        return self._prepared.get(statement) is not None or portal in self._portals

    def _later(self, frame: Frame) -> bool:
        """Handle a message about a query after everything before was answered, because it depends on how that
        ended.
        """
        if not self._owed:
            return False
        self._waiting.appendleft(frame)
        self._begin(portal_flow.await_replies(self.talk))
        return True

    def _send(self, message: bytes, debt: PendingReply) -> None:
        self.talk.to_twin += message
        self._owed.add(debt)

    # from the twin

    def from_twin(self, kind: int, raw: bytes) -> None:
        """Handle one message, or consecutive rows."""
        self._kept.heard(kind, raw)
        if kind == messages.ERROR:
            raw = with_close_relation(raw, self._read.close_relation)
        if kind == messages.COMMAND_COMPLETE:
            self.completed += 1
            self._prepared.done(raw[5:-1])
        if kind == messages.ERROR and is_fatal(raw):
            # the twin ends the connection at any moment, and gives the reason
            self.talk.to_client += raw
            self.over = True
        elif kind in _ANY_TIME:
            self.talk.to_client += question_flow.filter_reply(kind, raw, self._own_parameters)
        elif self._owed:
            self._paid(kind, raw)
        elif self._begun:
            self._step((kind, raw))
        else:
            raise Malformed("an answer to nothing")

    def _paid(self, kind: int, raw: bytes) -> None:
        self.talk.to_client += raw
        if kind == messages.ERROR:
            self._skipping = self._owed.failed()
        elif self._owed.ended(kind) and kind == messages.READY:
            self._is_ready(raw[5])
        self._pay()

    def _pay(self) -> None:
        if not self._owed and self._work is not None and not self._begun:
            self._start()

    def _is_ready(self, status: int) -> None:
        self.talk.status = status
        if status == IDLE:
            self._portals.clear()

    # questions

    def _begin(self, work: Work, *, simple: bool = False) -> None:
        """Begin the work after everything before has been answered."""
        self._work, self._simple, self._begun = work, simple, False
        if self._owed:
            self.talk.to_twin += messages.FLUSHING
        else:
            self._start()

    def _start(self) -> None:
        if self._skipping:
            self._ended()
        else:
            self._begun = True
            self._step(None)

    def answered(self, outcome: Outcome) -> None:
        """Take the pipeline's result for the wanted query."""
        self.wanted = None
        self._step(outcome)

    def _step(self, given: Given | None) -> None:
        if self._work is None:
            raise Malformed("an answer to nothing")
        try:
            self.wanted = self._work.send(given)
        except StopIteration as done:
            if self._simple:
                self._is_ready(self.talk.status)
                self.talk.to_client += messages.ready(self.talk.status)
            else:
                self._skipping = bool(done.value)
            self._ended()

    def _ended(self) -> None:
        """Handle the messages that arrived meanwhile, up to the next one that needs the pipeline."""
        self._work, self._begun = None, False
        while self._waiting and self._work is None:
            self._take(self._waiting.popleft())
