"""`unit_key:` to the column or the unit path by which the rows of a table have their unit.

`unit_key: patient_id` names a column of the table. `unit_key: visits.patient_id` names the column at the end of a path:
a chain of columns with `joins:`, each to a column of another protected table. A table has one path, because every parent
has one: what has to be found is the first key. Where several columns could begin the path, `unit_via:` names one.

The path ends at the first column that is declared to be equal to a unit key: its value is the unit. So a path of one key
to the unit key itself is no path, but a column of the table.

INVARIANT: every key of a path leads to another table, so no path is a circle; its two columns have one type, and
neither has a domain. That its target is unique is for the source to say (`gateway.engines.catalog.proofs`).
"""

from collections.abc import Mapping

from gateway.catalog.tables import Column, ColumnRef, PathStep, Table, UnitPath
from gateway.catalog.types import Kind
from gateway.policy.model import PolicyModel, TableModel, UnitModel
from gateway.policy.validate import Complaints, FieldPath, suggestion
from gateway.policy.yaml import quote_word

# Equality of these is exact and the same everywhere; a char(n) is padded, a float is not exact.
KEY_KINDS = frozenset(
    {Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT, Kind.TEXT, Kind.VARCHAR, Kind.UUID}
)

Columns = Mapping[str, Mapping[str, Column]]
UnitOrigin = Column | UnitPath


def find_unit_origins(
    model: PolicyModel, columns: Columns, complaints: Complaints
) -> Mapping[str, UnitOrigin]:
    """How the rows of each protected table have their unit; tables with a complaint are left out."""
    protected = {name: one for name, one in model.tables.items() if not one.public}
    keys = {
        table: {name: one for name, one in own.items() if one.is_stored}
        for table, own in columns.items()
    }
    paths = _Paths(keys, protected)
    ends: dict[str, ColumnRef] = {}
    for name, table in protected.items():
        if table.unit_key is None:
            continue  # which is a complaint about the table itself
        if "." in table.unit_key:
            end = _end_of(name, table, paths, complaints)
            ends |= {} if end is None else {name: end}
        else:
            _own_column(name, table, paths, complaints)
    paths.follow(ends)
    for name, end in ends.items():
        _require_one_path(name, end, paths, complaints)
    for reference in sorted(_keys_of(paths.found)):
        if protected[reference.table].columns[reference.column].domain is not None:
            complaints.add(
                ("tables", reference.table, "columns", reference.column, "domain"),
                f"{quote_word(str(reference))} is a key of a unit path, so it is read as stored and cannot have a `domain`",
                "remove the domain",
                at_key=True,
            )
    return paths.found


def path_targets(found: Mapping[str, UnitOrigin]) -> frozenset[ColumnRef]:
    """The columns that unit paths lead to."""
    paths = (one for one in found.values() if isinstance(one, UnitPath))
    return frozenset(step.target for one in paths for step in one.steps)


def _keys_of(found: Mapping[str, UnitOrigin]) -> frozenset[ColumnRef]:
    edges = {
        ColumnRef(name, one.edge.column.name)
        for name, one in found.items()
        if isinstance(one, UnitPath)
    }
    return path_targets(found) | edges


class _Paths:
    """The origins that are known, and the paths that can be made of them."""

    def __init__(self, columns: Columns, protected: Mapping[str, TableModel]) -> None:
        self.columns = columns
        self.protected = protected
        self.found: dict[str, UnitOrigin] = {}

    def follow(self, ends: Mapping[str, ColumnRef]) -> None:
        """Find the path of each of these tables, the shortest ones first."""
        left = dict(ends)
        while True:
            made = {
                name: self.along(begins[0])
                for name, end in left.items()
                if (begins := self.begins(name, end))
            }
            if not made:
                return
            self.found |= made
            left = {name: end for name, end in left.items() if name not in made}

    def begins(self, name: str, end: ColumnRef) -> list[Column]:
        """The columns of a table that are the first key of a path to this end."""
        via = self.protected[name].unit_via
        return [
            column
            for column in self.columns[name].values()
            if via in {None, column.name} and self._reaches(name, column, end)
        ]

    def _reaches(self, name: str, column: Column, end: ColumnRef) -> bool:
        target = column.joins
        if target is None or target.table == name or target.table not in self.protected:
            return False
        onward = self.found.get(target.table)
        if onward is None or target.column not in self.columns[target.table]:
            return False
        if isinstance(onward, UnitPath) and any(one.parent == name for one in onward.steps):
            return False  # it leads back
        return end in self._ends(target.table, onward)

    def _ends(self, name: str, origin: UnitOrigin) -> frozenset[ColumnRef]:
        """What may be written as the end of a path through this table: the unit's column, and the unit key it is equal to."""
        unit, last = origin, name
        if isinstance(origin, UnitPath):
            unit, last = origin.unit, origin.steps[-1].parent
        if not isinstance(unit, Column):
            return frozenset()
        own = ColumnRef(last, unit.name)
        return frozenset({own} if unit.joins is None else {own, unit.joins})

    def along(self, first: Column) -> UnitOrigin:
        """The path that begins with this key, which must lead somewhere."""
        target = first.joins
        if target is None:
            raise ValueError("a path begins with a column that joins nothing")
        onward = self.found[target.table]
        if isinstance(onward, Column) and onward.name == target.column:
            return first  # it is equal to the unit key, so its value is the unit
        step = PathStep(first, target.table, self.columns[target.table][target.column])
        if isinstance(onward, Column):
            return UnitPath((step,), onward)
        return UnitPath((step, *onward.steps), onward.unit)


def _own_column(name: str, model: TableModel, paths: _Paths, complaints: Complaints) -> None:
    if model.unit_via is not None:
        message = "`unit_via` needs a `unit_key` of the form `table.column`"
        complaints.add(("tables", name, "unit_via"), message, at_key=True)
    key = str(model.unit_key)
    column = paths.columns[name].get(key)
    if column is None:
        hint = suggestion(key, paths.columns[name])
        complaints.add(
            ("tables", name, "unit_key"), f"the table has no column {quote_word(key)}", hint
        )
    else:
        paths.found[name] = column


def _end_of(
    name: str, model: TableModel, paths: _Paths, complaints: Complaints
) -> ColumnRef | None:
    """The end of the path as it is written; None with a complaint."""
    table, _, column = str(model.unit_key).rpartition(".")
    end, path = ColumnRef(table, column), ("tables", name, "unit_key")
    if table not in paths.protected:
        hint = suggestion(table, paths.protected)
        message = f"{quote_word(table)} is not a protected table of this dataset"
        complaints.add(path, message, hint)
    elif column not in paths.columns[table]:
        hint = suggestion(column, paths.columns[table])
        complaints.add(path, f"column {quote_word(str(end))} does not exist", hint)
    elif model.unit_via is not None and model.unit_via not in paths.columns[name]:
        hint = suggestion(model.unit_via, paths.columns[name])
        message = f"the table has no column {quote_word(model.unit_via)}"
        complaints.add(("tables", name, "unit_via"), message, hint)
    else:
        return end
    return None


def _require_one_path(name: str, end: ColumnRef, paths: _Paths, complaints: Complaints) -> None:
    path: FieldPath = ("tables", name, "unit_key")
    begins = paths.begins(name, end)
    if not begins:
        complaints.add(
            path,
            f"no chain of columns with `joins` leads from {quote_word(name)} to {quote_word(str(end))}",
            "declare each key of the path on one column, such as `order_id: {joins: orders.order_id}`;"
            " keys of several columns are not supported",
        )
    elif len(begins) > 1:
        known = ", ".join(quote_word(one.name) for one in begins)
        complaints.add(
            path,
            f"{quote_word(str(end))} can be reached over several columns: {known}",
            f"write `unit_via: {begins[0].name}` if this is the column that says whose rows these are",
        )
    elif isinstance(found := paths.found[name], UnitPath):
        _require_one_type(name, found.edge, complaints)


def _require_one_type(name: str, step: PathStep, complaints: Complaints) -> None:
    """Of the first key; the others are those of the parents."""
    place = ("tables", name, "columns", step.column.name, "type")
    if step.column.type.kind not in KEY_KINDS:
        hint = "a whole number, text, varchar or uuid"
        message = f"`{step.column.type}` cannot be the type of a key of a unit path"
        complaints.add(place, message, hint)
    elif step.column.type != step.key.type:
        message = (
            f"{quote_word(step.column.name)} is `{step.column.type}` but {quote_word(str(step.target))} is"
            f" `{step.key.type}`: the keys of a unit path must have one type"
        )
        hint = "declare both columns with the type that they have in the source"
        complaints.add(place, message, hint)


def require_unit_table(unit: UnitModel, tables: tuple[Table, ...], complaints: Complaints) -> None:
    """The unit as an entity is a protected table with the unit in a column of its own."""
    path: FieldPath = ("privacy", "unit")
    if (unit.table is None) is not (unit.key is None):
        hint = "write `unit: {name: patient, table: patients, key: patient_id}`"
        complaints.add(path, "`unit` must have both `table` and `key`, or neither", hint)
    if unit.table is None or unit.key is None:
        return
    found = next((one for one in tables if one.name == unit.table), None)
    if found is None or found.public:
        hint = suggestion(unit.table, (one.name for one in tables if not one.public))
        message = f"{quote_word(unit.table)} is not a protected table of this dataset"
        complaints.add((*path, "table"), message, hint)
    elif found.unit_column is None or found.unit_column.name != unit.key:
        message = f"the `unit_key` of {quote_word(found.name)} is not {quote_word(unit.key)}"
        complaints.add((*path, "key"), message, "write the same column in both places")
