from pipeline.oracle.brevity import Brevity


def spoken(pieces: list[str], sentences: int = 2) -> str:
    brevity = Brevity(sentences)
    said = ""
    for piece in pieces:
        said += brevity.push(piece)
        if brevity.done:
            break
    return said


def letters(text: str) -> list[str]:
    return list(text)


def test_a_rambling_answer_ends_after_its_sentences() -> None:
    text = "Bees make honey. They live in hives. They are small. They fly."
    assert spoken(letters(text)) == "Bees make honey. They live in hives."
    assert spoken([text]) == "Bees make honey. They live in hives."


def test_numbers_and_titles_do_not_end_a_sentence() -> None:
    text = "Pi is 3.14, says Dr. J. Smith. It goes on."
    assert spoken(letters(text), 1) == "Pi is 3.14, says Dr. J. Smith."


def test_abbreviations_and_the_numbers_of_a_list_do_not_end_a_sentence() -> None:
    text = "Use a tool, e.g. a hammer, on Jan. 5. It goes on."
    assert spoken(letters(text), 1) == "Use a tool, e.g. a hammer, on Jan. 5."
    assert spoken(letters("1. Red\n2. Blue\n3. Green\n")).split() == ["1.", "Red", "2.", "Blue"]


def test_a_list_ends_with_its_first_lines_and_markup_is_not_read_aloud() -> None:
    said = spoken(letters("**Paris** is big.\n\n* One\n* Two\n"))
    assert said.split() == ["Paris", "is", "big.", "One"]


def test_leading_space_is_dropped_and_spaces_between_pieces_are_kept() -> None:
    assert spoken(["\n", " The", " capital", " is", " Paris", "."]) == "The capital is Paris."


def test_japanese_sentences_end_without_a_space() -> None:
    assert spoken(letters("東京です。大きいです。また。")) == "東京です。大きいです。"
