"""A headless Chromium whose microphone is a WAV file."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, async_playwright

CHROMIUM = "/usr/bin/chromium"


@asynccontextmanager
async def chromium(
    microphone: Path | None = None, *flags: str, loop: bool = False
) -> AsyncIterator[Browser]:
    """Start it; `microphone` plays from the moment a page asks for it, once or in a loop.

    Without a WAV the microphone beeps once a second. The WAV may have any rate and channels.
    """
    args = [
        "--no-sandbox",
        "--use-fake-ui-for-media-stream",
        "--use-fake-device-for-media-stream",
        "--autoplay-policy=no-user-gesture-required",
        *flags,
    ]
    if microphone is not None:
        args.append(f"--use-file-for-fake-audio-capture={microphone}{'' if loop else '%noloop'}")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=args)
        try:
            yield browser
        finally:
            await browser.close()
