"""What the wire can ask the gateway to do: a handful of functions, wired in `app.py`.

All of it waits for databases: call it from a thread that may.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gateway.datasets.wire_session import Room
from gateway.events import Emit
from gateway.policy.subjects import Subject
from gateway.requests.request import Estimate, Request
from gateway.stages.deferred import Handed


@dataclass(frozen=True)
class WireDoor:
    """`enter` takes the dataset's name, the settings of the session, and the number that its client cancels by.

    `require_same` refuses where a room does not show any more what may be seen for a purpose.
    """

    enter: Callable[[Subject, str, Mapping[str, str], int], Room]
    require_same: Callable[[Room, str | None], None]
    release: Callable[[Subject, Request, threading.Event], Handed]
    estimate: Callable[[Subject, Request], Estimate]
    emit: Emit
    limit_s: float
