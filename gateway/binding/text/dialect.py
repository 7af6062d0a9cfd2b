"""The parser for PostgreSQL's SQL, which keeps what was written, and names as PostgreSQL folds them.

sqlglot turns functions it knows into nodes of its own and writes them back in other words, which is right for
translating between databases and wrong here. With its tables of functions empty, a function stays a name with
arguments; only what has a syntax of its own (EXTRACT, SUBSTRING, TRIM, POSITION, OVERLAY, CAST) keeps a node.

The compiled parser cannot be subclassed, so its tables are changed in place, once, at import. Nothing else in the
gateway parses with them.

Where two readers of SQL could bind operators differently, brackets are asked for.

sqlglot and PostgreSQL agree on the precedence of arithmetic, AND, OR and NOT. They do not agree everywhere else:
on `a || b + c`, on `-2 ^ 2`, on comparisons of comparisons. A core that is computed from the wrong reading would
be a wrong answer, so such text is refused until it has brackets.
"""

import logging
from typing import Final

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import TokenType

from gateway.errors import Code, UnsupportedSql

# sqlglot takes `$1,$` for the beginning of a string; this sign stands for the `$` of a parameter while it reads
PARAMETER_MARK: Final = "\x01"
_OWN_SYNTAX: Final = frozenset({"CAST", "EXTRACT", "OVERLAY", "POSITION", "SUBSTRING", "TRIM"})

PostgresParser.FUNCTIONS.clear()
for _name in set(PostgresParser.FUNCTION_PARSERS) - _OWN_SYNTAX:
    del PostgresParser.FUNCTION_PARSERS[_name]

Postgres.Tokenizer.SINGLE_TOKENS[PARAMETER_MARK] = TokenType.PARAMETER

# sqlglot logs the text of what it cannot parse; an analyst's text belongs into no log
logging.getLogger("sqlglot").disabled = True

DIALECT: Final = Postgres()


_COMPARING: Final = (
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike, exp.In,
    exp.Between, exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ,
)  # fmt: skip
_ADDING: Final = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)


def check_brackets(node: exp.Expression) -> None:
    """Refuse an operator whose operands might be others in PostgreSQL."""
    for name in ("this", "expression", "low", "high"):
        inner = node.args.get(name)
        if isinstance(inner, exp.Expression) and _unclear(node, inner):
            raise UnsupportedSql(
                Code.TEXT_DRIFTS,
                "the precedence of the operators is ambiguous",
                "put parentheses around the part to be computed first",
            )


def _unclear(node: exp.Expression, inner: exp.Expression) -> bool:
    if isinstance(node, _COMPARING):
        return isinstance(inner, (*_COMPARING, exp.Not, exp.And, exp.Or))
    if isinstance(node, exp.DPipe):
        return isinstance(inner, (*_ADDING, *_COMPARING, exp.Pow, exp.Neg, exp.Not))
    if isinstance(node, (*_ADDING, exp.Pow, exp.Neg)):
        if isinstance(inner, (exp.DPipe, *_COMPARING, exp.Not)):
            return True
        powers = isinstance(node, exp.Pow) or isinstance(inner, exp.Pow)
        return powers and isinstance(inner, (*_ADDING, exp.Neg, exp.Pow))
    return False


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
