"""The text of the package: where bits come from, and that no float decides."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import gateway

PACKAGE = Path(gateway.__file__).parent
NOISE = PACKAGE / "noise"
GENERATORS = {"random", "secrets", "uuid", "scipy", "opendp"}
# What draws or bounds; `tail_bounds` and `mechanism` may use floats to say something to people, or to look
# somewhere first.
DECIDING = ("entropy", "enclosure", "samplers", "allocation")
FLOATING = {"float", "float64", "float32", "exp", "expm1", "log", "log1p", "sqrt", "pow", "fsum"}


@cache
def _tree(text: str) -> ast.Module:
    return ast.parse(text)


def generators(text: str) -> Iterator[str]:
    """Imports of generators, and numpy's own."""
    for name in _imported(text):
        if name.split(".")[0] in GENERATORS or name.startswith("numpy.random"):
            yield name
    for node in ast.walk(_tree(text)):
        if isinstance(node, ast.Attribute) and node.attr in {"random", "default_rng", "urandom"}:
            yield node.attr


def floats(text: str) -> Iterator[str]:
    """Numbers with a point, and names that make floats."""
    for node in ast.walk(_tree(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, float | complex):
            yield repr(node.value)
        elif isinstance(node, ast.Name) and node.id in FLOATING:
            yield node.id
        elif isinstance(node, ast.Attribute) and node.attr in FLOATING:
            yield node.attr


def _imported(text: str) -> Iterator[str]:
    for node in ast.walk(_tree(text)):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{one.name}" for one in node.names)


def test_noise_takes_randomness_from_one_place() -> None:
    """Only `entropy` asks for random bytes, and it asks the operating system."""
    found = {path.stem: list(generators(path.read_text())) for path in NOISE.glob("*.py")}
    assert {name for name, said in found.items() if said} == {"entropy"}
    assert set(found["entropy"]) == {"urandom"}


def test_gateway_has_no_generator_that_can_be_seeded_but_for_the_sample() -> None:
    """No other package brings Python's or numpy's generators in; the sample's persons are made up."""
    for path in PACKAGE.rglob("*.py"):
        if path.is_relative_to(PACKAGE / "sample"):
            continue
        found = list(generators(path.read_text()))
        assert not {"random", "default_rng"} & set(found), path.name
        assert not [name for name in found if name.split(".")[0] in {"random", "numpy"}], path.name


@pytest.mark.parametrize("module", DECIDING)
def test_samplers_and_bounds_have_no_floats(module: str) -> None:
    """Whole numbers and fractions decide."""
    assert list(floats((NOISE / f"{module}.py").read_text())) == []


def test_checkers_of_sources_find_fault_when_there_is_one() -> None:
    """Negative control: each kind of breach is named."""
    for text in ("import random", "from random import random", "from numpy.random import PCG64"):
        assert list(generators(text))
    assert list(generators("import numpy as np\nnp.random.default_rng(1)"))
    for text in ("x = 0.5", "float(y)", "from math import exp\nexp(1)", "np.float64(1)"):
        assert list(floats(text))
