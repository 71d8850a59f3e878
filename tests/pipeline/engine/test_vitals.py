from pipeline.engine.vitals import PATIENCE, Vitals


def test_an_engine_that_owes_an_answer_and_gives_none_hangs() -> None:
    vitals = Vitals()
    vitals.asked()
    assert [vitals.hangs() for _ in range(PATIENCE + 1)] == [False] * PATIENCE + [True]


def test_an_engine_that_is_asked_nothing_or_answers_in_the_end_does_not() -> None:
    vitals = Vitals()
    assert not any(vitals.hangs() for _ in range(3 * PATIENCE))
    for _ in range(5):
        vitals.asked()
        assert not any(vitals.hangs() for _ in range(PATIENCE))
        vitals.answered()
