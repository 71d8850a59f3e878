import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor

from pipeline.frontends.moshi.loading import load_pieces
from pipeline.frontends.moshi.tokens import OracleText, TextPieces, WordStream
from pipeline.types import Word
from tests.fakes.tiny_moshi import CORPUS, TinyCheckpoint

PAD, PAD_END = 3, 0
TEXT = " ".join(CORPUS)


@pytest.fixture(scope="module")
def pieces(kame: TinyCheckpoint) -> TextPieces:
    return load_pieces(kame.folder / "text.model", 96)


@pytest.fixture(scope="module")
def whole(kame: TinyCheckpoint) -> SentencePieceProcessor:
    return SentencePieceProcessor(model_file=str(kame.folder / "text.model"))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(cuts=st.sets(st.integers(1, len(TEXT) - 1), max_size=40))
def test_an_answer_in_pieces_has_the_tokens_of_the_whole_answer(
    pieces: TextPieces, whole: SentencePieceProcessor, cuts: set[int]
) -> None:
    places = [0, *sorted(cuts), len(TEXT)]
    text = OracleText(pieces)
    tokens = [
        token
        for start, end in itertools.pairwise(places)
        for token in text.push(TEXT[start:end], final=end == len(TEXT))
    ]
    assert tokens == whole.encode(TEXT)


def test_a_word_is_held_until_it_is_whole(
    pieces: TextPieces, whole: SentencePieceProcessor
) -> None:
    text = OracleText(pieces)
    assert text.push("the cap", final=False) == whole.encode("the")
    assert text.push("ital ", final=False) == whole.encode("capital")
    assert text.push("of", final=True) == whole.encode("of")


class Characters:
    """A vocabulary of single characters, as of a language that has no spaces."""

    def encode(self, text: str) -> list[int]:
        return [ord(char) for char in text]

    def id_to_piece(self, token: int) -> str:
        return chr(token)


def test_text_without_spaces_is_given_out_clause_by_clause() -> None:
    text = OracleText(Characters())
    deltas = [("東京", ""), ("は、日", "東京は、"), ("本の首都。", "日本の首都。"), ("です", "")]
    for delta, certain in deltas:
        assert "".join(map(chr, text.push(delta, final=False))) == certain
    assert "".join(map(chr, text.push("", final=True))) == "です"


class Listed:
    """A vocabulary by number."""

    def __init__(self, *pieces: str) -> None:
        self._pieces = pieces

    def encode(self, text: str) -> list[int]:
        raise NotImplementedError

    def id_to_piece(self, token: int) -> str:
        return self._pieces[token - 10]


def read(stream: WordStream, tokens: list[int]) -> list[Word]:
    words = (stream.push(token, epoch=1, start_sample=i) for i, token in enumerate(tokens))
    return [word for word in words if word]


def test_words_are_whole_and_stand_where_they_began() -> None:
    stream = WordStream(Listed("▁Par", "is", "▁is", "."), frozenset({PAD, PAD_END}))
    words = read(stream, [PAD, 10, 11, PAD, PAD_END, 12, 10, 11, 13, PAD])
    assert words == [Word(" Paris", 1, 1), Word(" is", 1, 5), Word(" Paris.", 1, 6)]


def test_a_letter_that_takes_several_tokens_is_read_as_one() -> None:
    stream = WordStream(Listed("▁", "<0xE6>", "<0x9D>", "<0xB1>"), frozenset({PAD}))
    assert read(stream, [10, 11, 12, 13, PAD]) == [Word(" 東", 1, 0)]


def test_text_that_never_pauses_is_given_out_all_the_same() -> None:
    stream = WordStream(Listed("la"), frozenset({PAD}))
    words = read(stream, [10] * 1000)
    assert len(words) > 10
    assert len("".join(word.text for word in words)) > 1900
