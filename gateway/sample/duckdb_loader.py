"""DuckDB loader of the clinic: a complete file, or none.

Rows are inserted as numpy columns, a row group at a time, and text as codes that SQL turns into names. The file
grows in a temporary directory beside the target and gets its name when it is complete; readers of the old file
keep it.
"""

import os
import tempfile
from pathlib import Path

import duckdb

from gateway.errors import Code, OperatorError
from gateway.sample.clinic import (
    REGION_ROWS,
    TABLES,
    UNKNOWN,
    Clinic,
    Patients,
    Prescriptions,
    Visits,
)
from gateway.sample.distributions import DIAGNOSES, DRUGS, FIRST_DAY, REGIONS

_REGION_INTO = "INSERT INTO regions VALUES (?, ?, ?)"
# Lists count from 1, and a place before the first is NULL: so -1, the unknown, becomes NULL.
_PATIENTS_INTO = """
    INSERT INTO patients
    SELECT patient_id, ($names::text[])[region + 1], birth_year, nullif(income, $unknown)
    FROM rows_at_hand
"""
_VISITS_INTO = """
    INSERT INTO visits
    SELECT visit_id, patient_id, ($names::text[])[diagnosis + 1],
           CAST(cost_cents::decimal(12, 0) / 100 AS decimal(12, 2)), $first_day::date + day
    FROM rows_at_hand
"""
_PRESCRIPTIONS_INTO = """
    INSERT INTO prescriptions
    SELECT prescription_id, visit_id, ($names::text[])[drug + 1], dose, make_timestamptz(second * 1000000)
    FROM rows_at_hand
"""


def load_into_duckdb(clinic: Clinic, path: Path, *, replace: bool = False) -> None:
    """Write the clinic to `path`; an existing file is kept unless `replace` is set."""
    log = path.with_name(f"{path.name}.wal")
    if not replace:
        _refuse_existing(path, log)
    try:
        with tempfile.TemporaryDirectory(prefix=".sample-", dir=path.parent) as directory:
            complete = Path(directory) / "clinic.duckdb"
            _write(clinic, complete)
            if not replace:  # another process may have been faster
                _refuse_existing(path, log)
            log.unlink(missing_ok=True)  # it belongs to the old file and would damage the new one
            complete.replace(path)
    except (OSError, duckdb.Error) as error:
        problem = error.strerror if isinstance(error, OSError) else str(error).partition("\n")[0]
        raise OperatorError(
            Code.ARGUMENT_INVALID, f"`{path}` cannot be written: {problem}"
        ) from None


def _refuse_existing(path: Path, log: Path) -> None:
    for there in (path, log):
        if os.path.lexists(there):
            raise OperatorError(
                Code.ARGUMENT_INVALID,
                f"`{there}` exists already",
                "give --replace to write it anew",
            )


def _write(clinic: Clinic, path: Path) -> None:
    with duckdb.connect(path) as connection:
        for table in TABLES:
            # Its foreign keys are indexes too, and cannot be added later.
            connection.execute(table.create(with_keys=True))
        connection.executemany(_REGION_INTO, [list(row) for row in REGION_ROWS])
        for patients in clinic.patient_rows():
            _insert(connection, _PATIENTS_INTO, patients, {"names": REGIONS, "unknown": UNKNOWN})
        names = tuple(diagnosis.name for diagnosis in DIAGNOSES)
        for visits in clinic.visit_rows():
            _insert(connection, _VISITS_INTO, visits, {"names": names, "first_day": FIRST_DAY})
        drugs = tuple(drug.name for drug in DRUGS)
        for some in clinic.prescription_rows():
            _insert(connection, _PRESCRIPTIONS_INTO, some, {"names": drugs})


def _insert(
    connection: duckdb.DuckDBPyConnection,
    statement: str,
    rows: Patients | Visits | Prescriptions,
    parameters: dict[str, object],
) -> None:
    """Insert in batches that commit by themselves: that keeps memory low, and the file has no name yet."""
    connection.register("rows_at_hand", vars(rows))
    connection.execute(statement, parameters)
    connection.unregister("rows_at_hand")
