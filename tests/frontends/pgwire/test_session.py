"""Sessions say what plain PostgreSQL says, to random conversations, whatever a client sends in whatever order."""

from collections.abc import Iterator

import pytest
from frontends.pgwire.conversations import Differs, a_plain_database, compare
from samples import draws

from gateway.frontends.pgwire.classify import Statements
from gateway.frontends.pgwire.session import Session
from gateway.twin import Twin


@pytest.fixture(scope="module")
def database(twin: Twin) -> Iterator[str]:
    with a_plain_database(twin) as name:
        yield name


@pytest.mark.parametrize("seed", range(draws(20)))
def test_session_says_what_postgresql_says(twin: Twin, database: str, seed: int) -> None:
    """Kinds, rows, tags, SQLSTATEs, the state of the transaction; and nothing is asked that PostgreSQL would skip."""
    compare(twin, database, seed)


class _Forgetful(Session):
    """Asks after an error what should be skipped."""

    def _start(self) -> None:
        self._skipping = False
        super()._start()


class _Hasty(Session):
    """Looks up names before it is known how what came before has ended."""

    def _later(self, frame: object) -> bool:
        del frame
        return False


@pytest.mark.parametrize("broken", [_Forgetful, _Hasty])
def test_comparison_notices_when_a_session_is_wrong(
    twin: Twin, database: str, broken: type[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: a session with one mistake is told apart within the same seeds."""
    monkeypatch.setattr("frontends.pgwire.conversations._PATIENCE_S", 1)

    def made(statements: Statements) -> Session:
        return broken(statements, {})

    with pytest.raises(Differs):  # noqa: PT012 - which seed tells is not said
        for seed in range(20):
            compare(twin, database, seed, make=made)
