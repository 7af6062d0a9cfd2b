"""Sample clinic of invented people, the same for every user, for DuckDB and for PostgreSQL."""

from gateway.sample.clinic import Clinic, Patients, Visits
from gateway.sample.duckdb_loader import load_into_duckdb
from gateway.sample.postgres_loader import Existing, ReaderLogin, load_into_postgres

__all__ = [
    "Clinic",
    "Existing",
    "Patients",
    "ReaderLogin",
    "Visits",
    "load_into_duckdb",
    "load_into_postgres",
]
