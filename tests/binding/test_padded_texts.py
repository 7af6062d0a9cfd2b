"""Constants beside a `char(n)`, which PostgreSQL compares without the blanks at the end of both sides."""

from engines.extremes import bound
from laws import for_each

from gateway.binding.text.parameters import parameter_literals
from gateway.plan.fields import TEXT
from gateway.plan.scalars import Literal


@for_each(
    ("padded", "plain"),
    [
        ("c = 'a '", "c = 'a'"),
        ("'a  ' <> c", "'a' <> c"),
        ("c < 'a '", "c < 'a'"),
        ("c IS DISTINCT FROM 'a '", "c IS DISTINCT FROM 'a'"),
        ("c BETWEEN 'a ' AND 'b '", "c BETWEEN 'a' AND 'b'"),
        ("c IN ('a  ', 'ab')", "c IN ('a', 'ab')"),
        ("c = ANY('{\"a \",ab}')", "c = ANY('{a,ab}')"),
        ("nullif(c, 'a ')", "nullif(c, 'a')"),
        ("coalesce(c, 'a ')", "coalesce(c, 'a')"),
        ("coalesce(c, 'a ') IN ('b ')", "coalesce(c, 'a') IN ('b')"),
        ("nullif(c, 'a') = 'b '", "nullif(c, 'a') = 'b'"),
        ("CASE c WHEN 'a ' THEN 1 END", "CASE c WHEN 'a' THEN 1 END"),
        ("CASE WHEN o THEN c ELSE 'a ' END = 'b '", "CASE WHEN o THEN c ELSE 'a' END = 'b'"),
    ],
)
def test_blanks_at_the_end_of_a_constant_do_not_count_beside_a_char(
    padded: str, plain: str
) -> None:
    """Both are one plan, and so one answer that is bought once."""
    assert bound(padded) == bound(plain)


@for_each(
    ("padded", "plain"),
    [
        ("c = 'a '::text", "c = 'a'::text"),
        ("c = ANY(ARRAY['a '])", "c = ANY(ARRAY['a'])"),
        ("coalesce(c, t) = 'a '", "coalesce(c, t) = 'a'"),
        ("c::text = 'a '", "c::text = 'a'"),
        ("t = 'a '", "t = 'a'"),
        ("'a ' = 'a'", "'a' = 'a'"),
        ("c || 'a '", "c || 'a'"),
        ("starts_with(c, 'a ')", "starts_with(c, 'a')"),
        ("position('a ' IN c)", "position('a' IN c)"),
        ("c LIKE 'a '", "c LIKE 'a'"),
    ],
)
def test_blanks_at_the_end_of_a_constant_count_beside_a_text(padded: str, plain: str) -> None:
    """The control: what PostgreSQL reads as a text keeps its blanks."""
    assert bound(padded) != bound(plain)


def test_parameter_beside_a_char_loses_its_blanks_as_a_constant_does() -> None:
    """PostgreSQL infers `character` for `c = $1`; one that is declared as a text keeps them."""
    given = parameter_literals(["a ", "a "], ["character", "text"], "UTC")
    assert given == (Literal("a", TEXT), Literal("a ", TEXT))
