"""Records Chromium's RTP: `python -m tests.recordings.record [NAME ...]` (needs extra `voice`).

Each recording is a real browser that speaks a known sentence to our peer. Beside NAME.rtpdump
lies NAME.txt with the sentence.
"""

import asyncio
import sys
import tempfile
import wave
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soxr
from aiohttp import web
from aiortc.rtcrtpreceiver import StreamStatistics
from piper import PiperVoice

from pipeline.audio.rtpdump import write_rtpdump
from pipeline.types import OpusPacket, Pcm
from server.bench.chromium import chromium
from server.rtc.gather import IceConfig
from server.rtc.peer import Peer
from server.weights import Weights

HERE = Path(__file__).parent
LEAD_S = 1.0
"""Silence in front, for Chromium to connect in."""
ADAPT_S = 6.0
"""Chromium takes so long to believe in loss and to add FEC; not kept."""
TAIL_S = 1.0
CALL = """async ({munge, audio}) => {
  const stream = await navigator.mediaDevices.getUserMedia({audio});
  const call = new RTCPeerConnection();
  window.call = call;
  stream.getTracks().forEach(track => call.addTrack(track, stream));
  await call.setLocalDescription();
  const answer = await fetch("/offer", {method: "POST", body: call.localDescription.sdp});
  const sdp = (await answer.text()).replace("useinbandfec=1", "useinbandfec=1" + munge);
  await call.setRemoteDescription({type: "answer", sdp});
}"""
RAW = {"echoCancellation": False, "noiseSuppression": False, "autoGainControl": False}


@dataclass(frozen=True)
class Recording:
    sentence: tuple[str, ...]
    """Parts with a pause of `pause_s` between them."""
    pause_s: float = 0.0
    rate_hz: int = 48_000
    channels: int = 1
    munge: str = ""
    """Added to the answer's Opus parameters: what we would never ask for ourselves."""
    fec: bool = False
    """Report 20 % loss that never was, so that packets carry in-band FEC."""

    @property
    def text(self) -> str:
        return " ".join(self.sentence)


RECORDINGS = {
    "capital": Recording(("What is the capital of France?",)),
    "week": Recording(("How many days are there in a week?",)),
    "pause": Recording(("I would like to know,", "how many legs does a spider have?"), 0.8),
    "stereo-44k": Recording(
        ("What is the capital of Italy?",), rate_hz=44_100, channels=2, munge=";stereo=1"
    ),
    "mic-16k": Recording(("How many minutes are there in an hour?",), rate_hz=16_000),
    "fec": Recording(("How many legs does a spider have?",), fec=True),
    "dtx": Recording(("How many hours", "are there in a day?"), 1.2, munge=";usedtx=1"),
}


def speak(voice: PiperVoice, recording: Recording) -> Pcm:
    """The sentence at `rate_hz`, with silence around and inside it."""
    made_hz = voice.config.sample_rate
    lead_s = LEAD_S + ADAPT_S * recording.fec
    parts = [np.zeros(round(lead_s * made_hz), np.float32)]
    for each in recording.sentence:
        parts += [chunk.audio_float_array for chunk in voice.synthesize(each)]
        parts.append(np.zeros(round(recording.pause_s * made_hz), np.float32))
    parts.append(np.zeros(round(TAIL_S * made_hz), np.float32))
    return soxr.resample(np.concatenate(parts), made_hz, recording.rate_hz)


def write_wav(path: Path, pcm: Pcm, rate_hz: int, channels: int) -> None:
    samples = (np.clip(pcm, -1, 1) * 32767).astype("<i2")
    with wave.open(str(path), "wb") as wav:
        wav.setnchannels(channels)
        wav.setsampwidth(2)
        wav.setframerate(rate_hz)
        wav.writeframes(np.repeat(samples[:, None], channels, axis=1).tobytes())


async def listen(wav: Path, seconds: float, recording: Recording) -> list[OpusPacket]:
    """What our peer receives in the first `seconds` of Chromium's call."""
    peer = Peer("recording", IceConfig(loopback=True))

    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=await peer.answer(await request.text()))

    async def page(request: web.Request) -> web.Response:
        return web.Response(text="<!doctype html>", content_type="text/html")

    app = web.Application()
    app.add_routes([web.get("/", page), web.post("/offer", answer)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    audio = {**RAW, "channelCount": recording.channels}
    packets = []
    async with chromium(wav) as browser:
        tab = await browser.new_page()
        await tab.goto(f"http://127.0.0.1:{runner.addresses[0][1]}/")
        await tab.evaluate(CALL, {"munge": recording.munge, "audio": audio})
        try:
            async with asyncio.timeout(seconds):
                async for packet in peer.received:
                    packets.append(packet)
        except TimeoutError:
            pass
    await peer.close()
    await runner.cleanup()
    return packets


async def main(names: list[str]) -> None:
    weights = Weights()
    weights.fetch(["tts"])
    voice = PiperVoice.load(weights.path("tts"))
    for name in names or RECORDINGS:
        recording = RECORDINGS[name]
        pcm = speak(voice, recording)
        with tempfile.TemporaryDirectory() as folder:
            wav = Path(folder) / "microphone.wav"
            write_wav(wav, pcm, recording.rate_hz, recording.channels)
            if recording.fec:
                StreamStatistics.fraction_lost = property(lambda stream: 51)
            packets = await listen(wav, len(pcm) / recording.rate_hz, recording)
            packets = packets[round(ADAPT_S * 50 * recording.fec) :]
        dump = HERE / f"{name}.rtpdump"
        write_rtpdump(dump, packets)
        (HERE / f"{name}.txt").write_text(recording.text + "\n")
        print(f"{name}: {len(packets)} packets, {dump.stat().st_size} bytes")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
