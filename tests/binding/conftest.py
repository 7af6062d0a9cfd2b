"""`--update-cases` rewrites the golden files; it is refused where CI runs."""

import os

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-cases", action="store_true", help="rewrite tests/cases/binding")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--update-cases", default=False) and os.environ.get("CI"):
        raise pytest.UsageError("golden files are not rewritten in CI")
