"""Distributions of the sample: where people live, their age and income, their visits' dates, diagnoses and
costs, and what is prescribed at which time of the day.

Each is a function from uniform random numbers to values, a whole column at a time. The long tail of diagnoses
is intended: a diagnosis of a handful of people must not appear in a query that groups by it, and a sample
without such a diagnosis could not show that.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray


class Diagnosis(NamedTuple):
    """One line of the table; the three shares are relative to the others of the same age group."""

    name: str
    child: float
    adult: float
    senior: float
    winter: float  # how many times more often than in summer
    cost: int  # the median for a person of 40, in 2020
    lasting: bool  # a person keeps it and comes back with it


DIAGNOSES: tuple[Diagnosis, ...] = (
    Diagnosis("hypertension", 0.2, 15, 26, 1.0, 1450, lasting=True),
    Diagnosis("respiratory infection", 30, 15, 11, 2.4, 1150, lasting=False),
    Diagnosis("back pain", 2, 16, 12, 1.0, 1300, lasting=True),
    Diagnosis("diabetes", 2, 9, 15, 1.0, 1900, lasting=True),
    Diagnosis("injury", 18, 11, 9, 1.2, 1750, lasting=False),
    Diagnosis("depression", 3, 12, 6, 1.2, 1400, lasting=True),
    Diagnosis("asthma", 14, 6, 3, 1.3, 1100, lasting=True),
    Diagnosis("check-up", 12, 5, 5, 0.9, 600, lasting=False),
    Diagnosis("dermatitis", 8, 5, 3, 0.9, 700, lasting=False),
    Diagnosis("arthritis", 0.3, 5, 12, 1.1, 1650, lasting=True),
    Diagnosis("gastroenteritis", 8, 4, 3, 1.5, 900, lasting=False),
    Diagnosis("influenza", 7, 4, 4, 6.0, 1000, lasting=False),
    Diagnosis("allergy", 6, 4, 1.5, 0.4, 650, lasting=False),
    Diagnosis("migraine", 1.5, 4, 1.5, 1.0, 950, lasting=True),
    Diagnosis("copd", 0.05, 2, 8, 1.5, 1900, lasting=True),
    Diagnosis("heart failure", 0.1, 1.2, 9, 1.3, 2300, lasting=True),
    Diagnosis("pneumonia", 1.5, 1, 4, 2.5, 1900, lasting=False),
    Diagnosis("kidney disease", 0.2, 1, 4, 1.0, 2100, lasting=True),
    Diagnosis("cancer", 0.3, 1.2, 4, 1.0, 2700, lasting=True),
    Diagnosis("stroke", 0.05, 0.4, 3, 1.1, 2600, lasting=False),
    Diagnosis("epilepsy", 0.6, 0.5, 0.4, 1.0, 1800, lasting=True),
    Diagnosis("tuberculosis", 0.03, 0.06, 0.06, 1.1, 1900, lasting=False),
    Diagnosis("cystic fibrosis", 0.12, 0.03, 0.0, 1.0, 2500, lasting=True),
    Diagnosis("malaria", 0.005, 0.02, 0.005, 0.7, 1800, lasting=False),
    Diagnosis("porphyria", 0.0, 0.006, 0.004, 1.0, 2000, lasting=False),
)


class Drug(NamedTuple):
    """A drug, its usual dose in milligrams, and the diagnoses that it is usually prescribed for."""

    name: str
    dose: int
    diagnoses: tuple[str, ...]


DRUGS: tuple[Drug, ...] = (
    Drug("amlodipine", 5, ("hypertension", "kidney disease")),
    Drug("amoxicillin", 500, ("respiratory infection", "pneumonia", "tuberculosis")),
    Drug("bisoprolol", 5, ("heart failure", "stroke")),
    Drug("cetirizine", 10, ("allergy", "dermatitis")),
    Drug("ibuprofen", 400, ("back pain", "injury", "arthritis", "influenza")),
    Drug("metformin", 850, ("diabetes",)),
    Drug("ondansetron", 8, ("cancer", "gastroenteritis")),
    Drug("salbutamol", 2, ("asthma", "copd", "cystic fibrosis")),
    Drug("sertraline", 50, ("depression",)),
    Drug("sumatriptan", 50, ("migraine", "epilepsy")),
)


FIRST_DAY = date(2020, 1, 1)
LAST_DAY = date(2026, 12, 31)
TIME_ZONE = "Europe/Berlin"  # of the clinic's clock; both ends of its time are in winter, an hour before UTC
FIRST_MOMENT = datetime(2019, 12, 31, 23, tzinfo=UTC)
LAST_MOMENT = datetime(2026, 12, 31, 22, 59, 59, tzinfo=UTC)
OLDEST, YOUNGEST = 1920, 2020
HIGHEST_INCOME = 200_000
HIGHEST_COST = 5_000
HIGHEST_DOSE = 2_000
REGIONS = ("north", "east", "south", "west")

Floats = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]
Longs = NDArray[np.int64]
Ints = NDArray[np.int32]
Shares = tuple[float, ...]

_DAYS = (LAST_DAY - FIRST_DAY).days + 1
_REGION_SHARES = (0.27, 0.22, 0.34, 0.17)
_REGION_INCOMES = np.array([41_000.0, 36_000.0, 45_000.0, 31_000.0])
_INCOME_SPREAD, _COST_SPREAD = 0.36, 0.22

# Piecewise linear: the share of the people below each value, or the value by year of birth.
_BIRTH_YEARS = ((0.0, 0.02, 0.12, 0.5, 0.84, 1.0), (1920, 1931, 1944, 1969, 2000, 2021))
_INCOME_BY_BIRTH = ((1920, 1950, 1970, 1990, 2020), (0.6, 0.8, 1.2, 1.05, 0.95))
_VISITS_A_PERSON = (
    (0.0, 0.05, 0.5, 0.92, 0.98, 0.997, 0.9995, 1.0),
    (0.3, 2.2, 5.2, 7.0, 9.0, 20.0, 60.0, 420.0),
)
# By share of the visits of a day: the hour of the clinic's clock, from half past seven; noon is quiet.
_HOURS = ((0.0, 0.06, 0.5, 0.58, 0.92, 1.0), (7.5, 8.5, 12.0, 14.0, 17.5, 19.5))
_VISITS_BY_BIRTH = ((1920, 1960, 1990, 2020), (1.15, 1.05, 0.9, 0.95))


@dataclass(frozen=True)
class _Mix:
    """Cumulative shares of several groups end to end, so that one search serves rows of them all."""

    up_to: Floats
    width: int

    @classmethod
    def of(cls, groups: list[Shares]) -> Self:
        parts = [_cumulated(shares) + at for at, shares in enumerate(groups)]
        return cls(np.concatenate(parts), len(groups[0]))

    def pick(self, uniform: Floats, group: Longs) -> Longs:
        found = np.searchsorted(self.up_to, uniform + group, "right") - group * self.width
        return np.asarray(np.clip(found, 0, self.width - 1), dtype=np.int64)


def draw_regions(uniform: Floats) -> Longs:
    return np.searchsorted(_cumulated(_REGION_SHARES)[:-1], uniform, "right").astype(np.int64)


def birth_years(uniform: Floats) -> NDArray[np.int16]:
    return np.minimum(np.interp(uniform, *_BIRTH_YEARS), YOUNGEST).astype(np.int16)


def household_incomes(uniform: Floats, region: Longs, born: Integers) -> Ints:
    """The income of a person's household, so that children have some too."""
    middle = _REGION_INCOMES[region] * np.interp(born, *_INCOME_BY_BIRTH)
    return _skewed(uniform, middle, _INCOME_SPREAD, HIGHEST_INCOME)


def visits_up_to(uniform: Floats, born: Integers) -> Longs:
    """The cumulated number of visits of people, in whole numbers: a sum of floats could drift."""
    often = np.interp(uniform, *_VISITS_A_PERSON) * np.interp(born, *_VISITS_BY_BIRTH)
    return np.cumsum(np.rint(often * 1_000), dtype=np.int64)


def visit_days(share_of_time: Floats) -> Ints:
    """The day by which that share of all visits has happened; there are more in winter, on weekdays, and in
    later years.
    """
    found = np.searchsorted(_DAYS_UP_TO, share_of_time, "right")
    return np.minimum(found, _DAYS - 1).astype(np.int32)


def lasting_diagnoses(uniform: Floats, born: Integers) -> Longs:
    """The chronic diagnosis of a person."""
    return _LASTING.pick(uniform, _age_group(FIRST_DAY.year - born))


def acute_diagnoses(uniform: Floats, born: Integers, day: Ints) -> Longs:
    season = len(_AGE_GROUPS) * _WINTER_OF_DAY[day]
    return _ACUTE.pick(uniform, season + _age_group(_ages(born, day)))


def visit_costs(uniform: Floats, diagnosis: Longs, born: Integers, day: Ints) -> Ints:
    """The cost of a visit in cents; it rises with age and with the year."""
    middle = _COSTS[diagnosis] * (0.8 + 0.005 * _ages(born, day)) * _PRICES_OF_DAY[day]
    return _skewed(uniform, 100 * middle, _COST_SPREAD, 100 * HIGHEST_COST)


def prescriptions_of_visits(uniform: Floats) -> Longs:
    """How many drugs are prescribed at a visit: none, one, two or three."""
    return np.searchsorted(_PRESCRIPTIONS_UP_TO, uniform, "right").astype(np.int64)


def prescribed_drugs(uniform: Floats, diagnosis: Longs) -> Longs:
    """The usual drug of the diagnosis, or, less often, any drug."""
    other = np.minimum((uniform / _USUAL_SHARE * len(DRUGS)).astype(np.int64), len(DRUGS) - 1)
    is_usual = (uniform >= _USUAL_SHARE) & (_USUAL_DRUGS[diagnosis] >= 0)
    return np.where(is_usual, _USUAL_DRUGS[diagnosis], other % len(DRUGS))


def prescribed_doses(uniform: Floats, drug: Longs) -> Ints:
    """Half of the usual dose, the dose, or twice as much."""
    return np.rint(_DOSES[drug] * np.where(uniform < 1 / 3, 1, np.where(uniform < 2 / 3, 2, 4)) / 2).astype(np.int32)  # fmt: skip


def prescribed_times(uniform: Floats, day: Ints, place: Longs) -> Longs:
    """Seconds since 1970, UTC: when a drug is written down, given the number of those before it at the visit."""
    minute = np.interp(uniform, *_HOURS) * 60
    # a minute or so for each drug, so that no two have the same time
    second = np.rint(minute * 60).astype(np.int64) + 75 * place
    return np.asarray(_MIDNIGHT_OF_DAY[day] + second)


def _skewed(uniform: Floats, middle: Floats, spread: float, highest: int) -> Ints:
    """Log-logistic, as incomes and bills are: most near the middle, a long way up; whole units."""
    drawn = middle * (uniform / (1.0 - uniform)) ** spread
    return np.rint(np.minimum(drawn, highest)).astype(np.int32)


def _ages(born: Integers, day: Ints) -> Longs:
    return np.asarray(np.maximum(_YEAR_OF_DAY[day] - born, 0), dtype=np.int64)


def _age_group(ages: Integers) -> Longs:
    """By index into _AGE_GROUPS: below 18, below 65, from there."""
    return np.searchsorted(np.array([18, 65]), ages, "right").astype(np.int64)


def _cumulated(shares: Shares | Floats) -> Floats:
    total = np.cumsum(np.asarray(shares, dtype=np.float64))
    return np.asarray(total / total[-1])


def _calendar() -> tuple[Floats, Longs, Longs, Floats]:
    """By day: the share of visits up to it, its year, whether it is winter, the price level."""
    count = np.arange(_DAYS)
    dates = np.datetime64(FIRST_DAY) + count
    years = dates.astype("datetime64[Y]")
    day_of_year = (dates - years).astype(np.int64)
    weekend = (count + FIRST_DAY.weekday()) % 7 >= 5  # noqa: PLR2004  # Saturday is 5
    season = 1.0 + 0.22 * np.cos((day_of_year - 20) * (2 * np.pi / 365.25))
    trend = 1.0 + 0.06 * count / 365.25
    winter = (day_of_year < 90) | (day_of_year >= 320)  # noqa: PLR2004  # mid November to March
    return (
        _cumulated(season * trend * np.where(weekend, 0.35, 1.0)),
        years.astype(np.int64) + 1970,
        winter.astype(np.int64),
        np.asarray(1.0 + 0.02 * count / 365.25),
    )


def _midnights() -> Longs:
    """By day: where the clinic's clock begins it, in seconds since 1970; exact from four in the morning on.

    The clock is an hour ahead of UTC, and two from the last Sunday of March to the day before the last of October.
    It is written out because the sample must not depend on a machine's time zones.
    """
    days = [FIRST_DAY + timedelta(days=count) for count in range(_DAYS)]
    ahead = [
        2 if _last_sunday(one.year, 3) <= one < _last_sunday(one.year, 10) else 1 for one in days
    ]
    first = (FIRST_DAY - date(1970, 1, 1)).days
    return (first + np.arange(_DAYS, dtype=np.int64)) * 86_400 - 3_600 * np.array(
        ahead, dtype=np.int64
    )


def _last_sunday(year: int, month: int) -> date:
    last = date(year, month, 31)
    return last - timedelta(days=last.isoweekday() % 7)


_PRESCRIPTIONS_UP_TO = np.array([0.45, 0.8, 0.95])
_USUAL_SHARE = 0.3  # of prescriptions, that are of any drug
_USUAL_DRUGS = np.array(
    [
        next((place for place, one in enumerate(DRUGS) if each.name in one.diagnoses), -1)
        for each in DIAGNOSES
    ]
    + [-1],  # an unknown diagnosis has the index -1
    dtype=np.int64,
)
_DOSES = np.array([each.dose for each in DRUGS], dtype=np.float64)
_DAYS_UP_TO, _YEAR_OF_DAY, _WINTER_OF_DAY, _PRICES_OF_DAY = _calendar()
_MIDNIGHT_OF_DAY = _midnights()
_COSTS = np.array([each.cost for each in DIAGNOSES], dtype=np.float64)
_AGE_GROUPS = (
    tuple(each.child for each in DIAGNOSES),
    tuple(each.adult for each in DIAGNOSES),
    tuple(each.senior for each in DIAGNOSES),
)
_LASTING = _Mix.of(
    [
        tuple(share * each.lasting for share, each in zip(shares, DIAGNOSES, strict=True))
        for shares in _AGE_GROUPS
    ]
)
_ACUTE = _Mix.of(
    [
        tuple(
            share * (each.winter if winter else 1.0) * (not each.lasting)
            for share, each in zip(shares, DIAGNOSES, strict=True)
        )
        for winter in (False, True)
        for shares in _AGE_GROUPS
    ]
)
