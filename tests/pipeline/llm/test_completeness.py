import pytest

from pipeline.llm.completeness import ends, prompt


def test_the_end_that_an_stt_gives_to_everything_is_not_shown() -> None:
    assert prompt("What is the capital of?") == prompt("What is the capital of")
    assert prompt("In the end, who won?").endswith("In the end, who won")


def test_whatever_can_close_a_sentence_counts_as_an_end() -> None:
    odds = {"?": 0.3, ".": 0.2, "<|im_end|>": 0.1, "?\n": 0.1, "\n": 0.05, " of": 0.2, ",": 0.05}
    assert ends(odds) == pytest.approx(0.75)
