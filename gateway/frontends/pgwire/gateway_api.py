"""The gateway's interface for the wire front end: a few functions, wired in `app.py`.

All of them wait for databases: call them from a thread that may wait.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gateway.datasets.wire_session import WireSession
from gateway.events import Emit
from gateway.policy.subjects import Subject
from gateway.requests.request import Estimate, Request
from gateway.stages.finish import DeferredStatement


@dataclass(frozen=True)
class WireApi:
    """`enter` takes the dataset's name, the settings of the session, and the client's cancel number.

    `require_same` refuses if a session's view differs from what may be seen for a purpose now.
    """

    enter: Callable[[Subject, str, Mapping[str, str], int], WireSession]
    require_same: Callable[[WireSession, str | None], None]
    release: Callable[[Subject, Request, threading.Event], DeferredStatement]
    estimate: Callable[[Subject, Request], Estimate]
    emit: Emit
    limit_s: float
