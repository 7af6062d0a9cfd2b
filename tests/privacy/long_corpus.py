"""The whole corpus on every kind of source, and nothing of it ends in GW901: `python -m privacy.long_corpus`, from `tests`."""

import shutil
import sys
import tempfile
from pathlib import Path

from binding.cases import every
from endtoend.clinic_gateway import a_gateway, clinic_in_duckdb, clinic_in_postgresql, shown
from endtoend.clinic_policy import policy
from endtoend.corpus import bugs

from gateway.postgres_server import open_server


def main() -> int:
    """Print what ends as a bug of ours; 1 where something does."""
    home = Path(tempfile.mkdtemp(prefix="corpus-"))
    home.chmod(0o711)
    try:
        with open_server(home / "server") as lease, clinic_in_postgresql(lease) as plain:
            environment = {
                "PLAIN": shown(plain),
                "DUCKDB": shown(clinic_in_duckdb(home / "gaussian.duckdb")),
                "LISTED": shown(clinic_in_duckdb(home / "listed.duckdb")),
            }
            policies = {
                "laplace": policy("laplace", "PLAIN", "laplace", groups=1),
                "gaussian": policy("gaussian", "DUCKDB", "gaussian", groups=1),
                "listed": policy("listed", "LISTED", "laplace", groups=10_000),
            }
            asked = [(case, dataset) for case in every() for dataset in policies]
            with a_gateway(policies, environment) as gateway:
                found = list(bugs(gateway, asked))
    finally:
        shutil.rmtree(home)
    print(f"{len(asked)} questions, {len(found)} bugs", *found, sep="\n")  # noqa: T201 - this is what it is for
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
