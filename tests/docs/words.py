"""Words that have no place in the project: it speaks of itself alone, and of no one's machine.

The only file that may name them.
"""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Of where and how something was made: in no file at all.
NOWHERE = re.compile(
    r"claude|anthropic|sandbox|pypi\.org|pythonhosted|/work/|/root/|--(?:extra-)?index-url",
    re.IGNORECASE,
)
# What a reader of documents would wonder about.
NOT_IN_DOCUMENTS = re.compile(
    rf"{NOWHERE.pattern}|\b(?:this|last|next|earlier|work|coding|chat) sessions?\b|\bA\.?I\b\.?|/work\b|\bLLMs?\b",
    re.IGNORECASE,
)

EXAMPLES = (
    "an earlier session",
    "Sandbox",
    "with AI",
    "see /work",
    "an LLM",
    "https://pypi.org/simple",
)

_MADE = {"privacy_gateway.egg-info", "__pycache__", ".hypothesis"}
_TOPS = ("gateway", "migrations", "policies", "deploy", "bench", "tests", "docs", ".ci")


def in_text(text: str, words: re.Pattern[str]) -> list[str]:
    return [
        f"line {number}: {found[0]}"
        for number, line in enumerate(text.splitlines(), 1)
        if (found := words.search(line))
    ]


def files(root: Path = ROOT) -> Iterator[Path]:
    """Every file of the project, whether it is in a repository or not."""
    for path in root.iterdir():
        if (
            path.is_file()
            and path.name not in {".git", ".env"}
            and not path.name.startswith(".coverage")
        ):
            yield path
    for top in _TOPS:
        for path in (root / top).rglob("*"):
            if path.is_file() and not _MADE & set(path.parts) and path != Path(__file__):
                yield path
