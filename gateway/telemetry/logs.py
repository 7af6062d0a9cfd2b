"""Log lines of events on standard error, for people or as JSON.

The gateway's own lines come from events alone. Messages of libraries through `logging` are included from
warnings up; parameters of SQL are hidden at the engine.

INVARIANT: one event is one line of printable characters, whatever was in a name or an exception's text: nobody
can forge a line or control the terminal that shows it.
"""

import json
import logging
import sys
import traceback
from dataclasses import dataclass
from typing import Any

import structlog

from gateway.config import LogFormat
from gateway.events import Emit, Event

_LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def log_events(log_format: LogFormat) -> Emit:
    """Set logging up and return the sink for events."""
    shared: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    rendering: list[structlog.typing.Processor] = (
        [structlog.processors.JSONRenderer(_json)]
        if log_format is LogFormat.JSON
        else [_escape, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _say_exception,
                *rendering,
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    logger = structlog.get_logger("gateway")
    logging.getLogger("gateway").setLevel(logging.INFO)

    def emit(event: Event) -> None:
        if not event.counted_only:
            logger.log(_LEVELS[event.level], event.name, **event.said())

    return emit


def _say_exception(
    logger: object, method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """A library's exception as a field like any other."""
    del logger, method
    if exc_info := event.pop("exc_info", None):
        event["problem"] = "".join(traceback.format_exception(*exc_info))
    event.pop("stack_info", None)
    return event


def _escape(
    logger: object, method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Escape control characters: the renderer for people quotes only texts with spaces."""
    del logger, method
    event["event"] = "".join(
        sign if sign.isprintable() else repr(sign)[1:-1] for sign in str(event["event"])
    )
    return {name: _quoted(value) for name, value in event.items()}


def _quoted(value: object) -> object:
    return _Quoted(value) if isinstance(value, str) and not value.isprintable() else value


@dataclass(frozen=True)
class _Quoted:
    text: str

    def __repr__(self) -> str:
        return repr(self.text)


def _json(event: structlog.typing.EventDict, **options: Any) -> str:  # noqa: ANN401  # structlog's
    return json.dumps(event, **options).replace("\x7f", "\\u007f")
