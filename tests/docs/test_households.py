"""docs/examples/households.yaml protects households: the policy of the document, over the sample's people put together."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from docs.checks import ROOT
from endtoend.clinic_gateway import AskedGateway, a_gateway
from fix_policy import loaded_policies
from fix_servers import SharedServers

from gateway.admin.open_accounts import ledger_of, limits_of
from gateway.budget.account import Currency
from gateway.budget.group_privacy import group_guarantees
from gateway.errors import Code, Refusal
from gateway.requests.request import Answer
from gateway.sample.clinic import Clinic
from gateway.sample.duckdb_loader import load_into_duckdb

pytestmark = pytest.mark.gateway

POLICY = (ROOT / "docs" / "examples" / "households.yaml").read_text()
_PEOPLE, _SIZE = 2_000, 3
_HOUSEHOLDS = _PEOPLE // _SIZE + 1  # the last one has two people
# more than 20 times the scale of the noise: beyond it with a chance below e^-20
_FAR = 20


@pytest.fixture(scope="module")
def gateway(
    tmp_path_factory: pytest.TempPathFactory, servers: SharedServers
) -> Iterator[AskedGateway]:
    file: Path = tmp_path_factory.mktemp("households") / "clinic.duckdb"
    load_into_duckdb(Clinic(_PEOPLE, 6 * _PEOPLE), file)
    with duckdb.connect(str(file)) as connection:
        connection.execute("DROP TABLE prescriptions")
        for table in ("visits", "patients"):
            connection.execute(
                f"CREATE TABLE made AS SELECT *, patient_id // {_SIZE} AS household_id FROM {table}"
            )
            connection.execute(f"DROP TABLE {table}")
            connection.execute(f"ALTER TABLE made RENAME TO {table}")
    # without histograms of norms, of which the noise decides the clip, nothing but the declared rows bounds a household
    with a_gateway(
        {"households": POLICY + "\nclip: {price: 0}\n"},
        {"HOUSEHOLDS_URL": f"duckdb:///{file}"},
        servers,
    ) as opened:
        yield opened


def _scale(answer: Answer) -> float:
    [column] = answer.columns
    assert column.scale is not None
    return column.scale


def test_household_is_what_is_hidden(gateway: AskedGateway) -> None:
    """Noise is made for all rows of a household: of one when households are counted, of the six that are declared when people are."""
    households = gateway.answer("SELECT COUNT(DISTINCT household_id) FROM patients", "households")
    people = gateway.answer("SELECT COUNT(*) FROM patients", "households")
    assert _scale(people) == 6 * _scale(households) == 60
    for answer, exactly in ((households, _HOUSEHOLDS), (people, _PEOPLE)):
        [[count]] = answer.rows
        assert abs(int(count or 0) - exactly) < _FAR * _scale(answer)


def test_rows_of_a_household_meet_on_the_household(gateway: AskedGateway) -> None:
    """Within it on the patient; joined on the patient alone they would be rows of different units."""
    sql = """SELECT COUNT(*) FROM patients p JOIN visits v
        ON v.household_id = p.household_id AND v.patient_id = p.patient_id WHERE p.birth_year < 1960"""
    refused = sql.replace("v.household_id = p.household_id AND", "")
    with pytest.raises(Refusal) as refusal:
        gateway.answer(refused, "households")
    assert refusal.value.code is Code.UNIT_EQUALITY
    assert gateway.answer(sql, "households").rows


def test_several_households_have_the_epsilon_that_the_example_says(gateway: AskedGateway) -> None:
    """The comment in the file is what is computed for the file's budget."""
    loaded = loaded_policies(gateway.home / "policies", {"HOUSEHOLDS_URL": "duckdb:////x.duckdb"})
    policy = loaded.policies["households"]
    assert ledger_of(policy).currency is Currency.PURE
    found = group_guarantees(limits_of(policy.privacy.budget), Currency.PURE, None)
    said = {one.units: str(one.budget) for one in found}
    assert f"For two households at once this budget means epsilon {said[2]}," in POLICY
    assert f"for five epsilon {said[5]}:" in POLICY
