"""docs/sql.md read by its parts, and held against the lists of the code."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from binding.clinic import CLINIC
from docs.markdown import prose, sections
from docs.sql_limits import LIMITS

from gateway.binding import aggregates as measures
from gateway.binding import (
    calls,
    constants,
    expressions,
    formatted_keys,
    operands,
    patterns,
    windows,
)
from gateway.binding import constants as intervals
from gateway.binding import extensions as ends
from gateway.binding import extensions as spellings
from gateway.binding.bind import bind
from gateway.binding.bound import Cut, PassThrough
from gateway.binding.describe import Describe
from gateway.binding.text import classify as statement
from gateway.catalog.tables import OWN_TABLES, SCHEMA
from gateway.catalog.types import ColumnType, Family, Kind
from gateway.errors import TITLE, Code, Reason, Refusal, UnsupportedSql
from gateway.functions import times
from gateway.functions.function import Signature
from gateway.functions.table import SIGNATURES
from gateway.plan.fields import NUMBERS
from gateway.twin import TwinRefused

REFUSED: Final = "What is refused"
PASSING: Final = "Statements that pass unchanged"
_INSTEAD: Final = "-- instead"
_READING: Final = {code for code in Code if code.startswith("GW1")}

# PostgreSQL has words of its own for what it does not take
_FITTING: Final = {Reason.SYNTAX_ERROR, Reason.NOT_PERMITTED, Reason.UNSUPPORTED_SQL}
_WORDS: Final = {
    NUMBERS: "number",
    frozenset({Family.WHOLE}): "whole",
    frozenset({Family.WHOLE, Family.EXACT}): "whole or numeric",
    frozenset({Family.TEXT}): "text",
    frozenset(Family): "any",
}
_MANY: Final = 4


class Example(NamedTuple):
    """A statement of the document; `code` is None where it is accepted."""

    part: str
    sql: str
    code: str | None


def blocks(text: str) -> Iterator[str]:
    """The SQL of the fenced blocks."""
    yield from re.findall(r"^```sql\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def examples(text: str) -> list[Example]:
    """All statements, with the code that stands in the heading above those that are refused."""
    found = []
    for part, inside in sections(text, 2).items():
        if part != REFUSED:
            found += [Example(part, sql, None) for sql in _statements(blocks(inside))]
            continue
        for title, below in sections(f"## {part}\n{inside}", 3).items():
            code = title.partition(":")[0]
            for block in blocks(below):
                wrong, _, right = block.partition(_INSTEAD)
                found += [Example(part, sql, code) for sql in _statements([wrong])]
                found += [Example(part, sql, None) for sql in _statements([right])]
    return found


def _statements(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        for one in re.split(r";\s*(?:--[^\n]*)?\n", f"{text}\n"):
            if one.strip():
                yield one.strip()


def fault(example: Example, describe: Describe | None = None) -> str | None:
    """What the document says wrongly about an example; PostgreSQL may refuse in its own words."""
    try:
        bound = bind(example.sql, CLINIC, describe=describe)
    except TwinRefused as refusal:
        told = example.code is not None and refusal.reason in _FITTING
        return None if told else f"{refusal}: {example.sql}"
    except Refusal as refusal:
        return None if refusal.code == example.code else f"{refusal}: {example.sql}"
    if example.code is not None:
        return f"not refused: {example.sql}"
    wanted = PassThrough if example.part == PASSING else Cut
    return None if isinstance(bound, wanted) else f"{type(bound).__name__}: {example.sql}"


def table(text: str, header: str) -> list[list[str]]:
    """The cells of the table whose first header cell this is."""
    lines = [*prose(text), ""]
    start = next((at for at, line in enumerate(lines) if line.startswith(f"| {header} |")), None)
    found: list[list[str]] = []
    for line in [] if start is None else lines[start + 2 :]:
        if not line.startswith("|"):
            break
        cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
        found.append([cell.strip().replace("\\|", "|") for cell in cells])
    return found


def words(cell: str) -> list[str]:
    """The code spans of a cell."""
    return re.findall(r"`([^`]+)`", cell)


def listed(text: str, name: str) -> list[str]:
    """The code spans in the row of the table of words that has this name."""
    return next((words(row[1]) for row in table(text, "list") if row[0] == name), [])


def _differ(said: Iterable[object], known: Iterable[object], what: str) -> list[str]:
    said, known = list(said), set(known)
    return [
        *(f"{what} not described: {one}" for one in sorted(map(str, known - set(said)))),
        *(f"no such {what}: {one}" for one in sorted(map(str, set(said) - known))),
        *(f"{what} is there twice: {one}" for one in {str(o) for o in said if said.count(o) > 1}),
    ]


def signature(of: Signature) -> tuple[str, str]:
    """What a function takes, and how many, as the document writes it."""
    places = range(of.most if of.most <= _MANY else 1)
    kinds = [
        _WORDS[of.arguments[min(place, len(of.arguments) - 1)]]
        + (" constant" if place in of.literal else "")
        for place in places
    ]
    takes = ", ".join(kinds) + (", …" if of.most > _MANY else "")
    if of.least == of.most:
        return takes, str(of.most)
    return takes, f"{of.least} {'or' if of.most == of.least + 1 else 'to'} {of.most}"


def function_table(text: str) -> list[str]:
    """Each function with what it takes."""
    said = [(name, *row[1:3]) for row in table(text, "function") for name in words(row[0])]
    known = [(name, *signature(one)) for name, one in SIGNATURES.items()]
    return _differ(said, known, "function")


LISTS: Final[dict[str, Callable[[], Iterable[str]]]] = {
    "comparisons": expressions._COMPARISONS.values,
    "arithmetic": expressions._ARITHMETIC.values,
    "patterns": patterns.LIKES.values,
    "fields of `extract` and `date_part`": lambda: times.EXTRACTED,
    "fields of `extract(… from age(…))`": lambda: times.AGED,
    "parts of `date_trunc`": lambda: times.TRUNCATED,
    "units of an interval": lambda: intervals._UNITS,
    "what a `to_char` key may show alone": lambda: formatted_keys._PARTS,
    "what a `to_char` key may show": lambda: {*formatted_keys._SHOWS, "Month", "Mon"},
    "types of a cast": lambda: set(constants.TYPE_NAMES.values()) - {Kind.CHAR},
    "aggregates": lambda: measures._PLAIN,
    "aggregates with `WITHIN GROUP`": lambda: measures._ORDERED,
    "aggregates that PostgreSQL has not": lambda: spellings.OURS,
    "aggregates for each person": lambda: measures.PER_UNIT | measures.BOOLEANS,
    "aggregates that are refused": lambda: measures.REFUSED,
    "ends of intervals": lambda: ends.ENDS,
    "windows within a person": lambda: windows._NUMBERING | windows._NEIGHBOURS | windows._SUMMING,
    "statements that are questions": lambda: statement._QUERY,
    "statements that pass": lambda: statement._ALONE | statement._ON_NAMES | set(statement._ENDING),
    "wrappers": lambda: statement._WRAPPERS,
    "settings": lambda: statement.SETTINGS,
    "words behind `TO STDOUT`": lambda: statement._COPY_OPTIONS - {"(", ")", ","},
    "tables of the gateway": lambda: [f"{SCHEMA}.{name}" for name in OWN_TABLES],
}


def word_lists(text: str) -> list[str]:
    """Each list of words is the code's own."""
    names = [row[0] for row in table(text, "list")]
    problems = _differ(names, LISTS, "list")
    for name, known in LISTS.items():
        problems += _differ(listed(text, name), known(), name)
    return problems


def hints(text: str) -> list[str]:
    """Each function that has a way out stands with it."""
    said = [(name, row[1]) for row in table(text, "instead of") for name in words(row[0])]
    return _differ(
        [(name, hint.replace("`", "")) for name, hint in said],
        calls.INSTEAD.items(),
        "hint",
    )


def casts(text: str) -> list[str]:
    """The types that a column of each type can be cast to, tried one by one."""
    kinds = [ColumnType(kind, length=1 if kind is Kind.CHAR else None) for kind in Kind]
    targets = [kind for kind in kinds if kind.kind in constants.TYPE_NAMES.values()]
    said = {
        (one, other)
        for row in table(text, "cast from")
        for one in words(row[0])
        for other in words(row[1])
    }
    known = {
        (str(one.kind), str(to.kind))
        for one in kinds
        for to in targets
        if to.kind is not Kind.CHAR and one.kind is not to.kind and _can_cast(one, to)
    }
    return _differ(said, known, "cast")


def _can_cast(of: ColumnType, to: ColumnType) -> bool:
    try:
        operands.check_cast(of, to)
    except UnsupportedSql:
        return False
    return True


def limit_table(text: str) -> list[str]:
    """Each limit with its number and code."""
    said = [tuple(row) for row in table(text, "at most")]
    known = [(f"{one.number:,}", name, one.code.value) for name, one in LIMITS.items()]
    return _differ(said, known, "limit")


def refusals(text: str) -> list[str]:
    """Each code of reading SQL has its heading, its link, and an example that is refused."""
    below = sections(text, 3)
    said = {title for title in below if title.startswith("GW")}
    problems = _differ(said, {f"{code}: {TITLE[code]}" for code in _READING}, "code")
    shown = {example.code for example in examples(text)}
    problems += [f"no example: {code}" for code in sorted(_READING - shown)]
    return problems + [
        f"no link: {title}"
        for title in sorted(said)
        if f"(errors.md#{title.partition(':')[0].lower()}-" not in below[title]
    ]


SUBJECTS: Final = {
    "functions": function_table,
    "lists": word_lists,
    "hints": hints,
    "casts": casts,
    "limits": limit_table,
    "refusals": refusals,
}
