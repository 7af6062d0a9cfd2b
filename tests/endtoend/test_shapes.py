"""What tools and analysts write is answered as by PostgreSQL, or refused with a text that says what to write instead."""

import psycopg
import pytest
import sqlglot
from endtoend.clinic_gateway import AskedGateway
from endtoend.plain_postgresql import plain_result
from endtoend.same_answer import differences, is_ordered
from endtoend.shapes import Shape, shapes
from laws import for_each
from sqlglot.errors import SqlglotError

from gateway.errors import Refusal

_SHAPES = shapes()
_TOOLS = sorted({one.tool for one in _SHAPES})
_REFUSED = [one for one in _SHAPES if one.refused]


def _is_ordered(text: str) -> bool:
    try:
        return is_ordered(text)
    except SqlglotError:  # sqlglot by itself does not read `50_000`
        return False


def test_shapes_are_many_and_of_every_tool() -> None:
    """At least two hundred, most of them answered, each with a name of its own."""
    assert len({one.name for one in _SHAPES}) == len(_SHAPES) >= 200
    assert len(_REFUSED) < len(_SHAPES) / 4
    assert len(_TOOLS) >= 12


@pytest.mark.parametrize("tool", _TOOLS)
@for_each("shape", [one for one in _SHAPES if not one.refused])
def test_shape_is_answered_as_by_postgresql(
    gateway: AskedGateway, plain: psycopg.Connection, shape: Shape, tool: str
) -> None:
    """Columns and types are PostgreSQL's; so are the rows, but for values that are chosen, rounded or never read."""
    if shape.tool != tool:  # a test for each tool, so that processes can share them
        return
    answer = gateway.answer(shape.sql, shape.dataset)
    expected = plain_result(plain, shape.sql)
    if shape.differs:
        assert tuple((one.name, one.type) for one in answer.columns) == expected.columns
        return
    assert differences(expected, answer, ordered=_is_ordered(shape.sql)) == []


@for_each("shape", _REFUSED)
def test_shape_that_is_refused_says_what_to_write(gateway: AskedGateway, shape: Shape) -> None:
    """The refusal has the code, and a hint that names no node of a parser."""
    with pytest.raises(Refusal) as caught:
        gateway.answer(shape.sql, shape.dataset)
    assert caught.value.code == shape.refused
    assert caught.value.hint
    nodes = {name.lower() for name in dir(sqlglot.exp) if name[0].isupper() and len(name) > 9}
    assert not nodes & set(f"{caught.value.detail} {caught.value.hint}".split("`")[1::2])
