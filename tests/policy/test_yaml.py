"""Policy files are read strictly, as text, with places."""

import os
import time
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import draws

from gateway.errors import Code, OperatorError
from gateway.policy import yaml
from gateway.policy.yaml import (
    DEEPEST_NESTING,
    LARGEST_FILE,
    LONGEST_LINE,
    MOST_NODES,
    Fields,
    FilePosition,
    Items,
    Text,
    parse_yaml,
    place_of,
    read_yaml,
)

CODE = Code.SUBJECTS_INVALID


def parsed(text: str | bytes) -> Fields:
    data = text.encode() if isinstance(text, str) else text
    return parse_yaml(data, file="clinic.yaml", code=CODE)


def tree_or_refusal(data: bytes) -> Fields | OperatorError:
    """Either of the two; anything else is raised and fails the test."""
    try:
        return parsed(data)
    except OperatorError as error:
        return error


def refused(text: str | bytes) -> OperatorError:
    with pytest.raises(OperatorError) as caught:
        parsed(text)
    assert caught.value.code is CODE
    return caught.value


@pytest.mark.parametrize(
    "written",
    [
        "no",
        "yes",
        "on",
        "off",
        "true",
        "False",
        "0123",
        "0o17",
        "0x1F",
        "12:30",
        "1e-6",
        "1_000",
        "+1",
        ".5",
        ".inf",
        "NaN",
        "2020-01-01",
        "=",
        "1,000",
    ],
)
def test_scalar_stays_as_written_whatever_it_looks_like(written: str) -> None:
    """What YAML 1.1 or a number parser would turn into something else stays the text it is."""
    assert parsed(f"a: {written}").plain() == {"a": written}
    assert parsed(f"{written}: a").plain() == {written: "a"}


def test_null_is_told_from_quoted_text() -> None:
    """An empty value and the words for null are None; the same in quotes is text."""
    tree = parsed("a:\nb: ~\nc: null\nd: ''\ne: \"null\"\nf: [~, x]\n")
    assert tree.plain() == {"a": None, "b": None, "c": None, "d": "", "e": "null", "f": [None, "x"]}


def test_tree_has_fields_items_and_text_with_their_places() -> None:
    """Every key and value knows its line and column, counted from 1."""
    tree = parsed("a: {b: [x, 'y z']}\n# comment\nlong:\n  - |\n    two\n    lines\n")
    inner = tree.entries["a"].value
    assert isinstance(inner, Fields)
    assert inner.entries["b"].key == Text(FilePosition("", 0, 0), "b")
    assert str(inner.entries["b"].key.place) == "clinic.yaml:1:5"
    items = inner.entries["b"].value
    assert isinstance(items, Items)
    assert items.plain() == ["x", "y z"]
    assert str(items.items[1].place) == "clinic.yaml:1:12"
    assert tree.plain()["long"] == ["two\nlines\n"]
    assert str(tree.entries["long"].key.place) == "clinic.yaml:3:1"


def test_empty_value_stands_where_its_key_stands() -> None:
    """A message about a missing value points to the key, not to the line after it."""
    tree = parsed("a: 1\nbudget:\n\n\nc: 2\n")
    assert str(tree.entries["budget"].value.place) == "clinic.yaml:2:1"


def test_place_of_follows_a_path_as_far_as_it_goes() -> None:
    """A validator's path leads to the place of what it complains about, or near it."""
    tree = parsed("tables:\n  patients:\n    keys: [a, b]\n")
    assert str(place_of(tree, ("tables", "patients", "keys", 1))) == "clinic.yaml:3:15"
    assert str(place_of(tree, ("tables", "patients", "rows"))) == "clinic.yaml:3:5"
    assert str(place_of(tree, ("tables", "patients", "keys", 7))) == "clinic.yaml:3:11"
    assert str(place_of(tree, (3,))) == "clinic.yaml:1:1"


def test_content_is_parsed_once_for_each_name_of_a_file() -> None:
    """The same bytes of the same file are one tree; places name the file, and another content is another tree."""
    first = parse_yaml(b"once: {a: 1}", file="one.yaml", code=CODE)
    assert parse_yaml(b"once: {a: 1}", file="one.yaml", code=CODE) is first
    other = parse_yaml(b"once: {a: 1}", file="two.yaml", code=CODE)
    assert (first.place.file, other.place.file) == ("one.yaml", "two.yaml")
    changed = parse_yaml(b"once: {a: 2}", file="one.yaml", code=CODE)
    assert (first.plain(), changed.plain()) == ({"once": {"a": "1"}}, {"once": {"a": "2"}})


def test_windows_files_are_read() -> None:
    """A byte order mark at the start and CRLF line ends change nothing."""
    assert parsed(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n").plain() == {"a": "1", "b": "2"}


REFUSED = {
    "tag of a type": ("a: !!int 5", "1:4", "tags"),
    "tag of python": ("a: !!python/object/apply:os.system [x]", "1:4", "tags"),
    "tag of one's own": ("a: !x {b: 1}", "1:4", "tags"),
    "bare tag": ("a: ! 5", "1:4", "tags"),
    "tag on the root": ("--- !x\na: 1", "1:5", "tags"),
    "tag on a key": ("!x a: 1", "1:1", "tags"),
    "anchor": ("a: &x 1", "1:4", "anchors"),
    "anchor on a list": ("a: &x [1]", "1:4", "anchors"),
    "alias": ("a: 1\nb: *x", "2:4", "anchors"),
    "merge key": ("b:\n  <<: {c: 1}", "2:3", "merge"),
    "doubled key": ("a: 1\nb: 2\n'a': 3", "3:1", "key `a` is already in line 1"),
    "doubled key in a flow": ("x: {a: 1, a: 2}", "1:11", "key `a`"),
    "second document": ("a: 1\n---\nb: 2", "2:1", "second document"),
    "second document after dots": ("a: 1\n...\nb: 2", "3:1", "second document"),
    "empty second document": ("a: 1\n---\n", "2:1", "second document"),
    "list as the root": ("- a", "1:1", "must be a mapping"),
    "text as the root": ("a", "1:1", "must be a mapping"),
    "nothing": ("", "1:1", "empty"),
    "only comments": ("# a: 1\n", "1:1", "empty"),
    "document without content": ("---\n", "", "must be a mapping"),
    "list as a key": ("? [a]\n: b", "1:3", "key must be text"),
    "null as a key": ("~: b", "1:1", "key must be text"),
    "missing key": (": b", "1:1", "key must be text"),
    "directive of version": ("%YAML 1.1\n---\na: no", "1:1", "`%`"),
    "directive with a huge version": (f"%YAML {'9' * 5000}.1\n---\na: no", "1:1", "`%`"),
    "directive of tag": ("%TAG ! x\n---\na: 1", "1:1", "`%`"),
    "NUL": ("a: b\nc: \0", "2:4", "control"),
    "escape character": ("a: \x1b[31m", "1:4", "control"),
    "delete": ("a: \x7f", "1:4", "control"),
    "C1 control": ("a: \x85b: 1", "1:4", "control"),
    "line separator": ("a: x\u2028b: 1", "1:5", "control"),
    "carriage return alone": ("a: 1\rb: 2", "1:5", "control"),
    "byte order mark inside": ("a: 1\n\ufeffb: 2", "2:1", "control"),
    "text direction": ("a: x\u202egnp", "1:5", "control"),
    "NUL as an escape": ('a: "\\0"', "1:4", "control"),
    "surrogate as an escape": ('a: "\\ud800"', "1:4", "control"),
    "character beyond Unicode": ('a: "\\U00110000"', "1:1", "cannot be read"),
    "character far beyond Unicode": ('a: "\\Uffffffff"', "1:1", "cannot be read"),
    "not UTF-8": (b"a: 1\nb: \xff", "2:4", "not UTF-8"),
    "UTF-16": ("a: 1".encode("utf-16"), "1:1", "not UTF-8"),
    "colon in text": ("a: b: c", "1:5", "`:` is not expected"),
    "missing colon": ("a: 1\nb\n", "", "no `:`"),
    "open bracket": ("a: [1, 2\n", "2:1", "closing bracket"),
    "open quotes": ("a: 'x\n", "2:1", "quotes are not closed"),
    "indentation": ("a:\n  - x\n - y", "3:2", "indentation"),
    "tab": ("a:\n\tb: 1", "2:1", "tab"),
    "reserved character": ("a: @b", "1:4", "cannot begin"),
    "unknown escape": ('a: "\\q"', "1:6", "escape"),
    "long line": ("a: " + "x" * LONGEST_LINE, "1:1", "longer than"),
    "large file": ("a: 1\n" * (LARGEST_FILE // 5 + 1), "", "larger than"),
}


@pytest.mark.parametrize(("text", "place", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_file_is_refused_with_its_place(text: str | bytes, place: str, said: str) -> None:
    """What YAML can do beyond plain text in mappings and lists is refused where it stands."""
    error = refused(text)
    assert error.detail.startswith(f"clinic.yaml:{place}")
    assert said in error.detail
    assert len(error.detail) < 200


def filled(
    before: str, again: str, after: str = "", *, line: int = 0, size: int = LARGEST_FILE
) -> bytes:
    """As much of `again` as a file may hold, broken into lines where `line` says so."""
    part = again if not line else (again * line) + "\n"
    return (before + part * ((size - len(before) - len(after)) // len(part)) + after).encode()


def test_nesting_is_bounded() -> None:
    """The deepest allowed nesting is read, one level more is refused, in blocks as in flows."""
    lists = DEEPEST_NESTING - 1
    assert parsed("a: " + "[" * lists + "]" * lists).entries
    assert "nested" in refused("a: " + "[" * (lists + 1) + "]" * (lists + 1)).detail
    assert "nested" in refused("".join(f"{' ' * n}a:\n" for n in range(40))).detail


def test_number_of_values_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file cannot become a large tree: `make test` shows it for a fifth of the most values."""
    assert MOST_NODES <= 200_000
    monkeypatch.setattr(yaml, "MOST_NODES", draws(MOST_NODES))
    began = time.process_time()
    assert "values" in refused(filled("a: [", "b: c,", line=10_000)).detail
    assert time.process_time() - began < 12


SIZE = draws(LARGEST_FILE)
hostile = partial(filled, size=SIZE)
HOSTILE = {
    "brackets": hostile("", "["),
    "brackets in lines": hostile("", "[\n"),
    "braces": hostile("", "{a: "),
    "dashes": hostile("", "- "),
    "questions": hostile("", "? "),
    "plain text": hostile("a: ", "x ", line=30_000),
    "a number": hostile("a: ", "9", line=60_000),
    "quotes": hostile('a: "', "\\n", '"', line=30_000),
    "open quotes": hostile('a: "', "x\n"),
    "block text": hostile("a: |\n", "  x\n"),
    "blank lines": hostile("a: >\n", "\n"),
    "comments": hostile("", "#\n"),
    "newlines": hostile("", "\n"),
    "colons": hostile("", ":", line=60_000),
    "empty keys": hostile("", ":\n"),
    "list": hostile("a:\n", "-\n"),
    "documents": hostile("", "--- a\n"),
    "tag": hostile("a: !", "x", line=60_000),
    "anchor": hostile("a: &", "x", line=60_000),
    "tag escapes": hostile("a: !", "%41", line=20_000),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_file_is_settled_within_seconds(data: bytes) -> None:
    """The largest file of any shape is read or refused in bounded time, and never crashes; a small one sooner."""
    assert len(data) <= SIZE
    began = time.process_time()
    tree_or_refusal(data)
    assert time.process_time() - began < 12 * SIZE / LARGEST_FILE


@given(st.text(alphabet="ab:- \n[]{},'\"#|>!&*%@?\\~<0.\t", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text of YAML's own characters leads to anything but a tree or one clear refusal."""
    outcome = tree_or_refusal(text.encode())
    if isinstance(outcome, OperatorError):
        assert outcome.code is CODE
        assert outcome.detail.startswith("clinic.yaml:")
    else:
        assert isinstance(outcome.plain(), dict)


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """No bytes lead to anything but a tree or one clear refusal."""
    outcome = tree_or_refusal(data)
    assert isinstance(outcome, Fields) or outcome.code is CODE


words = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=20)


@given(st.dictionaries(words, words | st.lists(words, max_size=4), min_size=1, max_size=5))
def test_quoted_text_comes_back_as_it_was(content: dict[str, str | list[str]]) -> None:
    """What is written in quotes is read as it is, merge keys being the one exception."""
    content.pop("<<", None)

    def quoted(text: str) -> str:
        return "'" + text.replace("'", "''") + "'"

    def shown(value: str | list[str]) -> str:
        return quoted(value) if isinstance(value, str) else f"[{', '.join(map(quoted, value))}]"

    lines = (f"? {quoted(key)}\n: {shown(value)}\n" for key, value in content.items())
    assert parsed("".join(lines) or "{}").plain() == content


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    directory = tmp_path / "policies"
    directory.mkdir()
    return directory


def read(policies: Path, name: str = "x.yaml") -> Fields:
    return read_yaml(policies / name, inside=policies, code=CODE)


def unreadable(policies: Path) -> str:
    with pytest.raises(OperatorError) as caught:
        read(policies)
    assert caught.value.code is CODE
    assert str(policies / "x.yaml") in caught.value.detail
    return caught.value.detail


def test_file_is_read_by_its_path(policies: Path) -> None:
    """Messages name the file by the path it was asked for under."""
    (policies / "x.yaml").write_text("a: 1\n")
    assert str(read(policies).entries["a"].key.place) == f"{policies}/x.yaml:1:1"


def test_link_inside_the_directory_is_followed(policies: Path) -> None:
    """A mounted configuration, which is made of links inside its directory, is read."""
    (policies / "..data").mkdir()
    (policies / "..data" / "x.yaml").write_text("a: 1\n")
    (policies / "x.yaml").symlink_to("..data/x.yaml")
    assert read(policies).plain() == {"a": "1"}


def test_link_out_of_the_directory_is_refused(policies: Path, tmp_path: Path) -> None:
    """A link cannot make the gateway read what lies elsewhere, and nothing of it is shown."""
    (tmp_path / "secret").write_text("a: 1\n")
    (policies / "x.yaml").symlink_to("../secret")
    assert "leads outside" in unreadable(policies)


def test_path_that_climbs_out_is_refused(policies: Path, tmp_path: Path) -> None:
    """Dots in a path do not lead out either."""
    (tmp_path / "secret").write_text("a: 1\n")
    with pytest.raises(OperatorError, match="leads outside"):
        read(policies, "../secret")


def test_what_is_no_file_is_refused(policies: Path, tmp_path: Path) -> None:
    """Nothing, a directory, a pipe nobody writes to and a loop of links are refused at once."""
    path = policies / "x.yaml"
    assert "the file does not exist" in unreadable(policies)
    path.mkdir()
    assert "directory" in unreadable(policies)
    path.rmdir()
    os.mkfifo(path)
    assert "not an ordinary file" in unreadable(policies)
    path.unlink()
    path.symlink_to(path)
    assert "cannot be read" in unreadable(policies)
    path.unlink()
    path.symlink_to("/dev/zero")
    assert "leads outside" in unreadable(policies)
