"""`umigame bench latency`: how soon spoken questions are answered, tandem beside cascade.

Every question is asked in a call of its own over real WebRTC, one after the other in real time,
at a server in a process of its own. Times count from the end of the user's speech at the
client. A cascade ends turns by a fixed silence: the shortest of CASCADE_SILENCES_S with which
it seldom takes over in a pause.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.progress import Progress

from pipeline.errors import InputError
from pipeline.stt.moonshine import Moonshine
from pipeline.types import Mode
from server.bench.asking import ask
from server.bench.judge import judge
from server.bench.process import own_server
from server.bench.progress import progress
from server.bench.questions import SpokenQuestion, read_questions, speak_all
from server.bench.readback import holds, read_back
from server.bench.summary import ModeResult, Verdict, summary
from server.bench.trace import trace
from server.rtc.client import CallFailed

CASCADE_SILENCES_S = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2)
ALLOWED_TAKEOVERS = 0.1
"""Share of the paused questions."""


@dataclass(frozen=True, slots=True)
class Report:
    modes: dict[str, ModeResult]


def read_modes(text: str) -> list[Mode]:
    """Raises InputError for what is no mode to be measured."""
    names = [name.strip() for name in text.split(",")]
    if unknown := [name for name in names if name not in (Mode.TANDEM, Mode.CASCADE)]:
        raise InputError(f'"{unknown[0]}" cannot be measured.', hint="Modes: tandem,cascade.")
    return [Mode(name) for name in names]


async def measure(
    modes: Sequence[Mode], cascade_silence_s: float | None, trace_file: Path | None
) -> Report:
    """Raises ConfigError, ServiceError, CallFailed."""
    with progress() as bar, _lines(trace_file) as note:
        spoken = await speak_all(read_questions())
        bench = LatencyBench(spoken, await asyncio.to_thread(Moonshine), bar, note)
        results = {}
        for mode in modes:
            silence_s = None
            if mode is Mode.CASCADE:
                silence_s = cascade_silence_s or await bench.shortest_silence()
            results[mode.value] = await bench.measure(mode, silence_s)
    return Report(results)


class LatencyBench:
    def __init__(
        self,
        spoken: Sequence[SpokenQuestion],
        stt: Moonshine,
        bar: Progress,
        note: Callable[[dict[str, Any]], None],
    ) -> None:
        self._spoken = spoken
        self._stt = stt
        self._bar = bar
        self._note = note

    async def measure(self, mode: Mode, silence_s: float | None) -> ModeResult:
        """All questions in one mode."""
        async with own_server(_settings(silence_s)) as server:
            verdicts = [
                await self._ask(server.url, spoken, mode)
                for spoken in self._bar.track(self._spoken, description=mode.value)
            ]
        return summary(verdicts, silence_s)

    async def shortest_silence(self) -> float:
        """With which a cascade seldom takes over; the longest if none does."""
        last = len(CASCADE_SILENCES_S) - 1
        tried = self._bar.add_task("finding the cascade's silence", total=None)
        low = 0
        while low < last:
            middle = (low + last) // 2
            if await self._takes_over(CASCADE_SILENCES_S[middle]):
                low = middle + 1
            else:
                last = middle
        self._bar.remove_task(tried)
        return CASCADE_SILENCES_S[low]

    async def _ask(self, url: str, spoken: SpokenQuestion, mode: Mode) -> Verdict:
        paused = spoken.question.pause_s > 0
        try:
            asked = await ask(url, spoken, mode)
        except CallFailed as error:
            self._note({"mode": mode, "question": spoken.question.text, "failed": error.message})
            return Verdict(None, answered=False, paused=paused)
        judged = judge(asked)
        said = await asyncio.to_thread(read_back, self._stt, asked)
        answered = holds(said, spoken.question.answer)
        self._note({**trace(mode, asked, judged, said), "answered": answered})
        return Verdict(judged, answered, paused)

    async def _takes_over(self, silence_s: float) -> bool:
        """More often than allowed."""
        paused = [spoken for spoken in self._spoken if spoken.question.pause_s]
        left = ALLOWED_TAKEOVERS * len(paused)
        async with own_server(_settings(silence_s)) as server:
            for spoken in paused:
                asked = await ask(server.url, spoken, Mode.CASCADE, await_answer=False)
                left -= judge(asked).took_over
                if left < 0:
                    return True
        return False


def _settings(silence_s: float | None) -> dict[str, float]:
    return {} if silence_s is None else {"HEARING__FIXED_SILENCE_S": silence_s}


@contextmanager
def _lines(file: Path | None) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Writes each record it is given as a line of JSON; nothing if there is no file."""
    if file is None:
        yield lambda record: None
        return
    with file.open("w") as out:
        yield lambda record: print(json.dumps(record), file=out, flush=True)
