"""Events as log lines on standard error, for people or as JSON.

Our own lines come from events alone. What libraries say through `logging` passes too, from warnings
up, so that nothing is lost; parameters of SQL are hidden at the engine.
"""

import logging
import sys

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
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if log_format is LogFormat.JSON
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
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
