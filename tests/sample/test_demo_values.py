"""The sample and its policy together keep what the demo promises, by the formulas of the design.

This is a calculation of its own: it shares no line with the code that will price and add noise.
"""

import math
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from numpy.typing import NDArray
from ruamel.yaml import YAML

from gateway.policy.subjects import load_subjects
from gateway.sample.clinic import Clinic
from gateway.sample.distributions import (
    DIAGNOSES,
    DRUGS,
    FIRST_DAY,
    FIRST_MOMENT,
    HIGHEST_DOSE,
    LAST_DAY,
    LAST_MOMENT,
    REGIONS,
    TIME_ZONE,
)

POLICIES = Path(__file__).parents[2] / "policies"
Yaml = Any  # whatever stands in the file
CONFIDENT = 1.96  # standard deviations either way hold 95 %
DEARER = Fraction(1, 4)  # a price for averages by diagnosis; the default serves everything else


def read(name: str) -> Yaml:
    """Every scalar as the text that stands in the file."""
    return YAML(typ="base", pure=True).load(POLICIES / name)


@pytest.fixture(scope="module")
def policy() -> Yaml:
    return read("clinic.yaml")


@pytest.fixture(scope="module")
def visits_by_region() -> NDArray[np.int64]:
    """What counts of the visits: ten of a person at most."""
    (patients,) = Clinic().patient_rows(10**6)
    (visits,) = Clinic().visit_rows(10**6)
    each = np.bincount(visits.patient_id, minlength=20_001)[1:]
    return np.bincount(patients.region, np.minimum(each, 10)).astype(np.int64)


def budget(policy: Yaml) -> Yaml:
    return next(rule for rule in policy["access"] if rule["id"] == "researchers-aggregate")[
        "budget"
    ]


def test_demo_budget_holds_two_hundred_questions(policy: Yaml) -> None:
    """200 questions at the default price fit into the ledger, an analyst's share and its month."""
    price = Fraction(policy["privacy"]["per_query"]["default"])
    share = budget(policy)
    for cap in (
        policy["privacy"]["budget"]["epsilon"],
        share["epsilon"],
        share["window"]["epsilon"],
    ):
        assert Fraction(cap) / price >= 200


def test_demo_counts_are_within_five_percent(
    policy: Yaml,
    visits_by_region: NDArray[np.int64],
) -> None:
    """COUNT of visits and of patients by region has a 95 % margin of 5 % at the default price."""
    rho = _rho(policy, Fraction(policy["privacy"]["per_query"]["default"]))
    (patients,) = Clinic().patient_rows(10**6)
    assert CONFIDENT * _sigma(1, rho) / np.bincount(patients.region).min() <= 0.05
    # as without a histogram: by the clip that the policy gives
    clip = int(policy["clip"]["default"])
    assert CONFIDENT * _sigma(clip, rho) / visits_by_region.min() <= 0.05


def test_demo_averages_are_within_ten_percent(
    policy: Yaml,
    visits_by_region: NDArray[np.int64],
) -> None:
    """AVG of income and of cost by region has a 95 % margin of 10 % at the default price."""
    rho = _rho(policy, Fraction(policy["privacy"]["per_query"]["default"]))
    (patients,) = Clinic().patient_rows(10**6)
    for code in range(len(REGIONS)):
        income = patients.income[(patients.region == code) & (patients.income >= 0)]
        assert _average_margin(income.size, income.mean(), 200_000, 1, rho / 2) <= 0.10
        assert _average_margin(int(visits_by_region[code]), 1_700, 5_000, 20, rho / 2) <= 0.10


def test_demo_averages_by_diagnosis_are_within_ten_percent_when_asked_dearer(
    policy: Yaml,
) -> None:
    """AVG of cost of the eight commonest diagnoses has a 95 % margin of 10 % at 0.25."""
    rho = _rho(policy, DEARER)
    assert Fraction(policy["privacy"]["per_query"]["max"]) >= DEARER
    (visits,) = Clinic().visit_rows(10**6)
    often = np.bincount(visits.diagnosis[visits.diagnosis >= 0], minlength=len(DIAGNOSES))
    for code in np.argsort(-often)[:8]:
        # count and sum for the average, the number of people for the threshold: a third each
        cost = visits.cost_cents[visits.diagnosis == code].mean() / 100
        assert _average_margin(int(0.9 * often[code]), cost, 5_000, 20, rho / 3) <= 0.10


def test_demo_counts_by_hour_are_within_five_percent_when_asked_dearer(policy: Yaml) -> None:
    """COUNT of prescriptions by the hour of the clinic's clock has a 95 % margin of 5 % at 0.25, in every busy hour."""
    (prescriptions,) = Clinic().prescription_rows(10**6)
    zone = ZoneInfo(TIME_ZONE)
    hours = [datetime.fromtimestamp(one, zone).hour for one in prescriptions.second.tolist()]
    by_hour = np.bincount(hours, minlength=24)
    clip = int(policy["clip"]["default"])
    assert CONFIDENT * _sigma(clip, _rho(policy, DEARER)) / np.sort(by_hour)[-8] <= 0.05


def test_demo_counts_a_patient_in_each_diagnosis(policy: Yaml) -> None:
    """Diagnoses are found in the data: no patient has more than the policy lets count, and some have more than 4."""
    (visits,) = Clinic().visit_rows(10**6)
    pairs = np.unique(np.stack([visits.patient_id, visits.diagnosis.astype(np.int64)]), axis=1)
    most = np.bincount(pairs[0]).max()
    assert 4 < most <= int(policy["tables"]["visits"]["groups_per_unit"])


def test_demo_margin_is_beyond_ten_percent_when_the_diagnosis_is_rare(policy: Yaml) -> None:
    """The calculation can fail: some fifty visits have no usable average at this price."""
    assert _average_margin(50, 1_700, 5_000, 20, _rho(policy, DEARER) / 3) > 1


def test_policy_declares_the_domains_that_the_sample_enforces(policy: Yaml) -> None:
    """What the policy says about a column is what the tables check."""
    patients, visits = (policy["tables"][name]["columns"] for name in ("patients", "visits"))
    assert list(policy["tables"]) == ["patients", "visits", "prescriptions", "regions"]
    prescriptions = policy["tables"]["prescriptions"]["columns"]
    assert list(prescriptions) == ["prescription_id", "visit_id", "drug", "dose", "prescribed_at"]
    assert prescriptions["drug"]["domain"] == {"in": [drug.name for drug in DRUGS]}
    assert prescriptions["dose"]["domain"] == {"between": ["0", str(HIGHEST_DOSE)]}
    assert policy["time_zone"] == TIME_ZONE
    bounds = prescriptions["prescribed_at"]["domain"]["between"]
    clock = [datetime.fromisoformat(one).replace(tzinfo=ZoneInfo(TIME_ZONE)) for one in bounds]
    assert clock == [FIRST_MOMENT, LAST_MOMENT]
    assert list(patients) == ["patient_id", "region", "birth_year", "income"]
    assert list(visits) == ["visit_id", "patient_id", "diagnosis", "cost", "visit_date"]
    assert patients["region"]["domain"] == {"in": list(REGIONS)}
    assert patients["birth_year"]["domain"] == {"between": ["1920", "2020"]}
    assert patients["income"]["domain"] == {"between": ["0", "200000"]}
    assert visits["cost"]["domain"] == {"between": ["0", "5000"]}
    assert visits["visit_date"]["domain"] == {"between": [str(FIRST_DAY), str(LAST_DAY)]}
    assert policy["tables"]["regions"] == {"public": "true"}


def test_subjects_are_those_of_the_demo() -> None:
    """Two researchers of two teams, an auditor, an admin, and one who may do nothing."""
    subjects = load_subjects(POLICIES)
    assert {name: subject.role for name, subject in subjects.items()} == {
        "alice": "researcher",
        "bob": "researcher",
        "carol": "auditor",
        "dave": "admin",
        "eve": "visitor",
    }
    assert subjects["alice"].team != subjects["bob"].team
    assert subjects["alice"].purposes == subjects["bob"].purposes == ("care-quality",)


def _rho(policy: Yaml, price: Fraction) -> float:
    """What a question at this price takes: its share of the tightest account on the path."""
    delta = float(policy["privacy"]["budget"]["delta"]) / 2
    share = budget(policy)
    caps = (
        policy["privacy"]["budget"]["epsilon"],
        share["epsilon"],
        share["window"]["epsilon"],
    )
    return float(price) * min(_most_rho(float(cap), delta) / float(cap) for cap in caps)


def _most_rho(epsilon: float, delta: float) -> float:
    """The most zCDP that converts into (epsilon, delta)."""
    alpha = 1 + np.logspace(-3, 4, 20_000)

    def converted(rho: float) -> float:
        log = (alpha - 1) * (alpha * rho - epsilon) - np.log(alpha - 1)
        return math.exp(float(np.min(log + alpha * np.log1p(-1 / alpha))))

    low, high = 0.0, epsilon
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if converted(middle) > delta else (middle, high)
    return low


def _sigma(sensitivity: float, rho: float) -> float:
    return sensitivity / math.sqrt(2 * rho)


def _average_margin(
    count: int, average: float, highest: float, contribution: float, rho: float
) -> float:
    """Relative, for m + S / C, where S sums what lies beyond the middle m of the domain."""
    middle = highest / 2
    of_sum = _sigma(contribution * middle, rho)
    of_count = abs(average - middle) * _sigma(contribution, rho)
    return CONFIDENT * math.hypot(of_sum, of_count) / (count * average)
