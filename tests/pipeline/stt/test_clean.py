import pytest

from pipeline.stt.clean import clean


@pytest.mark.parametrize(
    ("raw", "tidy"),
    [
        ("  What   is it? ", "What is it?"),
        ("\"'Can you remind me to-morrow morning?", "Can you remind me tomorrow morning?"),
        ("...", ""),
        ("", ""),
        ("of the, of the, of the, of the, of the, of the", "of the"),
        ("No, no, no.", "No, no, no."),
        ("It's twenty-two degrees.", "It's twenty-two degrees."),
    ],
)
def test_words_are_written_as_a_person_would(raw: str, tidy: str) -> None:
    assert clean(raw) == tidy
