"""The tree of a condition, and its text.

`tree_text` writes a tree as CEL again: the text has the meaning of the one that was parsed.
"""

from dataclasses import dataclass, field
from typing import Final, TypeAlias


@dataclass(frozen=True)
class ConditionLiteral:
    """A text, a number or a boolean; `kind` distinguishes 1 and true, which are equal in Python."""

    value: str | int | bool
    kind: type = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", type(self.value))


@dataclass(frozen=True)
class ListOf:
    items: tuple["Tree", ...]


@dataclass(frozen=True)
class Path:
    """`subject.role`; `root` is `subject` or `request`."""

    root: str
    name: str


@dataclass(frozen=True)
class Variable:
    """The `p` of `subject.purposes.exists(p, …)`."""

    name: str


@dataclass(frozen=True)
class ConditionCall:
    name: str
    arguments: tuple["Tree", ...]


@dataclass(frozen=True)
class Macro:
    name: str
    over: "Tree"
    variable: str
    body: "Tree"


@dataclass(frozen=True)
class Not:
    inner: "Tree"


@dataclass(frozen=True)
class And:
    parts: tuple["Tree", ...]


@dataclass(frozen=True)
class Or:
    parts: tuple["Tree", ...]


@dataclass(frozen=True)
class Compare:
    sign: str
    left: "Tree"
    right: "Tree"


Tree: TypeAlias = (
    ConditionLiteral | ListOf | Path | Variable | ConditionCall | Macro | Not | And | Or | Compare
)


def tree_children(tree: Tree) -> tuple[Tree, ...]:
    match tree:
        case ListOf(parts) | ConditionCall(_, parts) | And(parts) | Or(parts):
            return parts
        case Not(inner):
            return (inner,)
        case Compare(_, left, right):
            return left, right
        case Macro(_, over, _, body):
            return over, body
        case _:
            return ()


def attribute_paths(tree: Tree) -> frozenset[Path]:
    """Every attribute the condition reads."""
    own = frozenset({tree}) if isinstance(tree, Path) else frozenset()
    return own.union(*(attribute_paths(child) for child in tree_children(tree)))


_PLAIN_FUNCTIONS: Final = frozenset({"has", "size", "int", "timestamp", "cidr"})
"""All other functions are written as methods."""


def networks_of(tree: Tree) -> frozenset[str]:
    """The first address of every network that the condition names."""
    own = frozenset[str]()
    match tree:
        case ConditionCall("cidr", (ConditionLiteral(str(value)),)):
            own = frozenset({value.partition("/")[0]})
    return own.union(*(networks_of(child) for child in tree_children(tree)))


def tree_text(tree: Tree) -> str:  # noqa: C901, PLR0911 - one answer for each kind of node
    """The tree as CEL, with brackets around everything that has operators."""
    match tree:
        case ConditionLiteral(value):
            return _literal_text(value)
        case ListOf(parts):
            return f"[{', '.join(map(tree_text, parts))}]"
        case Path(root, name):
            return f"{root}.{name}"
        case Variable(name):
            return name
        case ConditionCall(name, (target, *rest)) if name not in _PLAIN_FUNCTIONS:
            return f"{tree_text(target)}.{name}({', '.join(map(tree_text, rest))})"
        case ConditionCall(name, parts):
            return f"{name}({', '.join(map(tree_text, parts))})"
        case Macro(name, over, variable, body):
            return f"{tree_text(over)}.{name}({variable}, {tree_text(body)})"
        case Not(inner):
            return f"(!{tree_text(inner)})"
        case And(parts):
            return f"({' && '.join(map(tree_text, parts))})"
        case Or(parts):
            return f"({' || '.join(map(tree_text, parts))})"
        case Compare(sign, left, right):
            return f"({tree_text(left)} {sign} {tree_text(right)})"


def _literal_text(value: str | int | bool) -> str:  # noqa: FBT001 - any constant
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
