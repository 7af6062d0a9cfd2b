"""All files of a directory, all or nothing, and named by a hash."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from fix_policy import BASE, ENVIRONMENT, loaded_policies

from gateway.errors import Code, OperatorError
from gateway.policy.files.load import LoadedPolicies, PolicyReading, read_policies

SUBJECTS = "alice: {role: researcher, region: north}\nbob: {}\n"
LABS = BASE.replace("dataset: clinic", "dataset: labs").replace("unit: patient", "unit: sample")
LABS = LABS.replace("${CLINIC_URL}", "${LABS_URL}")
ELSEWHERE = {**ENVIRONMENT, "LABS_URL": "postgresql://host/labs"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "clinic.yaml").write_text(BASE)
    (tmp_path / "subjects.yaml").write_text(SUBJECTS)
    return tmp_path


def load(place: Path, environment: Mapping[str, str] = ELSEWHERE) -> LoadedPolicies:
    return loaded_policies(place, environment)


def reading(place: Path) -> PolicyReading:
    return read_policies(place, ELSEWHERE)


def said(place: Path) -> list[str]:
    return [problem.detail.removeprefix(f"{place}/") for problem in reading(place).problems]


def test_directory_is_loaded_as_one_value(place: Path) -> None:
    """Every policy file by its dataset, and the subjects; other files do not matter."""
    (place / "labs.yml").write_text(LABS)
    (place / "README.md").write_text("nothing")
    (place / ".hidden.yaml").write_text("nothing")
    (place / "old.yaml.bak").write_text("nothing")
    loaded = load(place)
    assert sorted(loaded.policies) == ["clinic", "labs"]
    assert sorted(loaded.subjects) == ["alice", "bob"]
    assert loaded.files == ("clinic.yaml", "labs.yml")


def test_directory_without_policies_permits_nothing_and_is_loaded(place: Path) -> None:
    """People can log in; there is nothing to ask."""
    (place / "clinic.yaml").unlink()
    assert load(place).policies == {}


def test_one_bad_file_spoils_all(place: Path) -> None:
    """All problems of all files are told, and nothing is loaded."""
    (place / "labs.yaml").write_text(LABS.replace("[1920, 2020]", "[2020, 1920]"))
    (place / "subjects.yaml").write_text("alice: 1")
    found = reading(place)
    assert found.loaded is None
    assert [problem.code for problem in found.problems] == [
        Code.POLICY_INVALID,
        Code.SUBJECTS_INVALID,
    ]
    with pytest.raises(OperatorError, match=r"labs\.yaml:15:67"):
        load(place)


def test_subjects_must_be_there(place: Path) -> None:
    """Without anybody who may log in there is nothing to load."""
    (place / "subjects.yaml").unlink()
    assert [problem.code for problem in reading(place).problems] == [Code.SUBJECTS_INVALID]
    assert said(place / "nowhere") == ["subjects.yaml: the file does not exist"]


def test_subjects_under_another_name_are_not_taken_for_a_policy(place: Path) -> None:
    """A misspelt name is told."""
    (place / "subjects.yml").write_text(SUBJECTS)
    assert said(place) == ["subjects.yml: must have the name `subjects.yaml`"]


def test_link_out_of_the_directory_is_refused(
    place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What is loaded is what lies in the directory."""
    outside = tmp_path_factory.mktemp("outside") / "labs.yaml"
    outside.write_text(LABS)
    (place / "labs.yaml").symlink_to(outside)
    assert said(place) == ["labs.yaml: leads outside the policies directory"]


@pytest.mark.parametrize("url", ["${CLINIC_URL}", "duckdb:////x/../data/clinic.duckdb?threads=2"])
def test_protected_table_belongs_to_one_ledger(place: Path, url: str) -> None:
    """A source is known by where it is, however its URL is written."""
    (place / "labs.yaml").write_text(LABS)
    assert said(place) == []
    (place / "labs.yaml").write_text(LABS.replace("${LABS_URL}", url))
    owned = "belongs to dataset `clinic`, where it is protected"
    assert said(place) == [
        f"labs.yaml:9:3: `patients` {owned}",
        f"labs.yaml:18:3: `visits` {owned}",
    ]


def test_one_source_and_unit_is_one_ledger(place: Path) -> None:
    """Two datasets cannot spend on the same people apart."""
    text = LABS.replace("${LABS_URL}", "${CLINIC_URL}").replace("unit: sample", "unit: patient")
    (place / "labs.yaml").write_text(text)
    assert said(place)[0].endswith(
        "dataset `clinic` already has the ledger of this source and unit"
    )


def test_table_that_is_protected_in_one_policy_is_not_public_in_another(place: Path) -> None:
    """Nor under another spelling or with its schema."""
    head = "gateway: 1\ndataset: geo\nsource: ${CLINIC_URL}\nprivacy:\n  unit: place\n  budget: {epsilon: 1, delta: 0}\n  per_query: {default: 1, max: 1}\n"
    (place / "geo.yaml").write_text(head + "tables:\n  Public.Visits: {public: true}\n")
    assert said(place) == [
        "geo.yaml:9:3: `Public.Visits` belongs to dataset `clinic`, where it is protected"
    ]
    (place / "geo.yaml").write_text(head + "tables:\n  regions: {public: true}\n")
    assert said(place) == []


def test_hash_names_the_content(place: Path) -> None:
    """Comments and the order of keys do not matter, every value does, passwords are not in it."""
    first = load(place)
    (place / "clinic.yaml").write_text(
        "# a comment\n"
        + BASE.replace("gateway: 1\ndataset: clinic\n", "dataset: clinic\ngateway: 1\n")
    )
    assert load(place).digest == first.digest
    for old, new in (
        ("epsilon: 10,", "epsilon: 11,"),
        ("< 6", "< 7"),
        ("north, east", "east, north"),
    ):
        (place / "clinic.yaml").write_text(BASE.replace(old, new))
        assert load(place).digest != first.digest
    (place / "clinic.yaml").write_text(BASE)
    other = load(place, {"CLINIC_URL": "duckdb:////data/other.duckdb"})
    assert other.digest != first.digest
    (place / "subjects.yaml").write_text(SUBJECTS.replace("north", "south"))
    assert load(place).digest != first.digest
    urls = [f"postgresql://u:{password}@host/clinic" for password in ("one", "two")]
    digests = {load(place, {"CLINIC_URL": url}).digest for url in urls}
    assert len(digests) == 1


def test_names_that_nobody_bears_are_warned_of(place: Path) -> None:
    """An attribute that no subject has is allowed, and told."""
    text = BASE.replace('subject.role == "researcher"', 'subject.rule == "researcher"')
    (place / "clinic.yaml").write_text(
        text.replace("  per_query", "  teams: {x: {epsilon: 1}}\n  per_query").replace(
            "[alice, bob]", "[alice, eve]"
        )
    )
    loaded = load(place)
    assert [(warning.message, warning.hint) for warning in loaded.warnings] == [
        ("no subject has an attribute `rule`", "did you mean `role`?"),
        ("no subject is in team `x`", ""),
        ("subject `eve` does not exist", "known are `alice`, `bob`"),
    ]
