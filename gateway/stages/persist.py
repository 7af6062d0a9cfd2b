"""What was bought is written down with the record of the question's fate, whatever that is.

INVARIANT: before an answer leaves, what was drawn for it is durable: nobody is told something that is measured again
for the next who asks. What was charged and never drawn is written down as lost, so that nobody waits for it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial

from gateway.release_cache.entry import Content
from gateway.release_cache.event_log import append_always, keep_content
from gateway.release_cache.events import Answered, Event, Lost
from gateway.release_cache.group_sizes import Counts
from gateway.release_cache.serialization import content_text
from gateway.stages.execute import Bill
from gateway.stages.record import Fate
from gateway.state.draft import Draft


class Keeping:
    """The purchases of one question."""

    def __init__(self, fate: Fate, dataset: str, now: Callable[[], datetime]) -> None:
        self._fate = fate
        self._dataset = dataset
        self._now = now
        self._kept: set[str] = set()

    @contextmanager
    def all(self, bill: Bill) -> Iterator[None]:
        """What was bought by this bill and is not kept inside was lost."""
        try:
            yield
        finally:
            for release in bill.releases:
                for errand in release.errands:
                    if errand.sheet is not None and errand.sheet.release not in self._kept:
                        lost = Lost(errand.sheet.release)
                        self._fate.keeps(partial(self._happened, lost))

    def keep(self, release: str, content: Content, counts: Counts | None) -> None:
        """What was drawn for a release, and how many units are in each group as far as it tells."""
        self._kept.add(release)
        self._fate.keeps(partial(self._content, release, content_text(content)))
        told = Answered(release, None)
        if counts is not None:
            told = Answered(release, counts.units, counts.slot, counts.variance, whole=counts.whole)
        self._fate.keeps(partial(self._happened, told))

    def _content(self, release: str, text: str, draft: Draft) -> None:
        keep_content(draft, release, text, self._now())

    def _happened(self, event: Event, draft: Draft) -> None:
        asked = self._fate.asked
        append_always(
            draft,
            self._dataset,
            [event],
            self._now(),
            subject=asked.subject,
            query_id=asked.query_id,
        )
