"""How much of one unit counts, as older and newer policies say it."""

from fix_policy import BASE, read
from laws import for_each

from gateway.catalog.tables import Protection


def visits(line: str) -> Protection:
    """The protection of `visits` with this line in the place of its `values_per_unit`."""
    table = read(BASE.replace("values_per_unit: 10", line)).accepted.dataset.table("visits")
    assert table is not None
    assert table.protection is not None
    return table.protection


@for_each(
    ("line", "values", "one_row"),
    [
        ("# nothing", 10, False),
        ("values_per_unit: 3", 3, False),
        ("values_per_unit: 1", 1, False),
        ("rows_per_unit: 25", 25, False),
        ("rows_per_unit: 1", 1, True),
    ],
)
def test_limit_of_a_unit_is_read_from_both_spellings(
    line: str, values: int, *, one_row: bool
) -> None:
    """Several rows of an older policy are values; only one row is a fact about rows."""
    read_ = visits(line)
    assert read_.values_per_unit == values
    assert (read_.rows_per_unit == 1) is one_row


def test_price_of_a_histogram_is_never_below_the_lowest_price() -> None:
    """The default price of a histogram follows a lowest price that is above a tenth of the default."""
    text = BASE.replace("default: 0.05,", "default: 0.05, min: 0.02,")
    assert str(read(text).accepted.clipping.price) == "0.02"


@for_each(
    ("line", "default", "most"),
    [
        ("# nothing", None, 16384),
        ("clip: {max: 2}", None, 2),
        ("clip: {default: 4}", 4, 16384),
        ("clip: {default: 4, max: 4}", 4, 4),
    ],
)
def test_clip_is_what_is_declared_unless_a_policy_says_another(
    line: str, default: int | None, most: int
) -> None:
    """A policy that lowers the largest clip need not say both."""
    clipping = read(BASE.replace("reuse:", f"{line}\nreuse:")).accepted.clipping
    assert (clipping.default, clipping.largest) == (default, most)
