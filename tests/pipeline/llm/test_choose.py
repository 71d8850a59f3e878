from pydantic import SecretStr

from pipeline.llm.choose import Neighbour, choose
from pipeline.settings import LlmSettings

OLLAMA = Neighbour("Ollama", "http://127.0.0.1:11434/v1", ("nomic-embed-text", "llama3.2"))
KEY = SecretStr("sk-secret")


def test_with_nothing_around_the_local_one_answers() -> None:
    found = choose(LlmSettings(), [Neighbour("Ollama", "http://127.0.0.1:11434/v1", ())])
    assert found.profile.provider == "local"
    assert "no key" in found.reason


def test_a_key_is_used_before_a_neighbour_and_a_neighbour_before_the_local_one() -> None:
    found = choose(LlmSettings(api_key=KEY), [OLLAMA])
    assert (found.reason, found.profile.api_key) == ("there is a key", KEY)
    assert (found.profile.provider, found.profile.base_url) == ("openai", "")
    found = choose(LlmSettings(), [OLLAMA])
    assert found.reason == "Ollama runs on this machine"
    assert (found.profile.model, found.profile.base_url) == ("llama3.2", OLLAMA.base_url)


def test_the_settings_have_the_last_word() -> None:
    chosen = choose(LlmSettings(provider="local", api_key=KEY), [OLLAMA])
    assert chosen.profile.provider == "local"
    named = LlmSettings(base_url="http://gpu:8000/v1", model="qwen", api_key=KEY)
    assert choose(named, [OLLAMA]).profile.base_url == "http://gpu:8000/v1"


def test_the_reason_never_shows_the_key() -> None:
    assert "secret" not in repr(choose(LlmSettings(api_key=KEY)))
