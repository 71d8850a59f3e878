import sys

import pytest
from pydantic import SecretStr

from pipeline.errors import ConfigError
from pipeline.llm.make import OPENAI_MODEL, make
from pipeline.settings import LlmProfile

KEY = SecretStr("sk-secret")


def test_each_provider_gets_its_own_client() -> None:
    assert make("[llm]", LlmProfile(api_key=KEY)).name == OPENAI_MODEL
    claude = LlmProfile(provider="anthropic", api_key=KEY, model="claude-opus-4-1")
    assert type(make("[llm.claude]", claude)).__name__ == "AnthropicModel"


@pytest.mark.parametrize(
    ("profile", "says"),
    [
        (LlmProfile(), r"\[llm.x\] has no key. Set OPENAI_API_KEY, or base_url"),
        (LlmProfile(provider="anthropic", model="c"), "Set ANTHROPIC_API_KEY"),
        (LlmProfile(base_url="http://x/v1", model="m", api_key_env="X_KEY"), "Set X_KEY"),
        (LlmProfile(base_url="http://gpu:8000/v1"), r"names no model. Set model under \[llm.x\]"),
        (LlmProfile(provider="anthropic", api_key=KEY), "names no model"),
    ],
)
def test_a_profile_that_does_not_say_enough_is_refused_with_what_is_missing(
    profile: LlmProfile, says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        make("[llm.x]", profile)


def test_a_missing_client_is_told_by_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    monkeypatch.delitem(sys.modules, "pipeline.llm.anthropic", raising=False)
    profile = LlmProfile(provider="anthropic", api_key=KEY, model="claude-opus-4-1")
    with pytest.raises(ConfigError, match=r"pip install 'umigame\[anthropic\]'"):
        make("[llm.claude]", profile)
