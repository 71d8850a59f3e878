"""A headless Chromium whose microphone is a WAV file."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import ConfigError

if TYPE_CHECKING:
    from playwright.async_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome")


@asynccontextmanager
async def chromium(
    microphone: Path | None = None, *flags: str, loop: bool = False
) -> AsyncIterator["Browser"]:
    """Start it; `microphone` plays from the moment a page asks for it, once or in a loop.

    Without a WAV the microphone beeps once a second. The WAV may have any rate and channels.
    Raises ConfigError if there is no Chromium, or no playwright to drive it with.
    """
    try:
        from playwright.async_api import async_playwright
    except ImportError as error:
        raise ConfigError("playwright is missing.", hint="Install the extra dev.") from error
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise ConfigError("There is no Chromium.", hint="apt install chromium")
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
        browser = await playwright.chromium.launch(executable_path=found, args=args)
        try:
            yield browser
        finally:
            await browser.close()
