"""Fixtures are split by subject: `fix_<subject>.py`.

`--update-cases` rewrites the golden files; it is refused where CI runs. `--case TITLE` runs the rows of laws whose
title contains TITLE, and nothing else. `--full-samples` lets statistics take all their draws, as `make privacy` does.
"""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import laws
import pytest
import warm_python
from hypothesis import settings
from kinds import mark_kind, unit_guard
from no_pandas import do_not_look_for_pandas
from order import put_together
from samples import Samples, draws
from scratch import PASSABLE, Scratch, make_passable

pytest_plugins = (
    "fix_state",  # first: others import from it, and pytest rewrites only what is not imported yet
    "fix_ledger",  # as above
    "fix_postgres_server",
    "fix_gateway",
    "fix_auth",
    "fix_journal",
    "fix_sample",
    "fix_twin",
    "fix_servers",
)


_scratch = Scratch()
do_not_look_for_pandas()
gc.disable()  # until all is collected


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-cases", action="store_true", help="rewrite the golden files")
    parser.addoption(
        "--case",
        action="append",
        default=[],
        metavar="TITLE",
        help="only rows with this in their title",
    )
    parser.addoption(
        "--full-samples", action="store_true", help="all draws of statistics, not a fifth"
    )


@pytest.hookimpl(tryfirst=True)  # before pytest looks where temporary files are put
def pytest_configure(config: pytest.Config) -> None:
    # the same examples in every run: what fails here fails there
    Samples.full = config.getoption("--full-samples")
    settings.register_profile("the same again", derandomize=True, max_examples=draws(100))
    settings.load_profile("the same again")
    if config.getoption("--update-cases") and os.environ.get("CI"):
        raise pytest.UsageError("golden files are not rewritten in CI")
    laws.selection.titles = config.getoption("--case")
    unit_guard.install()
    warm_python.install()
    if not hasattr(config, "workerinput"):
        _scratch.open(config)


def pytest_unconfigure() -> None:
    warm_python.server.end()
    _scratch.remove()


@pytest.fixture(scope="session", autouse=True)
def _passable_base(tmp_path_factory: pytest.TempPathFactory) -> None:
    make_passable(tmp_path_factory.getbasetemp())


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """An empty directory that the users of servers can pass through, so that servers can be in it."""
    tmp_path.chmod(PASSABLE)
    return tmp_path


@pytest.hookimpl(wrapper=True, tryfirst=True)  # before `-m` selects, and after others have shuffled
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    for item in items:
        mark_kind(item)
    _leave_out(config, items)
    yield
    put_together(items)


def _leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [item for item in items if not _is_asked_for(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if _is_asked_for(item)]


def _is_asked_for(item: pytest.Item) -> bool:
    is_long = item.get_closest_marker("full_samples") is not None
    return laws.is_selected(item) and (Samples.full or not is_long)


def pytest_collection_finish() -> None:
    # what is imported and collected stays to the end: no collection of garbage looks at it, not even once
    gc.freeze()
    gc.enable()
    # after that Python's own thresholds would take a tenth of the time
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    with unit_guard.watching(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    # not while it is torn down: that ends fixtures of others, too
    with unit_guard.watching(item):
        return (yield)
