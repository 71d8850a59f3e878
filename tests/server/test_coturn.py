from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import ConfigError
from server.coturn import config_of, with_secret
from server.ice import IceServers, urls_of_coturn
from server.reach import NetworkSettings, TurnSettings
from server.settings import ServerSettings, Settings
from turn.ice import NoIceServers, Offer

SECRET = "correct horse battery staple"


def settings(server: dict[str, Any] | None = None, **turn: Any) -> Settings:
    return Settings(
        server=ServerSettings.model_validate(server or {}),
        network=NetworkSettings(advertised=("203.0.113.9",)),
        turn=TurnSettings.model_validate(turn),
    )


def test_coturn_lets_callers_reach_this_machine_and_its_public_address() -> None:
    config = config_of(settings(host="turn.example.org", secret=SECRET))
    assert "203.0.113.9" in config.allowed_peers
    assert config.realm == "turn.example.org" and config.tls_port is None


def test_the_servers_certificate_makes_the_relay_reachable_by_tls(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.touch(), key.touch()
    found = settings({"tls_cert": cert, "tls_key": key}, host="turn.example.org", secret=SECRET)
    assert config_of(found).tls_port == 5349
    assert urls_of_coturn(found)[-1] == "turns:turn.example.org:5349?transport=tcp"


def test_a_coturn_beside_the_server_needs_a_host_but_no_secret() -> None:
    made = with_secret(settings(host="turn.example.org")).turn.secret
    assert made is not None and len(made.get_secret_value()) > 32
    with pytest.raises(ConfigError, match=r"turn\.host is needed"):
        with_secret(settings())
    with pytest.raises(ConfigError, match=r"turn\.secret is needed"):
        config_of(settings(host="turn.example.org"))


async def test_a_provider_that_is_down_does_not_keep_calls_from_going_direct(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*asked: object) -> Offer:
        raise NoIceServers("It is down.")

    monkeypatch.setattr("server.ice.fetch_offer", down)
    urls = {"urls": "stun:stun.example"}
    found = settings(provider="https://turn.example/?key=hidden", ice_servers=[urls])
    (server,) = await IceServers(found).now()
    assert server.urls == ("stun:stun.example",)
    assert "turn.provider" in caplog.text and "hidden" not in caplog.text
