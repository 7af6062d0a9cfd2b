"""Parse a statement on PostgreSQL, and do nothing else with it.

SQLAlchemy compiles statements, and remembers what to, only on the way to executing them. So a statement that is to be
parsed goes that way, and here, at its end, `Parse` and `Describe Statement` take the place of executing.

INVARIANT: nothing is bound, planned or run. PostgreSQL analyses names, types and functions, by its catalog alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from psycopg import Cursor
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from sqlalchemy.engine import ExecutionContext

PARSED: Final = "gateway_parse"
"""The execution option of what is parsed alone."""
_UNNAMED: Final = b""


def parse_only(
    cursor: Cursor[Any],
    statement: str,
    parameters: Mapping[str, Any] | Sequence[Any],
    context: ExecutionContext,
) -> bool | None:
    """A listener of `do_execute`: True where this was all there is to do."""
    if not context.execution_options.get(PARSED):
        return None
    if not isinstance(parameters, Mapping):
        raise TypeError("the parameters of a parsed statement have names")
    numbers = _Numbers()
    text = statement % numbers
    connection = cursor.connection
    transformer = Transformer(connection)
    values = [parameters[name] for name in numbers]
    transformer.dump_sequence(values, [PyFormat.AUTO] * len(values))
    server = connection.pgconn
    encoding = connection.info.encoding
    for result in (
        server.prepare(_UNNAMED, text.encode(encoding), transformer.types or ()),
        server.describe_prepared(_UNNAMED),
    ):
        if result.status != ExecStatus.COMMAND_OK:
            raise error_from_result(result, encoding)
    return True


class _Numbers(dict[str, str]):
    """Names of parameters in the order in which a text first has them, each with its place as PostgreSQL writes it."""

    def __missing__(self, name: str) -> str:
        made = self[name] = f"${len(self) + 1}"
        return made
