"""What the clinic of the sample treats: how often, whom, in which season, and for how much.

The long tail is there on purpose. A diagnosis that a handful of people have must not come back from
a question that groups by it, and a sample without such a diagnosis could not show that.
"""

from typing import NamedTuple


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
