"""Checks of the tables of one policy file together: their names, the types of unit keys, and where joins lead."""

from collections.abc import Iterable, Mapping

from gateway.catalog.tables import Table
from gateway.catalog.types import ColumnType, Family
from gateway.policy.files.consistency import may_be_same_table
from gateway.policy.files.unit_origins import KEY_KINDS
from gateway.policy.validate import Complaints, FieldPath, suggestion
from gateway.policy.yaml import quote_word


def require_one_key_type(tables: tuple[Table, ...], complaints: Complaints) -> None:
    """All unit keys must have one exact type, otherwise rows of one unit would count as two."""
    first: tuple[Table, ColumnType] | None = None
    for table in tables:
        key = table.unit_column
        if key is None:
            continue
        path = ("tables", table.name, "columns", key.name, "type")
        if key.type.kind not in KEY_KINDS:
            hint = "a whole number, text, varchar or uuid"
            complaints.add(path, f"`{key.type}` cannot be the type of a unit key", hint)
        elif first is None:
            first = table, key.type
        elif first[1].family is not key.type.family:
            message = (
                f"the unit key is `{key.type}` here but `{first[1]}` in {quote_word(first[0].name)}"
            )
            complaints.add(path, message)


def require_join_targets(tables: tuple[Table, ...], complaints: Complaints) -> None:
    by_name = {table.name: table for table in tables}
    for table in tables:
        for column in table.columns:
            if column.joins is None:
                continue
            path = ("tables", table.name, "columns", column.name, "joins")
            target = by_name.get(column.joins.table)
            if target is None:
                hint = suggestion(column.joins.table, by_name)
                complaints.add(path, f"table {quote_word(column.joins.table)} does not exist", hint)
            elif target.public and not target.columns:
                continue  # they come from the source, with which they are compared
            elif (other := target.column(column.joins.column)) is None:
                hint = suggestion(column.joins.column, (one.name for one in target.columns))
                complaints.add(path, f"column {quote_word(str(column.joins))} does not exist", hint)
            elif not _comparable(column.type.family, other.type.family):
                message = f"`{column.type}` cannot be equal to `{other.type}` of {quote_word(str(column.joins))}"
                complaints.add(path, message)


def _comparable(one: Family, other: Family) -> bool:
    numbers = {Family.WHOLE, Family.EXACT}
    return one is other or {one, other} <= numbers


def refuse_doubled_tables(names: list[str], complaints: Complaints) -> None:
    """A table that is protected under one name must not be public under another."""
    for place, name in enumerate(names):
        for earlier in names[:place]:
            if may_be_same_table(earlier, name):
                message = (
                    f"{quote_word(name)} may be the table {quote_word(earlier)} under another name"
                )
                complaints.add(
                    ("tables", name), message, "write both names with their schemas", at_key=True
                )


def refuse_names_alike(
    names: Mapping[str, object], path: FieldPath, complaints: Complaints
) -> None:
    """Sources differ in whether case counts; names that differ by case alone would be mixed up."""
    for doubled in _doubles(names):
        message = f"{quote_word(doubled)} differs from another name only in upper and lower case"
        complaints.add((*path, doubled), message, at_key=True)


def _doubles(names: Iterable[str]) -> list[str]:
    seen: dict[str, str] = {}
    return [name for name in names if seen.setdefault(name.lower(), name) != name]
