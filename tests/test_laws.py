"""Laws over tables try every row, name each row that fails, and run the rows that `--case` asks for."""

import laws
import pytest
from laws import for_each


def test_law_names_every_row_that_fails_and_tries_them_all() -> None:
    """A failure ends neither the law nor the report, and its cause is the first error."""
    tried = []

    @for_each("number", range(5), ids=lambda number: f"row {number}")
    def is_even(number: int) -> None:
        tried.append(number)
        assert number % 2 == 0, "odd"

    with pytest.raises(AssertionError, match="2 of 5 rows break this law") as caught:
        is_even()
    assert tried == [0, 1, 2, 3, 4]
    told = str(caught.value)
    assert all(title in told for title in ("row 1: AssertionError", "row 3: AssertionError"))
    assert "row 2" not in told
    assert isinstance(caught.value.__cause__, AssertionError)


def test_law_fails_when_a_row_calls_pytest_fail() -> None:
    """What pytest reports as a failure counts as one."""

    @for_each("number", [7])
    def fails(number: int) -> None:
        pytest.fail(f"planted {number}")

    with pytest.raises(AssertionError, match="planted 7"):
        fails()


def test_law_takes_fixtures_and_rows_of_several_values() -> None:
    """Values are given by name beside whatever else the test takes."""
    seen = []

    @for_each("one, other", [(1, 2), (3, 4)])
    def add(one: int, other: int, *, more: int) -> None:
        seen.append(one + other + more)

    add(more=10)
    assert seen == [13, 17]


def test_law_tries_selected_rows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--case` is a part of a title; rows without it are not tried."""
    tried = []

    @for_each("text", ["joins: two", "joins: three", "values: one"], ids=str)
    def look(text: str) -> None:
        tried.append(text)

    monkeypatch.setattr(laws.selection, "titles", ["three", "values"])
    look()
    assert tried == ["joins: three", "values: one"]


def test_law_of_two_tables_tries_every_combination() -> None:
    """The title of a combination has the titles of both rows."""
    tried = []

    @for_each("one", [1, 2])
    @for_each("other", ["a", "b"])
    def look(one: int, other: str) -> None:
        tried.append((one, other))
        assert (one, other) != (2, "a")

    with pytest.raises(AssertionError, match=r"1 of 4 rows break this law:\n2, a: AssertionError"):
        look()
    assert tried == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]


def test_law_without_rows_is_refused_when_it_is_made() -> None:
    """A law that tries nothing cannot fail."""
    with pytest.raises(ValueError, match="at least one row"):
        for_each("row", [])
