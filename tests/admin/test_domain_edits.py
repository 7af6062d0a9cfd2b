"""Domains are written into a policy file as a careful person would, and nothing else of it changes."""

from pathlib import Path

import pytest
from fix_policy import BASE, ENVIRONMENT, FILE
from laws import for_each

from gateway.admin.domain_edits import DomainEdit, PolicyFile, require_undecided, with_domain
from gateway.admin.proposal.marks import count_marks
from gateway.catalog.tables import ColumnRef
from gateway.errors import Code, OperatorError

HEAD = """\
# a shop
tables:
  "sales.orders":   # quoted
    columns:
      other: {type: text, class: quasi}     # decide: domain: {in: [one, another]}, or leave it open
"""
REFERENCE = ColumnRef("sales.orders", "total")


def edit(step: str | None = None) -> DomainEdit:
    return DomainEdit(REFERENCE, "0", "500", step)


@for_each(
    ("written", "step", "expected"),
    [
        (
            '      total: {type: "numeric(10,2)", class: sensitive}   # decide: domain: {between: [0, 1000]}\n',
            None,
            '      total: {type: "numeric(10,2)", class: sensitive, domain: {between: [0, 500]}}\n',
        ),
        (
            "      total: {type: real, class: sensitive}   # in euros\n",
            "0.01",
            "      total: {type: real, class: sensitive, domain: {between: [0, 500]}, step: 0.01}   # in euros\n",
        ),
        (
            "      total: {type: integer, domain: {between: [1, 9]}, class: quasi}  # decide: a guess by the name\n",
            None,
            "      total: {type: integer, domain: {between: [0, 500]}, class: quasi}\n",
        ),
        (
            "      total: {type: real, domain: {between: [1, 9]}, step: 1, class: quasi}  # ours # decide: a guess\n",
            "0.1",
            "      total: {type: real, domain: {between: [0, 500]}, step: 0.1, class: quasi}  # ours\n",
        ),
        (
            "      total: {type: integer,\n              class: quasi,   # decide: one\n      }\n",
            None,
            "      total: {type: integer,\n              class: quasi, domain: {between: [0, 500]},\n      }\n",
        ),
        (
            "      total:   # decide: two\n        type: integer   # whole\n        class: quasi # decide: three\n\n",
            "5",
            "      total:\n        type: integer   # whole\n        class: quasi\n        domain: {between: [0, 500]}\n        step: 5\n\n",
        ),
        (
            "      total:\r\n        type: integer\r\n        class: quasi  # decide: x\r\n",
            None,
            "      total:\r\n        type: integer\r\n        class: quasi\r\n        domain: {between: [0, 500]}\r\n",
        ),
        (
            "      total:\n        type: integer\n        class: quasi",
            None,
            "      total:\n        type: integer\n        class: quasi\n        domain: {between: [0, 500]}",
        ),
        (
            '      total: {type: "# decide: this", class: "# decide: that"}   # decide: it\n',
            None,
            '      total: {type: "# decide: this", class: "# decide: that", domain: {between: [0, 500]}}\n',
        ),
    ],
    ids=lambda one: str(one)[:40],
)
def test_domain_is_written_and_layout_is_kept(
    written: str, step: str | None, expected: str
) -> None:
    """Behind the last value, or in the place of a marked domain; the column's marks go, all other text stays."""
    tail = (
        ""
        if not written.endswith("\n")
        else "      # behind\n      last: {type: text}  # decide: y\n"
    )
    assert with_domain(HEAD + written + tail, edit(step)) == HEAD + expected + tail


@for_each(
    ("written", "said"),
    [
        ("      total: {type: integer, domain: {between: [1, 9]}}\n", "has a domain already"),
        ('      total: {type: integer, domain: {between: [1, 9]}, x: "# decide: y"}\n', "already"),
        (
            "      total:   # decide: this\n        type: integer\n        domain:\n          between: [1, 9]\n",
            "stands on several lines",
        ),
        ("      total: 5\n", "has no lines"),
        ("      totals: {type: integer}   # decide: this\n", "has no lines"),
    ],
    ids=lambda one: str(one)[:40],
)
def test_domain_is_refused_where_it_was_decided_or_cannot_be_written(
    written: str, said: str
) -> None:
    """What somebody has decided is kept, and it is refused before anything is paid."""
    with pytest.raises(OperatorError, match=said):
        require_undecided(HEAD + written, REFERENCE)


def test_edit_is_refused_when_the_text_would_mean_something_else() -> None:
    """A value in a form that is not foreseen leaves the file as it is."""
    text = HEAD + "      total: {type: integer}\n"
    with pytest.raises(OperatorError, match="cannot be edited"):
        with_domain(text, DomainEdit(REFERENCE, "0]}, class: {between: [0", "5"))


WEIGHT = ColumnRef("patients", "weight")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / FILE
    path.write_text(BASE)
    path.chmod(0o640)
    return path


def test_file_is_replaced_and_says_what_changed(file: Path) -> None:
    """Comments stay, the rights stay, the marks that are left are fewer, and the lines that changed are shown."""
    line = next(one for one in BASE.splitlines() if one.strip().startswith("weight:"))
    text = BASE.replace(line, "      weight: {type: real, class: quasi}  # decide: domain")
    file.write_text(text)
    policy = PolicyFile(file, ENVIRONMENT)
    policy.require_writable()
    shown = policy.write(DomainEdit(WEIGHT, "0", "300", "0.5"))
    new = "      weight: {type: real, class: quasi, domain: {between: [0, 300]}, step: 0.5}"
    assert file.read_text() == text.replace(
        "      weight: {type: real, class: quasi}  # decide: domain", new
    )
    assert "+" + new in shown
    assert (count_marks(text), count_marks(policy.text)) == (1, 0)
    assert file.stat().st_mode & 0o777 == 0o640
    assert [one.name for one in file.parent.iterdir()] == [FILE]
    with pytest.raises(OperatorError, match="already"):
        policy.write(DomainEdit(WEIGHT, "0", "300"))


def test_file_is_kept_when_it_changed_meanwhile(file: Path) -> None:
    """What somebody else wrote during the search is not lost, and the message says what to do with the domain."""
    without = _without_domain(file)
    policy = PolicyFile(file, ENVIRONMENT)
    file.write_text(without + "# mine\n")
    with pytest.raises(OperatorError, match="has changed since it was read") as refused:
        policy.write(DomainEdit(WEIGHT, "0", "300", "0.5"))
    assert "paid for" in refused.value.hint
    assert file.read_text() == without + "# mine\n"


def test_file_is_kept_when_the_domain_is_invalid(file: Path) -> None:
    """A policy that would not load is never written: the reversed bounds are the reader's complaint."""
    without = _without_domain(file)
    policy = PolicyFile(file, ENVIRONMENT)
    with pytest.raises(OperatorError) as refused:
        policy.write(DomainEdit(WEIGHT, "300", "0", "0.5"))
    assert refused.value.code is Code.POLICY_INVALID
    assert file.read_text() == without


def test_file_is_refused_when_it_cannot_be_written(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is paid; as root, who may write everything, the file system says so at the end."""
    _without_domain(file)
    policy = PolicyFile(file, ENVIRONMENT)
    with monkeypatch.context() as patched:
        patched.setattr("os.geteuid", lambda: file.stat().st_uid + 1)
        with pytest.raises(OperatorError, match="cannot be replaced by this user"):
            policy.require_writable()
    before = file.read_text()
    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", _full)
        with pytest.raises(OperatorError, match="cannot be written: no space left"):
            policy.write(DomainEdit(WEIGHT, "0", "300", "0.5"))
    assert file.read_text() == before
    assert [one.name for one in file.parent.iterdir()] == [FILE]


def test_link_stays_when_the_file_behind_it_is_replaced(file: Path, tmp_path: Path) -> None:
    """A policy may be a link to a file of another name; the link is not turned into a file."""
    _without_domain(file)
    real = tmp_path / "real"
    file.rename(real)
    file.symlink_to(real)
    PolicyFile(file, ENVIRONMENT).write(DomainEdit(WEIGHT, "0", "300", "0.5"))
    assert file.is_symlink()
    assert "between: [0, 300]" in real.read_text()


def _without_domain(file: Path) -> str:
    line = next(one for one in BASE.splitlines() if one.strip().startswith("weight:"))
    text = BASE.replace(line, "      weight: {type: real, class: quasi}")
    file.write_text(text)
    return text


def _full(file: int) -> None:
    raise OSError(28, "No space left on device")
