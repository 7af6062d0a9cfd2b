"""How the names of gateway/ measure up: modules, functions, classes, and the words of the field.

Prints the figures by which the layout of the project is judged, so that they can be compared before and after
a change. `--list` names what each figure counts. Nothing is imported or run; the files are parsed.
"""

import argparse
import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTICIPLE = re.compile(r"(ing|ed|wn|pt|lt)$")
# first words of functions that end like a participle and are none, and participles that end otherwise
_VERBS = frozenset(
    [
        "embed",
        "feed",
        "fold",
        "hold",
        "need",
        "own",
        "read",
        "seed",
        "shed",
        "skip",
        "string",
        "text",
    ]
)
_NOUNS = frozenset(
    [
        "default",
        "everything",
        "excerpt",
        "field",
        "mapping",
        "nothing",
        "result",
        "script",
        "threshold",
    ]
)
_IRREGULAR = frozenset(
    [
        "bought",
        "felt",
        "found",
        "given",
        "held",
        "left",
        "made",
        "met",
        "paid",
        "said",
        "seen",
        "sent",
        "shut",
        "sold",
        "spent",
        "taken",
        "told",
        "written",
    ]
)
WORDS = (
    *("composition", "zcdp", "exponential", "clamp", "contribution", "rollup", "grouping_set"),
    *("top_k", "subquery", "cursor", "temp_table", "estimate", "cache", "reuse", "differencing"),
    *("rate_limit", "purpose", "idempotency", "timeout", "time_zone", "pool", "snapshot"),
    *("predicate", "sensitivity", "overlap", "restore"),
)


@dataclass(frozen=True, slots=True)
class Names:
    """What stands in a tree: modules by stem, public functions and classes by name, each with its places."""

    modules: dict[str, list[str]]
    functions: dict[str, list[str]]
    classes: dict[str, list[str]]
    lines: int


def names_of(root: Path) -> Names:
    """The names of the tree's gateway; a package's own file is no module of a name."""
    modules: dict[str, list[str]] = defaultdict(list)
    functions: dict[str, list[str]] = defaultdict(list)
    classes: dict[str, list[str]] = defaultdict(list)
    lines = 0
    for path in sorted((root / "gateway").rglob("*.py")):
        place, text = str(path.relative_to(root)), path.read_text()
        lines += len(text.splitlines())
        if path.stem != "__init__":
            modules[path.stem].append(place)
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                kind = classes if isinstance(node, ast.ClassDef) else functions
                if not node.name.startswith("_"):
                    kind[node.name].append(place)
    return Names(modules, functions, classes, lines)


def begins_with_participle(name: str) -> bool:
    """True if the first word of a function's name is a gerund or a participle."""
    first = name.split("_", maxsplit=1)[0]
    if first in _VERBS or first in _NOUNS:
        return False
    return first in _IRREGULAR or PARTICIPLE.search(first) is not None


def has_word(word: str, stems: dict[str, list[str]]) -> bool:
    """True if a file name has the word of the field, in the singular or the plural."""
    plural = word[:-1] + "ies" if word.endswith("y") else word + "s"
    return any(word in stem or plural in stem for stem in stems)


def figures(names: Names) -> Iterator[tuple[str, int, int, list[str]]]:
    """Each figure: its title, how many, of how many, and which."""
    files = sum(len(places) for places in names.modules.values())
    participles = [one for one in names.modules if PARTICIPLE.search(one)]
    yield (
        "module names that end like a gerund or participle",
        *_counted(names.modules, participles),
        participles,
    )
    functions = sum(len(places) for places in names.functions.values())
    begun = [one for one in names.functions if begins_with_participle(one)]
    yield (
        "public functions that begin with a participle",
        _many(names.functions, begun),
        functions,
        begun,
    )
    single = [one for one in names.functions if "_" not in one]
    yield "public functions of one word", _many(names.functions, single), functions, single
    twice = [one for one, places in names.modules.items() if len(places) > 1]
    yield "files whose name another file has", _many(names.modules, twice), files, twice
    classes = [one for one, places in names.classes.items() if len(places) > 1]
    yield "public class names of several classes", len(classes), len(names.classes), classes
    missing = [word for word in WORDS if not has_word(word, names.modules)]
    yield "words of the field in a file name", len(WORDS) - len(missing), len(WORDS), missing


def _many(places: dict[str, list[str]], some: list[str]) -> int:
    return sum(len(places[one]) for one in some)


def _counted(places: dict[str, list[str]], some: list[str]) -> tuple[int, int]:
    return _many(places, some), sum(len(one) for one in places.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", type=Path, default=ROOT, help="the tree to look at")
    parser.add_argument("--list", action="store_true", help="name what each figure counts")
    options = parser.parse_args()
    names = names_of(options.root)
    print(f"{sum(map(len, names.modules.values()))} modules, {names.lines:,} lines")
    for title, many, of, which in figures(names):
        print(f"{many:6,} of {of:6,} {100 * many / of:5.1f} %  {title}")
        if options.list:
            print("        " + ", ".join(sorted(which)))


if __name__ == "__main__":
    main()
