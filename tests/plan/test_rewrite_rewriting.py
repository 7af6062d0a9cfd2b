"""Row rules reach every scan of a plan."""

from binding.cases import Case, accepted, bind_case
from laws import for_each

from gateway.binding.bound import Cut
from gateway.plan.node import Node, nodes
from gateway.plan.relations import Filter, Scan
from gateway.plan.rewrite import over_scans
from gateway.plan.scalars import Literal
from gateway.plan.types import BOOLEAN

ACCEPTED = accepted()


def _kept(scan: Scan) -> Node:
    return Filter(scan, Literal(value=True, type=BOOLEAN))


@for_each("case", ACCEPTED)
def test_over_scans_reaches_every_scan(case: Case) -> None:
    """No scan of any golden plan is left without the filter, and labels stay as they were."""
    bound = bind_case(case)
    releases = bound.releases if isinstance(bound, Cut) else ()
    for release in releases:
        changed = over_scans(release.plan, _kept)
        scans = sum(isinstance(node, Scan) for node in nodes(release.plan))
        filtered = [
            node
            for node in nodes(changed)
            if isinstance(node, Filter) and isinstance(node.child, Scan)
        ]
        assert len(filtered) >= scans
        assert changed.fields == release.plan.fields
        assert changed.label == release.plan.label
