from pipeline.oracle.prompt import opening
from pipeline.types import Persona, SessionConfig


def test_the_model_is_told_its_name_its_language_and_its_instructions() -> None:
    persona = Persona("Kame", "You love {turtles}.")
    system, *examples = opening(SessionConfig(persona=persona, language="en-GB"))
    assert system.role == "system"
    assert "Kame" in system.text and "English" in system.text and "{turtles}" in system.text
    assert [message.role for message in examples[:2]] == ["user", "assistant"]
    assert examples[-1].text.startswith("I am Kame.")
    assert "{name}" not in " ".join(message.text for message in examples)


def test_english_examples_do_not_lead_another_language_astray() -> None:
    (system,) = opening(SessionConfig(language="ja-JP"))
    assert "Japanese" in system.text
    assert "---" not in system.text


def test_the_opening_is_the_same_each_time_for_the_prompt_cache() -> None:
    assert opening(SessionConfig()) == opening(SessionConfig())
