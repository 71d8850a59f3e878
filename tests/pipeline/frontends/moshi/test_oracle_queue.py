from pipeline.frontends.moshi.oracle_queue import OracleIds, OracleQueue
from pipeline.frontends.moshi.tokens import MARK
from pipeline.types import OracleUpdate

START, IDLE = 32000, 3


class Letters:
    """A token for each letter."""

    def encode(self, text: str) -> list[int]:
        return [ord(char) for char in text]

    def id_to_piece(self, token: int) -> str:
        return MARK + chr(token)


def queue() -> OracleQueue:
    return OracleQueue(OracleIds(START, IDLE), Letters())


def update(epoch: int, text: str, *, final: bool = False) -> OracleUpdate:
    return OracleUpdate(epoch, text, final, 0.0, "test")


def fed(oracle: OracleQueue, frames: int) -> str:
    """What is fed in so many frames: letters, ^ for the start, . for idle."""
    return "".join({START: "^", IDLE: "."}.get(t := oracle.next(), chr(t)) for _ in range(frames))


def test_an_answer_is_fed_one_token_a_frame_after_a_start() -> None:
    oracle = queue()
    assert fed(oracle, 2) == ".."
    oracle.push(update(1, "ab", final=True))
    assert fed(oracle, 5) == "^ab.."


def test_what_comes_late_in_an_answer_is_used_late() -> None:
    oracle = queue()
    oracle.push(update(1, "ab "))
    assert fed(oracle, 5) == "^ab.."
    oracle.push(update(1, "cd", final=True))
    assert fed(oracle, 3) == "cd."


def test_a_newer_answer_replaces_what_waits_and_an_older_one_never_comes_back() -> None:
    oracle = queue()
    oracle.push(update(1, "abcdef "))
    assert fed(oracle, 3) == "^ab"
    oracle.push(update(2, "xy "))
    oracle.push(update(1, "ghi", final=True))
    assert fed(oracle, 5) == "^xy.."


def test_the_rest_of_a_replaced_answers_last_word_is_not_put_before_the_newer_one() -> None:
    oracle = queue()
    oracle.push(update(1, "ca"))
    oracle.push(update(2, "dog", final=True))
    assert fed(oracle, 5) == "^dog."


def test_a_stopped_answer_stays_stopped_and_the_next_one_is_heard() -> None:
    oracle = queue()
    oracle.push(update(1, "abc "))
    assert fed(oracle, 2) == "^a"
    oracle.stop()
    oracle.push(update(1, "def", final=True))
    assert fed(oracle, 2) == ".."
    oracle.push(update(2, "x", final=True))
    assert fed(oracle, 2) == "^x"


def test_the_epoch_in_use_is_that_of_what_was_fed_last() -> None:
    oracle = queue()
    oracle.push(update(4, "a", final=True))
    assert oracle.epoch == 0
    fed(oracle, 2)
    assert oracle.epoch == 4
    fed(oracle, 3)
    assert oracle.epoch == 4
    oracle.push(update(5, "b", final=True))
    fed(oracle, 1)
    assert oracle.epoch == 5
