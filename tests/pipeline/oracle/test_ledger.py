from pipeline.events import Fate, OracleFate
from pipeline.oracle.ledger import Ledger


def test_words_spoken_are_used_and_the_rest_superseded() -> None:
    ledger = Ledger()
    ledger.received(1, "Paris is the", during_reply=False)
    ledger.received(1, " capital.", during_reply=False)
    ledger.spoken(1)
    ledger.spoken(1)
    assert ledger.received(2, "Rome", during_reply=False) == [
        OracleFate(1, Fate.USED, 2),
        OracleFate(1, Fate.SUPERSEDED, 2),
    ]


def test_an_answer_that_came_while_the_voice_was_speaking_is_late_but_used() -> None:
    ledger = Ledger()
    ledger.received(1, "Paris.", during_reply=True)
    ledger.spoken(1)
    assert ledger.settle() == [OracleFate(1, Fate.LATE, 1)]


def test_stragglers_of_an_old_answer_change_nothing() -> None:
    ledger = Ledger()
    ledger.received(2, "Rome.", during_reply=False)
    ledger.received(1, "Paris.", during_reply=False)
    ledger.spoken(1)
    assert ledger.settle() == [OracleFate(2, Fate.SUPERSEDED, 1)]
