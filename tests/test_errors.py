"""The refusal tree: every code has its texts and tables, and they keep what users were promised."""

import inspect
import re
from collections.abc import Mapping

from laws import for_each

from gateway import errors
from gateway.errors import (
    HTTP,
    REASON,
    SQLSTATE,
    TITLE,
    Code,
    GatewayError,
    InternalError,
    OperatorError,
    Reason,
    Refusal,
)

CODES = for_each("code", list(Code))

# the reason's row in the table of contracts.md: what programs may rely on
_ALLOWED: Mapping[Reason, tuple[set[int], set[str]]] = {
    Reason.UNAUTHENTICATED: ({401}, {"28P01", "28000"}),
    Reason.LIMIT_EXCEEDED: ({413, 429}, {"54000", "53300"}),
    Reason.SYNTAX_ERROR: ({400}, {"42601", "22023"}),
    Reason.NOT_PERMITTED: ({403}, {"42P01", "42703", "42501"}),
    Reason.UNSUPPORTED_SQL: ({422}, {"0A000"}),
    Reason.NOT_AGGREGATE: ({403}, {"42501"}),
    Reason.UNBOUNDED: ({422}, {"0A000"}),
    Reason.OVERLAP: ({403}, {"42501"}),
    Reason.BUDGET_EXHAUSTED: ({429}, {"53400"}),
    Reason.TIMEOUT: ({504}, {"57014"}),
    Reason.BACKEND_UNAVAILABLE: ({503}, {"58000"}),
    Reason.INTERNAL: ({500}, {"XX000"}),
    Reason.OPERATION: ({500}, {"58000"}),
}
# what the table is silent about, and a user of the web expects
_BEYOND: Mapping[Code, int] = {
    Code.NO_SUCH_ENDPOINT: 404,
    Code.METHOD_NOT_ALLOWED: 405,
    Code.NO_SUCH_FORMAT: 406,
    Code.REQUEST_TOO_SLOW: 408,
}

_OF_STAGE: Mapping[str, set[Reason]] = {
    "1": {
        *(Reason.SYNTAX_ERROR, Reason.LIMIT_EXCEEDED, Reason.UNSUPPORTED_SQL),
        *(Reason.NOT_PERMITTED, Reason.NOT_AGGREGATE, Reason.UNBOUNDED),
    },
    "2": {Reason.NOT_PERMITTED},
    "3": {Reason.UNBOUNDED, Reason.UNSUPPORTED_SQL},
    "4": {Reason.OVERLAP, Reason.UNSUPPORTED_SQL},
    "5": {Reason.BUDGET_EXHAUSTED, Reason.NOT_PERMITTED, Reason.SYNTAX_ERROR},
    "6": {
        *(Reason.BACKEND_UNAVAILABLE, Reason.TIMEOUT, Reason.LIMIT_EXCEEDED),
        *(Reason.SYNTAX_ERROR, Reason.NOT_PERMITTED, Reason.UNSUPPORTED_SQL),
    },
    "7": {
        *(Reason.UNAUTHENTICATED, Reason.LIMIT_EXCEEDED, Reason.NOT_PERMITTED),
        Reason.SYNTAX_ERROR,
    },
    "8": {Reason.OPERATION},
    "9": {Reason.INTERNAL},
}


def test_tables_are_total() -> None:
    """Every code has a reason, a status, an SQLSTATE and a title, and nothing else has."""
    for table in (REASON, HTTP, SQLSTATE, TITLE):
        assert set(table) == set(Code)
    assert set(_ALLOWED) == set(Reason)


def test_codes_are_unique_and_numbered_in_order() -> None:
    """No number means two things, and a new code goes where it can be found."""
    values = [code.value for code in Code]
    assert len(values) == len(set(values)) == len(Code.__members__)
    assert values == sorted(values)


def test_titles_are_unique() -> None:
    """Whoever reads a title knows the code."""
    assert len(set(TITLE.values())) == len(TITLE)


@CODES
def test_code_is_numbered_by_its_stage(code: Code) -> None:
    """GW and three digits, the first of which says which stage raised it."""
    assert re.fullmatch(r"GW[1-9][0-9]{2}", code.value)
    assert REASON[code] in _OF_STAGE[code.value[2]]


@CODES
def test_status_and_sqlstate_are_those_of_the_contract(code: Code) -> None:
    """Reason, HTTP status and SQLSTATE go together as the contract's table says."""
    statuses, sqlstates = _ALLOWED[REASON[code]]
    assert SQLSTATE[code] in sqlstates
    assert HTTP[code] == _BEYOND.get(code, HTTP[code])
    assert HTTP[code] in statuses | ({_BEYOND[code]} if code in _BEYOND else set())


@CODES
def test_title_reads_as_the_middle_of_a_sentence(code: Code) -> None:
    """Lower-case unless it begins with an abbreviation, no final period, one line, no placeholders."""
    title = TITLE[code]
    assert title[0].islower() or re.match(r"[A-Z]{2}", title)
    assert not re.search(r"[.!\n{}%]|\s$", title)
    assert len(title) < 80


def test_reasons_are_in_the_order_of_precedence() -> None:
    """The order of the contract's table is the order in which several are told."""
    assert list(Reason) == list(_ALLOWED)


@CODES
def test_error_says_code_title_and_detail_and_keeps_the_hint_apart(code: Code) -> None:
    """One line for the log and the wire; what to do about it is another."""
    error = GatewayError(code, "about `x`", "do y")
    assert str(error) == f"{code.value}: {TITLE[code]}: about `x`"
    assert str(GatewayError(code)) == f"{code.value}: {TITLE[code]}"
    assert (error.reason, error.title, error.hint) == (REASON[code], TITLE[code], "do y")


def test_errors_that_analysts_see_and_those_they_do_not_are_different_classes() -> None:
    """What is caught as a refusal can never be an operator's error."""
    classes = [
        each
        for _, each in inspect.getmembers(errors, inspect.isclass)
        if issubclass(each, GatewayError)
    ]
    assert OperatorError in classes
    assert not issubclass(OperatorError, Refusal)
    for each in classes:
        assert each.__doc__
        assert each in {GatewayError, Refusal, OperatorError} or issubclass(each, Refusal)


@CODES
def test_refusal_has_the_sqlstate_of_its_code(code: Code) -> None:
    """Who renders a refusal asks it, and finds the table's unless PostgreSQL said a finer one."""
    assert Refusal(code).sqlstate == SQLSTATE[code]


def test_internal_error_says_its_incident_and_nothing_else() -> None:
    """A bug of ours tells the outside an id."""
    error = InternalError("3f2a")
    assert str(error) == f"GW901: {TITLE[Code.INTERNAL]}: incident 3f2a"
    assert error.incident == "3f2a"
    assert error.hint == ""
