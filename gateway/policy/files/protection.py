"""The unit key of a protected table of a policy file, and how much of one unit counts in an answer.

A table with `rows_per_unit: 1` has one row of each unit. In every other table a unit may have any number of rows: what
it adds to counts and sums is limited by the clip, and `values_per_unit` limits COUNT(DISTINCT …). Where a policy gives no
clip, it is the norm of `values_per_unit` rows in each of `groups_per_unit` groups. Before there was a clip, `rows_per_unit`
limited both. So a larger number is read as `values_per_unit`, with a warning.
"""

from gateway.catalog.tables import VALUES_PER_UNIT, Column, ColumnRef, Protection
from gateway.policy.files.unit_origins import UnitOrigin
from gateway.policy.model import TableModel
from gateway.policy.validate import Complaints, FieldPath
from gateway.policy.yaml import quote_word

_BOOLEANS = frozenset({"boolean", "bool"})
_FEWEST_OF_SEVERAL = 2


def check_protection(model: TableModel, path: FieldPath, complaints: Complaints) -> None:
    """Complains of a protected table without its unit, and of a public one with any."""
    if model.public:
        _refuse_protection(model, path, complaints)
        return
    _check_bounds(model, path, complaints)
    _check_columns(model, path, complaints)


def read_protection(model: TableModel, origin: UnitOrigin) -> Protection:
    """The protection of a table with this unit."""
    rows, groups = model.rows_per_unit, model.groups_per_unit or 1
    values = model.values_per_unit or rows or VALUES_PER_UNIT
    if rows != 1:
        rows = max(values, _FEWEST_OF_SEVERAL)
    if isinstance(origin, Column):
        return Protection(origin.name, rows, groups, values_per_unit=values)
    key = str(ColumnRef(origin.steps[-1].parent, origin.unit.name))
    return Protection(key, rows, groups, origin, values)


def _check_bounds(model: TableModel, path: FieldPath, complaints: Complaints) -> None:
    rows, name = model.rows_per_unit, quote_word(str(path[1]))
    if model.unit_key is None:
        hint = "write `unit_key: patient_id`, or `public: true` if the table is not about persons"
        complaints.add(path, f"{name} has no `unit_key`", hint, at_key=True)
    if model.values_per_unit is not None and rows is not None:
        message = "`values_per_unit` is for a table with several rows of a unit"
        hint = "leave `rows_per_unit` out, which only says that a unit has one row"
        complaints.add((*path, "values_per_unit"), message, hint, at_key=True)
    elif rows is not None and rows > 1:
        message = (
            f"`rows_per_unit: {rows}` is read as `values_per_unit: {rows}`: it cuts COUNT(DISTINCT …)"
            " alone, and rows count in full up to the clip"
        )
        hint = f"write `values_per_unit: {rows}`, or nothing for {VALUES_PER_UNIT}"
        complaints.warn((*path, "rows_per_unit"), message, hint, at_key=True)
    if model.unit_key is not None and rows != 1 and model.groups_per_unit is None:
        message = (
            "`groups_per_unit` is not given, so each unit counts in one of the groups that are"
            " found in the data, and in one group of COUNT(DISTINCT …)"
        )
        complaints.warn(path, message, at_key=True)


def _check_columns(model: TableModel, path: FieldPath, complaints: Complaints) -> None:
    for name, column in model.columns.items():
        here = (*path, "columns", name)
        if column.class_ is None:
            hint = "write `class: identifier`, `class: quasi` or `class: sensitive`"
            complaints.add(here, f"{quote_word(name)} has no `class`", hint, at_key=True)
        elif name == model.unit_key and column.class_ != "identifier":
            complaints.warn(
                (*here, "class"),
                f"the unit key {quote_word(name)} must have the class `identifier`",
            )
        if column.immutable and (model.rows_per_unit != 1 or "." in (model.unit_key or "")):
            message = "only a table with its own unit key and `rows_per_unit: 1` can have `immutable` columns"
            complaints.add((*here, "immutable"), message)
        if column.immutable and column.domain is None and column.type.lower() not in _BOOLEANS:
            message = f"{quote_word(name)} is `immutable` without a `domain`"
            complaints.add(
                (*here, "immutable"), message, "the budget is counted for each of its values"
            )


def _refuse_protection(model: TableModel, path: FieldPath, complaints: Complaints) -> None:
    for key in ("unit_key", "unit_via", "rows_per_unit", "groups_per_unit", "values_per_unit"):
        if getattr(model, key) is not None:
            complaints.add((*path, key), f"a public table must not have `{key}`", at_key=True)
    for name, column in model.columns.items():
        if column.immutable:
            complaints.add((*path, "columns", name, "immutable"), "a public table has no units")
