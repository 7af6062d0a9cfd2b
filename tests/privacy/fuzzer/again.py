"""One statement of the fuzzer again: `python -m privacy.fuzzer.again SEED/NUMBER …`, from `tests`.

It prints everything that a problem takes, with as few rows as still show it.
"""

import sys

from privacy.fuzzer.databases import own_ground
from privacy.fuzzer.identities import variant
from privacy.fuzzer.reduction import reduced
from privacy.fuzzer.statements import sentence
from privacy.fuzzer.trial import VARIANT, bench, shown


def main(seeds: list[str]) -> int:
    """How many of them have a problem."""
    wrong = 0
    with own_ground("again") as (server, line):
        for seed in seeds:
            services = line.asking.services
            with bench(server, services, seed.rpartition("/")[0]) as made:
                name = seed.rstrip(VARIANT)
                said = sentence(made.catalog, name)
                outcome = made.try_sentence(name, said)
                if name != seed:
                    outcome = made.try_sentence(seed, variant(said, seed))
                catalog = made.catalog
            wrong += bool(outcome.found.problems)
            if outcome.found.problems and name == seed:
                catalog, outcome = reduced(server, services, made, said, seed)
            print(shown(catalog, outcome))  # noqa: T201 - this is what it is for
    return wrong


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
