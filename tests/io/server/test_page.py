"""The page and the metrics, as browsers and Prometheus fetch them."""

import re
from typing import Any

from aiohttp.test_utils import TestClient

from tests.fakes.caller import call


async def test_prometheus_reads_calls_and_engine(client: TestClient[Any, Any]) -> None:
    await call(client)
    text = await (await client.get("/metrics")).text()
    assert 'umigame_calls{state="live"} 1.0' in text
    assert "umigame_engine_shed_frames_total 7.0" in text


async def test_the_page_is_served_whole_and_locked_down(client: TestClient[Any, Any]) -> None:
    page = await client.get("/")
    assert page.content_type == "text/html"
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    assert page.headers["Permissions-Policy"].startswith("microphone=(self)")
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    for path in re.findall(r'(?:src|href)="(?!data:|https?:|#)/?([^"]+)"', await page.text()):
        part = await client.get(f"/{path}")
        assert part.status == 200, path
        assert part.content_type != "application/octet-stream"


async def test_the_page_is_sent_again_only_when_it_changed(client: TestClient[Any, Any]) -> None:
    first = await client.get("/")
    assert first.headers["Cache-Control"] == "no-cache"
    again = await client.get("/", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status == 304 and await again.read() == b""
