"""Names as PostgreSQL sees them: folded when unquoted, and found for results that have none."""

from typing import Final

from sqlglot import exp

_UPPER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}

_OF_TYPE: Final = {
    "INT": "int4",
    "BIGINT": "int8",
    "SMALLINT": "int2",
    "DECIMAL": "numeric",
    "DOUBLE": "float8",
    "FLOAT": "float4",
    "VARCHAR": "varchar",
    "CHAR": "bpchar",
    "BOOLEAN": "bool",
    "TIMESTAMPTZ": "timestamptz",
}
_OF_NODE: Final[dict[type[exp.Expression], str]] = {
    exp.Extract: "extract",
    exp.StrPosition: "position",
    exp.Substring: "substring",
    exp.Overlay: "overlay",
    exp.Exists: "exists",
    exp.Array: "array",
    exp.CurrentDate: "current_date",
    exp.CurrentTime: "current_time",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentUser: "current_user",
    exp.CurrentRole: "current_role",
    exp.CurrentSchema: "current_schema",
    exp.CurrentCatalog: "current_catalog",
    exp.SessionUser: "session_user",
    exp.Localtime: "localtime",
    exp.Localtimestamp: "localtimestamp",
    exp.AtTimeZone: "timezone",
}
_TRIMS: Final = {"LEADING": "ltrim", "TRAILING": "rtrim"}


def fold_name(identifier: exp.Expression | str) -> str:
    """The name an identifier stands for; only ASCII letters fold, as in PostgreSQL with UTF-8."""
    if isinstance(identifier, str):
        return identifier.translate(_UPPER)
    name = identifier.name
    return name if identifier.args.get("quoted") else name.translate(_UPPER)


def identifier(name: str) -> exp.Identifier:
    """An identifier that stands for exactly this name."""
    return exp.Identifier(this=name, quoted=True)


def quote_name(name: str) -> str:
    """The name as it is written so that it stands for itself."""
    return '"' + name.replace('"', '""') + '"'


def result_name(item: exp.Expression) -> str:
    """The name PostgreSQL gives to a result column."""
    return _named(item) or "?column?"


def _named(  # noqa: C901, PLR0911 - one answer for each kind of expression
    item: exp.Expression, *, weak: bool = True
) -> str | None:
    """The name found; `weak` allows those that a better one around would replace."""
    match item:
        case exp.Alias():
            return fold_name(item.args["alias"])
        case exp.Column() if not isinstance(item.this, exp.Star):
            return fold_name(item.this)
        case exp.Dot():
            return fold_name(item.expression)
        case exp.Paren() | exp.Collate() | exp.Bracket() | exp.Filter() | exp.WithinGroup():
            return _named(item.this, weak=weak)
        case exp.Window():
            return _named(item.this, weak=weak)
        case exp.Anonymous():
            return _function(item)
        case exp.Subquery() | exp.Select():
            return _of_query(item)
        case exp.Cast():
            return _named(item.this, weak=False) or (_of_type(item.args["to"]) if weak else None)
        case exp.Case():
            default = item.args.get("default")
            inner = None if default is None else _named(default, weak=False)
            return inner or ("case" if weak else None)
        case exp.Trim():
            return _TRIMS.get(item.args.get("position") or "", "btrim")
    return _OF_NODE.get(type(item))


def _function(call: exp.Anonymous) -> str:
    name = call.this
    return name.translate(_UPPER) if isinstance(name, str) else fold_name(name)


def _of_query(query: exp.Expression) -> str | None:
    inner = query.this if isinstance(query, exp.Subquery) else query
    items = inner.expressions if isinstance(inner, exp.Select) else []
    return _named(items[0]) if len(items) == 1 else None


def _of_type(to: exp.Expression) -> str | None:
    kind = to.this
    if not isinstance(kind, exp.DataType.Type):
        return None
    return _OF_TYPE.get(kind.name, kind.name.lower())


def name_of_function(call: exp.Anonymous) -> str:
    """A function's name; with a schema it is written as a path and never gets here."""
    return _function(call)
