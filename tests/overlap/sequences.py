"""Sequences of questions as data: who asks what, one after the other, about which catalog."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fix_policy import read

from gateway.policy.policy import Policy

ROOM = Path(__file__).parents[1] / "cases" / "overlap"
CLINIC = Path(__file__).parents[2] / "policies" / "clinic.yaml"


@dataclass(frozen=True)
class Asked:
    """`asked` are pairs of a subject and a statement, each at so many times the default price."""

    title: str
    catalog: str
    asked: tuple[tuple[str, str], ...]
    price: int = 1


def sequences(name: str) -> list[Asked]:
    """The cases of a file."""
    return [_read(block) for block in (ROOM / name).read_text().split("-- title: ")[1:]]


def _read(block: str) -> Asked:
    title, *lines = block.splitlines()
    catalog, subject, price = "clinic", "alice", 1
    asked: list[tuple[str, str]] = []
    text: list[str] = []
    for line in lines:
        if line.startswith("-- of: "):
            catalog = line.removeprefix("-- of: ")
        elif line.startswith("-- times: "):
            price = int(line.removeprefix("-- times: "))
        elif line.startswith("-- as: "):
            subject = line.removeprefix("-- as: ")
        elif line.strip():
            text.append(line)
        if text and text[-1].endswith(";"):
            asked.append((subject, "\n".join(text).removesuffix(";")))
            text = []
    return Asked(title, catalog, tuple(asked), price)


@cache
def policy(catalog: str) -> Policy:
    """The policy of a catalog: the sample clinic's, or that of the cases."""
    path = CLINIC if catalog == "clinic" else ROOM / f"{catalog}.yaml"
    return read(path.read_text()).accepted


def trusting(policy_: Policy, subject: str) -> str:
    """The group whose members are taken for one; a subject in none is its own."""
    for group in policy_.auditing.trust_groups:
        if subject in group:
            return ",".join(sorted(group))
    return subject


def titles(cases: Sequence[Asked]) -> list[str]:
    return [one.title for one in cases]
