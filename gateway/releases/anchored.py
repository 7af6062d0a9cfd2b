"""Epochs as the anchor keeps them, so that an older state does not give out what was measured before a refresh."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection

from gateway.releases.log import REFRESHED, load_epochs, refresh
from gateway.store.anchor import Fact
from gateway.store.draft import Draft


def anchored_epochs(connection: Connection, seq: int) -> dict[str, Fact]:
    """What an anchor that begins at `seq` has to know about refreshed data."""
    return {
        f"{REFRESHED}{dataset}": Fact(seq, {"epoch": str(epoch)})
        for dataset, epoch in load_epochs(connection).items()
    }


def refresh_again(
    draft: Draft, facts: Mapping[str, Fact], *, actor: str, now: datetime
) -> list[str]:
    """Begin a new epoch of every dataset that was refreshed since, as the anchor says; which these are."""
    epochs = draft.recall("epochs", load_epochs)
    found = []
    for name, fact in facts.items():
        dataset = name.removeprefix(REFRESHED)
        if dataset != name and epochs.get(dataset, 0) < int(str(fact.value["epoch"])):
            refresh(draft, dataset, actor=actor, now=now)
            found.append(dataset)
    return found
