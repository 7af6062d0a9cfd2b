"""Which parts of SQL may stand in a statement at all, over the whole tree.

A `Select` at the root may hide INTO, FOR UPDATE, a data-modifying CTE or a sample. So every node must be
of a type that is listed here, and may have only the arguments that are listed with it.

INVARIANT: this is an allow-list of node types and of argument slots. What is not here is refused, also
in statements that run on the twin alone.
"""

from typing import Final

from sqlglot import exp

from gateway.errors import Code, LimitExceeded, UnsupportedSql

_DEEPEST: Final = 120

_QUERY: Final = frozenset({"with_", "order", "limit", "offset"})
_BINARY: Final = frozenset({"this", "expression"})
_THIS: Final = frozenset({"this"})
_NONE: Final[frozenset[str]] = frozenset()
_LIST: Final = frozenset({"expressions"})

_ALLOWED: Final[dict[type[exp.Expression], frozenset[str]]] = {
    # queries
    exp.Select: _QUERY
    | {"expressions", "distinct", "from_", "joins", "where", "group", "having", "windows"},
    exp.Union: _QUERY | {"this", "expression", "distinct"},
    exp.Intersect: _QUERY | {"this", "expression", "distinct"},
    exp.Except: _QUERY | {"this", "expression", "distinct"},
    exp.Subquery: _QUERY | {"this", "alias", "joins"},
    exp.Values: frozenset({"expressions", "alias", "order", "limit", "offset"}),
    exp.With: frozenset({"expressions", "recursive"}),
    exp.CTE: frozenset({"this", "alias", "materialized"}),
    exp.From: _THIS,
    exp.Join: frozenset({"this", "on", "side", "kind", "using", "method"}),
    exp.Lateral: frozenset({"this", "alias"}),
    exp.Table: frozenset({"this", "alias", "db", "joins", "ordinality"}),
    exp.Unnest: frozenset({"expressions", "alias", "offset"}),
    exp.TableAlias: frozenset({"this", "columns"}),
    exp.Where: _THIS,
    exp.Having: _THIS,
    exp.Group: _LIST,
    exp.Rollup: _LIST,
    exp.Cube: _LIST,
    exp.GroupingSets: _LIST,
    exp.Order: _LIST | {"this"},
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Limit: frozenset({"expression"}),
    exp.Offset: frozenset({"expression"}),
    exp.Fetch: frozenset({"direction", "count", "limit_options"}),
    exp.LimitOptions: frozenset({"rows", "with_ties"}),
    exp.Distinct: frozenset({"expressions", "on"}),
    # names and constants
    exp.Alias: frozenset({"this", "alias"}),
    exp.Column: frozenset({"this", "table", "db"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Star: _NONE,
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Boolean: _THIS,
    exp.Null: _NONE,
    exp.Var: _THIS,
    exp.ByteString: _THIS,
    exp.Parameter: _THIS,
    # types
    exp.Cast: frozenset({"this", "to"}),
    exp.DataType: frozenset({"this", "expressions", "nested", "kind", "values"}),
    exp.DataTypeParam: _THIS,
    exp.ObjectIdentifier: _THIS,
    # logic and comparison
    **dict.fromkeys(
        (
            exp.And,
            exp.Or,
            exp.EQ,
            exp.NEQ,
            exp.LT,
            exp.LTE,
            exp.GT,
            exp.GTE,
            exp.NullSafeEQ,
            exp.NullSafeNEQ,
            exp.SimilarTo,
            exp.RegexpLike,
            exp.RegexpILike,
            exp.Add,
            exp.Sub,
            exp.Mul,
            exp.Mod,
            exp.Pow,
            exp.Collate,
            exp.Escape,
            exp.BitwiseAnd,
            exp.BitwiseOr,
            exp.BitwiseXor,
            exp.BitwiseLeftShift,
            exp.BitwiseRightShift,
            exp.ArrayContainsAll,
            exp.ArrayOverlaps,
            exp.Filter,
            exp.WithinGroup,
            exp.Dot,
            exp.Extract,
            exp.Slice,
            exp.Kwarg,
        ),
        _BINARY,
    ),
    exp.Is: _BINARY | {"negate"},
    exp.Like: _BINARY | {"negate"},
    exp.ILike: _BINARY | {"negate"},
    exp.Div: _BINARY | {"typed", "safe"},
    exp.DPipe: _BINARY | {"safe"},
    exp.Operator: frozenset({"this", "operator", "expression"}),
    exp.Not: _THIS,
    exp.Neg: _THIS,
    exp.Paren: _THIS,
    exp.BitwiseNot: _THIS,
    exp.Any: _THIS,
    exp.All: _THIS,
    exp.Exists: _THIS,
    exp.Between: frozenset({"this", "low", "high", "symmetric"}),
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.Tuple: _LIST,
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true"}),
    # calls
    exp.Anonymous: frozenset({"this", "expressions"}),
    exp.Window: frozenset({"this", "partition_by", "order", "spec", "alias", "over"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
    exp.Substring: frozenset({"this", "start", "length"}),
    exp.Trim: frozenset({"this", "expression", "position"}),
    exp.StrPosition: frozenset({"this", "substr"}),
    exp.Overlay: frozenset({"this", "expression", "from_", "for_"}),
    exp.AtTimeZone: frozenset({"this", "zone"}),
    exp.Array: frozenset({"expressions", "value_constructor"}),
    exp.Bracket: frozenset({"this", "expressions", "offset", "safe"}),
    exp.Variadic: _THIS,
    exp.JSONExtract: frozenset({"this", "expression", "only_json_types"}),
    exp.JSONExtractScalar: frozenset({"this", "expression", "only_json_types"}),
    exp.JSONBExtractScalar: frozenset({"this", "expression"}),
    exp.JSONPath: _LIST,
    exp.JSONPathRoot: _NONE,
    exp.JSONPathKey: _THIS,
    exp.JSONPathSubscript: _THIS,
    exp.CurrentDate: _NONE,
    exp.CurrentTime: _NONE,
    exp.CurrentTimestamp: _NONE,
    exp.CurrentUser: _NONE,
    exp.CurrentRole: _NONE,
    exp.CurrentSchema: _NONE,
    exp.CurrentCatalog: _NONE,
    exp.SessionUser: _NONE,
    exp.Localtime: _NONE,
    exp.Localtimestamp: _NONE,
}

# Functions that do something or show what is not the analyst's: refused wherever they stand. The twin
# does not let them be called either; two locks.
_ACTING: Final = frozenset(
    {"set_config", "nextval", "setval", "currval", "lastval", "query_to_xml", "table_to_xml"}
    | {"query_to_xmlschema", "cursor_to_xml", "database_to_xml", "schema_to_xml", "ts_stat"}
    | {"query_to_xml_and_xmlschema", "table_to_xml_and_xmlschema", "ts_rewrite", "txid_current"}
    | {"current_setting_secret", "setseed", "crosstab", "connectby", "plpgsql_call_handler"}
)
_ACTING_PREFIXES: Final = (
    "pg_sleep", "pg_advisory", "pg_try_advisory", "pg_terminate", "pg_cancel", "pg_reload",
    "pg_read", "pg_ls", "pg_stat_file", "pg_notify", "pg_logical", "pg_create", "pg_drop",
    "pg_switch", "pg_export", "pg_import", "pg_rotate", "pg_promote", "pg_backup", "pg_start",
    "pg_stop", "pg_wal", "pg_replication", "pg_file", "pg_execute", "pg_current_wal", "lo_",
    "loread", "lowrite", "dblink", "inet_", "binary_upgrade", "brin_", "gin_clean",
)  # fmt: skip


def check_shape(tree: exp.Expression) -> None:
    """Refuse a tree with anything in it that is not on the list."""
    stack: list[tuple[exp.Expression, int]] = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        allowed = _ALLOWED.get(type(node))
        if allowed is None:
            raise UnsupportedSql(
                Code.CLAUSE_UNSUPPORTED, f"`{_words(type(node).__name__)}` is not supported"
            )
        for slot, value in node.args.items():
            if value is None or value is False or value == []:
                continue
            if slot not in allowed:
                shown = slot.rstrip("_")
                raise UnsupportedSql(
                    Code.CLAUSE_UNSUPPORTED,
                    f"`{shown}` is not supported in `{_words(type(node).__name__)}`",
                )
            children = value if isinstance(value, list) else (value,)
            for one in children:
                if isinstance(one, exp.Expression):
                    # long chains of AND and OR are walked without recursion everywhere
                    same = isinstance(node, (exp.And, exp.Or)) and type(one) is type(node)
                    stack.append((one, depth if same else depth + 1))
        if isinstance(node, exp.Anonymous):
            _check_function(node)
        if depth > _DEEPEST:
            raise LimitExceeded(Code.SQL_TOO_LARGE, "the expression is too deeply nested")


def has_side_effects(name: str) -> bool:
    """Whether a function of this name does something, or shows what is not the analyst's."""
    return name in _ACTING or name.startswith(_ACTING_PREFIXES)


def _check_function(node: exp.Anonymous) -> None:
    name = node.this.lower() if isinstance(node.this, str) else node.this.name.lower()
    if has_side_effects(name):
        raise UnsupportedSql(
            Code.FUNCTION_UNSUPPORTED,
            f"the function `{name[:40]}` is not on the list of supported functions",
        )


def _words(name: str) -> str:
    """The name of a part of SQL, as it is written there: `TableSample` is `table sample`."""
    spaced = "".join(f" {sign}" if sign.isupper() else sign for sign in name)
    return spaced.strip().lower()
