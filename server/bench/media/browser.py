"""Clicks through Chromium: from its microphone, by way of a host, to what its decoder puts out."""

import tempfile
from pathlib import Path
from statistics import median

import numpy as np

from pipeline.errors import ConfigError
from pipeline.types import silence
from server.bench.chromium import chromium
from server.bench.media.clicks import CLICK_S, PITCH_HZ, away_s
from server.rtc.wav import write_wav

RATE_HZ = 48_000
APART_S = 0.73
"""No multiple of any frame: clicks take every place in it."""
SETTLE_S = 6.0
"""Chromium's jitter buffer starts long and shrinks, 20 ms a second."""


async def loop_ms(url: str, seconds: float) -> float:
    """Median over `seconds` of clicks. Raises ConfigError without Chromium or playwright."""
    with tempfile.TemporaryDirectory() as folder:
        microphone = Path(folder) / "clicks.wav"
        write_clicks(microphone, SETTLE_S + seconds + 10)
        async with chromium(microphone) as browser:
            page = await browser.new_page()
            await page.goto(url)
            said_ms, heard_ms = await page.evaluate(
                "times => loop(...times)", [1000 * SETTLE_S, 1000 * seconds]
            )
    away = away_s(said_ms, heard_ms)
    if not away:
        raise ConfigError("Chromium heard no echo of what it said.")
    return median(away)


def write_clicks(path: Path, seconds: float) -> None:
    pcm = silence(round(seconds * RATE_HZ))
    at_s = np.arange(round(CLICK_S * RATE_HZ)) / RATE_HZ
    for start in range(0, len(pcm) - len(at_s), round(APART_S * RATE_HZ)):
        pcm[start : start + len(at_s)] = 0.5 * np.sin(2 * np.pi * PITCH_HZ * at_s)
    write_wav(path, pcm, RATE_HZ)
