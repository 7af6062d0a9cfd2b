"""Policies under which answers are reused and noise is seen, and one under which questions are held against each other.

Nothing is said twice here by chance: noise is so wide, and results are not clamped, that two draws that are equal are
as rare as 1 in 10^6.
"""

from typing import Final, TypedDict, Unpack

from endtoend.clinic_policy import NO_AUDIT, NO_CLIP, clinic_policy

SUBJECTS: Final = """
alice: {role: researcher}
bob: {role: regional, region: north}
carol: {role: researcher}
dave: {role: researcher}
eve: {role: visitor}
frank: {role: regional, region: south}
"""
PRICE: Final = "0.001"
AUDIT: Final = (
    "{min_units: 10, narrow_cells: 1, opaque_predicates: refuse, trust_groups: [[alice, carol]]}"
)


class Said(TypedDict, total=False):
    """What a policy says otherwise than the others."""

    price: str
    groups: int
    audit: str
    tell: str
    clip: str


def policy(dataset: str, source: str, mechanism: str, **said: Unpack[Said]) -> str:
    """The policy of a dataset whose source's URL is in an environment variable."""
    values = {
        "DATASET": dataset,
        "SOURCE": source,
        "MECHANISM": mechanism,
        "PRICE": said.get("price", PRICE),
        "GROUPS": str(said.get("groups", 10_000)),
        "AUDIT": said.get("audit", NO_AUDIT),
        "REUSE": f"{{max_age: 7d, tell: {said.get('tell', 'everyone')}}}",
        "BUDGET": "10000",
        "MOST": "10000",
        "CLIP": said.get("clip", NO_CLIP),
    }
    text = clinic_policy(values, without=("admitted", "weight", "codes"))
    return text + "answers: {clamp_results: false}\n"
