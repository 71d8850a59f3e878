import pytest
from pydantic import SecretStr

from pipeline.errors import ConfigError
from pipeline.llm.choose import OPENAI_MODEL, LlmChoice, Neighbour, choose
from pipeline.settings import LlmSettings

OLLAMA = Neighbour("Ollama", "http://127.0.0.1:11434/v1", ("nomic-embed-text", "llama3.2"))
KEY = SecretStr("sk-secret")


def test_with_nothing_around_the_local_one_answers() -> None:
    found = choose(LlmSettings(), [Neighbour("Ollama", "http://127.0.0.1:11434/v1", ())])
    assert found.local
    assert "no key" in found.reason


def test_a_key_is_used_before_a_neighbour_and_a_neighbour_before_the_local_one() -> None:
    assert choose(LlmSettings(api_key=KEY), [OLLAMA]) == LlmChoice("there is a key", OPENAI_MODEL)
    assert choose(LlmSettings(), [OLLAMA]) == LlmChoice(
        "Ollama runs on this machine", "llama3.2", OLLAMA.base_url
    )


def test_the_settings_have_the_last_word() -> None:
    assert choose(LlmSettings(provider="local", api_key=KEY), [OLLAMA]).local
    named = LlmSettings(base_url="http://gpu:8000/v1", model="qwen", api_key=KEY)
    assert choose(named, [OLLAMA]).base_url == "http://gpu:8000/v1"


def test_settings_that_do_not_say_enough_are_refused_with_what_is_missing() -> None:
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        choose(LlmSettings(provider="openai"))
    with pytest.raises(ConfigError, match="Set model"):
        choose(LlmSettings(base_url="http://gpu:8000/v1"))


def test_the_reason_never_shows_the_key() -> None:
    assert "secret" not in repr(choose(LlmSettings(api_key=KEY)))
