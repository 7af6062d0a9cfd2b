"""`gateway policy explain`: the plan and the decision, for people and for programs."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway.admin.explain import Explanation, HistoryVerdict, explanation_json, explanation_text
from gateway.cli import main
from gateway.policy.policy import UnreadableConditions
from gateway.twin import Twin

POLICIES = Path(__file__).parents[2] / "policies"


@pytest.fixture
def policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The policies of the sample clinic; nobody looks at their source."""
    place = tmp_path / "policies"
    shutil.copytree(POLICIES, place)
    monkeypatch.setenv("CLINIC_URL", "duckdb:////nowhere/clinic.duckdb")
    monkeypatch.setenv("GATEWAY_POLICIES", str(place))
    return place


@pytest.fixture
def shared_twin(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command starts a twin each time; most of these tests ask several times, of one that runs already."""

    @contextmanager
    def running(_: Path | None) -> Iterator[Twin]:
        yield twin

    monkeypatch.setattr("gateway.cli.policy.open_temporary_twin", running)


def _explain(*words: str) -> int:
    return main(["policy", "explain", *words])


@pytest.mark.gateway  # it starts a twin
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


@pytest.mark.usefixtures("shared_twin")
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


@pytest.mark.usefixtures("shared_twin")
def test_explain_prints_json_when_asked(policies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs get the same as a value."""
    assert _explain("SELECT COUNT(*) FROM patients", "--as", "alice", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["decision"] == "permit"
    assert said["because"] == ["researchers-aggregate"]
    (column,) = said["columns"]
    assert (column["name"], column["type"], column["noisy"]) == ("count", "bigint", True)
    assert column["mechanism"] == "discrete_gaussian"
    assert 0 < column["scale"] < column["expected_margin_95"]
    price = said["price"]
    assert (price["currency"], price["epsilon"], price["delta"]) == ("zcdp", "0.05", "0")
    assert price["rho"] > 0
    assert price["groups"] == [{"listed": 1, "shown_from": None, "blank_below": None}]
    assert said["uses"] == []
    assert _explain("SELECT nope FROM patients", "--as", "alice", "--json") == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["decision"], said["refusal"]["reason"]) == ("refuse", "not_permitted")


@pytest.mark.usefixtures("shared_twin")
def test_explain_tells_price_noise_and_groups_when_permitted(
    policies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each column has its noise and margin, each release what is known of its groups."""
    sql = "SELECT diagnosis, COUNT(*) AS n, AVG(cost) AS mean FROM visits GROUP BY diagnosis"
    assert _explain(sql, "--as", "alice") == 0
    said = capsys.readouterr().out.splitlines()
    assert any(re.match(r"price: epsilon 0\.05 \(rho 0\.\d+\), delta \S+$", line) for line in said)
    assert "  diagnosis: without noise" in said
    margin = r"  n: discrete gaussian noise of scale \S+; 95 % of answers are within \d+ of the exact value$"
    assert any(re.match(margin, line) for line in said)
    assert (
        "  mean: discrete gaussian noise; how wide its interval is, is told with the answer" in said
    )
    few = r"groups: those with fewer than about \d+ units are not shown$"
    assert any(re.match(few, line) for line in said)
    assert _explain("SELECT region, COUNT(*) FROM patients GROUP BY 1", "--as", "alice") == 0
    assert "groups: 5 are listed, the empty ones come too" in capsys.readouterr().out.splitlines()


@pytest.mark.usefixtures("shared_twin")
def test_explain_tells_how_many_rows_a_chosen_value_is_off(
    policies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is chosen has no margin in values: its distance is told in rows."""
    assert _explain("SELECT MEDIAN(cost) AS middle FROM visits", "--as", "alice") == 0
    said = capsys.readouterr().out.splitlines()
    near = r"  middle: chosen by the exponential mechanism; 95 % of answers are within \d+ rows of the exact value$"
    assert any(re.match(near, line) for line in said)
    assert "groups: one, without keys" in said


@pytest.mark.usefixtures("shared_twin")
def test_explain_tells_what_is_blank_when_small_groups_are(
    policies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The policy's own setting; and no price where nothing is measured."""
    with (policies / "clinic.yaml").open("a") as file:
        file.write("\nanswers: {suppress_small: true}\n")
    assert _explain("SELECT region, COUNT(*) FROM patients GROUP BY 1", "--as", "alice") == 0
    said = capsys.readouterr().out
    assert "; aggregates of fewer than about 10 units are blank\n" in said
    assert _explain("SELECT 1", "--as", "alice") == 0
    assert "price: nothing is measured, nothing is charged" in capsys.readouterr().out


@pytest.mark.usefixtures("shared_twin")
def test_explain_tells_what_epsilon_means_for_several_units(
    policies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One, two, five and ten of them: in zCDP more than so many times epsilon, in pure exactly."""
    question = ("SELECT COUNT(*) FROM patients", "--as", "alice")
    assert _explain(*question) == 0
    said = capsys.readouterr().out.splitlines()
    at = said.index("epsilon for one `patient`, and for several together at delta 5e-7:")
    assert said[at + 1].endswith(" by this question alone, 20 by the whole budget")
    assert [line.split()[-5] for line in said[at + 1 : at + 5]] == ["20", "49.9", "196", "625"]
    _replace(policies, "mechanism: auto", "mechanism: laplace")
    assert _explain(*question, "--json") == 0
    assert json.loads(capsys.readouterr().out)["price"]["together"] == [
        {"units": units, "question": str(units / 20).removesuffix(".0"), "budget": str(20 * units)}
        for units in (1, 2, 5, 10)
    ]


@pytest.mark.usefixtures("shared_twin")
def test_explain_tells_which_results_are_in_ranges(
    policies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And with which margins: half a range wider than those of the noise."""
    question = ("SELECT COUNT(*), AVG(birth_year) FROM patients", "--as", "alice", "--json")
    assert _explain(*question) == 0
    plain = json.loads(capsys.readouterr().out)["columns"][0]["expected_margin_95"]
    _replace(
        policies,
        "domain: {between: [1920, 2020]}",
        "domain: {between: [1920, 2020]}, report: {ranges: 5}",
    )
    _replace(
        policies,
        "# answers: {suppress_small: true, report: {count: 10}",
        "answers: {report: {count: 10}",
    )
    assert _explain(*question) == 0
    ranged = json.loads(capsys.readouterr().out)["columns"][0]["expected_margin_95"]
    assert ranged == pytest.approx(plain + 5)
    assert _explain(*question[:-1]) == 0
    said = capsys.readouterr().out.splitlines()
    assert "`count(*)` is reported in ranges of 10" in said
    assert "`avg(patients.birth_year)` is reported in ranges of 5" in said
    assert _explain("SELECT CORR(birth_year, income) FROM patients", "--as", "alice") == 1
    assert "GW203" in capsys.readouterr().out


NARROW = (
    "SELECT region, COUNT(*) FROM patients WHERE birth_year < 1950 AND region IN ('south', 'north')"
    " GROUP BY region"
)


@pytest.mark.usefixtures("shared_twin")
def test_explain_tells_what_is_compared_with_earlier_questions(
    policies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The region and the keys as the auditor reads them; nothing where no person is asked about."""
    assert _explain(NARROW, "--as", "alice") == 0
    said = capsys.readouterr().out.splitlines()
    at = said.index("compared with earlier questions as:")
    assert said[at + 1 :] == [
        "  patients where birth_year 1920 to 1949, region north or south, cut by region (2 groups)",
        "whether earlier answers stand against it is not looked at here: say --home, or ask for an estimate",
    ]
    assert _explain(NARROW, "--as", "alice", "--json") == 0
    assert json.loads(capsys.readouterr().out)["overlap"] == {
        "regions": [[said[at + 1].strip()]],
        "unreadable": [],
        "opaque_predicates": "count_as_unknown",
        "verdict": [],
    }
    assert _explain("SELECT 1", "--as", "alice") == 0
    assert "compared" not in capsys.readouterr().out


@pytest.mark.usefixtures("shared_twin")
@pytest.mark.parametrize(
    ("opaque", "treated"),
    [
        ("refuse", "a question with such a condition is refused"),
        (
            "count_as_unknown",
            "such parts are compared by their released sizes, and in combinations of questions",
        ),
        ("allow", "such parts are not compared"),
    ],
)
def test_explain_tells_which_conditions_cannot_be_compared(
    policies: Path, opaque: str, treated: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """And what the policy makes of them."""
    _replace(policies, "opaque_predicates: count_as_unknown", f"opaque_predicates: {opaque}")
    question = ("SELECT COUNT(*) FROM visits WHERE diagnosis LIKE '%flu%'", "--as", "alice")
    refused = opaque == "refuse"
    assert _explain(*question, "--json") == int(refused)
    said = json.loads(capsys.readouterr().out)
    assert said["decision"] == ("refuse" if refused else "permit")
    assert said.get("refusal", {}).get("code") == ("GW402" if refused else None)
    assert ("price" in said) is not refused
    told = said["overlap"]
    assert told["opaque_predicates"] == opaque
    assert told["unreadable"][0].startswith("cannot be compared with other questions: `")
    _explain(*question)
    text = capsys.readouterr().out
    assert ("refused to alice on clinic: GW402" in text) is refused
    assert text.count("compared with earlier questions as:") == 1
    assert ("whether earlier answers" in text) is not refused
    assert told["unreadable"][-1] == f"`opaque_predicates: {opaque}`: {treated}"


def test_explained_has_the_verdict_that_it_is_given() -> None:
    """Who has looked into the history hands in what it says; it stands in the place of the advice."""
    compared = HistoryVerdict((("patients, all rows",),), (), UnreadableConditions.REFUSE)
    found = Explanation("alice", "clinic", (), (), None, None, None, compared)
    assert explanation_text(found).splitlines()[-1].endswith("or ask for an estimate")
    assert explanation_text(found, ["nothing stands against it"]).splitlines()[-2:] == [
        "  patients, all rows",
        "nothing stands against it",
    ]
    assert explanation_json(found, ["no"])["overlap"]["verdict"] == ["no"]


def _replace(policies: Path, old: str, new: str) -> None:
    file = policies / "clinic.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.mark.usefixtures("shared_twin")
def test_explain_prints_the_plan_when_nothing_bounds_the_answer(
    policies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is permitted and refused all the same: the price is where that is found."""
    assert _explain("SELECT AVG(EXP(birth_year)) FROM patients", "--as", "alice") == 1
    said = capsys.readouterr().out
    assert "_r1 release" in said
    assert "refused to alice on clinic: GW301" in said
    assert "price:" not in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--as", "nobody"), "there is no such subject"),
        (("--as", "alice", "--dataset", "bank"), "dataset `bank` does not exist"),
    ],
)
def test_explain_says_what_is_wrong_when_an_argument_is(
    words: tuple[str, ...], says: str, policies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown subject or dataset is one clear line and usage's exit code."""
    assert _explain("SELECT 1", *words) == 2
    assert says in capsys.readouterr().err
