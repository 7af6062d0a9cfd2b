"""docs/examples/learning.md is run as it stands, against a demo of its own."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from demo.demos import DemoDirectory
from docs.checks import ROOT

pytestmark = pytest.mark.gateway

TEXT = (ROOT / "docs" / "examples" / "learning.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DemoDirectory]:
    """A demo that serves, in the directory that the code runs in."""
    made = DemoDirectory(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    try:
        with made.serving("--serve") as demo:
            demo.wait_for("serving until")
            yield made
    finally:
        made.discard()


@pytest.mark.gateway
def test_models_are_trained_as_the_document_says(directory: DemoDirectory) -> None:
    """Its comparisons hold: but for one run in 10⁶ the noise is not as far out as they allow for.

    Means by group: of 300,000 simulated draws of the noise none was 470 away, three 405, a half 26; the noise of a mean
    counts by its square there, so 700 is far beyond one in 10⁶. A standard deviation of the slope is 9, of the income 60,
    of the slope from means 16: what is allowed for is about seven of each.
    """
    assert directory.notes_file.exists()
    names: dict[str, Any] = {}
    for block in BLOCKS:
        exec(block, names)  # noqa: S102 - the project's own document
    assert {"private", "slope"} <= names.keys()
    # the negative controls: the comparisons notice a model that learned nothing, and another line
    nothing = names["error"](lambda _region, _born: names["mean"])
    assert abs(nothing - names["error"](names["not_private"])) > 700
    others = names["LINE"].replace("1930 AND 1969", "1970 AND 2009").replace("1950", "1990")
    ((other, _),) = names["exactly"](others)
    assert abs(other - names["true_slope"]) > 0.2 * names["true_slope"]
