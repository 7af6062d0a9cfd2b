"""Tables of a policy file as a catalog: keys, domains and joins are checked together.

The `domain` and `step` of a column are parsed exactly and checked against the column's type.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from fractions import Fraction

from gateway.catalog.domains import Anything, Bound, Domain, Interval, Values, domain_width
from gateway.catalog.tables import SCHEMA, Column, ColumnRef, Dataset, Protection, Table
from gateway.catalog.types import ColumnType, Family, Kind, TypeUnknown, parse_type
from gateway.catalog.values import InvalidValue, Value, read_number, read_value
from gateway.policy.files.consistency import may_be_same_table
from gateway.policy.model import ColumnModel, PolicyModel, TableModel, seconds_of
from gateway.policy.validate import Complaints, FieldPath, suggestion
from gateway.policy.yaml import quote_word

_MEASURED = frozenset({Family.WHOLE, Family.EXACT, Family.FLOAT, Family.DATE, Family.TIMESTAMP})


def parse_domain(
    model: ColumnModel, of: ColumnType, path: FieldPath, complaints: Complaints
) -> Domain | None:
    """The domain, or None with a complaint."""
    domain = model.domain
    between = None if domain is None else domain.between
    if model.step is not None and between is None:
        complaints.add(
            (*path, "step"), "a `step` needs `domain: {between: [low, high]}`", at_key=True
        )
        return None
    if domain is None:
        # a boolean has its domain from its type
        return Values((False, True)) if of.family is Family.BOOLEAN else Anything()
    if (between is None) == (domain.in_ is None):
        hint = "`{between: [low, high]}` or `{in: [one, another]}`"
        complaints.add((*path, "domain"), "a domain is either `between` or `in`", hint, at_key=True)
        return None
    if between is not None:
        return _interval(model, of, path, complaints)
    return _values(domain.in_ or [], of, (*path, "domain", "in"), complaints)


def _values(
    written: list[str], of: ColumnType, path: FieldPath, complaints: Complaints
) -> Values | None:
    if of.family in {Family.FLOAT, Family.TIMESTAMP}:
        complaints.add(path, f"`{of}` cannot be a set of values", "use `between`", at_key=True)
        return None
    values: dict[Value, None] = {}
    for place, text in enumerate(written):
        value = _read(text, of, (*path, place), complaints)
        if value is None:
            return None
        if value in values:
            complaints.add((*path, place), f"{quote_word(text)} is given twice")
            return None
        values[value] = None
    return Values(tuple(values))


def _interval(
    model: ColumnModel, of: ColumnType, path: FieldPath, complaints: Complaints
) -> Interval | None:
    here = (*path, "domain", "between")
    if of.family not in _MEASURED:
        complaints.add(here, f"`{of}` has no `between`", "use `in`", at_key=True)
        return None
    written = model.domain.between if model.domain and model.domain.between else []
    bounds = [_read(text, of, (*here, place), complaints) for place, text in enumerate(written)]
    low, high = (_bound(value) for value in bounds)
    if low is None or high is None:
        return None
    width = domain_width(low, high)
    if width < 0:
        complaints.add(here, "the bounds are reversed", f"write `[{written[1]}, {written[0]}]`")
        return None
    step = _step(model.step, of, path, complaints)
    if step is None:
        return None
    if width % step:
        message = f"a step of {quote_word(model.step or str(step))} does not divide the distance between the bounds"
        complaints.add((*path, "step") if model.step else here, message)
        return None
    return Interval(low, high, step)


def _step(
    written: str | None, of: ColumnType, path: FieldPath, complaints: Complaints
) -> Fraction | None:
    natural = of.resolution
    if written is None:
        if natural is None:
            hint = "write `step: 0.01`, or another step to round the values to"
            complaints.add(path, f"`{of}` needs a `step`", hint, at_key=True)
        return natural
    here = (*path, "step")
    try:
        step = seconds_of(written) if of.family is Family.TIMESTAMP else read_number(written)
    except InvalidValue as error:
        complaints.add(here, str(error))
        return None
    if step <= 0:
        complaints.add(here, "a `step` must be above zero")
        return None
    if natural is not None and step % natural:
        complaints.add(here, f"a step of {quote_word(written)} is finer than `{of}`")
        return None
    return step


def _read(text: str, of: ColumnType, path: FieldPath, complaints: Complaints) -> Value | None:
    try:
        return read_value(text, of)
    except InvalidValue as error:
        complaints.add(path, str(error))
        return None


def _bound(value: Value | None) -> Bound | None:
    return value if isinstance(value, int | Fraction | date) else None


# Equality of these is exact and the same everywhere; a char(n) is padded, a float is not exact.
_KEY_KINDS = frozenset(
    {Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT, Kind.TEXT, Kind.VARCHAR, Kind.UUID}
)


def parse_dataset(model: PolicyModel, complaints: Complaints) -> Dataset | None:
    """The dataset, or None with complaints."""
    before = len(complaints.problems)
    _same_table_twice(list(model.tables), complaints)
    tables = tuple(
        table
        for name, each in model.tables.items()
        if (table := _table(name, each, complaints)) is not None
    )
    if len(complaints.problems) == before:
        _one_key_type(tables, complaints)
        _joins_lead_somewhere(tables, complaints)
    if all(table.public for table in tables) and len(complaints.problems) == before:
        complaints.warn(("tables",), "no table is protected, so all data are public")
    if len(complaints.problems) > before:
        return None
    return Dataset(model.dataset, model.privacy.unit, tables, model.time_zone)


def _table(name: str, model: TableModel, complaints: Complaints) -> Table | None:
    path: FieldPath = ("tables", name)
    before = len(complaints.problems)
    if name.startswith(f"{SCHEMA}."):
        complaints.add(path, f"the schema `{SCHEMA}` is reserved for the gateway", at_key=True)
    _same_but_for_case(model.columns, (*path, "columns"), complaints)
    columns = tuple(
        column
        for each, of in model.columns.items()
        if (column := _column(each, of, (*path, "columns", each), complaints)) is not None
    )
    if model.public:
        _nothing_of_protection(model, path, complaints)
        protection = None
    else:
        protection = _protection(model, path, complaints)
        _fit_for_protection(model, path, complaints)
    if len(complaints.problems) > before:
        return None
    return Table(name, columns, protection)


def _protection(model: TableModel, path: FieldPath, complaints: Complaints) -> Protection | None:
    key, rows, groups = model.unit_key, model.rows_per_unit, model.groups_per_unit
    if key is None:
        hint = "write `unit_key: patient_id`, or `public: true` if the table is not about persons"
        complaints.add(path, f"{quote_word(str(path[1]))} has no `unit_key`", hint, at_key=True)
    elif key not in model.columns:
        hint = suggestion(key, model.columns)
        complaints.add((*path, "unit_key"), f"the table has no column {quote_word(key)}", hint)
    if rows is None:
        hint = "write `rows_per_unit: 1`, or the most rows of one unit that may count in a group"
        complaints.add(
            path, f"{quote_word(str(path[1]))} has no `rows_per_unit`", hint, at_key=True
        )
    if key is None or rows is None:
        return None
    if groups is None and rows > 1:
        message = "`groups_per_unit` is not given, so each unit counts in one group only"
        complaints.warn(path, message, at_key=True)
    return Protection(key, rows, groups or 1)


def _fit_for_protection(model: TableModel, path: FieldPath, complaints: Complaints) -> None:
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
        if column.immutable and model.rows_per_unit != 1:
            message = "only a table with `rows_per_unit: 1` can have `immutable` columns"
            complaints.add((*here, "immutable"), message)
        if column.immutable and column.domain is None and column.type.lower() not in _BOOLEANS:
            message = f"{quote_word(name)} is `immutable` without a `domain`"
            complaints.add(
                (*here, "immutable"), message, "the budget is counted for each of its values"
            )


def _nothing_of_protection(model: TableModel, path: FieldPath, complaints: Complaints) -> None:
    for key in ("unit_key", "rows_per_unit", "groups_per_unit"):
        if getattr(model, key) is not None:
            complaints.add((*path, key), f"a public table must not have `{key}`", at_key=True)
    for name, column in model.columns.items():
        if column.immutable:
            complaints.add((*path, "columns", name, "immutable"), "a public table has no units")


def _column(
    name: str, model: ColumnModel, path: FieldPath, complaints: Complaints
) -> Column | None:
    try:
        kind = parse_type(model.type)
    except TypeUnknown as error:
        hint = suggestion(model.type, (kind.value for kind in Kind))
        complaints.add((*path, "type"), str(error), hint)
        return None
    domain = parse_domain(model, kind, path, complaints)
    _length_of_texts(model, kind, domain, path, complaints)
    joins = None
    if model.joins is not None:
        table, _, column = model.joins.rpartition(".")
        if not table or not column:
            hint = "write `joins: patients.patient_id`"
            complaints.add(
                (*path, "joins"),
                f"{quote_word(model.joins)} is not of the form `table.column`",
                hint,
            )
            return None
        joins = ColumnRef(table, column)
    if domain is None:
        return None
    return Column(
        name,
        kind,
        domain,
        column_class=model.class_,
        immutable=model.immutable,
        joins=joins,
        max_length=model.max_length,
    )


def _length_of_texts(
    model: ColumnModel,
    kind: ColumnType,
    domain: Domain | None,
    path: FieldPath,
    complaints: Complaints,
) -> None:
    """A listed value longer than the texts that are read would never be found."""
    if kind.family is not Family.TEXT:
        if model.max_length is not None:
            message = f"`{kind}` must not have `max_length`, because it is not a text type"
            complaints.add((*path, "max_length"), message, at_key=True)
        return
    longest = Column("", kind, max_length=model.max_length).longest
    if longest is None or not isinstance(domain, Values):
        return
    for place, value in enumerate(domain):
        if isinstance(value, str) and len(value) > longest:
            complaints.add(
                (*path, "domain", "in", place),
                f"{quote_word(value[:40])} has {len(value)} characters, more than the limit of {longest}",
                "write a larger `max_length`",
            )


def _one_key_type(tables: tuple[Table, ...], complaints: Complaints) -> None:
    """All unit keys must have one exact type, otherwise rows of one unit would count as two."""
    first: tuple[Table, ColumnType] | None = None
    for table in tables:
        key = table.unit_column
        if key is None:
            continue
        path = ("tables", table.name, "columns", key.name, "type")
        if key.type.kind not in _KEY_KINDS:
            hint = "a whole number, text, varchar or uuid"
            complaints.add(path, f"`{key.type}` cannot be the type of a unit key", hint)
        elif first is None:
            first = table, key.type
        elif first[1].family is not key.type.family:
            message = (
                f"the unit key is `{key.type}` here but `{first[1]}` in {quote_word(first[0].name)}"
            )
            complaints.add(path, message)


def _joins_lead_somewhere(tables: tuple[Table, ...], complaints: Complaints) -> None:
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
            elif (other := target.column(column.joins.column)) is None:
                hint = suggestion(column.joins.column, (one.name for one in target.columns))
                complaints.add(path, f"column {quote_word(str(column.joins))} does not exist", hint)
            elif not _comparable(column.type.family, other.type.family):
                message = f"`{column.type}` cannot be equal to `{other.type}` of {quote_word(str(column.joins))}"
                complaints.add(path, message)


def _comparable(one: Family, other: Family) -> bool:
    numbers = {Family.WHOLE, Family.EXACT}
    return one is other or {one, other} <= numbers


def _same_table_twice(names: list[str], complaints: Complaints) -> None:
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


def _same_but_for_case(
    names: Mapping[str, object], path: FieldPath, complaints: Complaints
) -> None:
    """Sources differ in whether case counts; names that differ by case alone would be mixed up."""
    for doubled in _doubles(names):
        message = f"{quote_word(doubled)} differs from another name only in upper and lower case"
        complaints.add((*path, doubled), message, at_key=True)


def _doubles(names: Iterable[str]) -> list[str]:
    seen: dict[str, str] = {}
    return [name for name in names if seen.setdefault(name.lower(), name) != name]


_BOOLEANS = frozenset({"boolean", "bool"})
