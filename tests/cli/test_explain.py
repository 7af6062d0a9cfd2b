"""`gateway policy explain`: the plan and the decision, for people and for programs."""

import json
import shutil
from pathlib import Path

import pytest

from gateway.cli import main

POLICIES = Path(__file__).parents[2] / "policies"


@pytest.fixture
def policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The policies of the sample clinic; nobody looks at their source."""
    place = tmp_path / "policies"
    shutil.copytree(POLICIES, place)
    monkeypatch.setenv("CLINIC_URL", "duckdb:////nowhere/clinic.duckdb")
    monkeypatch.setenv("GATEWAY_POLICIES", str(place))
    return place


def _explain(*words: str) -> int:
    return main(["policy", "explain", *words])


def test_explain_prints_tree_and_decision_when_permitted(
    policies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plan with its labels, the result's columns, and the rules that made the decision."""
    sql = "SELECT region, AVG(income) AS mean FROM patients GROUP BY region"
    assert _explain(sql, "--as", "alice") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "_r1 release by k1 = patients.region: m1 = avg(patients.income)"
    assert said[1] == "  scan patients as patients [protected(patient), rows 1]"
    assert "use aggregate patients.income" in said
    assert "result: region text, mean numeric" in said
    assert "permitted to alice on clinic" in said
    assert "  because of: researchers-aggregate" in said
    assert "  purpose: care-quality" in said


def test_explain_prints_the_refusal_and_the_rules_that_apply_when_refused(
    policies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A refusal has its code, its hint and the rules that would have had a say; it ends with 1."""
    assert _explain("SELECT * FROM patients", "--as", "alice") == 1
    said = capsys.readouterr().out
    assert "refused to alice on clinic: GW110" in said
    assert "permitting rules that apply: researchers-aggregate" in said
    assert _explain("SELECT COUNT(*) FROM patients", "--as", "eve") == 1
    assert "permitting rules that apply: none" in capsys.readouterr().out


def test_explain_prints_json_when_asked(policies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs get the same as a value."""
    assert _explain("SELECT COUNT(*) FROM patients", "--as", "alice", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["decision"] == "permit"
    assert said["because"] == ["researchers-aggregate"]
    assert said["columns"] == [{"name": "count", "type": "bigint"}]
    assert said["uses"] == []
    assert _explain("SELECT nope FROM patients", "--as", "alice", "--json") == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["decision"], said["refusal"]["reason"]) == ("refuse", "not_permitted")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--as", "nobody"), "there is no such subject"),
        (("--as", "alice", "--dataset", "bank"), "there is no dataset `bank`"),
    ],
)
def test_explain_says_what_is_wrong_when_an_argument_is(
    words: tuple[str, ...], says: str, policies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown subject or dataset is one clear line and usage's exit code."""
    assert _explain("SELECT 1", *words) == 2
    assert says in capsys.readouterr().err
