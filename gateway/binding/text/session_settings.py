"""Which settings a client may change, and to what.

INVARIANT: the list is an allow-list, for SET and for `set_config` alike. No schema with anything in it that the
analyst could have made is ever searched, and PostgreSQL's own comes first in every search path.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

OWN_PREFIX: Final = "gateway."
SETTINGS: Final = frozenset(
    {
        "application_name",
        "bytea_output",
        "client_encoding",
        "client_min_messages",
        "datestyle",
        "default_transaction_deferrable",
        "default_transaction_isolation",
        "default_transaction_read_only",
        "extra_float_digits",
        "geqo",
        "idle_in_transaction_session_timeout",
        "idle_session_timeout",
        "intervalstyle",
        "jit",
        "lock_timeout",
        "search_path",
        "standard_conforming_strings",
        "statement_timeout",
        "timezone",
        "transaction_deferrable",
        "transaction_isolation",
        "transaction_read_only",
        "gateway.accuracy",
        "gateway.epsilon",
        "gateway.fresh",
        "gateway.purpose",
    }
)
IDLE_LIMITS: Final = frozenset({"idle_in_transaction_session_timeout", "idle_session_timeout"})
"""They may be set, and stay as they are: while the source computes, a session of the twin's is idle."""
ENCODINGS: Final = frozenset({"utf8", "unicode"})  # without signs; both are UTF8
SEARCHED: Final = frozenset({"public", "$user", "information_schema", ""})
FIRST_SEARCHED: Final = "pg_catalog"
ON: Final = frozenset({"on", "true", "yes", "1"})


def _is_encoding(values: Sequence[str]) -> bool:
    return [one.replace("-", "").replace("_", "").lower() in ENCODINGS for one in values] == [True]


def _is_search_path(values: Sequence[str]) -> bool:
    rest = values[1:] if values[:1] == [FIRST_SEARCHED] else values
    return all(one in SEARCHED for one in rest)


def _is_on(values: Sequence[str]) -> bool:
    return [one.lower() in ON for one in values] == [True]


_VALUES: Final[Mapping[str, Callable[[Sequence[str]], bool]]] = {
    "client_encoding": _is_encoding,
    "search_path": _is_search_path,
    "standard_conforming_strings": _is_on,
}


def is_allowed_setting(name: str, values: Sequence[str]) -> bool:
    """Whether a setting that a client may change may be this; its own default is `default` alone."""
    allowed = _VALUES.get(name)
    return allowed is None or values == ["default"] or allowed(values)
