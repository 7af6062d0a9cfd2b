"""A small clinic: everybody in it has three doubles, so that no group that there is has fewer than four persons.

All values are within their declared domains and on their steps, and nobody exceeds a bound: where the noise
is nothing, an answer is what plain PostgreSQL gives.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

Row = tuple[object, ...]

KINDS: Final = 24
DOUBLES: Final = 4
TABLES: Final = """
CREATE TABLE patients (
    patient_id bigint PRIMARY KEY, region text, birth_year integer NOT NULL, income numeric,
    smoker boolean, name text
);
CREATE TABLE visits (
    visit_id bigint PRIMARY KEY, patient_id bigint NOT NULL, diagnosis text, cost numeric(12, 2),
    visit_date date NOT NULL, admitted timestamp, weight double precision
);
CREATE TABLE calls (
    call_id bigint PRIMARY KEY, patient_id bigint NOT NULL, began timestamptz, ended timestamptz NOT NULL, minutes integer
);
CREATE TABLE regions (region text PRIMARY KEY, capital text, population integer);
CREATE TABLE codes (code text PRIMARY KEY, chapter text);
"""
_REGIONS: Final = ("north", "north", "north", "south", "south", "east", "east", "west")
_NAMES: Final = (
    "O'Hara\n\tJr",
    'Zoë "Zed" Ünal',
    "back\\slash",
    "комма, {скобка}",
    "",
    "NULL",
    "  spaced ",
)
_DIAGNOSES: Final = ("flu", "asthma", "crohn's", 'ÄÖ "q", {x}', "common cold", "FLU-like", "flu")
_CHANGES: Final = (
    # around changes of clocks in Berlin, New York, Lord Howe and São Paulo's midnight
    *(datetime(2024, 3, 31, hour, 30, tzinfo=UTC) for hour in (0, 1)),
    *(datetime(2024, 10, 27, hour, 30, tzinfo=UTC) for hour in (0, 1)),
    *(datetime(2023, 3, 12, hour, 59, 59, tzinfo=UTC) for hour in (6, 7)),
    *(datetime(2022, 10, 1, hour, 15, tzinfo=UTC) for hour in (15, 16)),
    *(datetime(2021, 12, 31, hour, 45, tzinfo=UTC) for hour in (3, 15, 23)),
)
_BEGIN: Final = datetime(2020, 1, 1)  # noqa: DTZ001 - the columns have no zone


def rows() -> dict[str, list[Row]]:
    """The rows of every table."""
    everybody = [(kind, double) for kind in range(KINDS) for double in range(DOUBLES)]
    visits = [visit for one in everybody for visit in _visits(*one)]
    return {
        "patients": [_patient(*one) for one in everybody],
        "visits": [(number, *visit) for number, visit in enumerate(visits, 1)],
        "calls": [
            (number, *call)
            for number, call in enumerate((call for one in everybody for call in _calls(*one)), 1)
        ],
        "regions": [
            ("north", "Nordstadt", 1200),
            ("south", "L'Étang", 900),
            ("east", 'Ost "O"', 1500),
            ("west", None, None),
            ("atlantis", "Poseidonis", 7),
        ],
        "codes": [
            ("flu", "respiratory"),
            ("asthma", "respiratory"),
            ("crohn's", "digestive"),
            ("gout", "skeletal"),
        ],
    }


def _patient(kind: int, double: int) -> Row:
    return (
        DOUBLES * kind + double + 1,
        None if kind % 13 == 12 else _REGIONS[kind % 8],
        1925 + kind * 37 % 91,
        None if kind % 3 == 2 and double == 1 else kind * 61_813 % 200_001,
        None if kind % 10 == 9 else kind % 3 == 0,
        None if kind % 9 == 8 else _NAMES[kind % 7],
    )


def _visits(kind: int, double: int) -> Iterator[Row]:
    for one in range(0 if kind == 13 else 1 + kind % 5):
        day = _BEGIN + timedelta(days=(kind * 53 + one * 331) % 2_500)
        admitted = day + timedelta(hours=(kind + 7 * one) % 24, minutes=kind % 4 * 15)
        yield (
            DOUBLES * kind + double + 1,
            None if (kind + one) % 12 == 7 else _DIAGNOSES[(kind + 2 * one) % 7],
            None
            if double == 3 and (kind + one) % 4 == 1
            else (kind * 12_377 + one * 77_171) % 500_001 / 100,
            day.date(),
            None if kind % 8 == 6 else admitted,
            None if one == 3 else float(1 + (kind * 31 + one * 17) % 300),
        )


def _calls(kind: int, double: int) -> Iterator[Row]:
    for one in range(kind % 4):
        began = _BEGIN.replace(tzinfo=UTC) + timedelta(
            days=(kind * 97 + one * 211) % 2_400, minutes=(kind * 331 + one * 97) % 1_440
        )
        if one == 1:
            began = _CHANGES[kind % len(_CHANGES)]
        minutes = (kind * 7 + one * 13) % 90
        yield (
            DOUBLES * kind + double + 1,
            None if kind % 11 == 10 else began,
            began + timedelta(minutes=minutes),
            minutes,
        )
