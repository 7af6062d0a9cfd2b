"""Just enough Markdown: sections, anchors, links, tables. Fenced blocks are never headings or links."""

import re
from collections.abc import Iterator, Mapping

_FENCE = re.compile(r"^(```|~~~)")
_HEADING = re.compile(r"^(#{1,6}) (.+)$")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`]+)`")


def prose(text: str) -> Iterator[str]:
    """The lines outside fenced blocks."""
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield line


def fenced(text: str) -> Iterator[str]:
    """The lines inside fenced blocks."""
    inside = False
    for line in text.splitlines():
        if _FENCE.match(line):
            inside = not inside
        elif inside:
            yield line


def headings(text: str) -> list[tuple[int, str]]:
    found = (_HEADING.match(line) for line in prose(text))
    return [(len(match[1]), match[2]) for match in found if match]


def sections(text: str, level: int) -> Mapping[str, str]:
    """What stands below each heading of this level, up to the next of it or a higher one."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    fence = False
    for line in text.splitlines():
        fence ^= _FENCE.match(line) is not None
        heading = None if fence else _HEADING.match(line)
        if heading and len(heading[1]) <= level:
            current = found.setdefault(heading[2], []) if len(heading[1]) == level else None
        elif current is not None:
            current.append(line)
    return {title: "\n".join(lines) for title, lines in found.items()}


def anchors(text: str) -> set[str]:
    """The fragments that headings can be reached by, as code hosts make them."""
    made: set[str] = set()
    for _, title in headings(text):
        base = re.sub(r"[^\w\- ]", "", title.replace("`", "").lower()).replace(" ", "-")
        slug, again = base, 0
        while slug in made:
            again += 1
            slug = f"{base}-{again}"
        made.add(slug)
    return made


def links(text: str) -> list[str]:
    """Where the links outside fenced blocks lead."""
    outside = "\n".join(prose(text))
    return _LINK.findall(_CODE.sub(lambda span: span[0].replace("(", "_"), outside))


def code(text: str) -> list[str]:
    """The code spans, those that were broken over two lines too."""
    return [" ".join(span.split()) for span in _CODE.findall("\n".join(prose(text)))]


def rows(text: str) -> list[list[str]]:
    """The cells of all tables, without headers and rules."""
    lines = list(prose(text))
    found = []
    for above, line in zip(["", *lines], lines, strict=False):
        if line.startswith("|") and above.startswith("|") and not line.startswith("|--"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if not set("".join(cells)) <= set("-: "):
                found.append(cells)
    return found
