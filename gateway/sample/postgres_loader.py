"""PostgreSQL loader of the clinic: one transaction, all or nothing.

Rows are inserted by binary COPY into tables without keys; keys and indexes follow: that is several times faster
than maintaining them row by row. FREEZE spares the database a later rewrite.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from pydantic import SecretStr
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from gateway.errors import Code, OperatorError
from gateway.sample import binary_copy as binary
from gateway.sample.clinic import REGION_ROWS, TABLES, Clinic
from gateway.sample.distributions import DIAGNOSES, DRUGS, FIRST_DAY, REGIONS

Connection = psycopg.Connection[tuple[object, ...]]

_CONNECT_SECONDS = 10


class Existing(Enum):
    """What to do if the tables exist already."""

    REFUSE = "refuse"
    KEEP = "keep"
    REPLACE = "replace"


@dataclass(frozen=True)
class ReaderLogin:
    """A log-in that can read the clinic and do nothing else, as the gateway's source requires."""

    password: SecretStr
    name: str = "clinic_reader"


def load_into_postgres(
    clinic: Clinic,
    url: str,
    *,
    existing: Existing = Existing.REFUSE,
    reader: ReaderLogin | None = None,
) -> bool:
    """True if the clinic was loaded, False if it existed and was kept. A reader is created either way."""
    target = _read_url(url)
    with _connect(target) as connection:
        try:
            loaded = _prepare(connection, existing)
            if loaded:
                _fill(connection, clinic)
            if reader is not None:
                _admit(connection, reader)
            connection.commit()
        except psycopg.Error as error:
            problem = error.diag.message_primary or str(error).partition("\n")[0]
            raise OperatorError(
                Code.ARGUMENT_INVALID, f"{_place(target)} did not take the sample: {problem}"
            ) from None
    return loaded


def _read_url(url: str) -> URL:
    """A PostgreSQL URL in any spelling; a bad one is not repeated, because it may contain a password."""
    try:
        target = make_url(url)
    except (ArgumentError, ValueError):
        raise OperatorError(
            Code.ARGUMENT_INVALID, "this is no URL such as postgresql://user@host/database"
        ) from None
    if target.get_backend_name() != "postgresql":
        raise OperatorError(Code.ARGUMENT_INVALID, "the URL must begin with postgresql://")
    return target


def _place(target: URL) -> str:
    host = target.host or target.query.get("host") or "the default host"
    port = f":{target.port}" if target.port else ""
    return f"the database `{target.database or ''}` at `{host}{port}`"


def _connect(target: URL) -> Connection:
    """Connect by keywords, so that no part of the URL is parsed twice by different rules."""
    keywords: dict[str, Any] = {"connect_timeout": _CONNECT_SECONDS, "application_name": "gateway"}
    for name, value in target.query.items():
        keywords[name] = value if isinstance(value, str) else ",".join(value)
    keywords |= target.translate_connect_args(username="user", database="dbname")
    try:
        return psycopg.connect(**keywords)
    except psycopg.Error as error:
        raise OperatorError(
            Code.ARGUMENT_INVALID,
            f"{_place(target)} cannot be reached: {' '.join(str(error).split())}",
            "a password may also come from PGPASSWORD or a password file",
        ) from None


def _prepare(connection: Connection, existing: Existing) -> bool:
    """True if the tables are to be filled; they were created together, so one stands for all."""
    names = [table.name for table in TABLES]
    found = connection.execute(
        "SELECT name FROM unnest(%s::text[]) AS name WHERE to_regclass(quote_ident(name)) IS NOT NULL",
        [names],
    ).fetchall()
    if not found:
        return True
    there = ", ".join(f"`{name}`" for (name,) in found)
    if existing is Existing.KEEP:
        if len(found) < len(TABLES):
            raise OperatorError(
                Code.ARGUMENT_INVALID,
                f"of the sample's tables only {there} exist",
                "give --replace",
            )
        return False
    if existing is Existing.REFUSE:
        raise OperatorError(
            Code.ARGUMENT_INVALID,
            f"there are tables {there} already",
            "give --replace to write them anew, --keep to leave them",
        )
    connection.execute("DROP TABLE IF EXISTS prescriptions, visits, patients, regions")
    return True


def _fill(connection: Connection, clinic: Clinic) -> None:
    for table in TABLES:
        connection.execute(table.create(with_keys=False))
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO regions VALUES (%s, %s, %s)", REGION_ROWS)
    _copy(connection, "COPY patients FROM STDIN (FORMAT binary, FREEZE)", _patients(clinic))
    _copy(connection, "COPY visits FROM STDIN (FORMAT binary, FREEZE)", _visits(clinic))
    _copy(
        connection,
        "COPY prescriptions FROM STDIN (FORMAT binary, FREEZE)",
        _prescriptions(clinic),
    )
    for table in TABLES:
        for statement in table.add_keys():
            connection.execute(statement)
    connection.execute("ANALYZE regions, patients, visits, prescriptions")


def _copy(connection: Connection, statement: LiteralString, blocks: Iterator[bytes]) -> None:
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(binary.HEADER)
        for block in blocks:
            copy.write(block)
        copy.write(binary.TRAILER)


def _patients(clinic: Clinic) -> Iterator[bytes]:
    for rows in clinic.patient_rows():
        yield binary.rows(
            binary.bigint(rows.patient_id),
            binary.text(rows.region, REGIONS),
            binary.integer(rows.birth_year),
            binary.numeric(rows.income, scale=0),
        )


def _visits(clinic: Clinic) -> Iterator[bytes]:
    names = [diagnosis.name for diagnosis in DIAGNOSES]
    for rows in clinic.visit_rows():
        yield binary.rows(
            binary.bigint(rows.visit_id),
            binary.bigint(rows.patient_id),
            binary.text(rows.diagnosis, names),
            binary.numeric(rows.cost_cents, scale=2),
            binary.day(rows.day, FIRST_DAY),
        )


def _prescriptions(clinic: Clinic) -> Iterator[bytes]:
    names = [drug.name for drug in DRUGS]
    for rows in clinic.prescription_rows():
        yield binary.rows(
            binary.bigint(rows.prescription_id),
            binary.bigint(rows.visit_id),
            binary.text(rows.drug, names),
            binary.integer(rows.dose),
            binary.moment(rows.second),
        )


def _admit(connection: Connection, reader: ReaderLogin) -> None:
    """Create the log-in, or set its password; the server gets a verifier, never the password."""
    verifier = connection.pgconn.encrypt_password(
        reader.password.get_secret_value().encode(), reader.name.encode(), b"scram-sha-256"
    )
    name = sql.Identifier(reader.name)
    known = connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [reader.name]).fetchone()
    verb = sql.SQL("CREATE") if known is None else sql.SQL("ALTER")
    for statement in (
        sql.SQL("{} ROLE {} LOGIN PASSWORD {}").format(verb, name, verifier.decode()),
        sql.SQL("ALTER ROLE {} SET default_transaction_read_only = on").format(name),
        sql.SQL("GRANT SELECT ON regions, patients, visits, prescriptions TO {}").format(name),
    ):
        connection.execute(statement)
