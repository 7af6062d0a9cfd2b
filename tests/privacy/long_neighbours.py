"""Neighbouring worlds for as long as you like: `python -m privacy.long_neighbours SECONDS [SEED]`, from `tests`.

Golden statements, random plans and random catalogs, in both databases and both currencies. It ends when the time is over, and says
of every problem which seed showed it; it fails when there is one.
"""

import shutil
import sys
import tempfile
from pathlib import Path
from time import monotonic

from binding.plans import releases
from hypothesis import HealthCheck, Phase, given, seed, settings
from property.bounded_releases import Asked, golden
from property.catalogs import catalog, populated, statements
from property.hostile_statements import spoken
from property.neighbour_check import Findings, check
from property.stores import Store, in_duckdb, in_postgresql, neighbours
from sqlalchemy import URL

from gateway.plan.aggregates import Aggregate
from gateway.plan.print import explain_plan
from gateway.postgres_server import open_server

_PLANS = 150
_SAID = 100


def main(seconds: float, first: int) -> int:
    """0 when nothing was found."""
    until, number, problems = monotonic() + seconds, first, 0
    home = Path(tempfile.mkdtemp(prefix="neighbours-"))
    home.chmod(0o711)
    try:
        with open_server(home / "server") as lease:
            password = lease.superuser_password
            url = lease.address.url(user=lease.superuser, password=password, database="postgres")
            while monotonic() < until:
                problems += _once(home, url, number, until)
                number += 1
    finally:
        shutil.rmtree(home)
    return int(problems > 0)


def _once(home: Path, url: URL, number: int, until: float) -> int:
    findings, pairs = Findings(), number % 4 < 2
    with neighbours(home, url, number, keyed=number % 2 == 0, more=3) as worlds:
        for asked in (*spoken(), *golden()):
            if monotonic() < until:
                check(asked, worlds, findings, pairs=pairs, seed=number)
        _random_plans(worlds, findings, number, until)
    dataset = catalog(number)
    odd = populated(dataset, number)
    with in_duckdb(home, odd, number) as here, in_postgresql(url, odd, number) as there:
        for asked in statements(dataset, number, _SAID):
            if monotonic() < until:
                check(asked, [here, there], findings, pairs=pairs, seed=number)
    for one in dict.fromkeys(findings.problems):
        print(f"seed {number}: {one}", flush=True)  # noqa: T201 - this is what it is for
    shown = f"seed {number}: {findings.compared} compared, reached {sorted(findings.reached)}"
    print(shown, flush=True)  # noqa: T201 - see above
    return len(findings.problems)


def _random_plans(worlds: list[list[Store]], findings: Findings, number: int, until: float) -> None:
    @seed(number)
    @settings(
        max_examples=_PLANS,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(releases())
    def one(plan: Aggregate) -> None:
        if monotonic() < until:
            asked = Asked("\n".join(explain_plan(plan).splitlines()), plan)
            check(asked, worlds, findings, pairs=number % 4 < 2, seed=number)

    one()


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1))
