"""Subjects are read from their file, or the file is refused where it is wrong."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import for_each

from gateway.errors import Code, OperatorError
from gateway.policy.subjects import Subject, load_subjects


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("policies")


def load(directory: Path, text: str) -> dict[str, Subject]:
    (directory / "subjects.yaml").write_text(text)
    return dict(load_subjects(directory))


def refusal(directory: Path, text: str) -> OperatorError:
    with pytest.raises(OperatorError) as caught:
        load(directory, text)
    assert caught.value.code is Code.SUBJECTS_INVALID
    return caught.value


def test_subjects_have_names_and_attributes(directory: Path) -> None:
    """Attributes are text or lists of text, exactly as written; a subject may have none."""
    subjects = load(
        directory,
        """
alice: {role: researcher, team: oncology, purposes: [care-quality, audit], region: no, level: 007}
eve: {}
""",
    )
    assert list(subjects) == ["alice", "eve"]
    alice = subjects["alice"]
    assert dict(alice.attributes) == {
        "role": "researcher",
        "team": "oncology",
        "purposes": ("care-quality", "audit"),
        "region": "no",
        "level": "007",
    }
    assert (alice.role, alice.team, alice.purposes) == (
        "researcher",
        "oncology",
        ("care-quality", "audit"),
    )
    eve = subjects["eve"]
    assert (eve.role, eve.team, eve.purposes, dict(eve.attributes)) == (None, None, (), {})


def test_subject_cannot_be_changed(directory: Path) -> None:
    """Who holds a subject cannot give it attributes."""
    eve = load(directory, "eve: {}")["eve"]
    with pytest.raises(TypeError):
        eve.attributes["role"] = "admin"  # type: ignore[index]  # that is the point


def test_sample_subjects_are_valid() -> None:
    """The subjects of the demo are there."""
    subjects = load_subjects(Path(__file__).parents[2] / "policies")
    assert set(subjects) >= {"alice", "bob", "carol", "dave", "eve"}
    assert subjects["carol"].role == "auditor"
    assert subjects["dave"].role == "admin"
    assert subjects["alice"].team != subjects["bob"].team


REFUSED = {
    "capital": ("Alice: {}", "1:1", "cannot be a subject's name"),
    "account separator": ("alice@clinic: {}", "1:1", "cannot be a subject's name"),
    "colon": ("'team:x': {}", "1:1", "cannot be a subject's name"),
    "space": ("alice b: {}", "1:1", "cannot be a subject's name"),
    "leading dot": (".alice: {}", "1:1", "cannot be a subject's name"),
    "trailing newline": ('"alice\\n": {}', "1:1", "cannot be a subject's name"),
    "accent": ("zoë: {}", "1:1", "cannot be a subject's name"),
    "too long": (f"{'a' * 64}: {{}}", "1:1", "cannot be a subject's name"),
    "empty": ("'': {}", "1:1", "cannot be a subject's name"),
    "gateway": ("gateway: {}", "1:1", "reserved"),
    "postgres": ("postgres: {}", "1:1", "reserved"),
    "public": ("public: {}", "1:1", "reserved"),
    "predefined role": ("pg_read_all_data: {}", "1:1", "reserved"),
    "no attributes": ("a: {}\neve:\n", "2:1", "must be a mapping"),
    "attributes as text": ("eve: admin", "1:6", "must be a mapping"),
    "attributes as a list": ("eve: [admin]", "1:6", "must be a mapping"),
    "attribute with a dash": ("a: {cost-center: x}", "1:5", "attribute's name"),
    "attribute with a digit first": ("a: {1x: x}", "1:5", "attribute's name"),
    "attribute that is a word of CEL": ("a: {in: x}", "1:5", "attribute's name"),
    "attribute that shadows the name": ("a: {name: bob}", "1:5", "attribute's name"),
    "list as a role": ("a: {role: [admin, auditor]}", "1:11", "must be one text"),
    "text as purposes": ("a: {purposes: care}", "1:15", "must be a list"),
    "team with a separator": ("a: {team: 'x@clinic'}", "1:11", "team's name"),
    "mapping as a value": ("a: {role: {b: c}}", "1:11", "must be text"),
    "list in a list": ("a: {x: [[b]]}", "1:9", "must be text"),
    "null": ("a: {region: ~}", "1:13", "no value"),
    "nothing": ("a:\n  region:\n", "2:3", "no value"),
    "null in a list": ("a: {x: [b, null]}", "1:12", "no value"),
    "long value": (f"a: {{x: {'y' * 257}}}", "1:8", "longer than"),
    "many values": (f"a: {{x: [{','.join('y' * 257)}]}}", "1:8", "more than"),
    "two lines": ('a: {x: "b\\nc"}', "1:8", "one line"),
    "many attributes": ("a: {" + ",".join(f"x{n}: y" for n in range(65)) + "}", "1:1", "more than"),
    "many subjects": ("".join(f"u{n}: {{}}\n" for n in range(10_001)), "1:1", "more than"),
    "list as the root": ("[alice]", "1:1", "must be a mapping"),
    "twice": ("a: {}\na: {}", "2:1", "is already in line 1"),
}


@for_each(("text", "place", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_subjects_file_is_refused_where_it_is_wrong(
    directory: Path, text: str, place: str, said: str
) -> None:
    """One line names file, line, column and the rule."""
    error = refusal(directory, text)
    assert error.detail.startswith(f"{directory / 'subjects.yaml'}:{place}: ")
    assert said in error.detail
    assert "\n" not in error.detail
    assert error.hint == error.hint.strip()


def test_limits_are_reached_before_they_are_exceeded(directory: Path) -> None:
    """The largest file that is allowed is read."""
    attributes = ", ".join(f"x{n}: y" for n in range(63))
    text = f"a: {{{attributes}, z: {'y' * 256}}}\n" + "".join(f"u{n}: {{}}\n" for n in range(9_999))
    subjects = load(directory, text)
    assert len(subjects) == 10_000
    assert len(subjects["a"].attributes) == 64


def test_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    """Without a subjects file the operator learns its path and how one looks."""
    with pytest.raises(OperatorError) as caught:
        load_subjects(tmp_path / "nowhere")
    assert caught.value.code is Code.SUBJECTS_INVALID
    assert str(tmp_path / "nowhere" / "subjects.yaml") in caught.value.detail
    assert "alice" in caught.value.hint


@given(st.text(alphabet="aA0.-_@: \u00e9", min_size=1, max_size=8))
def test_loaded_names_are_safe_in_account_names(directory: Path, name: str) -> None:
    """No name that is accepted can pretend to be another account's."""
    try:
        subjects = load(directory, f"'{name}': {{}}")
    except OperatorError:
        return
    assert list(subjects) == [name]
    assert f"analyst:{name}@clinic".count(":") == 1
    assert f"analyst:{name}@clinic".count("@") == 1
    assert name.isascii()
    assert not name.startswith((".", "-", "_"))
