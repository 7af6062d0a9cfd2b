"""Intervals in columns: they are what the list of them would be."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gateway.columnar.intervals import Interval, IntervalEnds, IntervalRows

FLOATS = st.floats(allow_nan=False)
INTERVALS = st.lists(st.one_of(st.none(), st.tuples(FLOATS, FLOATS)), max_size=9)


@given(INTERVALS)
def test_column_is_the_list_it_was_made_of(intervals: list[Interval]) -> None:
    """Floats to their last bit, infinite ones too, and None where there is none."""
    ends = IntervalEnds.of(intervals)
    assert list(ends) == intervals
    assert [ends[place] for place in range(len(ends))] == intervals
    assert ends == intervals
    assert IntervalEnds.joined([ends, intervals]) == [*intervals, *intervals]
    assert ends != [*intervals, None]


@given(INTERVALS, st.data())
def test_column_is_taken_by_rows_as_a_list_is(
    intervals: list[Interval], data: st.DataObject
) -> None:
    """Rows in any order, some of them from nowhere."""
    rows = data.draw(st.lists(st.integers(-1, len(intervals) - 1), max_size=9))
    places = np.array(rows, dtype=np.int64)
    taken = IntervalEnds.of(intervals).taken(places, places >= 0)
    assert taken == [None if row < 0 else intervals[row] for row in rows]


@given(INTERVALS, st.data())
def test_column_is_filled_where_it_has_none(intervals: list[Interval], data: st.DataObject) -> None:
    """What it has stays."""
    others = data.draw(
        st.lists(
            st.one_of(st.none(), st.tuples(FLOATS, FLOATS)),
            min_size=len(intervals),
            max_size=len(intervals),
        )
    )
    assert IntervalEnds.of(intervals).filled(IntervalEnds.of(others)) == [
        two if one is None else one for one, two in zip(intervals, others, strict=True)
    ]


def test_table_is_the_tuple_of_its_rows() -> None:
    """Columns without any interval are None in every row."""
    table = IntervalRows([None, IntervalEnds.of([(1.0, 2.0), None, (3.0, 4.0)])], 3)
    rows = ((None, (1.0, 2.0)), (None, None), (None, (3.0, 4.0)))
    assert table == rows
    assert table == IntervalRows.of(rows)
    assert table[0] == rows[0]
    assert table[1:] == rows[1:]
    assert table != rows[:2]
    assert table.where(np.array([False, True, True])) == ((None, None), *rows[1:])
    assert [(many, columns) for many, columns in table.parts(2)] == [
        (2, [None, [(1.0, 2.0), None]]),
        (1, [None, [(3.0, 4.0)]]),
    ]
