"""`gateway policy` checks, compares and begins policies."""

import json
from pathlib import Path

import duckdb
import pytest
from fix_policy import BASE

from gateway.cli import main
from gateway.policy.model import policy_schema

SCHEMA = """
CREATE TABLE patients (patient_id bigint PRIMARY KEY, region text NOT NULL, birth_year integer
    CHECK (birth_year BETWEEN 1930 AND 2010), income numeric, weight double, "odd name" text, tags text[]);
CREATE TABLE visits (visit_id bigint PRIMARY KEY, patient_id bigint NOT NULL REFERENCES patients,
    cost numeric(8,2), visit_date date NOT NULL);
CREATE TABLE regions (region text PRIMARY KEY);
INSERT INTO regions VALUES ('a value that nobody may see');
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(SCHEMA)
    monkeypatch.setenv("CLINIC_URL", f"duckdb:///{file}")
    policies = tmp_path / "policies"
    policies.mkdir()
    (policies / "clinic.yaml").write_text(BASE)
    (policies / "subjects.yaml").write_text("alice: {role: researcher, region: north}\nbob: {}\n")
    return policies


def change(place: Path, old: str, new: str) -> None:
    file = place / "clinic.yaml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_check_says_that_all_is_well(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Against the source, and what its constraints prove."""
    assert main(["policy", "check", str(place)]) == 0
    out = capsys.readouterr().out
    assert "clinic: 3 tables and 2 rules are well, and it fits its source" in out
    for proof in (
        "clinic.patients: `patient_id` is unique: no person has more than one row",
        "clinic.patients: `birth_year` is always within its domain, or null",
        "clinic.visits: `patient_id` leads to at most one row of `patients`, by `patients.patient_id`",
        "clinic.regions: a row of a person meets at most one row of `regions` on `region`",
    ):
        assert f"note: {proof}\n" in out
    assert "nobody may see" not in out


def test_check_gives_each_problem_a_line_with_its_place(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As editors read it, and exit code 1."""
    change(place, "step: 1}", "step: 3}")
    change(place, "class:sensitive]", "class:secret]")
    change(place, "min_units: 10", "min_units: ten")
    assert main(["policy", "check", str(place / "clinic.yaml")]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert [line.partition(": ")[0] for line in lines] == [f"{place}/clinic.yaml:41:20"]


def test_check_holds_the_policy_against_its_source(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the source has not is an error at the policy's own line."""
    change(place, "      weight:", "      weigth:")
    assert main(["policy", "check", str(place)]) == 1
    out = capsys.readouterr().out
    assert f"{place}/clinic.yaml:17:7: the source has no column `patients.weigth`" in out
    assert "did you mean `weight`?" in out
    assert main(["policy", "check", "--offline", str(place)]) == 0


def test_check_says_when_a_source_cannot_be_asked(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is a failure: nothing is said of what the source has. `--offline` says that nobody looks."""
    monkeypatch.setenv("CLINIC_URL", "postgresql://reader:hunter2@127.0.0.1:1/clinic")
    assert main(["policy", "check", str(place)]) == 1
    out = capsys.readouterr().out
    assert "clinic: the source was not looked at: `postgresql://127.0.0.1:1/clinic`" in out
    assert "are well, but the source was not looked at" in out
    assert out.endswith("next: start the source, or say --offline\n")
    assert "hunter2" not in out
    assert main(["policy", "check", "--json", str(place)]) == 1
    [checked] = json.loads(capsys.readouterr().out)["checked"]
    assert (checked["valid"], len(checked["unreachable"])) == (False, 1)
    assert main(["policy", "check", "--offline", str(place)]) == 0
    assert "are well; the source was not looked at (--offline)\n" in capsys.readouterr().out


def test_check_warns_of_what_will_disappoint(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Columns without a domain, lines to decide, and margins as wide as the table."""
    change(place, "      weight:", "      # decide: how heavy\n      weight:")
    change(place, "default: 0.05", "default: 0.02")
    with duckdb.connect(str(place.parent / "clinic.duckdb")) as connection:
        connection.execute(
            "INSERT INTO patients (patient_id, region) SELECT i, 'north' FROM range(20) r(i)"
        )
    assert main(["policy", "check", str(place)]) == 0
    out = capsys.readouterr().out
    assert f"{place}/clinic.yaml:18:7: warning: `patients.weight` has no domain" in out
    assert "at the default price a count of `patients` is within 25 of about 20 rows" in out
    assert "1 line to decide: search for `# decide:`" in out
    assert out.endswith(f"next: `gateway policy preview {place}`\n")


def test_check_names_the_variable_that_is_not_set(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unset variable is an error."""
    monkeypatch.delenv("CLINIC_URL")
    assert main(["policy", "check", str(place)]) == 1
    assert (
        "clinic.yaml:3:9: the environment variable `CLINIC_URL` is not set"
        in capsys.readouterr().out
    )


def test_check_prints_json(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same for programs."""
    change(place, "region = ", "regio = ")
    assert main(["policy", "check", "--json", str(place)]) == 1
    (checked,) = json.loads(capsys.readouterr().out)["checked"]
    assert not checked["valid"]
    (problem,) = checked["problems"]
    assert (problem["line"], problem["column"]) == (36, 22)


def test_check_prints_what_is_proven_as_json(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what it is about, and the columns by name."""
    assert main(["policy", "check", "--json", str(place)]) == 0
    (checked,) = json.loads(capsys.readouterr().out)["checked"]
    found = [(one["table"], one["about"], one["columns"]) for one in checked["proofs"]]
    assert found == [
        ("patients", "rows", ["patient_id"]),
        ("patients", "nulls", ["patient_id"]),
        ("patients", "nulls", ["region"]),
        ("patients", "domain", ["birth_year"]),
        ("visits", "nulls", ["visit_id"]),
        ("visits", "nulls", ["patient_id"]),
        ("visits", "nulls", ["visit_date"]),
        ("visits", "join", ["patient_id"]),
        ("regions", "join", ["region"]),
    ]
    assert {one["dataset"] for one in checked["proofs"]} == {"clinic"}
    assert all(one["message"] for one in checked["proofs"])


def test_check_of_subjects_alone(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The subjects file is a file like others; one that is not there is an error."""
    assert main(["policy", "check", str(place / "subjects.yaml")]) == 0
    (place / "subjects.yaml").write_text("alice: 1")
    assert main(["policy", "check", str(place / "subjects.yaml")]) == 1
    assert main(["policy", "check", str(place / "nothing.yaml")]) == 1
    assert "the file does not exist" in capsys.readouterr().out


def test_diff_needs_no_source(
    place: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Policies are compared where their sources are not known."""
    monkeypatch.delenv("CLINIC_URL")
    old = tmp_path / "old.yaml"
    old.write_text(BASE)
    change(place, "{epsilon: 10,", "{epsilon: 9,")
    assert main(["policy", "diff", str(old), str(place / "clinic.yaml")]) == 0
    assert capsys.readouterr().out.startswith("narrower clinic: the budget is 9, was 10\n")
    assert main(["policy", "diff", "--json", str(old), str(old)]) == 0
    assert json.loads(capsys.readouterr().out) == {"changes": []}
    old.write_text("gateway: 2")
    assert main(["policy", "diff", str(old), str(place)]) == 2


def test_init_writes_what_check_accepts_and_no_value(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A first policy from the schema alone, which permits nothing."""
    words = ["policy", "init", "${CLINIC_URL}", "--dataset", "clinic", "--public", "regions"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "nobody may see" not in text
    assert "source: ${CLINIC_URL}" in text
    assert "joins: patients.patient_id" in text
    assert "domain: {between: [1930, 2010]}" in text
    assert "odd name" in text
    (place / "clinic.yaml").write_text(text)
    assert main(["policy", "check", str(place)]) == 0


def test_init_refuses_what_is_no_source(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, and no password."""
    assert main(["policy", "init", "mysql://u:hunter2@h/db"]) == 2
    assert "hunter2" not in capsys.readouterr().err


def test_schema_is_json_schema_of_the_keys(capsys: pytest.CaptureFixture[str]) -> None:
    """By the names people write."""
    assert main(["policy", "schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema == policy_schema()
    assert schema["required"] == ["gateway", "dataset", "source", "privacy", "tables"]
    assert "in" in schema["$defs"]["DomainModel"]["properties"]
    assert schema["$defs"]["ColumnModel"]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (["patients.birth_year"], "`patients.birth_year` has a domain already"),
        (["patients.weight", "patients.birth_year"], "`patients.birth_year` has a domain already"),
        (["patients.weight", "patients.weight"], "a column is given twice"),
    ],
    ids=["decided", "one of two", "twice"],
)
def test_bounds_are_not_searched_for_what_cannot_be_written(
    place: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    columns: list[str],
    said: str,
) -> None:
    """It is refused before the state is opened, so nothing is paid; the file stays as it is."""
    home = place.parent / "home"
    monkeypatch.setenv("GATEWAY_HOME", str(home))
    monkeypatch.setenv("GATEWAY_POLICIES", str(place))
    assert main(["policy", "bounds", *columns, "--epsilon", "1", "--write"]) == 2
    assert said in capsys.readouterr().err
    assert (place / "clinic.yaml").read_text() == BASE
    assert not home.exists()
