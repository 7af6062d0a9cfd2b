"""The parser for PostgreSQL's SQL, set up so that what was written is what is kept.

sqlglot turns functions it knows into nodes of its own and writes them back in other words, which is
right for translating between databases and wrong here. With its tables of functions empty, a function
stays a name with arguments; only what has a syntax of its own (EXTRACT, SUBSTRING, TRIM, POSITION,
OVERLAY, CAST) keeps a node.

The compiled parser cannot be subclassed, so its tables are changed in place, once, at import. Nothing
else in the gateway parses with them.

Where two readers of SQL could bind operators differently, brackets are asked for.

sqlglot and PostgreSQL agree on the precedence of arithmetic, AND, OR and NOT. They do not agree
everywhere else: on `a || b + c`, on `-2 ^ 2`, on comparisons of comparisons. A core that is computed
from the wrong reading would be a wrong answer, so such text is refused until it has brackets.
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
