"""Every refusal as PostgreSQL says one: the contract's SQLSTATE, one line, the code in DETAIL, and nothing else."""

import re

import pytest
from frontends.pgwire.packets import error_of, told
from laws import for_each

from gateway.errors import (
    SQLSTATE,
    TITLE,
    BackendUnavailable,
    Code,
    GatewayError,
    InternalError,
    NotPermitted,
    OperatorError,
    Refusal,
)
from gateway.events import Crashed, Event
from gateway.frontends.pgwire.error_response import (
    NO_FUNCTION_CALLS,
    Severity,
    error_message,
    malformed_message,
    no_such_database,
    notice_message,
    refusal_of,
)
from gateway.frontends.pgwire.framing import Malformed
from gateway.requests.request import Notice
from gateway.twin import TwinRefused


@for_each("severity", list(Severity))
@for_each("code", list(Code))
def test_every_code_has_its_fields(code: Code, severity: Severity) -> None:
    """The table is total: severity, SQLSTATE, a title in one line, a detail with the code, and the hint."""
    refusal = Refusal(code, "about `x`", "do y")
    assert error_of(error_message(refusal, severity)) == {
        "S": severity.value,
        "V": severity.value,
        "C": SQLSTATE[code],
        "M": TITLE[code],
        "D": f"{code.value}: about `x`",
        "H": "do y",
    }
    assert re.fullmatch("[0-9A-Z]{5}", SQLSTATE[code])
    assert "\n" not in TITLE[code]


def test_refusal_without_detail_still_tells_its_code() -> None:
    """DETAIL is never without the code, and a hint that is not there is no field."""
    fields = error_of(error_message(NotPermitted(Code.PURPOSE_NOT_PERMITTED)))
    assert fields["D"] == "GW204: you may not query for this purpose"
    assert set(fields) == {"S", "V", "C", "M", "D"}


def test_word_of_the_twin_is_told_in_its_own_words() -> None:
    """Tools know PostgreSQL's errors by their line and SQLSTATE, and editors by their position."""
    refusal = TwinRefused("42P01", 'relation "x"\ndoes not exist', "look again", 15)
    assert error_of(error_message(refusal)) == {
        "S": "ERROR",
        "V": "ERROR",
        "C": "42P01",
        "M": 'relation "x" does not exist',
        "D": "GW603: the statement uses an object that you may not use",
        "H": "look again",
        "P": "15",
    }


@pytest.mark.parametrize(
    "refusal", [InternalError("0123abcd"), TwinRefused("58030", "/var/lib/secret", "secret", 3)]
)
def test_failure_of_ours_tells_an_incident_alone(refusal: Refusal) -> None:
    """Nothing but an opaque id, wherever the failure was."""
    fields = error_of(error_message(refusal))
    assert (fields["C"], fields["M"]) == ("XX000", TITLE[Code.INTERNAL])
    assert re.fullmatch("GW901: incident [0-9a-f]+", fields["D"])
    assert set(fields) == {"S", "V", "C", "M", "D"}


def test_what_was_raised_becomes_a_refusal() -> None:
    """A refusal is itself, an operator's mistake an unavailable state, and a bug an incident in the log."""
    told_: list[Event] = []
    refusal = BackendUnavailable(Code.SOURCE_UNAVAILABLE)
    assert refusal_of(refusal, told_.append) is refusal
    operators = refusal_of(OperatorError(Code.SOURCE_UNUSABLE, "postgresql://secret"), told_.append)
    assert (operators.code, operators.detail) == (Code.STATE_UNAVAILABLE, "")
    assert told_ == []
    bug = refusal_of(KeyError("secret"), told_.append)
    (crashed,) = told_
    assert isinstance(crashed, Crashed)
    assert (bug.code, bug.detail) == (Code.INTERNAL, f"incident {crashed.incident}")
    assert "secret" in crashed.problem
    assert b"secret" not in error_message(bug)


def test_dataset_that_is_not_there_reads_like_a_database() -> None:
    """Drivers know 3D000; whether the dataset exists for others is not in it."""
    refusal = NotPermitted(Code.DATASET_NOT_PERMITTED, "`labs`", "see gateway.datasets")
    fields = error_of(no_such_database(refusal, "labs"))
    assert (fields["S"], fields["C"]) == ("FATAL", "3D000")
    assert fields["M"] == 'database "labs" does not exist'
    assert fields["D"] == "GW205: `labs`"


def test_violation_of_the_protocol_quotes_nothing() -> None:
    """The connection ends with 08P01 and a text of ours."""
    fields = error_of(malformed_message(Malformed("a string without an end")))
    assert (fields["S"], fields["C"]) == ("FATAL", "08P01")
    assert fields["D"] == "GW705: a string without an end"


def test_notice_is_one_line_and_no_error() -> None:
    """A notice has the SQLSTATE of success; each of its further lines is one line, too."""
    notice = Notice("answered\nbefore", ("free", "a\nb"), ("ask less",))
    ((kind, body),) = told(notice_message(notice))
    assert kind == "N"
    told_fields = b"SNOTICE\0VNOTICE\0C00000\0Manswered before\0Dfree\na b\0Hask less\0\0"
    assert body == told_fields
    ((_, bare),) = told(notice_message(Notice("free")))
    assert bare == b"SNOTICE\0VNOTICE\0C00000\0Mfree\0\0"


def test_zero_in_a_text_ends_no_field() -> None:
    """Whatever a detail has in it, the fields stay the same."""
    for text in ("a\0Cxxxxx", "\ud800", "ü\n"):
        error: GatewayError = NotPermitted(Code.ROLE_REQUIRED, text, text)
        assert isinstance(error, Refusal)
        fields = error_of(error_message(error))
        assert (set(fields), fields["C"]) == ({"S", "V", "C", "M", "D", "H"}, "42501")


def test_function_calls_are_refused() -> None:
    """The old message for calling a function by its number is not answered."""
    assert error_of(error_message(NO_FUNCTION_CALLS))["C"] == "0A000"
