"""The documents say what is there, all of it, and nothing else."""

import re
from pathlib import Path

import pytest
from docs.checks import ROOT, Checker
from docs.markdown import rows, sections
from laws import for_each

from docs import checks, words

DOCS = ROOT / "docs"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), ROOT / "tests" / "README.md"], key=str)
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]

SUBJECTS: dict[str, tuple[str, Checker]] = {
    "settings": ("docs/settings.md", checks.settings),
    "errors": ("docs/errors.md", checks.errors),
    "commands": ("docs/cli.md", checks.commands),
    "events": ("docs/metrics-and-logs.md", checks.events),
    "dependencies": ("docs/dependencies.md", checks.dependencies),
    "packages": ("docs/architecture.md", checks.code_map),
    "files": ("docs/code-map.md", checks.files),
    "kinds": ("docs/trail.md", checks.kinds),
    "throttling": ("docs/keys.md", checks.throttling),
    "refusals": ("docs/state.md", checks.start_refusals),
}
EVERYWHERE: dict[str, Checker] = {
    "make": checks.make_commands,
    "gateway": checks.gateway_commands,
    "variables": checks.variables,
    "codes": checks.codes,
    "paths": checks.paths,
}

# What is broken in a subject's document, and a part of what must be said about it.
BROKEN = [
    ("settings", "## `GATEWAY_WORKERS`", "## `GATEWAY_WORKER`", "not described: `GATEWAY_WORKERS`"),
    ("settings", "## `GATEWAY_WORKERS`", "## `GATEWAY_WORKER`", "no such setting"),
    ("settings", "Default: `8`.", "Default: `9`.", "the default is `8`"),
    ("settings", "Option: `--tls-key`.", "No option: a secret.", "option --tls-key"),
    ("settings", "No option: it is a secret.", "Option: `--audit-key`.", "no option"),
    ("errors", "### GW502: the budget", "### GW502: a budget", "code not described: GW502"),
    ("errors", "### GW901", "### GW902", "no such code: GW902"),
    ("errors", "HTTP 401 · SQLSTATE 28000", "HTTP 403 · SQLSTATE 28000", "GW701"),
    ("errors", "HTTP 401 · SQLSTATE 28000", "HTTP 401 · SQLSTATE 28P01", "GW701"),
    ("errors", "`limit_exceeded` · HTTP 413", "`timeout` · HTTP 413", "GW103"),
    ("errors", "· exit code 2", "· exit code 1", "GW801"),
    ("errors", "**What to do**: send less.", "Send less.", "GW707: when it comes"),
    ("commands", "## gateway key revoke", "## gateway key remove", "no such command"),
    ("commands", "- `--expires`: how", "- how", "not described: --expires"),
    ("commands", "- `--replace`: in", "- `--force`: in", "has no --force"),
    ("commands", "key revoke ID\n", "key revoke\n", "usage lacks id"),
    ("commands", " [--kind KIND]", "", "usage lacks --kind"),
    ("commands", " [--kind KIND]", " [--sort KIND]", "usage has --sort"),
    ("commands", "gateway audit tail [-n N]", "gateway audit tail", "usage lacks --lines"),
    ("commands", "`--workers`, ", "", "not described: --workers"),
    ("events", "### `state.lost`", "### `state.gone`", "no such event"),
    ("events", "Fields: `incident`, `problem`", "Fields: `incident`", "Level: error"),
    ("events", "Level: info, counted only", "Level: info", "counted only"),
    ("events", "| `gateway_info` |", "| `gateway_infos` |", "no such metric: gateway_infos"),
    ("dependencies", "### sqlglot", "### sqlparse", "not described: sqlglot"),
    ("dependencies", "### ruff", "### flake8", "no such Test dependency: flake8"),
    ("dependencies", "Runs the tests.", "", "pytest: nothing is said"),
    ("packages", "- `gateway/policy/`: ", "- `gateway/rules/`: ", "not described: gateway/policy/"),
    ("packages", "- `gateway/units.py`: ", "- `gateway/unit.py`: ", "no such package"),
    ("packages", "overlap | results", "results | overlap", "import contracts"),
    ("files", "- `gateway/policy/decide.py`: ", "- `gateway/policy/rule.py`: ", "policy/decide.py"),
    ("files", "- `gateway/units.py`: ", "- `gateway/unit.py`: ", "no such file"),
    ("kinds", "| `reused` |", "| `repeated` |", "kind not described: `reused`"),
    ("throttling", "| 300 |", "| 30 |", "together: 300"),
    ("throttling", "window of 60 seconds", "window of 90 seconds", "60 seconds"),
    ("events", "### `twin.lost`", "### `twin.gone`", "event not described: `twin.lost`"),
    ("refusals", "| [GW807](", "| [GW810](", "not described: GW807"),
    ("refusals", "| [GW807](", "| [GW810](", "no such code: GW810"),
]

# Likewise for what is looked for in every document, in a sentence of its own.
WRONG = [
    ("make", "`make show`", "make show"),
    ("make", "```sh\nmake shew\n```", "make shew"),
    ("gateway", "`gateway keys create alice`", "gateway keys create"),
    ("gateway", "```sh\n.venv/bin/gateway key create alice --until 90d  # note\n```", "no --until"),
    ("gateway", "```sh\nA=b docker compose exec gateway gateway serv\n```", "gateway serv"),
    ("variables", "set GATEWAY_HOUSE", "GATEWAY_HOUSE"),
    ("codes", "it says GW555 then", "GW555"),
    ("paths", "see `gateway/rules.py`", "gateway/rules.py"),
]
LINKS = {
    "[a](missing.md)": "leads nowhere",
    "[a](settings.md#gateway_house)": "no such heading",
    "[a\nb](#of-another-page)": "no such heading",
}


@for_each("subject", SUBJECTS)
def test_document_tells_of_everything_that_exists_and_of_nothing_else(subject: str) -> None:
    """Every setting, code, command, option, event, dependency and package has its entry."""
    name, checker = SUBJECTS[subject]
    assert checker((ROOT / name).read_text()) == []


@for_each(("subject", "right", "wrong", "said"), BROKEN)
def test_document_is_found_fault_with_when_it_is_wrong(
    subject: str, right: str, wrong: str, said: str
) -> None:
    """A document that lacks something, or tells of something that is not there, is noticed."""
    name, checker = SUBJECTS[subject]
    text = (ROOT / name).read_text()
    assert right in text
    assert any(said in problem for problem in checker(text.replace(right, wrong, 1)))


@for_each("name", NAMES)
def test_document_names_only_what_exists(name: str) -> None:
    """Commands, make targets, settings, codes and paths in any document are the project's own."""
    text = (ROOT / name).read_text()
    assert [problem for check in EVERYWHERE.values() for problem in check(text)] == []


@pytest.mark.parametrize(("what", "wrong", "said"), WRONG)
def test_naming_is_found_fault_with_when_it_names_nothing(what: str, wrong: str, said: str) -> None:
    """A command, target, setting, code or path that does not exist is noticed in any document."""
    assert any(said in problem for problem in EVERYWHERE[what](f"# Title\n\n{wrong}\n"))


@for_each("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    """Every relative link leads to a file of the project, and to a heading in it."""
    path = ROOT / name
    assert checks.relative_links(path.read_text(), path) == []


@pytest.mark.parametrize("wrong", LINKS)
def test_link_is_found_fault_with_when_it_leads_nowhere(wrong: str) -> None:
    """A link to a missing file or heading is noticed."""
    text = f"# Title\n\n{wrong}\n"
    (problem,) = checks.relative_links(text, DOCS / "trail.md")
    assert LINKS[wrong] in problem


@for_each("path", sorted(DOCS.glob("*.md")), ids=lambda path: path.name)
def test_document_is_found_from_the_readme(path: Path) -> None:
    """Every document is linked from the README, where people begin."""
    assert f"(docs/{path.name})" in (ROOT / "README.md").read_text()


@for_each("name", NAMES)
def test_document_speaks_of_the_project_alone(name: str) -> None:
    """No document speaks of how or where it was written."""
    assert words.in_text((ROOT / name).read_text(), words.NOT_IN_DOCUMENTS) == []


def test_file_speaks_of_the_project_alone() -> None:
    """No file of the project names a machine's paths, a package index or who else was there."""
    found = {
        str(path.relative_to(ROOT)): problems
        for path in words.files()
        if (problems := words.in_text(path.read_text(errors="replace"), words.NOWHERE))
    }
    assert found == {}
    assert len(list(words.files())) > len(NAMES)


@pytest.mark.parametrize("text", words.EXAMPLES)
def test_word_is_found_when_it_has_no_place(text: str) -> None:
    """Each of the words is noticed, whatever stands around it."""
    assert words.in_text(f"first line\nhere is {text}, as it was", words.NOT_IN_DOCUMENTS)


@pytest.mark.parametrize("text", ["obsession", "framework/x", "said aim", "trainer"])
def test_word_is_not_found_when_it_is_part_of_another(text: str) -> None:
    """Words that only look alike are left alone."""
    assert not words.in_text(text, words.NOT_IN_DOCUMENTS)


def test_readme_begins_with_the_two_commands() -> None:
    """Somebody who opens the README sees both commands before anything else, and that they exist."""
    first = (ROOT / "README.md").read_text().splitlines()[:12]
    shown = [line.split("#")[0].strip() for line in first if line.startswith("make ")]
    assert shown == ["make demo", "make test"]
    assert checks.make_commands("\n".join(first)) == []


def test_readme_says_where_the_project_stands() -> None:
    """The README says in so many words what is answered and what is not there."""
    part = sections((ROOT / "README.md").read_text(), 2)["Where this stands"]
    for said in (
        "This version answers questions",
        "overlap audit",
        "Not there",
    ):
        assert said in part


def test_contributing_lists_every_target_of_the_makefile() -> None:
    """Whoever contributes finds every command in one table."""
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    part = sections((ROOT / "CONTRIBUTING.md").read_text(), 2)["Commands"]
    listed = {cells[0].strip("`").removeprefix("make ") for cells in rows(part)}
    assert listed == set(phony[1].split()) - {"help"}
