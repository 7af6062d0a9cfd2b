"""What tells the content of constants before they are there."""

from fractions import Fraction

from gateway.binding.bound import Cut, Fetch, Release, Sql, Stage
from gateway.binding.text.classify import classify
from gateway.catalog.domains import Interval
from gateway.catalog.tables import OWN_TABLES, Column, Protection, Table
from gateway.catalog.types import parse_type
from gateway.plan.aggregates import Aggregate
from gateway.plan.fields import NUMERIC, Field
from gateway.plan.relations import Scan
from gateway.release_cache.fingerprints import Constants

_VISITS = Table(
    "visits",
    (
        Column("pid", parse_type("bigint"), nullable=False),
        Column("cost", parse_type("integer"), Interval(0, 10, Fraction(1))),
    ),
    Protection("pid", 3, 1),
)
_PUBLIC = Table("regions", (Column("region", parse_type("text")),))
_PLAN = Aggregate(Scan(_VISITS, "visits", "person"), (), (), ((),))
_FIELD = (Field("value", NUMERIC),)


def _cut(*steps: Release | Fetch | Stage) -> Cut:
    return Cut(classify("SELECT 1"), steps, Sql("", ""), frozenset(), frozenset(), None)


def _staged(body: str, query_id: str, tells: str) -> str:
    """The name of what is made of a release, when a second release is looked at."""
    cut = _cut(Release("_r1", _PLAN), Stage("_s1", Sql("", body), _FIELD), Release("_r2", _PLAN))
    constants = Constants(cut, query_id)
    assert constants.before(0) == {}
    constants.told(0, tells)
    return constants.before(1)["_s1"]


def test_name_is_the_same_when_it_is_made_of_the_same() -> None:
    """In two questions: what is computed steadily from a release that is taken from the same sheets."""
    body = "SELECT AVG(m1) AS value FROM _r1"
    assert _staged(body, "q1", "sheet 1") == _staged(body, "q2", "sheet 1")


def test_name_is_another_when_anything_of_it_is() -> None:
    """Another sheet, another text, chance."""
    body = "SELECT AVG(m1) AS value FROM _r1"
    names = [
        _staged(body, "q1", "sheet 1"),
        _staged(body, "q1", "sheet 2"),
        _staged("SELECT MAX(m1) AS value FROM _r1", "q1", "sheet 1"),
        _staged("SELECT random() AS value FROM _r1", "q1", "sheet 1"),
        _staged("SELECT random() AS value FROM _r1", "q2", "sheet 1"),
    ]
    assert len(set(names)) == len(names)


def test_own_tables_are_never_the_same_again() -> None:
    """What somebody spent so far is another thing with each question; a public table is the same table."""

    def name(table: Table, query_id: str) -> str:
        constants = Constants(_cut(Fetch("_p1", table), Release("_r1", _PLAN)), query_id)
        return constants.before(0)["_p1"]

    assert name(OWN_TABLES["budget"], "q1") != name(OWN_TABLES["budget"], "q2")
    assert name(_PUBLIC, "q1") == name(_PUBLIC, "q2")
