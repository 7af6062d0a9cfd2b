"""No statement of the corpus, accepted or refused, ends as a bug of ours; `make privacy` asks all of it everywhere."""

from itertools import cycle

import pytest
from binding.cases import every
from endtoend.clinic_gateway import AskedGateway
from endtoend.corpus import bugs

from gateway.errors import InternalError
from gateway.stages.prepare import SourceAccess

_CASES = every()
# every refused statement is refused within milliseconds; of the accepted ones a sample runs
_SAMPLE = [one for one in _CASES if one.refused][::3] + [one for one in _CASES if not one.refused][
    ::12
]
_DATASETS = ("laplace", "gaussian", "listed")


def test_no_statement_of_the_corpus_ends_as_our_bug(gateway: AskedGateway) -> None:
    """Every statement is answered, or refused with a code that says what to do."""
    assert list(bugs(gateway, zip(_SAMPLE, cycle(_DATASETS), strict=False))) == []


def test_bug_is_found_when_there_is_one(
    gateway: AskedGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The law above has teeth: an answer that fails where nobody expects it is told."""

    def fail(*_: object, **__: object) -> None:
        raise InternalError("planted")

    monkeypatch.setattr(SourceAccess, "run", fail)
    accepted = [one for one in _CASES if not one.refused][:20]
    assert any("planted" in one for one in bugs(gateway, ((one, "listed") for one in accepted)))
