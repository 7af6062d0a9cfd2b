"""bench/utility.py: that it runs, and that its simulation finds the clip and the limits that it says."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from utility_clips import Parts

People = Callable[[int], "Parts"]
BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="module")
def clips() -> ModuleType:
    """`bench/utility_clips.py`; the directory is not on the path, as its modules have names of test packages."""
    spec = importlib.util.spec_from_file_location("utility_clips", BENCH / "utility_clips.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["utility_clips"] = module  # as its dataclasses want
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def people(clips: ModuleType) -> People:
    """1,000 people with one row in each of two cells, and one with `heavy` rows in the first."""

    def build(heavy: int) -> "Parts":
        person = np.concatenate([np.repeat(np.arange(1_000), 2), [1_000]])
        cell = np.concatenate([np.tile([0, 1], 1_000), [0]])
        rows = np.concatenate([np.ones(2_000), [float(heavy)]])
        made: Parts = clips.Parts(person, cell, rows, rows * 10, ("first", "second"), 20)
        return made

    return build


@pytest.mark.gateway
def test_utility_measures_every_question_on_a_small_table(tmp_path: Path) -> None:
    """The bench asks the gateway all its questions of a table, and writes an error for each."""
    file = tmp_path / "utility.json"
    options = ["--peers", "none", "--repetitions", "2", "--scale", "0.02", "--only", "visits/month"]
    done = subprocess.run(
        [sys.executable, BENCH / "utility.py", *options, "--json", file],
        check=True,
        capture_output=True,
        text=True,
    )
    report = json.loads(file.read_text())
    found = {line["name"]: line for line in report["lines"]}
    assert set(found) == {f"visits/month/{measure}" for measure in ("count", "sum", "avg")}
    for line in found.values():
        assert line["problems"] == {}
        assert line["gateway"] > 0
        assert line["cells"] == 84
        assert line["name"] in done.stdout
    assert "goal 1.4x of the best clip" in done.stdout


def test_best_clip_clips_nobody_when_noise_costs_nothing(clips: ModuleType, people: People) -> None:
    """Without noise the best clip is the one that loses no row, and its error is none."""
    parts = people(400)
    error, clip = clips.best_clip(parts, "count", 1e9, parts.names)
    assert clip >= 400
    assert error < 0.001


def test_best_clip_cuts_the_heavy_person_when_noise_is_dear(
    clips: ModuleType, people: People
) -> None:
    """With noise the rows of one heavy person are given up, rather than noise that hides everybody."""
    parts = people(400)
    error, clip = clips.best_clip(parts, "count", 0.005, parts.names)
    assert clip <= 4
    assert 0.01 < error < 0.3


def test_relative_error_counts_a_missing_cell_as_zero(clips: ModuleType) -> None:
    """The root mean square of the relative error, the median of cells, and 1 for a cell that is not shown."""
    truth = {"a": 100.0, "b": 10.0, "c": 10.0}
    answers = [{"a": 110.0, "b": 10.0}, {"a": 90.0, "b": 10.0}]
    assert clips.relative_error(truth, answers, ["a"]) == pytest.approx(0.1)
    assert clips.relative_error(truth, answers, ["b"]) == pytest.approx(0)
    assert clips.relative_error(truth, answers, ["c"]) == pytest.approx(1)
    assert clips.relative_error(truth, answers, ["a", "b", "c"]) == pytest.approx(0.1)


def test_best_limits_keep_a_row_in_each_group_where_groups_can_be_sampled(
    clips: ModuleType,
    people: People,
) -> None:
    """People of one row in two cells are best kept by one row in two groups; where only rows are limited, by two."""
    parts, noise = people(400), clips.Noise(10.0, 14.0)
    sampled = clips.best_limits(parts, "count", noise, parts.names, groups=True)
    assert (sampled.total, sampled.rows, sampled.groups) == (None, 1, 2)
    rows = clips.best_limits(parts, "count", noise, parts.names, groups=False)
    assert rows.total == 2
