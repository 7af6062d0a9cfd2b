"""What a command has to say beside its output: warnings, on standard error."""

import sys

from gateway.events import Event, Level


def warn(event: Event) -> None:
    """Print events that somebody should know of; the others are the business of a log."""
    if event.level is not Level.INFO:
        said = ", ".join(f"{name} {value}" for name, value in event.said().items())
        print(f"gateway: {event.level}: {event.name}: {said}", file=sys.stderr)
