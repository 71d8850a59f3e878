"""A client of the HTTP surface, and the server it calls: FakePhone behind the real app."""

import json
from typing import Any

from aiohttp import ClientResponse, FormData
from aiohttp.test_utils import TestClient, TestServer

from server.app import build_app
from server.metrics import Metrics
from server.page import Page, read_page
from server.reach import TurnSettings
from server.settings import ServerSettings, Settings
from server.signalling import CALLS, SDP
from tests.fakes.phone import FakePhone

OFFER = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\n"
SECRET = "correct horse battery staple"
FRIEND = "https://friend.example"
SESSION = {"type": "realtime", "umigame": {"mode": "cascade"}}


def settings_with(**server: Any) -> Settings:
    ice_servers = [{"urls": "stun:stun.example"}]
    return Settings(
        server=ServerSettings(allowed_origins=(FRIEND,), **server),
        turn=TurnSettings.model_validate({"ice_servers": ice_servers}),
    )


async def connect(phone: FakePhone, settings: Settings) -> TestClient[Any, Any]:
    metrics = Metrics()
    metrics.watch(phone.admission, phone.load)
    app = build_app(settings, phone, metrics, Page(read_page()))
    client = TestClient(TestServer(app))
    await client.start_server()
    return client


def form(**parts: str) -> FormData:
    data = FormData(default_to_multipart=True)
    for name, value in parts.items():
        data.add_field(name, value)
    return data


def bearer(value: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {value}"}


async def call(client: TestClient[Any, Any], **kwargs: Any) -> ClientResponse:
    headers = {"Content-Type": SDP} | kwargs.pop("headers", {})
    return await client.post(CALLS, data=OFFER, headers=headers, **kwargs)


async def error_in(response: ClientResponse) -> dict[str, Any]:
    text = await response.text()
    assert "Traceback" not in text and ".py" not in text
    error: dict[str, Any] = json.loads(text)["error"]
    assert {"message", "type", "code", "param"} <= set(error)
    return error
