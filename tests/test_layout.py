"""What must lie where, and what holds for every file; each rule is tried on a tree that breaks it."""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
TOP = (
    *("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"),
    *("Makefile", "gateway/", "policies/", "tests/", "migrations/", "docs/", "bench/"),
    *("docker-compose.yml", "Dockerfile", ".ci/run", ".pre-commit-config.yaml"),
    *("requirements.lock", "requirements-test.lock"),
)
LOCKS = {
    "requirements.lock": ("dependencies",),
    "requirements-test.lock": ("dependencies", "test"),
}
MOST_LINES = 400
# Module names that end like a gerund or a participle, and why each may.
NOUNS = {
    "affine_rounding": "rounding of affine formulas",
    "cost_sharing": "the established name of splitting a cost",
    "deferred": "the statement that a client's connection runs later",
    "differencing": "the name of the attack",
    "finishing": "the statement over the releases",
    "framing": "bytes to messages, as protocols call it",
    "group_mapping": "a mapping is a thing",
    "matching": "the matching of two sets, as graphs have it",
    "rounding": "the rounding of numbers",
    "sharding": "the sharding of a release",
    "staging": "the staging of subqueries",
    "verify_spending": "spending is what is verified",
}
# Module names that several packages have, and what the files have in common.
PARALLEL = {
    "__main__": "`python -m` of a package",
    "aggregates": "aggregate functions: bound, in a plan, measured",
    "analyze": "an analysis: of a question, and of one release in it",
    "app": "the gateway, and its ASGI application",
    "bind": "a statement is bound, and the question around it",
    "charge": "a charge as a value, and the stage that makes it",
    "choices": "CASE in regions; what is chosen by the exponential mechanism",
    "classify": "the kind of a statement: of a text, and for a wire client",
    "connections": "connections to a source, and to the state",
    "conditions": "functions that compare, and their SQL",
    "constants": "literals and constant relations of a stage",
    "describe": "PostgreSQL's description, and the catalog of a source",
    "errors": "errors of the gateway, and of the twin",
    "events": "events for logs, and those of the release cache",
    "expressions": "scalar expressions: bound, as SQL, as ranges",
    "numbers": "functions over numbers, and their SQL",
    "text": "functions over texts, and their SQL",
    "formulas": "formulas over measurements, in three stages",
    "joins": "joins: bound, and in a plan",
    "parser": "of conditions, and of the command line",
    "policy": "a policy, and the command of that name",
    "pool": "idle sessions, and idle processes",
    "record": "a record of the trail, and the stage that writes it",
    "relations": "relations: in a plan, as SQL, as ranges",
    "request": "a request, and that of a wire client",
    "rounding": "rounding: as SQL, of a policy's ranges, of results",
    "scope": "names in a query, and what a release is about",
    "server": "the twin's server, and the wire's",
    "session": "a session on the twin, and on the wire",
    "tables": "tables of a catalog, of a policy file, and of the state",
    "times": "functions of dates and times, and their SQL",
    "zoned_times": "functions that read clocks, and their SQL",
}
# Folders of tests that mirror no package of the gateway, and what they hold.
OTHER_TESTS = {
    "bench": "the measurements",
    "crash": "processes that are killed",
    "deploy": "the container files",
    "docs": "the documents",
    "endtoend": "whole gateways",
    "privacy": "statistics, the fuzzer and attacks",
    "property": "laws over random plans and tables",
    "wire": "clients of PostgreSQL",
    "wire_more": "clients that `make e2e` installs",
}
# Public class names that several classes still have; a name may leave this list, none may join it.
SEVERAL_CLASSES: frozenset[str] = frozenset()
_PARTICIPLE = re.compile(r"(ing|ed|wn|pt|lt)$")
_MAP = "docs/code-map.md"
_PIN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[a-z,]+\])?==(?P<version>[^ ;]+)(?P<rest>.*)")
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")

Rule = Callable[[Path], Iterator[str]]


def top_is_complete(root: Path) -> Iterator[str]:
    """The files and directories that people look for."""
    for name in TOP:
        path = root / name
        if not (path.is_dir() if name.endswith("/") else path.is_file()):
            yield f"missing: {name}"
    gate = root / ".ci" / "run"
    if gate.is_file() and not gate.stat().st_mode & 0o100:
        yield ".ci/run cannot be run"


def locks_are_exact(root: Path) -> Iterator[str]:
    """Every line of a lock pins one package with its hashes; no line says where to get it."""
    for name in LOCKS:
        for line in _logical_lines((root / name).read_text()):
            pin = _PIN.fullmatch(line)
            if pin is None:
                yield f"{name}: no pin: {line[:60]}"
            elif not _HASH.search(pin["rest"]):
                yield f"{name}: no hash: {pin['name']}"
            elif "://" in line:
                yield f"{name}: an address: {pin['name']}"


def locks_satisfy_the_project(root: Path) -> Iterator[str]:
    """Each dependency is locked, to a version within its range; both locks agree."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    given = {"dependencies": project["dependencies"], **project["optional-dependencies"]}
    locked = {name: _pins((root / name).read_text()) for name in LOCKS}
    for name, kinds in LOCKS.items():
        for one in [Requirement(text) for kind in kinds for text in given[kind]]:
            version = locked[name].get(_normal(one.name))
            if version is None:
                yield f"{name}: not locked: {one.name}"
            elif version not in one.specifier:
                yield f"{name}: {one.name} {version} is not {one.specifier}"
    runtime, test = (locked[name] for name in LOCKS)
    for package in sorted(runtime.keys() & test.keys()):
        if runtime[package] != test[package]:
            yield f"{package} is {runtime[package]} in one lock, {test[package]} in the other"


def files_are_short(root: Path) -> Iterator[str]:
    """No file of the gateway is so long that it holds two concepts."""
    for path in _python(root / "gateway"):
        lines = len(path.read_text().splitlines())
        if lines > MOST_LINES:
            yield f"{path.name} has {lines} lines"


def packages_say_what_they_are(root: Path) -> Iterator[str]:
    """Every package begins with a docstring; the Python files of a directory are a package."""
    for directory in sorted({path.parent for path in _python(root / "gateway")}):
        init = directory / "__init__.py"
        if not init.is_file():
            yield f"no package: {directory.relative_to(root)}"
        elif ast.get_docstring(ast.parse(init.read_text())) is None:
            yield f"no docstring: {directory.relative_to(root)}"


def no_tests_are_a_package(root: Path) -> Iterator[str]:
    """Test modules are found by their paths."""
    for path in sorted((root / "tests").rglob("__init__.py")):
        yield f"a package: {path.parent.relative_to(root)}"


def folders_of_tests_mirror_packages(root: Path) -> Iterator[str]:
    """A folder with tests has the path of a package, or is one of `OTHER_TESTS`."""
    folders = {path.parent.relative_to(root / "tests") for path in _python(root / "tests")}
    for folder in sorted(folders):
        if not (root / "gateway" / folder).is_dir() and folder.parts[0] not in OTHER_TESTS:
            yield f"tests of no package: {folder}"


def every_test_says_its_promise(root: Path) -> Iterator[str]:
    """Every test has a name of several words, and a docstring that is its promise."""
    for path in _python(root / "tests"):
        if not path.name.startswith("test_"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if not node.name.startswith("test_"):
                continue
            where = f"{path.relative_to(root)}: {node.name}"
            if not (ast.get_docstring(node) or "").strip():
                yield f"no docstring: {where}"
            if node.name.count("_") < 3:  # test, its subject, and what it does
                yield f"says too little: {where}"


def modules_are_nouns(root: Path) -> Iterator[str]:
    """A module is named by a noun or an imperative; a gerund or participle has its reason in `NOUNS`."""
    for path in _modules(root):
        if _PARTICIPLE.search(path.stem) and path.stem not in NOUNS:
            yield f"neither a noun nor an imperative: {path.relative_to(root)}"


def module_names_mean_one_thing(root: Path) -> Iterator[str]:
    """No two modules have one name, but for the parallel sets of `PARALLEL`."""
    places: dict[str, list[Path]] = defaultdict(list)
    for path in _modules(root):
        places[path.stem].append(path.relative_to(root))
    for stem, paths in places.items():
        if len(paths) > 1 and stem not in PARALLEL:
            yield f"one name for several modules: {', '.join(map(str, paths))}"


def class_names_mean_one_thing(root: Path) -> Iterator[str]:
    """No two public classes have one name."""
    places: dict[str, list[Path]] = defaultdict(list)
    for path in _python(root / "gateway"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path.relative_to(root))
    for name, paths in places.items():
        if len(paths) > 1 and name not in SEVERAL_CLASSES:
            yield f"one name for several classes: {name} in {', '.join(map(str, paths))}"


def files_are_in_the_code_map(root: Path) -> Iterator[str]:
    """Every module has its line in the code map."""
    lines = set(re.findall(r"^- `(gateway/[^`]*)`: \S", (root / _MAP).read_text(), re.MULTILINE))
    for path in _modules(root):
        if str(path.relative_to(root)) not in lines:
            yield f"not in the code map: {path.relative_to(root)}"


RULES: tuple[Rule, ...] = (
    top_is_complete,
    locks_are_exact,
    locks_satisfy_the_project,
    files_are_short,
    packages_say_what_they_are,
    no_tests_are_a_package,
    folders_of_tests_mirror_packages,
    every_test_says_its_promise,
    modules_are_nouns,
    module_names_mean_one_thing,
    class_names_mean_one_thing,
    files_are_in_the_code_map,
)

_PINNED = "a==1.0 \\\n    --hash=sha256:" + "0" * 64 + "\n"
_PROJECT = '[project]\ndependencies = ["a>=1"]\noptional-dependencies.test = ["b[x]>=2"]\n'
_TEST_PINNED = _PINNED + _PINNED.replace("a==1.0", "b==2.1")

# A small tree that keeps all rules; and for each rule, a file that breaks it and what is said.
KEPT = {
    **{name: "" for name in TOP if not name.endswith("/")},
    **{f"{name}file": "" for name in TOP if name.endswith("/")},
    "pyproject.toml": _PROJECT,
    "requirements.lock": _PINNED,
    "requirements-test.lock": _TEST_PINNED,
    "gateway/__init__.py": '"""What it is."""\n',
    "gateway/ledger.py": "class Account: ...\n",
    _MAP: "# Code map\n\n- `gateway/ledger.py`: accounts.\n",
    "tests/test_it.py": 'def test_it_does_this() -> None:\n    """It does."""\n',
}
BREAKING = [
    (top_is_complete, "SECURITY.md", None, "missing: SECURITY.md"),
    (top_is_complete, "bench/file", None, "missing: bench/"),
    (top_is_complete, ".ci/run", "", ".ci/run cannot be run"),
    (locks_are_exact, "requirements.lock", "a==1.0\n", "no hash: a"),
    (locks_are_exact, "requirements.lock", "a>=1.0 --hash=sha256:" + "0" * 64, "no pin: a>=1.0"),
    (locks_are_exact, "requirements.lock", f"--find-links x\n{_PINNED}", "no pin: --find-links x"),
    (
        locks_are_exact,
        "requirements.lock",
        _PINNED.replace(" \\", "  https://x \\"),
        "an address: a",
    ),
    (locks_satisfy_the_project, "requirements.lock", "", "requirements.lock: not locked: a"),
    (
        locks_satisfy_the_project,
        "requirements-test.lock",
        _TEST_PINNED.replace("b==2.1", "b==1.9"),
        "b 1.9 is not >=2",
    ),
    (
        locks_satisfy_the_project,
        "requirements-test.lock",
        _TEST_PINNED.replace("a==1.0", "a==1.1"),
        "a is 1.0 in one lock, 1.1 in the other",
    ),
    (files_are_short, "gateway/long.py", "\n" * (MOST_LINES + 1), "long.py has 401 lines"),
    (packages_say_what_they_are, "gateway/__init__.py", "", "no docstring: gateway"),
    (packages_say_what_they_are, "gateway/room/one.py", "", "no package: gateway/room"),
    (no_tests_are_a_package, "tests/room/__init__.py", "", "a package: tests/room"),
    (folders_of_tests_mirror_packages, "tests/room/test_it.py", "", "tests of no package: room"),
    (
        every_test_says_its_promise,
        "tests/test_it.py",
        "def test_it_does_this(): ...",
        "no docstring",
    ),
    (
        every_test_says_its_promise,
        "tests/room/test_it.py",
        'class Of:\n    async def test_it(self):\n        """It."""',
        "says too little: tests/room/test_it.py: test_it",
    ),
    (modules_are_nouns, "gateway/charging.py", "", "neither a noun nor an imperative"),
    (modules_are_nouns, "gateway/kept.py", "", "gateway/kept.py"),
    (module_names_mean_one_thing, "gateway/room/ledger.py", "", "gateway/room/ledger.py"),
    (
        class_names_mean_one_thing,
        "gateway/limits.py",
        "class Person: ...\nclass Person: ...",
        "Person in",
    ),
    (files_are_in_the_code_map, "gateway/limits.py", "", "not in the code map: gateway/limits.py"),
    (files_are_in_the_code_map, _MAP, "- `gateway/ledger.py`:", "gateway/ledger.py"),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_project_keeps_each_rule_of_its_layout(rule: Rule) -> None:
    """The project's own tree breaks none of the rules."""
    assert list(rule(ROOT)) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_small_tree_keeps_each_rule_when_nothing_is_broken(rule: Rule, tmp_path: Path) -> None:
    """The tree that is broken below is found faultless as it is."""
    _plant(tmp_path)
    assert list(rule(tmp_path)) == []


@pytest.mark.parametrize(("rule", "name", "content", "said"), BREAKING)
def test_rule_finds_fault_when_it_is_broken(
    rule: Rule, name: str, content: str | None, said: str, tmp_path: Path
) -> None:
    """What breaks a rule is noticed, and named."""
    _plant(tmp_path)
    path = tmp_path / name
    if content is None:
        path.unlink()
        if name.endswith("/file"):
            path.parent.rmdir()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    if said == ".ci/run cannot be run":
        path.chmod(0o644)
    assert any(said in problem for problem in rule(tmp_path))


def _plant(root: Path) -> None:
    for name, content in KEPT.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (root / ".ci" / "run").chmod(0o755)


def _python(top: Path) -> list[Path]:
    return sorted(top.rglob("*.py"))


def _modules(root: Path) -> list[Path]:
    return [path for path in _python(root / "gateway") if path.stem != "__init__"]


def _logical_lines(text: str) -> list[str]:
    """Lines without comments, those that end in a backslash joined with the next."""
    joined = re.sub(r"\s*\\\n\s*", " ", text)
    lines = (re.sub(r"(?:^|\s+)#.*", "", line).rstrip() for line in joined.splitlines())
    return [line for line in lines if line]


def _pins(text: str) -> dict[str, Version]:
    found = (_PIN.fullmatch(line) for line in _logical_lines(text))
    return {_normal(pin["name"]): Version(pin["version"]) for pin in found if pin is not None}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
