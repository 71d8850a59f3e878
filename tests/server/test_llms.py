from pathlib import Path

import pytest

from pipeline.errors import ConfigError
from pipeline.types import SessionConfig
from server.keys import llm_variables
from server.llms import plan, start_llms
from server.settings import Settings, load
from server.weights import Weights

PROFILES = """
[llm.gpt]
model = "gpt-4.1"
[llm.claude]
provider = "anthropic"
model = "claude-opus-4-1"
[llm.router]
model = "any/model"
base_url = "https://router.example/v1"
api_key_env = "ROUTER_KEY"
"""
KEYS = {
    "OPENAI_API_KEY": "sk-openai",
    "ANTHROPIC_API_KEY": "sk-claude",
    "ROUTER_KEY": "sk-router",
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (*KEYS, "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    Path("umigame.toml").write_text(PROFILES)


def settings_with(*names: str) -> Settings:
    return load(flags={"session": {"llm": ",".join(names)}})


async def names_of(settings: Settings) -> tuple[str, ...]:
    async with start_llms(await plan(settings), settings, Weights(), SessionConfig()) as llms:
        return llms.names


def test_each_profile_gets_the_key_of_its_own_host(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    profiles = load().llm.profiles
    held = {name: each.api_key.get_secret_value() for name, each in profiles.items()}
    assert held == {"gpt": "sk-openai", "claude": "sk-claude", "router": "sk-router"}
    assert "sk-" not in repr(load())


@pytest.mark.parametrize(
    ("ours", "found"),
    [
        ({}, {"api_key": "sk-openai"}),
        ({"provider": "anthropic"}, {"api_key": "sk-claude"}),
        ({"provider": "local"}, {}),
        ({"base_url": "https://router.example/v1"}, {}),
        ({"api_key": "sk-ours"}, {}),
        ({"base_url": "x", "api_key_env": "ROUTER_KEY"}, {"api_key": "sk-router"}),
    ],
)
def test_no_key_goes_to_a_host_that_it_is_not_for(
    ours: dict[str, str], found: dict[str, str]
) -> None:
    assert llm_variables(ours, KEYS) == found


def test_a_profile_can_be_set_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UMIGAME_LLM__GPT__MODEL", "gpt-5")
    monkeypatch.setenv("UMIGAME_LLM__GPT__API_KEY", "sk-ours")
    gpt = load().llm.profiles["gpt"]
    assert (gpt.model, gpt.api_key.get_secret_value()) == ("gpt-5", "sk-ours")


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("[llm]\nmodle = 'x'", "llm.modle is not a setting. Did you mean model"),
        ("[llm.gpt]\nmodle = 'x'", "llm.gpt.modle is not a setting. Did you mean model"),
        ("[llm.gpt]\nprovider = 'google'", "llm.gpt.provider: .*'openai' or 'anthropic'"),
        ("[llm.'a,b']\nmodel = 'x'", "a,b: a profile's name has small letters"),
    ],
)
def test_a_wrong_profile_is_told_with_its_key(toml: str, says: str) -> None:
    Path("umigame.toml").write_text(toml)
    with pytest.raises(ConfigError, match=says):
        load()


async def test_those_named_answer_first_and_the_others_can_be_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    settings = settings_with("claude", "gpt")
    async with start_llms(await plan(settings), settings, Weights(), SessionConfig()) as llms:
        assert llms.default == "claude,gpt"
        assert llms.names == ("claude", "gpt", "router")
        assert llms.race("claude,gpt").name == "claude-opus-4-1, gpt-4.1"
        assert llms.race("router").name == "any/model"


async def test_one_without_a_key_is_left_out_unless_it_was_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    assert await names_of(settings_with("gpt")) == ("gpt",)
    with pytest.raises(ConfigError, match=r"\[llm.claude\] has no key. Set ANTHROPIC_API_KEY"):
        await names_of(settings_with("gpt", "claude"))


async def test_a_name_that_means_nothing_is_told_with_those_that_do() -> None:
    with pytest.raises(ConfigError, match=r"no LLM .gtp.*gpt, claude, router, local"):
        await plan(settings_with("gtp"))
