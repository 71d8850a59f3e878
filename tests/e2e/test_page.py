"""The page in a real browser, against a real server."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import ConsoleMessage, Page, expect

from server.bench.chromium import chromium
from tests.e2e.conftest import SECRET
from tests.fakes.guest import calling
from tests.fakes.server_process import ServerProcess
from tests.fakes.speaker import Speaker

SLOTS = "umigame_engine_slots"
LOST = 'umigame_calls{state="lost"}'
LEAD_S = 4.0
"""Silence while the page connects."""
ANSWER_MS = 60_000
LIVE = "body[data-phase=live]"
AUTOPLAY = "--autoplay-policy=document-user-activation-required"
"""As in any browser: nothing may sound before a click."""


@asynccontextmanager
async def opened(
    server: ServerProcess, microphone: Path | None = None, *, refused: bool = False
) -> AsyncIterator[Page]:
    """A tab with the page, which must not complain on the console, unless of being refused."""
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(message.text)

    async with chromium(microphone, AUTOPLAY) as browser:
        tab = await browser.new_page()
        tab.on("console", note)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        await tab.goto(server.url)
        yield tab
    if refused:
        complaints = [each for each in complaints if "status of 401" not in each]
    assert not complaints


async def press(tab: Page, name: str) -> None:
    await tab.get_by_role("button", name=name, exact=True).click()


async def test_a_question_to_the_page_is_shown_answered_and_hung_up(
    server: ServerProcess, speaker: Speaker
) -> None:
    sound = speaker("What is the capital of Italy?", lead_s=LEAD_S, tail_s=1.0)
    async with opened(server, sound) as tab:
        await press(tab, "Start")
        lines = tab.get_by_role("log").get_by_role("listitem")
        # What is heard right and answered right is test_talking's; here it is what is shown.
        for said_by in ("You", "Umigame"):
            line = lines.filter(has_text=re.compile(rf"^{said_by}\W*(\w+\W+){{2}}\w+"))
            await expect(line.first).to_be_visible(timeout=ANSWER_MS)
        heard = await tab.evaluate("document.getElementById('voice').currentTime")
        assert heard > 0.5, "the voice is played"
        await press(tab, "Hang up")
        await expect(tab.get_by_role("button", name="Start again")).to_be_visible()
        await server.until(SLOTS, 0, within_s=5)


async def test_somebody_types_to_the_page_and_reads_the_answer(server: ServerProcess) -> None:
    async with opened(server) as tab:
        box = tab.get_by_label("Type to Umigame")
        await box.fill("What is the capital of Italy?")
        await box.press("Enter")
        await expect(tab.get_by_role("log")).to_contain_text("Rome", timeout=ANSWER_MS)


async def test_a_reloaded_and_a_closed_tab_free_their_places(server: ServerProcess) -> None:
    lost = await server.metric(LOST)
    async with opened(server) as tab:
        await press(tab, "Start")
        await tab.wait_for_selector(LIVE)
        await server.until(SLOTS, 1, within_s=5)
        await tab.reload()
        await server.until(SLOTS, 0, within_s=5)
        await press(tab, "Start")
        await tab.wait_for_selector(LIVE)
        await server.until(SLOTS, 1, within_s=5)
        await tab.close(run_before_unload=False)
        await server.until(SLOTS, 0, within_s=5)
    assert await server.metric(LOST) <= lost, "both said goodbye"


async def test_the_page_asks_for_the_secret_and_shows_its_place_in_the_queue(
    narrow: ServerProcess,
) -> None:
    async with opened(narrow, refused=True) as tab:
        async with calling(narrow.url, bearer=SECRET):
            await press(tab, "Start")
            dialog = tab.get_by_role("dialog")
            await dialog.get_by_label("Secret").fill("not the secret")
            await press(tab, "Go on")
            await expect(dialog.get_by_role("alert")).not_to_be_empty()
            await dialog.get_by_label("Secret").fill(SECRET)
            await press(tab, "Go on")
            await expect(tab.locator("#lead")).to_contain_text("number 1 in line")
        await expect(tab.locator("#lead")).to_contain_text("listening", timeout=ANSWER_MS)
        await press(tab, "Hang up")
        await narrow.deserted()
