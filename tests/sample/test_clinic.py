import hashlib
from collections.abc import Iterator
from dataclasses import astuple
from datetime import datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from numpy.typing import NDArray

from gateway.sample.clinic import UNKNOWN, Clinic, Patients, Prescriptions, Visits
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

# A new value here means other answers in the demo and in the documentation: never by accident.
GOLDEN = "7f53b728e689f7ea23f81f78ecc9c566728ee551bc098c6627e98ef00b4b7afe"


def columns(
    chunks: Iterator[Patients] | Iterator[Visits] | Iterator[Prescriptions],
) -> list[NDArray[np.int64]]:
    parts = [astuple(chunk) for chunk in chunks]
    return [np.concatenate(part).astype(np.int64) for part in zip(*parts, strict=True)]


def checksum(clinic: Clinic, rows: int = 122_880) -> str:
    told = hashlib.sha256()
    tables = (clinic.patient_rows(rows), clinic.visit_rows(rows))
    prescribed = columns(clinic.prescription_rows(rows))
    for column in (*(one for table in tables for one in columns(table)), *prescribed):
        told.update(column.astype("<i8").tobytes())
    return told.hexdigest()


@cache
def patients() -> Patients:
    return Patients(*columns(Clinic().patient_rows()))  # type: ignore[arg-type]  # wider integers


@cache
def visits() -> Visits:
    return Visits(*columns(Clinic().visit_rows()))  # type: ignore[arg-type]  # wider integers


def test_clinic_is_the_same_everywhere() -> None:
    """Everyone's sample has the same rows, on every machine and in every release."""
    assert checksum(Clinic()) == GOLDEN


def test_clinic_has_other_people_when_the_seed_is_another() -> None:
    """The golden checksum can tell samples apart."""
    assert checksum(Clinic(seed=2)) != GOLDEN


@pytest.mark.parametrize("rows", [1, 7, 64, 1_000, 10**9])
def test_clinic_is_the_same_when_made_in_other_chunks(rows: int) -> None:
    """How many rows are made at a time changes no row."""
    clinic = Clinic(patients=100, visits=600)
    assert checksum(clinic, rows) == checksum(clinic)


@pytest.mark.parametrize("rows", [1, 7, 600, 601])
def test_clinic_keeps_chunks_within_the_rows_asked_for(rows: int) -> None:
    """Memory is bounded by the chunk: none has more rows than were asked for."""
    sizes = [chunk.visit_id.size for chunk in Clinic(patients=100, visits=600).visit_rows(rows)]
    assert max(sizes) <= rows
    assert sum(sizes) == 600


def test_clinic_grows_with_the_scale() -> None:
    """20,000 patients and 120,000 visits at scale 1, and ten million visits are within reach."""
    assert Clinic.at_scale(1) == Clinic(20_000, 120_000)
    assert Clinic.at_scale(250 / 3).visits == 10_000_000
    assert Clinic.at_scale(0.001) == Clinic(20, 120)


@pytest.mark.parametrize("scale", [0.0, -1.0, 0.0009, 1_001.0, float("nan"), float("inf")])
def test_clinic_is_refused_when_the_scale_makes_no_sense(scale: float) -> None:
    """A scale that would give no clinic, or one that fills the disk, is an error."""
    with pytest.raises(ValueError, match="between"):
        Clinic.at_scale(scale)


@pytest.mark.parametrize("sizes", [(0, 0, 1), (1, -1, 1), (1, 1, -1)])
def test_clinic_is_refused_when_a_number_makes_no_sense(sizes: tuple[int, int, int]) -> None:
    """A clinic without patients, or with a negative number of anything, cannot be made."""
    with pytest.raises(ValueError, match=r"must not be negative|at least one"):
        Clinic(*sizes)


def test_clinic_may_be_a_single_patient_without_visits() -> None:
    """The smallest clinic has a row of patients and none of visits."""
    assert len(columns(Clinic(1, 0).patient_rows())[0]) == 1
    assert list(Clinic(1, 0).visit_rows()) == []


def test_patients_stay_within_the_domains_of_the_policy() -> None:
    """Every declared domain holds, and both ends of it are used."""
    assert np.array_equal(patients().patient_id, np.arange(1, 20_001))
    assert set(patients().region) == set(range(len(REGIONS)))
    assert (patients().birth_year.min(), patients().birth_year.max()) == (1920, 2020)
    known = patients().income[patients().income != UNKNOWN]
    assert known.min() >= 0
    assert known.max() == 200_000


def test_patients_have_uneven_regions_and_skewed_incomes() -> None:
    """Regions differ in size and in income; the mean income is above the median."""
    shares = np.bincount(patients().region) / patients().region.size
    assert shares.max() > 1.8 * shares.min() > 1.8 * 0.15
    known = patients().income != UNKNOWN
    assert 0.02 < 1 - known.mean() < 0.04
    income = patients().income[known]
    assert income.mean() > 1.15 * np.median(income)
    south, west = (
        np.median(income[patients().region[known] == REGIONS.index(name)])
        for name in ("south", "west")
    )
    assert south > 1.25 * west


def test_visits_are_heavy_tailed() -> None:
    """Most people have few visits, some more than the ten that count, a handful hundreds."""
    per_person = np.bincount(visits().patient_id, minlength=20_001)[1:]
    assert np.median(per_person) == 5
    assert 0.05 < (per_person > 10).mean() < 0.15
    assert 3 <= (per_person >= 200).sum() <= 20
    assert (per_person == 0).any()
    # what bounding to ten leaves out must not spoil the demo's totals
    assert np.minimum(per_person, 10).sum() > 0.9 * per_person.sum()


def test_visits_stay_within_the_domains_of_the_policy() -> None:
    """Every visit belongs to a patient, costs 0 to 5,000 and lies in the seven years."""
    assert np.array_equal(visits().visit_id, np.arange(1, 120_001))
    assert visits().patient_id.min() >= 1
    assert visits().patient_id.max() <= 20_000
    assert visits().cost_cents.min() >= 0
    assert visits().cost_cents.max() == 500_000
    assert visits().day[0] == 0
    assert visits().day[-1] == (LAST_DAY - FIRST_DAY).days
    assert (np.diff(visits().day) >= 0).all()


def test_visits_have_common_and_very_rare_diagnoses() -> None:
    """A few diagnoses make up most visits, some are so rare that they must not come back."""
    known = visits().diagnosis[visits().diagnosis != UNKNOWN]
    assert 0.01 < 1 - known.size / visits().diagnosis.size < 0.03
    often = np.bincount(known, minlength=len(DIAGNOSES))
    assert len(DIAGNOSES) == 25
    assert (often > 7_000).sum() >= 8
    assert (often > 0).all()
    assert 3 <= (often < 100).sum() <= 6
    assert (often < 12).sum() >= 2


def test_visits_have_few_diagnoses_a_person() -> None:
    """People come back with what they have: few exceed the four groups that count."""
    pairs = np.unique(np.column_stack((visits().patient_id, visits().diagnosis)), axis=0)
    groups = np.bincount(pairs[:, 0])
    assert (groups > 4).mean() < 0.2


def test_visits_cost_more_for_the_old_and_the_gravely_ill() -> None:
    """Cost depends on the diagnosis and on age."""
    born = patients().birth_year[visits().patient_id - 1]
    names = [diagnosis.name for diagnosis in DIAGNOSES]
    back_pain = visits().diagnosis == names.index("back pain")
    cancer = visits().diagnosis == names.index("cancer")
    cost = visits().cost_cents
    assert cost[cancer].mean() > 1.5 * cost[back_pain].mean()
    assert cost[back_pain & (born < 1950)].mean() > 1.15 * cost[back_pain & (born > 1985)].mean()


def test_visits_have_seasons_and_a_trend() -> None:
    """Januaries are busier than Julies, every year is busier than the one before, weekends quiet."""
    dates = np.datetime64(FIRST_DAY) + visits().day
    by_month = np.bincount(dates.astype("datetime64[M]").astype(np.int64) - 600).reshape(7, 12)
    assert (by_month[:, 0] > 1.3 * by_month[:, 6]).all()
    assert (np.diff(by_month.sum(axis=1)) > 0).all()
    weekday = (visits().day + FIRST_DAY.weekday()) % 7
    assert (weekday >= 5).mean() < 0.15
    influenza = visits().diagnosis == [each.name for each in DIAGNOSES].index("influenza")
    flu = np.bincount(dates[influenza].astype("datetime64[M]").astype(np.int64) % 12)
    assert flu[0] > 4 * flu[6]


def test_prescriptions_are_of_visits_and_mostly_of_the_usual_drug() -> None:
    """They come in the order of their visits, up to three at one; doses stay within the domain of the policy."""
    found = Prescriptions(*columns(Clinic().prescription_rows()))  # type: ignore[arg-type]  # wider integers
    assert found.prescription_id.tolist() == list(range(1, len(found.visit_id) + 1))
    assert np.all(np.diff(found.visit_id) >= 0)
    assert np.unique(found.visit_id, return_counts=True)[1].max() == 3
    at = found.visit_id - 1
    assert found.dose.min() >= 1
    assert found.dose.max() <= HIGHEST_DOSE
    names = np.array([drug.name for drug in DRUGS])[found.drug]
    diabetes = [one.name for one in DIAGNOSES].index("diabetes")
    usual = names[visits().diagnosis[at] == diabetes] == "metformin"
    assert 0.6 < usual.mean() < 0.8


def test_prescriptions_are_written_on_the_day_of_the_visit_on_the_clock_of_the_clinic() -> None:
    """Their times lie in the hours of the practice, in summer and in winter, and follow each other at a visit."""
    found = Prescriptions(*columns(Clinic().prescription_rows()))  # type: ignore[arg-type]  # wider integers
    zone, at = ZoneInfo(TIME_ZONE), found.visit_id - 1
    seconds = found.second.tolist()
    clock = [datetime.fromtimestamp(second, zone) for second in seconds]
    days = [FIRST_DAY + timedelta(days=day) for day in visits().day[at].tolist()]
    assert [one.date() for one in clock] == days
    assert FIRST_MOMENT.timestamp() <= min(seconds)
    assert max(seconds) <= LAST_MOMENT.timestamp()
    hours = np.bincount([one.hour for one in clock], minlength=24)
    assert set(np.flatnonzero(hours)) == set(range(7, 20))
    assert hours[9:12].min() > 1.5 * hours[12:14].max()
    same = np.diff(found.visit_id) == 0
    assert (np.diff(found.second)[same] == 75).all()
    summer = np.array([one.utcoffset() == timedelta(hours=2) for one in clock])
    assert 0.4 < summer.mean() < 0.6
