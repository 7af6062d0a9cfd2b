"""LIKE in its bounded form: the same as PostgreSQL's, on both engines."""

import random
from typing import Final

from engines.extremes import Databases
from engines.likes import differing, pairs

SEED: Final = 20_261_119
PAIRS: Final = 4_000


def test_like_is_postgresqls_on_both_engines(databases: Databases) -> None:
    """A pattern and a text match in the bounded form exactly where they match for PostgreSQL's own LIKE."""
    chosen = pairs(random.Random(SEED), PAIRS)  # noqa: S311 - a seed, no secret
    assert differing(databases, chosen) == []
