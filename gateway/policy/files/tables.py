"""Tables of a policy file as a catalog: keys, domains and joins are checked together.

The `domain` and `step` of a column are parsed exactly and checked against the column's type.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import date
from fractions import Fraction

from gateway.catalog.domains import Anything, Bound, Domain, Interval, Values, domain_width
from gateway.catalog.tables import SCHEMA, Column, ColumnRef, Dataset, Table
from gateway.catalog.types import (
    UNSIGNED,
    WIDE,
    ColumnType,
    Family,
    Kind,
    TypeUnknown,
    parse_type,
)
from gateway.catalog.unused_types import is_unused
from gateway.catalog.values import InvalidValue, Value, read_number, read_value
from gateway.policy.field_types import seconds_of
from gateway.policy.files.json_columns import (
    is_unread,
    read_source,
    read_unused,
    require_plain_unused,
)
from gateway.policy.files.protection import check_protection, read_protection
from gateway.policy.files.table_checks import (
    refuse_doubled_tables,
    refuse_names_alike,
    require_join_targets,
    require_one_key_type,
)
from gateway.policy.files.unit_origins import (
    UnitOrigin,
    find_unit_origins,
    path_targets,
    require_unit_table,
)
from gateway.policy.model import ColumnModel, PolicyModel, TableModel
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


def parse_dataset(model: PolicyModel, complaints: Complaints) -> Dataset | None:
    """The dataset, or None with complaints."""
    before = len(complaints.problems)
    path = model.search_path or []
    for place, name in enumerate(path):
        if name in path[:place]:
            complaints.add(("search_path", place), f"{quote_word(name)} is given twice")
    refuse_doubled_tables(list(model.tables), complaints)
    columns = {
        name: found
        for name, each in model.tables.items()
        if (found := _columns(name, each, complaints)) is not None
    }
    origins: Mapping[str, UnitOrigin] = {}
    if len(columns) == len(model.tables):
        origins = find_unit_origins(model, columns, complaints)
    if len(complaints.problems) > before:
        return None
    targets = path_targets(origins)
    tables = tuple(
        _table(name, each, columns[name], origins.get(name), targets)
        for name, each in model.tables.items()
    )
    require_unit_table(model.privacy.unit, tables, complaints)
    require_one_key_type(tables, complaints)
    require_join_targets(tables, complaints)
    if all(table.public for table in tables) and len(complaints.problems) == before:
        complaints.warn(("tables",), "no table is protected, so all data are public")
    if len(complaints.problems) > before:
        return None
    name, zone = model.privacy.unit.name, model.time_zone
    return Dataset(model.dataset, name, tables, tuple(path), zone)


def _columns(name: str, model: TableModel, complaints: Complaints) -> Mapping[str, Column] | None:
    """The columns of a table, and whatever else can be said of it alone; None with complaints."""
    path: FieldPath = ("tables", name)
    before = len(complaints.problems)
    if name.startswith(f"{SCHEMA}."):
        complaints.add(path, f"the schema `{SCHEMA}` is reserved for the gateway", at_key=True)
    refuse_names_alike(model.columns, (*path, "columns"), complaints)
    columns = {
        each: column
        for each, of in model.columns.items()
        if not is_unread(of)
        and (column := _column(each, of, model, (*path, "columns", each), complaints)) is not None
    }
    require_plain_unused(model, path, complaints)
    check_protection(model, path, complaints)
    return None if len(complaints.problems) > before else columns


def _table(
    name: str,
    model: TableModel,
    columns: Mapping[str, Column],
    origin: UnitOrigin | None,
    targets: Collection[ColumnRef],
) -> Table:
    marked = tuple(
        replace(one, is_path_key=ColumnRef(name, one.name) in targets) for one in columns.values()
    )
    unused = tuple(read_unused(model))
    protection = None if origin is None else read_protection(model, origin)
    return Table(name, marked, protection, unused=unused)


def _column(
    name: str, model: ColumnModel, around: TableModel, path: FieldPath, complaints: Complaints
) -> Column | None:
    if model.type.lower().replace(" ", "") in _ARRAYS:
        return _array(name, model, path, complaints)
    source = None
    if model.from_ is not None:
        source = read_source(model, around, path, complaints)
        if source is None:
            return None
    stored = model.type.lower().strip()
    try:
        kind = _read_type(stored if source is None else "", model.type)
    except TypeUnknown as error:
        complaints.add((*path, "type"), str(error), _hint_of_type(model.type))
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
        hides_nulls=model.nulls is not None,
        json=source,
        stored_type=stored if source is None and stored in {*UNSIGNED, *WIDE} else "",
    )


def _read_type(stored: str, written: str) -> ColumnType:
    """The declared type; of whole numbers of DuckDB that PostgreSQL has not, the one that they are read as."""
    if stored in WIDE:
        return ColumnType(Kind.BIGINT)
    return ColumnType(UNSIGNED[stored]) if stored in UNSIGNED else parse_type(written)


def _hint_of_type(written: str) -> str:
    """What to write instead of a type that no question can use."""
    name = written.lower().partition("(")[0].strip()
    if name == "enum":
        return "write `type: text` and `domain: {in: [one, another]}`"
    if is_unused(name):
        return "a value of a document has a type such as text, integer, numeric, boolean or date"
    return suggestion(written, (kind.value for kind in Kind))


def _array(name: str, model: ColumnModel, path: FieldPath, complaints: Complaints) -> Column | None:
    """A column that only row rules read."""
    given = {
        "domain": model.domain,
        "step": model.step,
        "max_length": model.max_length,
        "immutable": model.immutable or None,
        "joins": model.joins,
        "report": model.report,
        "nulls": model.nulls,
        "from": model.from_,
    }
    for key in (key for key, value in given.items() if value is not None):
        message = f"an array column must not have `{key}`, because only row rules read it"
        complaints.add((*path, key), message, at_key=True)
    return Column(name, parse_type("text"), column_class=model.class_, is_array=True)


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


_ARRAYS = frozenset({"text[]", "varchar[]", "charactervarying[]"})
