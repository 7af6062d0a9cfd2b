"""`policy check` warns of a unit that is none, and `policy preview` shows what counts are worth."""

import json
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from fix_policy import BASE, ENVIRONMENT, read
from fix_sample import plain
from laws import for_each
from sqlalchemy import URL

from gateway.admin.policy_review import review_policy
from gateway.admin.preview import preview_policy
from gateway.budget.account import Currency
from gateway.cli import main
from gateway.engines.catalog.statistics import Statistics
from gateway.errors import Code
from gateway.policy.validate import Complaints
from gateway.policy.yaml import parse_yaml
from gateway.units import Epsilon

_WRONG_UNIT = """
gateway: 1
dataset: hospital
source: ${HOSPITAL_URL}
privacy:
  unit: person
  budget: {epsilon: 10, delta: 1e-6}
  per_query: {default: 0.05, max: 1}
tables:
  person:
    unit_key: gender_concept_id
    values_per_unit: 10
    groups_per_unit: 4
    columns:
      gender_concept_id: {type: integer, class: identifier}
  visits:
    unit_key: ward
    values_per_unit: 10
    groups_per_unit: 4
    columns:
      ward: {type: integer, class: identifier}
      note: {type: text, class: sensitive}
  concept:
    unit_key: concept_id
    rows_per_unit: 1
    columns:
      concept_id: {type: integer, class: identifier}
  doctors: {public: true}
"""


@pytest.mark.server
def test_check_warns_of_a_unit_key_that_is_a_code(
    sample_database: URL,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By its name, by the lookup table it refers to, and by the few values that the source has counted."""
    with psycopg.connect(plain(sample_database), autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE concept (concept_id integer PRIMARY KEY, concept_name text)"
        )
        connection.execute("INSERT INTO concept SELECT i, 'c' FROM generate_series(1, 3) i")
        connection.execute(
            "CREATE TABLE person (gender_concept_id integer REFERENCES concept, person_id integer)"
        )
        connection.execute("CREATE TABLE visits (ward integer, note text)")
        connection.execute("INSERT INTO visits SELECT i % 7, 'n' FROM generate_series(1, 1000) i")
        connection.execute("CREATE TABLE doctors (doctor_id integer, email text)")
        connection.execute("ANALYZE")
    monkeypatch.setenv("HOSPITAL_URL", plain(sample_database))
    file = tmp_path / "hospital.yaml"
    file.write_text(_WRONG_UNIT)
    assert main(["policy", "check", str(file)]) == 0
    out = capsys.readouterr().out
    for said in (
        "11:15: warning: the unit key `person.gender_concept_id` has the name of a code",
        "`person.gender_concept_id` refers to `concept`, which looks like a list of codes",
        "the unit key `visits.ward` has about 7 values in 1,000 rows: too few for persons",
        "the unit key `concept.concept_id` is the key of a table that looks like a list of codes",
        "`doctors` is public, but seems to be about persons: `email`",
        "`visits.note` has no domain: its rare values are hidden",
    ):
        assert said in out, said


def test_preview_has_the_margins_that_answers_would_have() -> None:
    """Of everything, of each listed column and of dates by month; wider where a person has many rows."""
    policy = read(BASE).accepted
    found = preview_policy(policy, {"patients": 1_000})
    assert [(one.table, one.grouping, one.groups) for one in found.counts] == [
        ("patients", "everything", 1),
        ("patients", "region", 3),
        ("patients", "birth_year", 102),
        ("visits", "everything", 1),
        ("visits", "visit_date by month", 85),
    ]
    by_name = {(one.table, one.grouping): one for one in found.counts}
    whole, visits = by_name["patients", "everything"], by_name["visits", "everything"]
    assert whole.margin is not None
    assert visits.margin is not None
    assert visits.margin == pytest.approx(10 * whole.margin, rel=0.05)
    assert whole.relative == pytest.approx(whole.margin / 1_000)
    assert visits.relative is None


@for_each(("currency", "mechanism"), [(Currency.PURE, "laplace"), (Currency.ZCDP, "gaussian")])
def test_preview_counts_the_questions_that_fit(currency: Currency, mechanism: str) -> None:
    """In either currency it is the quotient of the budget and the price."""
    text = BASE.replace("max: 1.0}", f"max: 1.0}}\n  mechanism: {mechanism}")
    found = preview_policy(read(text).accepted)
    assert found.currency is currency
    assert found.by_analyst == 40
    assert found.by_everyone == 200


def test_preview_is_worth_less_when_the_price_is_lower() -> None:
    """The control: a tenth of the price has wider margins and room for ten times the questions."""
    policy = read(BASE).accepted
    cheap = replace(policy, privacy=replace(policy.privacy, default_price=Epsilon.parse("0.005")))
    before, after = preview_policy(policy), preview_policy(cheap)
    assert after.by_analyst == 10 * before.by_analyst
    assert (after.counts[0].margin or 0) > 2 * (before.counts[0].margin or 0)


def test_preview_says_which_margins_are_those_before_a_histogram() -> None:
    """Of tables with several rows of a person, and only where the policy sells one that a query buys."""
    found = preview_policy(read(BASE).accepted)
    assert {one.table for one in found.counts if one.before_histogram} == {"visits"}
    assert all(one.before_histogram for one in found.counts if one.table == "visits")
    for sold in ("price: 0", "price: 0.06"):
        none = preview_policy(read(f"{BASE}\nclip: {{{sold}}}\n").accepted)
        assert not any(one.before_histogram for one in none.counts)


def test_preview_prints_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the next command below it; as JSON for programs."""
    monkeypatch.setenv("CLINIC_URL", ENVIRONMENT["CLINIC_URL"])
    file = tmp_path / "clinic.yaml"
    file.write_text(BASE)
    assert main(["policy", "preview", "--offline", str(file)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "clinic: each question costs epsilon 0.05, the default\n"
        "  an analyst:   40 questions (epsilon 2 for ever, 0.5 of it each month)\n"
    )
    assert "\nvisits    visit_date by month" in out
    assert (
        "\n* under the clip without a histogram of norms: the first such question buys one" in out
    )
    assert "\nnext: " in out
    assert main(["policy", "preview", "--offline", "--json", str(file)]) == 0
    [preview] = json.loads(capsys.readouterr().out)["previews"]
    assert preview["counts"][0]["grouping"] == "everything"
    assert main(["policy", "preview", str(tmp_path / "nothing.yaml")]) == 2


def test_check_shows_columns_that_no_query_reads() -> None:
    """Each with what can be had of it; a document with a column that is read from it needs none."""
    line = "      weight: {type: double precision, class: sensitive}\n"
    more = """      weight: {type: "numeric(5,1)", class: sensitive, from: "details ->> 'weight'"}
      details: {type: jsonb, class: sensitive}
      notes: {type: json, class: sensitive}
      address: {type: inet, class: identifier}
      tags: {type: tsvector, class: sensitive}
"""
    policy = read(BASE.replace(line, more)).accepted
    text = BASE.replace(line, more).encode()
    places = Complaints(parse_yaml(text, file="clinic.yaml", code=Code.POLICY_INVALID))
    found = [
        (one.detail.partition(": ")[2], one.hint)
        for one in review_policy(policy, None, Statistics(), places)
        if "no query reads" in str(one)
    ]
    assert found == [
        (
            "no query reads `patients.notes`, because its type is `json`",
            "declare a column with `from: \"notes ->> 'key'\"` for each key that queries may read",
        ),
        (
            "no query reads `patients.address`, because its type is `inet`",
            "a view of the table can have `host(address)` instead",
        ),
        ("no query reads `patients.tags`, because its type is `tsvector`", ""),
    ]
