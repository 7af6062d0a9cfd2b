"""Policies are replaced whole or not at all, while others read them."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fix_policy import BASE, ENVIRONMENT

from gateway.errors import BackendUnavailable, Code, OperatorError
from gateway.policy.files.load import LoadedPolicies, read_policies
from gateway.policy.in_force import Cause, CurrentPolicies, FileWatch, fingerprint

CAUSE = Cause("dave", "test")


@dataclass
class Books:
    """Writes down what it is told; refuses when it is told to."""

    accepted: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    refuse: Exception | None = None

    def accept(self, loaded: LoadedPolicies, before: LoadedPolicies | None, cause: Cause) -> None:
        del before, cause
        if self.refuse is not None:
            raise self.refuse
        self.accepted.append(loaded.digest)

    def reject(
        self, problems: tuple[OperatorError, ...], before: LoadedPolicies | None, cause: Cause
    ) -> None:
        del before, cause
        self.rejected.append(problems[0].detail)


@dataclass
class Stand:
    place: Path
    books: Books
    policies: CurrentPolicies

    def write(self, text: str) -> None:
        (self.place / "clinic.yaml").write_text(text)


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    (tmp_path / "subjects.yaml").write_text("alice: {}\nbob: {}\n")
    books = Books()
    policies = CurrentPolicies(
        lambda: read_policies(tmp_path, ENVIRONMENT), books.accept, books.reject
    )
    stand = Stand(tmp_path, books, policies)
    stand.write(BASE)
    return stand


def test_reload_puts_a_good_file_in_force(stand: Stand) -> None:
    """The new value is accepted first, then everybody sees it; the same again is nothing."""
    first = stand.policies.open(CAUSE)
    stand.write(BASE.replace("epsilon: 10,", "epsilon: 11,"))
    result = stand.policies.reload(CAUSE)
    assert result.changed
    assert stand.policies.value is result.in_force
    assert stand.books.accepted == [first.digest, result.in_force.digest]
    again = stand.policies.reload(CAUSE)
    assert (again.changed, len(stand.books.accepted)) == (False, 2)


def test_reload_keeps_what_is_in_force_when_a_file_is_bad(stand: Stand) -> None:
    """The problem is told and recorded."""
    first = stand.policies.open(CAUSE)
    stand.write(BASE.replace("[1920, 2020]", "[2020, 1920]"))
    result = stand.policies.reload(CAUSE)
    assert [problem.code for problem in result.problems] == [Code.POLICY_INVALID]
    assert stand.policies.value is first
    assert len(stand.books.rejected) == 1


def test_reload_keeps_what_is_in_force_when_the_ledger_refuses(stand: Stand) -> None:
    """A changed unit is found by the books, after the file was found good."""
    first = stand.policies.open(CAUSE)
    stand.write(BASE.replace("unit: patient", "unit: household"))
    stand.books.refuse = OperatorError(Code.LEDGER_CHANGED, "the unit")
    result = stand.policies.reload(CAUSE)
    assert [problem.code for problem in result.problems] == [Code.LEDGER_CHANGED]
    assert stand.policies.value is first
    assert stand.books.rejected == ["the unit"]


def test_reload_changes_nothing_when_the_state_is_away(stand: Stand) -> None:
    """What cannot be recorded is not put in force."""
    first = stand.policies.open(CAUSE)
    stand.write(BASE.replace("epsilon: 10,", "epsilon: 11,"))
    stand.books.refuse = BackendUnavailable(Code.STATE_UNAVAILABLE)
    with pytest.raises(BackendUnavailable):
        stand.policies.reload(CAUSE)
    assert stand.policies.value is first
    stand.books.refuse = None
    assert stand.policies.reload(CAUSE).changed


def test_opening_refuses_a_bad_file(stand: Stand) -> None:
    """There is nothing to fall back on at the start."""
    stand.write("gateway: 2")
    with pytest.raises(OperatorError):
        stand.policies.open(CAUSE)
    with pytest.raises(RuntimeError):
        _ = stand.policies.value
    assert len(stand.books.rejected) == 1


def test_readers_see_one_whole_value_while_others_reload(stand: Stand) -> None:
    """Policies and subjects that are read together belong together."""
    stand.policies.open(CAUSE)
    stop = threading.Event()
    seen: set[tuple[str, str]] = set()

    def read() -> None:
        while not stop.is_set():
            value = stand.policies.value
            seen.add((str(value.policies["clinic"].privacy.budget.epsilon), value.digest))

    reader = threading.Thread(target=read)
    reader.start()
    for epsilon in range(11, 19):
        stand.write(BASE.replace("epsilon: 10,", f"epsilon: {epsilon},"))
        stand.policies.reload(CAUSE)
    stop.set()
    reader.join()
    assert len({epsilon for epsilon, _ in seen}) == len(seen)


@contextmanager
def watching(place: Path, told: list[str], *, works: bool = True) -> Iterator[FileWatch]:
    def tell(what: str) -> bool:
        told.append(what)
        return works

    watch = FileWatch(place, lambda: tell("changed"), lambda: tell("asked"), every_s=0.02)
    watch.start()
    yield watch
    watch.stop()


def wait_for(told: list[str], expected: list[str]) -> None:
    until = time.monotonic() + 5
    while told[: len(expected)] != expected and time.monotonic() < until:
        time.sleep(0.01)
    assert told[: len(expected)] == expected


def test_watch_tells_of_a_change_once(tmp_path: Path) -> None:
    """A written, replaced or removed file is told; a file of another kind is not."""
    file = tmp_path / "clinic.yaml"
    file.write_text("a")
    told: list[str] = []
    with watching(tmp_path, told):
        (tmp_path / "notes.txt").write_text("b")
        for times, text in enumerate(("ab", "cd"), 1):
            other = tmp_path / "new"
            other.write_text(text)
            other.rename(file)
            wait_for(told, ["changed"] * times)
        file.unlink()
        wait_for(told, ["changed"] * 3)
        time.sleep(0.1)
        assert told == ["changed"] * 3


def test_watch_reloads_when_asked(tmp_path: Path) -> None:
    """SIGHUP does not need a change."""
    told: list[str] = []
    with watching(tmp_path, told) as watch:
        watch.ask()
        wait_for(told, ["asked"])


def test_watch_tries_again_what_did_not_work(tmp_path: Path) -> None:
    """A state that is away for a moment does not lose a change."""
    told: list[str] = []
    with watching(tmp_path, told, works=False):
        (tmp_path / "clinic.yaml").write_text("a")
        wait_for(told, ["changed", "changed", "changed"])


def test_fingerprint_follows_links(tmp_path: Path) -> None:
    """Deployments swap a link to a directory of files."""
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("1")
    two.write_text("22")
    link = tmp_path / "clinic.yaml"
    link.symlink_to(one)
    before = fingerprint(tmp_path)
    link.unlink()
    link.symlink_to(two)
    assert fingerprint(tmp_path) != before
    assert fingerprint(tmp_path / "nowhere") == ()
