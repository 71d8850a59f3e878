import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.frontends.voice.answer import Answer
from pipeline.frontends.voice.clauses import LONG, SHORT, Size, speakable
from pipeline.types import OracleUpdate


def clauses(text: str, size: Size = LONG, piece: int = 4) -> list[str]:
    """`text` cut while it streams in, `piece` characters at a time."""
    answer, cut = Answer(epoch=1), []
    for at in range(0, len(text), piece):
        answer.add(OracleUpdate(1, text[at : at + piece], at + piece >= len(text), 0.0, "fake"))
        while (clause := answer.next_clause(size)) is not None:
            cut.append(clause)
    assert answer.exhausted
    return cut


def test_the_first_clause_is_short_and_later_ones_are_sentences() -> None:
    text = "The capital of France, as you may know, is Paris. It lies on the Seine. Yes."
    assert clauses(text, SHORT)[0] == "The capital of France,"
    assert clauses(text)[0] == "The capital of France, as you may know,"
    assert clauses(text)[1:] == ["is Paris. It lies on the Seine.", "Yes."]


def test_a_long_sentence_without_marks_is_cut_before_a_word_that_joins() -> None:
    text = "You can boil an egg for about seven minutes and then put it into cold water"
    assert clauses(text, SHORT)[0] == "You can boil an egg"


@pytest.mark.parametrize(
    "text",
    [
        "It is 3.5 metres long.",
        "That costs 10,000 dollars.",
        "Dr. Smith met Mrs. Jones at 4 p.m. yesterday.",
        "J. S. Bach wrote it, e.g. for the lute.",
        "The U.S. has fifty states.",
        "Version 1.2.3 is out.",
    ],
)
def test_a_dot_inside_a_number_or_an_abbreviation_ends_nothing(text: str) -> None:
    sentences = Size(sentence=1, pause=99, joint=99, most=99)
    assert clauses(text, sentences) == [text]


def test_the_items_of_a_list_are_clauses_of_their_own() -> None:
    text = "You need:\n1. Two eggs\n2. Some milk\n- a pan"
    assert clauses(text) == ["You need:", "1. Two eggs", "2. Some milk", "a pan"]


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("**Paris** is _the_ `capital`", "Paris is the capital"),
        ("# A heading", "A heading"),
        ("Great! 😀👍🏽 Let's go ✨", "Great! Let's go"),
        ("see [the page](https://example.org/a_b)", "see the page"),
        ("snake_case and 2 - 1", "snake_case and 2 - 1"),
        ("😀", ""),
        ("---", ""),
        ("Paris 🇫🇷. It costs .5, so 2 ^ 3.", "Paris. It costs .5, so 2 ^ 3."),
    ],
)
def test_what_is_to_be_seen_only_is_not_spoken(written: str, spoken: str) -> None:
    assert speakable(written) == spoken


@given(st.lists(st.text("ab.,:;!? \n", max_size=12), max_size=20), st.sampled_from([SHORT, LONG]))
def test_no_word_is_lost_repeated_or_reordered_however_the_text_arrives(
    pieces: list[str], size: Size
) -> None:
    answer, said = Answer(epoch=1), []
    for number, piece in enumerate([*pieces, ""]):
        answer.add(OracleUpdate(1, piece, number == len(pieces), 0.0, "fake"))
        while (clause := answer.next_clause(size)) is not None:
            said.extend(clause.split())
    assert "".join(c for c in "".join(said) if c.isalnum()) == "".join(
        c for c in "".join(pieces) if c.isalnum()
    )
