"""docs/policies.md has every key of a policy, and no other."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fix_policy import BASE, read

from gateway.catalog.tables import VALUES_PER_UNIT
from gateway.catalog.types import Kind, parse_type
from gateway.policy.conditions.parser import DEEPEST, FUNCTIONS, LONGEST, MACROS, METHODS
from gateway.policy.conditions.request_facts import CONTAINS_IP, FIELDS_OF_TIME, REQUEST
from gateway.policy.field_types import format_duration
from gateway.policy.model import policy_schema
from gateway.policy.policy import ReportedRanges

DOCUMENT = Path(__file__).parents[2] / "docs" / "policies.md"
SECTIONS = ("privacy", "tables", "levels", "access", "audit", "reuse", "limits", "clip", "answers")


def sections(text: str) -> dict[str, str]:
    """The parts of the document under their headings of the second level."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def keys_said(section: str) -> set[str]:
    """What stands in the first cell of the rows of the tables."""
    rows = re.findall(r"^\| (`[^|]+) \|", section, flags=re.MULTILINE)
    return {key for row in rows for key in re.findall(r"`([^`]+)`", row)}


def keys_known(model: dict[str, Any], definitions: dict[str, Any]) -> Iterator[str]:
    """The keys of a model and of the models in them, with dots between."""
    for name, field in model.get("properties", {}).items():
        yield name
        for inner in _models(field, definitions):
            yield from (f"{name}.{key}" for key in keys_known(inner, definitions))


def _models(field: object, definitions: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if isinstance(field, dict):
        if "$ref" in field:
            yield definitions[field["$ref"].rpartition("/")[2]]
            return
        for value in field.values():
            yield from _models(value, definitions)
    elif isinstance(field, list):
        for value in field:
            yield from _models(value, definitions)


def differences(text: str) -> list[str]:
    """What the document says too much, and what it does not say."""
    schema = policy_schema()
    definitions = schema["$defs"]
    said = sections(text)
    found = _compare("The file", keys_said(said["The file"]), set(schema["properties"]))
    for name in SECTIONS:
        (model,) = list(_models(schema["properties"][name], definitions))
        known = set(keys_known(model, definitions))
        if name == "privacy":
            known = {key for key in known if not key.startswith("teams.window.")}
        found += _compare(name, keys_said(said[name].partition("\n### ")[0]), known)
    return found


def _compare(section: str, said: set[str], known: set[str]) -> list[str]:
    more = [f"{section}: there is no `{key}`" for key in sorted(said - known)]
    return more + [f"{section}: `{key}` is not said" for key in sorted(known - said)]


def test_document_has_every_key_and_no_other() -> None:
    """Whoever adds a key documents it."""
    assert differences(DOCUMENT.read_text()) == []


@pytest.mark.parametrize("key", ["`unit_key`", "`tell`", "`columns.domain.in`", "`source`"])
def test_document_without_a_key_is_found(key: str) -> None:
    """The negative control."""
    broken = DOCUMENT.read_text().replace(f"| {key} |", "| `nothing` |")
    assert len(differences(broken)) == 2


def test_document_has_every_word_of_conditions() -> None:
    """Names, functions and limits of conditions."""
    text = DOCUMENT.read_text()
    for word in (*FUNCTIONS, *METHODS, *MACROS, *FIELDS_OF_TIME, CONTAINS_IP):
        assert re.search(rf"`\.?{word}\(", text), word
    for name in REQUEST:
        assert f"`request.{name}`" in text
    assert f"{LONGEST // 1024} KB long and {DEEPEST} levels deep" in text


def test_document_has_every_type() -> None:
    """By a name that policies may use."""
    row = next(line for line in DOCUMENT.read_text().splitlines() if "| `columns.type` |" in line)
    words = row.rpartition("PostgreSQL: ")[2].rstrip(" |").split(", ")
    assert {parse_type(word).kind for word in words} == set(Kind)


def test_defaults_of_the_document_are_those_of_policies() -> None:
    """What a policy has that does not say otherwise."""
    text = DOCUMENT.read_text()
    minimal = BASE.replace("audit: {min_units: 10, trust_groups: [[alice, bob]]}\n", "")
    policy = read(minimal.replace("reuse: {max_age: 7d}\n", "")).accepted
    said = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", text, flags=re.MULTILINE))
    assert said["min_units"] == str(policy.auditing.min_units)
    assert said["narrow_cells"] == str(policy.auditing.narrow_cells)
    assert said["opaque_predicates"] == policy.auditing.opaque
    assert said["expected_groups"] == str(policy.sizes.expected_groups)
    assert said["enumerated_groups"] == str(policy.sizes.enumerated_groups)
    assert said["result_rows"] == str(policy.sizes.result_rows)
    assert said["timeouts_per_day"] == str(policy.timeouts_per_day)
    assert said["clamp_results"] == str(policy.results.clamp).lower()
    assert said["suppress_small"] == str(policy.results.suppress_small).lower()
    assert policy.results.reported == ReportedRanges()
    assert policy.results.reply_grid_ms is None
    assert "| `reply_grid_ms` | none |" in text
    assert said["mechanism"] == policy.privacy.mechanism
    assert said["values_per_unit"] == str(VALUES_PER_UNIT)
    assert f"| `max_age` | `{format_duration(policy.max_age)}` |" in sections(text)["reuse"]
    clip, clipping = sections(text)["clip"], policy.clipping
    assert f"| `max_age` | `{format_duration(clipping.max_age)}` |" in clip
    assert clipping.default is None
    assert "| `default` | what is declared |" in clip
    assert f"| `max` | `{clipping.largest}` |" in clip
    assert clipping.price.value * 10 == policy.privacy.default_price.value
