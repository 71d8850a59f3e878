from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from server.doctor.checks import Check, examine
from server.doctor.network import certificates, external, http_port, relays
from server.reach import TurnSettings
from server.settings import ServerSettings, Settings
from tests.fakes.certificate import Certificate
from tests.fakes.echo_phone import echoing
from tests.io.turn.conftest import SECRET, StartCoturn
from turn.coturn import Coturn
from turn.urls import coturn_urls


def settings_for(relay: Coturn, **turn: object) -> Settings:
    urls = coturn_urls(relay.listen[0], relay.port, relay.tls_port)
    values = {"urls": urls, "secret": SECRET, **turn}
    return Settings(turn=TurnSettings.model_validate(values))


async def all_of(checks: AsyncIterator[Check]) -> list[Check]:
    return [check async for check in checks]


async def test_a_relay_that_works_is_found_well_each_way(
    start_coturn: StartCoturn, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.cert))
    settings = settings_for(await start_coturn())
    found = await examine(settings, (relays, external))
    assert [each.status for each in found] == ["ok"] * 4, found


async def test_what_is_wrong_with_a_relay_is_said(start_coturn: StartCoturn) -> None:
    relay = await start_coturn()
    found = await all_of(relays(settings_for(relay, secret="not what coturn knows")))
    udp, tcp, tls = (each.hint for each in found)
    assert "refused the credentials" in udp and "refused the credentials" in tcp
    assert "certificate that is not trusted" in tls
    assert {each.status for each in found} == {"problem"}


async def test_a_server_that_runs_is_told_from_a_port_that_is_taken() -> None:
    async with echoing(Settings()) as (url, _):
        port = int(url.rpartition(":")[2])
        (found,) = await all_of(http_port(Settings(server=ServerSettings(port=port))))
    assert found.status == "ok" and "answers there" in found.hint


async def test_a_certificate_about_to_end_is_a_problem(
    certificate: Certificate, tmp_path: Path
) -> None:
    server = ServerSettings(tls_cert=certificate.cert, tls_key=certificate.key)
    (found,) = await all_of(certificates(Settings(server=server)))
    assert found.status == "problem" and "renew it" in found.hint
    tmp_path.joinpath("junk.pem").write_text("junk")
    broken = ServerSettings(tls_cert=tmp_path / "junk.pem", tls_key=certificate.key)
    (found,) = await examine(Settings(server=broken), (certificates,))
    assert found.status == "problem" and "cannot be used" in found.hint
