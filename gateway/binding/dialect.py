"""The parser for PostgreSQL's SQL, set up so that what was written is what is kept.

sqlglot turns functions it knows into nodes of its own and writes them back in other words, which is
right for translating between databases and wrong here. With its tables of functions empty, a function
stays a name with arguments; only what has a syntax of its own (EXTRACT, SUBSTRING, TRIM, POSITION,
OVERLAY, CAST) keeps a node.

The compiled parser cannot be subclassed, so its tables are changed in place, once, at import. Nothing
else in the gateway parses with them.
"""

import logging
from typing import Final

from sqlglot.dialects.postgres import Postgres
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import TokenType

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
