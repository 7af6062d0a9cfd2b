"""The time zone of a dataset: a session begins with it, and times of the policy file are on its clock.

Takes the model of a policy file; gives it with the one name of its zone, and with an offset behind every bound of a
`timestamptz` column that has none. What reads the bounds later need not know the zone.
"""

from collections.abc import Mapping

from gateway.catalog.types import Kind, TypeUnknown, parse_type
from gateway.catalog.values import InvalidValue
from gateway.catalog.zones import TimeZone, find_zone, read_moment
from gateway.policy.model import ColumnModel, PolicyModel, TableModel
from gateway.policy.validate import Complaints
from gateway.policy.yaml import quote_word


def write_offsets(model: PolicyModel, complaints: Complaints) -> PolicyModel:
    """The model whose times say what moment they are."""
    zone = find_zone(model.time_zone)
    if zone is None:
        hint = "write the name of a zone, as in `time_zone: Europe/Berlin`"
        complaints.add(
            ("time_zone",), f"the time zone {quote_word(model.time_zone)} does not exist", hint
        )
        return model
    tables = {name: _table(one, zone) for name, one in model.tables.items()}
    return model.model_copy(update={"time_zone": zone.name, "tables": tables})


def _table(model: TableModel, zone: TimeZone) -> TableModel:
    columns: Mapping[str, ColumnModel] = {
        name: _column(one, zone) for name, one in model.columns.items()
    }
    return model.model_copy(update={"columns": columns})


def _column(model: ColumnModel, zone: TimeZone) -> ColumnModel:
    domain = model.domain
    if domain is None or domain.between is None or not _is_zoned(model.type):
        return model
    between = [_with_offset(one, zone) for one in domain.between]
    return model.model_copy(update={"domain": domain.model_copy(update={"between": between})})


def _is_zoned(written: str) -> bool:
    try:
        return parse_type(written).kind is Kind.TIMESTAMPTZ
    except TypeUnknown:
        return False


def _with_offset(text: str, zone: TimeZone) -> str:
    """What is no time stays as it is written, for the reader of the domain to say so."""
    try:
        found = read_moment(text, zone)
    except (InvalidValue, OverflowError):
        return text
    return text if found is None else found.isoformat()
