"""Chromium in one network, the server in another, and no way between but coturn."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from server.bench.chromium import chromium
from tests.e2e.conftest import SECRET
from tests.fakes.certificate import Certificate, certify
from tests.fakes.namespaces import (
    GATE_NEAR,
    GATE_WEB,
    SERVER,
    Forbidden,
    Networks,
    inside,
    networks,
)

URL = f"https://{GATE_WEB}/"
PORT = 8998
TURN_SECRET = "shared by server and relay"
UMIGAME = Path(sys.executable).with_name("umigame")
LIVE = "body[data-phase=live]"
HEAR = """async () => {
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  context.createMediaStreamSource(document.getElementById("voice").srcObject).connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  let loudest = 0;
  for (let i = 0; i < 100; i += 1) {
    await new Promise((done) => setTimeout(done, 20));
    analyser.getFloatTimeDomainData(samples);
    loudest = Math.max(loudest, ...samples);
  }
  return loudest;
}"""

Run = Callable[..., None]


@pytest.fixture
def apart() -> Iterator[Networks]:
    if shutil.which("turnserver") is None:
        pytest.skip("coturn is not installed: apt install coturn")
    try:
        with networks() as made:
            yield made
    except Forbidden as error:
        pytest.skip(str(error))


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    return certify((GATE_NEAR, GATE_WEB), tmp_path)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Starts a program in a namespace and waits until it has said something."""
    with contextlib.ExitStack() as stack:

        def start(namespace: str, *command: str | Path, **settings: object) -> None:
            ours = {f"UMIGAME_{name}": str(value) for name, value in settings.items()}
            process = subprocess.Popen(
                [*inside(namespace), *command],
                env={**os.environ, **ours, "PYTHONUNBUFFERED": "1"},
                cwd=Path(__file__).parents[2],
                stdout=subprocess.PIPE,
            )
            stack.enter_context(process)
            # coturn must end with the one that runs it; the others need no farewell.
            stack.callback(process.terminate if command[0] == UMIGAME else process.kill)
            assert process.stdout is not None
            assert process.stdout.readline(), f"{command} ended"

        yield start


@pytest.fixture
def serve(apart: Networks, certificate: Certificate, run: Run) -> Callable[..., None]:
    """Server, relay and what passes HTTPS on; coturn has TLS on 443 of another address."""

    def start(**relay: object) -> None:
        ports = {"TURN__HOST": GATE_NEAR, "TURN__TLS_LISTENING_PORT": 443}
        pair = {"SERVER__TLS_CERT": certificate.cert, "SERVER__TLS_KEY": certificate.key}
        own = {"SERVER__HOST": SERVER, "SERVER__PORT": PORT, "SERVER__SECRET": SECRET}
        secret = {"TURN__SECRET": TURN_SECRET}
        echo = (sys.executable, "-m", "tests.fakes.echo_phone")
        run(apart.server, *echo, **ports, **pair, **own, **{**secret, **relay})
        run(
            apart.gate,
            *(UMIGAME, "turn"),
            **{"TURN__LISTEN": GATE_NEAR, "TURN__ALLOWED_PEERS": SERVER},
            **{**ports, **pair, **secret},
        )
        forward = (sys.executable, "-m", "tests.fakes.forward")
        run(apart.gate, *forward, GATE_WEB, "443", SERVER, str(PORT))

    return start


@pytest.fixture
async def tab(
    apart: Networks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Page]:
    """Of a Chromium in its own network."""
    real = shutil.which("chromium")
    wrapped = tmp_path / "bin/chromium"
    wrapped.parent.mkdir()
    wrapped.write_text(f'#!/bin/sh\nexec {" ".join(inside(apart.browser))} {real} "$@"\n')
    wrapped.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapped.parent}:{os.environ['PATH']}")
    async with chromium(None, "--ignore-certificate-errors") as browser:
        context = await browser.new_context(ignore_https_errors=True)
        yield await context.new_page()


async def start(tab: Page, query: str = "") -> None:
    await tab.goto(URL + query)
    await tab.get_by_role("button", name="Start", exact=True).click()
    dialog = tab.get_by_role("dialog")
    await dialog.get_by_label("Secret").fill(SECRET)
    await tab.keyboard.press("Enter")


@pytest.mark.parametrize("open_for", [("udp", "tcp"), ("tcp",), ("tcp 443",)])
async def test_a_call_gets_through_whatever_the_firewall_leaves_open(
    apart: Networks, serve: Callable[..., None], tab: Page, open_for: tuple[str, ...]
) -> None:
    serve()
    apart.pass_only(*open_for)
    await start(tab)
    await expect(tab.locator(LIVE)).to_be_attached(timeout=20_000)
    assert await tab.evaluate(HEAR) > 0.01, "what the microphone said came back"


async def test_the_page_says_that_the_relay_refuses_the_credentials(
    serve: Callable[..., None], tab: Page
) -> None:
    serve(TURN__SECRET="not what coturn knows")
    await start(tab, "?relay")
    await expect(tab.get_by_text("The relay turned the call away")).to_be_visible(timeout=20_000)
    await expect(tab.get_by_text("401")).to_be_visible()
