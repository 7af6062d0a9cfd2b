"""Fixtures are split by subject: `fix_<subject>.py`.

`--update-cases` rewrites the golden files; it is refused where CI runs.
"""

import os

import pytest
from hypothesis import settings

pytest_plugins = (
    "fix_state",  # first: others import from it, and pytest rewrites only what is not imported yet
    "fix_ledger",  # as above
    "fix_embedded",
    "fix_gateway",
    "fix_identity",
    "fix_journal",
    "fix_sample",
    "fix_twin",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-cases", action="store_true", help="rewrite the golden files")


def pytest_configure(config: pytest.Config) -> None:
    # the same examples in every run: what fails here fails there
    settings.register_profile("the same again", derandomize=True)
    settings.load_profile("the same again")
    if config.getoption("--update-cases") and os.environ.get("CI"):
        raise pytest.UsageError("golden files are not rewritten in CI")
