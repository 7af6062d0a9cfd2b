"""`docs/twin.md` says what the code does: the same lists, with the same reasons."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from docs.markdown import rows, sections

from gateway.postgres_server import os_user as account
from gateway.twin import stand_ins, template
from gateway.twin.pool import MOST, MOST_OF_ONE
from gateway.twin.settings import _SERVER, MEMORY, SESSION

_TEXT = (Path(__file__).parents[2] / "docs" / "twin.md").read_text()
_LISTS = {
    "Volatile functions that are kept": template.VOLATILE_KEPT,
    "Other functions that are taken back": template.FUNCTIONS_TAKEN,
    "Relations that are empty": stand_ins.RELATIONS_EMPTIED,
    "Languages that are taken back": template.LANGUAGES_TAKEN,
}


def _said(text: str, title: str) -> Mapping[str, str]:
    return {cells[0].strip("`"): cells[1] for cells in rows(sections(text, 3)[title])}


@pytest.mark.parametrize("title", _LISTS)
def test_document_has_the_list_of_the_code(title: str) -> None:
    """Every item and every reason, and nothing else."""
    assert _said(_TEXT, title) == _LISTS[title]


@pytest.mark.parametrize("title", _LISTS)
def test_document_with_a_line_less_is_found_out(title: str) -> None:
    """The negative control."""
    name = next(iter(_LISTS[title]))
    broken = "\n".join(line for line in _TEXT.splitlines() if not line.startswith(f"| `{name}` |"))
    assert _said(broken, title) != _LISTS[title]


def test_document_names_figures_and_settings_of_the_code() -> None:
    """Limits, users and settings are those in force."""
    for name in SESSION:
        assert f"`{name}`" in _TEXT
    assert f"{MEMORY // 1024**2} MB of address space" in _TEXT
    assert f"Temporary files end at {_SERVER['temp_file_limit'].removesuffix('MB')} MB" in _TEXT
    assert f"`{account._NAMED_APART}`" in _TEXT
    assert f"from {account._UNNAMED_APART.start} on" in _TEXT
    assert (
        f"at most {MOST_OF_ONE} for each subject and set of tables, at most {MOST} in total"
        in _TEXT
    )
