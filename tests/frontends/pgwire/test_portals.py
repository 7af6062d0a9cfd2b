"""Names of prepared queries: a name that the twin forgot is forgotten."""

from gateway.binding.text.classify import classify
from gateway.frontends.pgwire.classify import AnalystQuery, PrepareQuery
from gateway.frontends.pgwire.portals import PreparedNames, PreparedQuery


def asking(sql: str, described: str = "") -> AnalystQuery:
    return AnalystQuery(classify(sql), (described or sql).encode())


COUNT = asking("SELECT count(*) FROM patients")
MEDIAN = asking("SELECT median(birth_year) FROM patients", "SELECT (SELECT 1)")
SUBQUERY = asking("SELECT (SELECT 1)")


def is_stale(recalled: PreparedNames) -> bool:
    return recalled.stale


def test_a_name_of_sql_is_known_when_the_twin_has_it() -> None:
    """Neither before it was told, nor from a statement of the protocol with the same text."""
    recalled = PreparedNames()
    text = recalled.prepare_text(PrepareQuery(COUNT, b"PREPARE q AS SELECT"))
    assert recalled.get(b"q") is None
    recalled.refresh(
        [(b"q", text, True), (b"of the protocol", text, False), (b"x", b"other", True)]
    )
    assert recalled.get(b"q") == PreparedQuery(COUNT)
    assert recalled.get(b"of the protocol") is None
    assert recalled.get(b"x") is None


def test_a_name_with_another_text_is_another_statement() -> None:
    """What was prepared anew under a name is no question any more; what is as it was stays."""
    recalled = PreparedNames()
    for name in (b"", b"kept", b"anew", b"gone"):
        recalled.put(name, PreparedQuery(COUNT))
    recalled.refresh([(b"kept", COUNT.described, False), (b"anew", b"SELECT 7", True)])
    found = [recalled.get(name) for name in (b"", b"kept", b"anew", b"gone")]
    assert found == [PreparedQuery(COUNT), PreparedQuery(COUNT), None, None]


def test_the_twin_is_asked_again_when_names_may_have_changed() -> None:
    """After each PREPARE and DEALLOCATE, where there is a question at all; and of nothing after the end of all."""
    recalled = PreparedNames()
    recalled.done(b"DEALLOCATE")
    assert not is_stale(recalled)
    recalled.put(b"", PreparedQuery(COUNT))
    recalled.done(b"DEALLOCATE")
    assert not is_stale(recalled)
    recalled.put(b"q", PreparedQuery(COUNT))
    recalled.done(b"SELECT 1")
    assert not is_stale(recalled)
    recalled.done(b"DEALLOCATE")
    assert is_stale(recalled)
    recalled.done(b"DISCARD ALL")
    assert not is_stale(recalled)
    assert recalled.get(b"q") is None
    assert recalled.get(b"") == PreparedQuery(COUNT)


def test_questions_that_are_told_alike_stay_apart() -> None:
    """Two questions may have one text for the twin; by the text each is found that was told with it."""
    recalled = PreparedNames()
    head = b"PREPARE q AS "
    one = recalled.prepare_text(PrepareQuery(MEDIAN, head + MEDIAN.described))
    other = recalled.prepare_text(PrepareQuery(SUBQUERY, head + SUBQUERY.described))
    assert one != other
    assert one.rstrip() == other.rstrip()
    assert recalled.prepare_text(PrepareQuery(MEDIAN, head + MEDIAN.described)) == one
    recalled.refresh([(b"q", one, True), (b"r", other, True)])
    assert [recalled.get(name) for name in (b"q", b"r")] == [
        PreparedQuery(MEDIAN),
        PreparedQuery(SUBQUERY),
    ]


def test_texts_are_held_up_to_a_limit() -> None:
    """The oldest is forgotten first, and what is told again is young again."""
    recalled = PreparedNames()
    texts = [
        recalled.prepare_text(PrepareQuery(COUNT, b"PREPARE q%d" % number)) for number in range(500)
    ]
    recalled.prepare_text(PrepareQuery(COUNT, texts[0]))
    recalled.prepare_text(PrepareQuery(COUNT, b"PREPARE more"))
    recalled.refresh([(text, text, True) for text in texts])
    assert [recalled.get(text) is None for text in texts] == [False, True, *[False] * 498]
