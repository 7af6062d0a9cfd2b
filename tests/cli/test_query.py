"""`gateway query`: what it asks, what it prints, and how it ends."""

import argparse
import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

import pytest
from frontends.rest.stub_questions import COUNT, ESTIMATE, Behind, answering

from gateway.cli import main, query
from gateway.errors import Code, Refusal, Unbounded
from gateway.frontends.rest.gateway_api import QueryApi
from gateway.policy.subjects import Subject
from gateway.requests.answer_json import answer_json
from gateway.requests.request import Accuracy, Answer, AnswerColumn, CacheUse, Request
from gateway.units import Delta, Epsilon


@pytest.fixture
def behind(monkeypatch: pytest.MonkeyPatch) -> Behind:
    """The command, with a door that leads to what a test says."""
    behind = Behind()
    lead_to(behind.door(), monkeypatch)
    return behind


def lead_to(door: QueryApi, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def open_door(arguments: argparse.Namespace) -> Iterator[tuple[QueryApi, Subject]]:
        yield door, Subject(arguments.subject)

    monkeypatch.setattr(query, "open_query_access", open_door)


def _query(*words: str) -> int:
    return main(["query", *words])


def test_query_prints_a_table_with_margins(
    behind: Behind, capsys: pytest.CaptureFixture[str]
) -> None:
    """Values and margins side by side, the price, and what is left."""
    assert _query(COUNT, "--as", "alice") == 0
    assert capsys.readouterr().out.splitlines() == [
        "region  count  ± 95 %",
        "------  -----  ------",
        "north   2517   ± 60",
        "        12     ± 60",
        "",
        "price: epsilon 0.05",
        "analyst:alice@clinic: 9.95 of 10 left",
        "dataset:clinic: 9.95 of 10 left",
        "note: as it is",
    ]
    assert behind.of_accounts == [("alice", None)]


def test_query_prints_both_ends_when_an_interval_leans(
    behind: Behind, capsys: pytest.CaptureFixture[str]
) -> None:
    """An interval that is not the same to both sides, or has no end, is no margin."""
    behind.answer = answering(
        columns=tuple(AnswerColumn(name, "numeric", noisy=True) for name in "abcd"),
        rows=(("0.5", "1", None, "3"), ("2.25", "NaN", "1", None)),
        intervals=(
            ((0.0, 1.5), (float("-inf"), float("inf")), None, None),
            ((2.0, 2.5), (0.0, 1.0), (1.0, 1.0), None),
        ),
        delta=Delta.parse("1e-9"),
        notices=(),
    )
    _query(COUNT, "--as", "alice")
    assert capsys.readouterr().out.splitlines()[:6] == [
        "a     ± 95 %    b    ± 95 %                 c  ± 95 %  d",
        "----  --------  ---  ---------------------  -  ------  -",
        "0.5   [0, 1.5]  1    [-Infinity, Infinity]             3",
        "2.25  ± 0.25    NaN  [0, 1]                 1  ± 0",
        "",
        "price: epsilon 0.05, delta 1e-09",
    ]


@pytest.mark.parametrize(
    ("margin", "shown"),
    [
        *((142.234380298702, "143"), (307.9, "308"), (12345.0, "12400"), (0.25, "0.25")),
        *((0.0012341, "0.00124"), (60.000000000000014, "60"), (1e-7, "0.0000001"), (0.0, "0")),
    ],
)
def test_query_prints_margins_short_and_never_too_small(
    behind: Behind, margin: float, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody reads fifteen digits of a margin; what is cut off makes it wider."""
    behind.answer = answering(
        columns=(AnswerColumn("a", "numeric", noisy=True),),
        rows=(("0",),),
        intervals=(((-margin, margin),),),
    )
    _query(COUNT, "--as", "alice")
    assert capsys.readouterr().out.splitlines()[2].split("± ")[1] == shown


def test_query_prints_values_and_ends_with_the_digits_that_their_margin_leaves_them(
    behind: Behind, capsys: pytest.CaptureFixture[str]
) -> None:
    """Decimals of values go, whole numbers stay; JSON has all digits. An interval that was rounded outward is even."""
    behind.answer = answering(
        columns=tuple(AnswerColumn(name, "numeric", noisy=True) for name in "abc"),
        rows=(
            ("52413.4928371645", "48127", "0.123456789"),
            ("1719.7604", "3.25", "0.5"),
            ("12.3456789", "7", "9.87654321"),
        ),
        intervals=(
            ((51173.0, 53654.0), (46893.0, 49361.0), (0.1111, 0.1358)),
            ((1702.4, 1737.1), (1.0, 9.0), None),
            ((3578.0, 6046.0), (7.0, 7.0), None),
        ),
        notices=(),
    )
    _query(COUNT, "--as", "alice")
    assert capsys.readouterr().out.splitlines()[2:5] == [
        "52413   ± 1250        48127  ± 1240  0.1235      ± 0.0124",
        "1719.8  ± 17.4        3.25   [1, 9]  0.5",
        "12      [3570, 6050]  7      ± 0     9.87654321",
    ]
    _query(COUNT, "--as", "alice", "--json")
    body = json.loads(capsys.readouterr().out)
    assert body["rows"][0] == [52413.4928371645, 48127.0, 0.123456789]
    assert body["intervals"][2] == [[3578.0, 6046.0], [7.0, 7.0], None]


def test_query_hands_on_what_was_typed(behind: Behind) -> None:
    """The price is exact, and the record will say who typed it."""
    words = ("--dataset", "clinic", "--purpose", "care-quality", "--epsilon", "0.1")
    assert _query(COUNT, "--as", "bob", *words) == 0
    [(who, request)] = behind.asked
    assert who == "bob"
    assert request.epsilon == Epsilon(Fraction(1, 10))
    assert request.address.startswith("os:")
    assert replace(request, address="") == Request(
        COUNT, "clinic", "care-quality", Epsilon.parse("0.1")
    )


@pytest.mark.parametrize(
    ("words", "accuracy"),
    [
        (("--margin", "30"), Accuracy(Fraction(30))),
        (
            ("--relative", "0.05", "--floor", "1000", "--confidence", "0.9", "--rows", "7"),
            Accuracy(None, Fraction(1, 20), Fraction(9, 10), Fraction(1000), 7),
        ),
        ((), None),
    ],
)
def test_query_hands_on_the_accuracy_that_was_typed(
    behind: Behind, words: tuple[str, ...], accuracy: Accuracy | None
) -> None:
    """Instead of a price; both for the answer and for the estimate."""
    assert _query(COUNT, "--as", "bob", *words) == 0
    assert _query(COUNT, "--as", "bob", *words, "--dry-run") == 0
    [(_, request)], [(_, estimated)] = behind.asked, behind.estimated
    assert request == estimated
    assert (request.accuracy, request.epsilon) == (accuracy, None)


@pytest.mark.parametrize(
    "words",
    [
        ("--margin", "0"),
        ("--relative", "0.1"),
        ("--floor", "3"),
        ("--margin", "1", "--floor", "3"),
        ("--epsilon", "1", "--rows", "3"),
    ],
)
def test_query_fails_when_the_accuracy_is_none(
    behind: Behind, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is asked, and it is said what is wrong."""
    assert _query(COUNT, "--as", "alice", *words) == 2
    assert "the accuracy: " in capsys.readouterr().err
    assert behind.asked == []


def test_query_takes_a_price_or_an_accuracy(behind: Behind) -> None:
    """Both at once are a mistake in the command."""
    with pytest.raises(SystemExit) as ended:
        _query(COUNT, "--as", "alice", "--epsilon", "1", "--margin", "1")
    assert ended.value.code == 2
    assert behind.asked == []


def test_query_prints_what_is_promised_when_an_accuracy_was_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A column of its own, beside the margins of 95 %."""
    region, count = ESTIMATE.columns
    found = replace(ESTIMATE, columns=(region, replace(count, promised_margin=80.0)))
    lead_to(replace(Behind().door(), estimate=lambda *_: found), monkeypatch)
    assert (
        _query(COUNT, "--as", "alice", "--margin", "80", "--confidence", "0.99", "--dry-run") == 0
    )
    assert capsys.readouterr().out.splitlines()[:4] == [
        "column  ± 95 %  ± as asked",
        "------  ------  ----------",
        "region",
        "count   ± 60    ± 80",
    ]


def test_query_prints_the_loss_where_a_histogram_tells_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside the margin, which is that of the noise; a column that loses nothing known has none."""
    region, count = ESTIMATE.columns
    found = replace(ESTIMATE, columns=(region, replace(count, expected_loss=0.0829)))
    lead_to(replace(Behind().door(), estimate=lambda *_: found), monkeypatch)
    assert _query(COUNT, "--as", "alice", "--dry-run") == 0
    assert capsys.readouterr().out.splitlines()[:4] == [
        "column  ± 95 %  visible loss",
        "------  ------  ------------",
        "region",
        "count   ± 60    about 8.3 %",
    ]


def test_query_prints_that_a_margin_is_one_before_a_histogram(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside the margin that may grow, and beside no other."""
    region, count = ESTIMATE.columns
    found = replace(ESTIMATE, columns=(region, replace(count, before_histogram=True)))
    lead_to(replace(Behind().door(), estimate=lambda *_: found), monkeypatch)
    assert _query(COUNT, "--as", "alice", "--dry-run") == 0
    assert capsys.readouterr().out.splitlines()[:4] == [
        "column  ± 95 %  after its histogram",
        "------  ------  -------------------",
        "region",
        "count   ± 60    may be much larger",
    ]


@pytest.mark.parametrize(
    ("charged", "line"),
    [
        ("0", "answered from an earlier release, nothing charged"),
        ("0.05", "answered from an earlier release, charged to accounts that had not paid for it"),
    ],
)
def test_query_says_so_when_the_answer_was_reused(
    behind: Behind, charged: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Below the price; and nothing of it where the answer was measured anew."""
    paid = Epsilon.zero() if charged == "0" else Epsilon.parse(charged)
    behind.answer = answering(reused=CacheUse.FILTER, charged=paid)
    _query(COUNT, "--as", "alice")
    assert capsys.readouterr().out.splitlines()[5:7] == [f"price: epsilon {charged}", line]
    _query(COUNT, "--as", "alice", "--json")
    assert json.loads(capsys.readouterr().out)["privacy"]["reused"] == "filter"
    behind.answer = answering(charged=paid)
    _query(COUNT, "--as", "alice")
    assert "earlier release" not in capsys.readouterr().out


def test_query_says_before_that_an_answer_would_be_reused(
    behind: Behind, capsys: pytest.CaptureFixture[str]
) -> None:
    """The estimate is the same that REST gives."""
    behind.estimate = replace(ESTIMATE, price=Epsilon.zero(), reused=CacheUse.SAME)
    assert _query(COUNT, "--as", "alice", "--dry-run") == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "price: epsilon 0; nothing was run or charged",
        "it would be answered from an earlier release",
    ]
    _query(COUNT, "--as", "alice", "--dry-run", "--json")
    assert json.loads(capsys.readouterr().out)["reused"] == "same"


def test_query_is_fresh_when_it_is_typed(behind: Behind) -> None:
    """Both for the answer and for the estimate; by default an earlier answer will do."""
    for words in ((), ("--fresh",), ("--fresh", "--dry-run")):
        assert _query(COUNT, "--as", "alice", *words) == 0
    assert [request.fresh for _, request in behind.asked] == [False, True]
    assert [request.fresh for _, request in behind.estimated] == [True]


def test_query_prints_the_body_of_rest_when_json_is_asked_for(
    behind: Behind, capsys: pytest.CaptureFixture[str]
) -> None:
    """Programs read one shape, whichever way they ask."""
    assert _query(COUNT, "--as", "alice", "--json") == 0
    wanted = answer_json(behind.answer, behind.accounts(Subject("alice"), None))
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(wanted))


def test_query_prints_the_estimate_when_it_is_a_dry_run(
    behind: Behind, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is asked, and it is said that nothing was."""
    assert _query(COUNT, "--as", "alice", "--dry-run") == 0
    assert capsys.readouterr().out.splitlines() == [
        "column  ± 95 %",
        "------  ------",
        "region",
        "count   ± 60",
        "",
        "price: epsilon 0.05; nothing was run or charged",
    ]
    assert _query(COUNT, "--as", "alice", "--dry-run", "--json") == 0
    assert json.loads(capsys.readouterr().out)["decision"] == "permit"
    assert behind.asked == []


def test_query_explains_a_refusal(behind: Behind, capsys: pytest.CaptureFixture[str]) -> None:
    """One line with the code, the hint below it, and exit code 1."""
    behind.refusal = Unbounded(Code.NO_BOUND, "`patients.income`", "give it a domain")
    assert _query(COUNT, "--as", "alice") == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "GW301" in shown.err
    assert "hint: give it a domain" in shown.err


@pytest.mark.parametrize("price", ["0", "0.0", "-1", "x", "nan", "1/2", "", "9" * 500])
def test_query_is_a_usage_error_when_epsilon_is_no_price(
    behind: Behind, price: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be a price is told before anything is opened."""
    assert _query(COUNT, "--as", "alice", f"--epsilon={price}") == 2
    assert "--epsilon: epsilon" in capsys.readouterr().err
    assert behind.asked == []


def test_query_prints_nothing_that_would_steer_a_terminal(
    behind: Behind, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names and texts are the analyst's and the data's, the terminal is the operator's."""
    nasty = "\x1b[2J\r\n\x07x"
    behind.answer = answering(
        columns=(AnswerColumn(nasty, "text", noisy=False),),
        rows=((nasty,),),
        intervals=((None,),),
        notices=(nasty,),
    )
    assert _query(COUNT, "--as", "alice") == 0
    assert all(line.isprintable() for line in capsys.readouterr().out.split("\n"))


def test_query_is_cancelled_at_the_source_when_it_is_interrupted(
    behind: Behind, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first Ctrl-C ends the question in order; afterwards Ctrl-C is what it was before."""
    before = signal.getsignal(signal.SIGINT)

    def answers(subject: Subject, request: Request, gone: threading.Event) -> Answer:
        assert not gone.is_set()
        os.kill(os.getpid(), signal.SIGINT)
        assert gone.wait(30)
        assert signal.getsignal(signal.SIGINT) is before
        raise Refusal(Code.SOURCE_CANCELLED)

    lead_to(replace(behind.door(), answer=answers), monkeypatch)
    assert _query(COUNT, "--as", "alice") == 1
    assert "GW611" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before
