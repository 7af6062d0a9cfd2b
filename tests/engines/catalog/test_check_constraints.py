"""The text of a constraint is understood whole, or it says nothing."""

from laws import for_each

from gateway.engines.catalog.check_constraints import parse_comparisons


@for_each(
    "text",
    [
        "c >= 1 AND c <= " + "1" * 2_000,
        "(" * 70 + "c >= 1" + ")" * 70,
        "c = ANY (" + "ARRAY[" * 22 + "1" + "]" * 22 + ")",
        "c >= 'x",
        "c >= 1; DROP TABLE t",
        "c >= 1 -- AND",
        "c >= TRY_CAST('1' AS integer)",
        "t.c >= 1",
        "c >= 1e3",
        "c >= - - 1",
        "c >= ALL (ARRAY[1])",
        "c = ANY (SELECT 1)",
        "c IN (SELECT 1)",
        "c BETWEEN SYMMETRIC 5 AND 1",
        "c COLLATE \"C\" = 'x'::text",
        "c >= (1)::numeric(3,1)",
        "c = ANY (ARRAY[ARRAY[1]])",
        "c IS NULL",
        "c",
        "1",
        "SELECT 1",
        "",
    ],
)
def test_text_that_is_not_understood_says_nothing(text: str) -> None:
    """However long, deep or odd it is."""
    assert parse_comparisons(text) == ()


def test_text_with_one_part_that_is_not_understood_says_nothing() -> None:
    """Not even what the other parts say."""
    assert len(parse_comparisons("((c >= 1) AND (c <= 10))")) == 2
    assert parse_comparisons("((c >= 1) AND f(c))") == ()
