"""How the words of two streams become one text."""

import pytest

from pipeline.stt.seam import follow, join


@pytest.mark.parametrize(
    ("before", "after", "whole"),
    [
        ("to be or not to be", " that is", "to be or not to be that is"),
        ("", " hello", "hello"),
        ("hello ", "", "hello"),
        ("今日は", "天気がいい。", "今日は天気がいい。"),
        ("今日は GPS", "が要る", "今日は GPS が要る"),
    ],
)
def test_what_follows_is_written_as_its_script_has_it(before: str, after: str, whole: str) -> None:
    assert follow(before, after) == whole


@pytest.mark.parametrize(
    ("before", "after", "whole"),
    [
        ("what is the capital", "the capital of France", "what is the capital of France"),
        ("what is the cap", "the capital of France", "what is the capital of France"),
        ("what is the capital", "s the capital of France", "what is the capital of France"),
        ("what is the cap", "is the capital of", "what is the capital of"),
        ("What is the Capital.", "the capital of", "What is the Capital. of"),
        ("one two", "two", "one two"),
        ("今日の天気は", "天気はどうですか", "今日の天気はどうですか"),
    ],
)
def test_a_word_that_both_streams_heard_appears_once(before: str, after: str, whole: str) -> None:
    assert join(before, after) == whole


def test_streams_that_agree_on_nothing_lose_nothing() -> None:
    assert join("one two", "three four") == "one two three four"


def test_a_word_said_again_much_later_is_no_seam() -> None:
    assert join("the cat sat on a mat by", "the door") == "the cat sat on a mat by the door"


@pytest.mark.parametrize("cut", range(2, 9))
def test_wherever_a_stream_is_cut_the_sentence_comes_out_whole(cut: int) -> None:
    words = [f"word{n}" for n in range(12)]
    before = " ".join([*words[: cut + 1], words[cut + 1][:3]])
    after = " ".join([words[max(0, cut - 2)][2:], *words[max(1, cut - 1) :]])
    assert join(before, after) == " ".join(words)
