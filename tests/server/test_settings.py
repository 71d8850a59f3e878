from pathlib import Path

import pytest
from pydantic import SecretStr

from pipeline.errors import ConfigError
from server.settings import load

SECRET = "correct horse battery staple"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def write(text: str) -> Path:
    file = Path("mine.toml")
    file.write_text(text)
    return file


def test_it_listens_on_loopback_without_any_settings() -> None:
    settings = load()
    assert (settings.server.host, settings.server.port) == ("127.0.0.1", 8998)
    assert settings.server.loopback and settings.server.secret is None


def test_flags_win_over_the_environment_and_that_over_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = write("[server]\nport = 1\n[limits]\nqueue = 1\ncalls = 1\n")
    monkeypatch.setenv("UMIGAME_SERVER__PORT", "2")
    monkeypatch.setenv("UMIGAME_LIMITS__QUEUE", "2")
    settings = load(file, {"server": {"port": 3}})
    assert (settings.server.port, settings.limits.queue, settings.limits.calls) == (3, 2, 1)


def test_the_file_in_the_working_folder_is_read_by_itself() -> None:
    Path("umigame.toml").write_text("[voice]\nslots = 7\n")
    assert load().voice.slots == 7


def test_caches_lie_where_the_user_keeps_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert load().server.cache == tmp_path / ".cache/umigame"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")  # the specification: ignore it
    assert load().server.cache == tmp_path / ".cache/umigame"
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/tmp/caches")
    assert load().server.cache == Path("/var/tmp/caches/umigame")
    assert load(write("[server]\ncache = '~/weights'")).server.cache == tmp_path / "weights"


def test_lists_are_written_with_commas_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UMIGAME_SERVER__ALLOWED_ORIGINS", "https://a.example, https://b.example")
    assert load().server.allowed_origins == ("https://a.example", "https://b.example")


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("[server]\nprot = 1", r"mine.toml: server.prot is not a setting. Did you mean port\?"),
        ("[serve]\nport = 1", r"mine.toml: serve is not a setting. Did you mean server\?"),
        ("[limits]\nqueue = -1", "mine.toml: limits.queue: .*greater than or equal to 0"),
        ("[server]\nsecret = 'ein Schlüssel, 20 Zeichen'", "server.secret: must be ASCII"),
        ("[server]\ntrusted_proxies = ['proxy.example']", "'proxy.example' does not appear to be"),
        ("[turn]\nice_servers = [{url = 'stun:x'}]", r"turn.ice_servers.0"),
        ("[session]\nmode = 'duet'", "session.mode: .*'tandem', 'cascade' or 's2s'"),
        ("[server", "mine.toml cannot be read"),
    ],
)
def test_a_wrong_file_is_told_with_its_key_and_the_nearest_name(toml: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        load(write(toml))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("UMIGAME_SERVER__PRT", "Did you mean UMIGAME_SERVER__PORT"),
        ("UMIGAME_PORT", "UMIGAME_PORT is not a setting. Did you mean UMIGAME_SERVER__PORT"),
        ("UMIGAME_SERVER__PORT", "UMIGAME_SERVER__PORT: server.port: .*valid integer"),
    ],
)
def test_a_wrong_variable_is_told_by_name(
    name: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "eight")
    with pytest.raises(ConfigError, match=says):
        load()


def test_a_file_that_was_asked_for_must_be_there() -> None:
    with pytest.raises(ConfigError, match=r"no settings file other.toml"):
        load(Path("other.toml"))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "voice.example"])
def test_others_are_let_in_only_with_a_secret(host: str) -> None:
    with pytest.raises(ConfigError, match="UMIGAME_SERVER__SECRET"):
        load(flags={"server": {"host": host}})
    settings = load(flags={"server": {"host": host, "secret": SECRET}})
    assert not settings.server.loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "::1", "localhost"])
def test_loopback_needs_no_secret(host: str) -> None:
    assert load(flags={"server": {"host": host}}).server.loopback


def test_behind_a_proxy_others_can_call_too() -> None:
    proxied = {"trusted_proxies": ["127.0.0.1", "192.0.2.0/24"]}
    with pytest.raises(ConfigError, match="UMIGAME_SERVER__SECRET"):
        load(flags={"server": proxied})
    settings = load(flags={"server": {**proxied, "secret": SECRET}})
    assert settings.server.loopback and settings.per_ip == 4


def test_one_address_cannot_take_every_line_where_others_can_call() -> None:
    assert load().per_ip is None
    exposed = {"server": {"host": "192.0.2.7", "secret": SECRET}}
    assert load(flags=exposed).per_ip == 4
    assert load(flags={**exposed, "limits": {"per_ip": 9}}).per_ip == 9


def test_a_secret_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UMIGAME_SERVER__SECRET", SECRET)
    settings = load()
    assert settings.server.secret == SecretStr(SECRET)
    assert SECRET not in repr(settings)
    monkeypatch.setenv("UMIGAME_SERVER__SECRET", "hunter2")
    with pytest.raises(ConfigError) as caught:
        load()
    assert "UMIGAME_SERVER__SECRET: server.secret" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_an_openai_key_is_taken_from_where_every_client_finds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-theirs")
    assert load().llm.api_key == SecretStr("sk-theirs")
    ours = load(flags={"llm": {"api_key": "sk-ours"}})
    assert ours.llm.api_key == SecretStr("sk-ours")


def test_an_openai_key_never_goes_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-theirs")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://theirs.example/v1")
    settings = load(write("[llm]\nbase_url = 'http://gpu.example/v1'"))
    assert settings.llm.api_key == SecretStr("")
    ours = load(write("[llm]\napi_key = 'sk-ours'"))
    assert ours.llm.base_url == ""
