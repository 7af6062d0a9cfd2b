"""SQLAlchemy over its drivers: the inspector, selects of aggregates by the ORM, streams, refusals."""

from collections.abc import Iterator

import pytest
from sqlalchemy import (
    Date,
    Engine,
    Integer,
    MetaData,
    Numeric,
    Table,
    create_engine,
    func,
    inspect,
    select,
    text,
)
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from wire.gateways import WireGateway

_DRIVERS = ("psycopg", "psycopg2")
_ROWS = [("east", 24), ("north", 36), ("south", 20), ("west", 12), (None, 4)]


class Base(DeclarativeBase):
    """What classes of tables are made from."""


class Patient(Base):
    """A protected table as somebody would map it."""

    __tablename__ = "patients"
    patient_id: Mapped[int] = mapped_column(primary_key=True)
    region: Mapped[str | None]
    birth_year: Mapped[int]


@pytest.fixture(scope="module", params=_DRIVERS)
def engine(request: pytest.FixtureRequest, gateway: WireGateway) -> Iterator[Engine]:
    engine = create_engine(gateway.url(scheme=f"postgresql+{request.param}"))
    yield engine
    engine.dispose()


def test_inspector_finds_schemas_tables_and_views(engine: Engine) -> None:
    """What may be asked about, and nothing of the server."""
    found = inspect(engine)
    assert set(found.get_schema_names()) == {"gateway", "information_schema", "public"}
    assert set(found.get_table_names()) == {"calls", "codes", "patients", "regions", "visits"}
    own = {*found.get_table_names("gateway"), *found.get_view_names("gateway")}
    assert {"budget", "datasets", "queries"} <= own
    assert found.get_view_names() == []
    assert found.has_table("visits")
    assert not found.has_table("secrets")
    assert found.default_schema_name == "public"


def test_inspector_finds_columns_and_keys(engine: Engine) -> None:
    """Types are those of the policy; a primary key, the key between the tables, no index but that of a key."""
    found = inspect(engine)
    columns = {one["name"]: one["type"] for one in found.get_columns("visits")}
    assert list(columns)[:4] == ["visit_id", "patient_id", "diagnosis", "cost"]
    cost, day = columns["cost"], columns["visit_date"]
    assert isinstance(cost, Numeric)
    assert (cost.precision, cost.scale) == (12, 2)
    assert isinstance(day, Date)
    assert isinstance(
        {one["name"]: one["type"] for one in found.get_columns("patients")}["birth_year"], Integer
    )
    assert found.get_pk_constraint("patients")["constrained_columns"] == ["patient_id"]
    keys = [
        (one["constrained_columns"], one["referred_table"], one["referred_columns"])
        for one in found.get_foreign_keys("visits")
    ]
    assert keys == [(["patient_id"], "patients", ["patient_id"])]
    assert found.get_indexes("visits") == []
    assert found.get_unique_constraints("visits") == []
    assert found.get_check_constraints("visits") == []
    assert found.get_table_comment("visits").keys() == {"text"}


def test_tables_are_reflected_whole(engine: Engine) -> None:
    """With their keys to one another, so that joins know their conditions."""
    tables = MetaData()
    tables.reflect(engine)
    assert set(tables.tables) == {"calls", "codes", "patients", "regions", "visits"}
    visits, patients = tables.tables["visits"], tables.tables["patients"]
    query = (
        select(patients.c.region, func.count().label("n"))
        .select_from(visits.join(patients))
        .group_by(patients.c.region)
        .having(func.count() > 30)
        .order_by(patients.c.region)
    )
    with engine.connect() as connection:
        rows = connection.execute(query).all()
    assert [row.region for row in rows][:2] == ["east", "north"]


def test_orm_selects_aggregates(gateway: WireGateway, engine: Engine) -> None:
    """A select of a mapped class with an aggregate is one question, with its values bound."""
    before = gateway.charged()
    query = (
        select(Patient.region, func.count(Patient.patient_id).label("n"))
        .where(Patient.birth_year >= 1900)
        .group_by(Patient.region)
        .order_by(Patient.region)
    )
    with Session(engine) as session:
        assert [tuple(row) for row in session.execute(query)] == _ROWS
        assert session.scalar(select(func.avg(Patient.birth_year))) is not None
    assert gateway.charged() == before + 2


def test_orm_is_refused_rows_of_persons(gateway: WireGateway, engine: Engine) -> None:
    """Loading objects is a row for each person: a ProgrammingError, after which the pool goes on."""
    before = gateway.charged()
    with Session(engine) as session, pytest.raises(ProgrammingError) as refused:
        session.scalars(select(Patient).limit(10)).all()
    assert "GW110" in str(refused.value)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT COUNT(*) FROM patients")).scalar_one() == 96
    assert gateway.charged() == before + 1


def test_result_is_streamed_by_a_server_side_cursor(gateway: WireGateway, engine: Engine) -> None:
    """`stream_results` DECLAREs a cursor, which is one question."""
    before = gateway.charged()
    table = Table("patients", MetaData(), autoload_with=engine)
    query = select(table.c.region, func.count()).group_by(table.c.region).order_by(table.c.region)
    with engine.connect().execution_options(stream_results=True, max_row_buffer=2) as connection:
        assert [tuple(row) for row in connection.execute(query)] == _ROWS
    assert gateway.charged() == before + 1
