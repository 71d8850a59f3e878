"""Front-ends that say what they hear, and go wrong on demand."""

import threading
import time
from collections.abc import Mapping
from typing import Any

from pipeline.engine.frontend import FrontEndInfo
from pipeline.errors import ConfigError
from pipeline.types import SessionConfig, StepInput, StepOutput, Word


class Echo:
    """Says what it hears. Steps take `step_s` of real time; raises on hearing `poison`."""

    def __init__(self, slots: int = 2, step_s: float = 0.0) -> None:
        self.info = FrontEndInfo("echo", 24_000, 480, slots, speaks_alone=True)
        self.step_s = step_s
        self.poison: float | None = None
        self.open_slots: set[int] = set()
        self.opened = 0
        self.batches: list[int] = []
        """How many slots each step had."""
        self.threads: set[str] = set()
        self.is_shut_down = False

    def open(self, index: int, config: SessionConfig) -> None:
        if config.language == "xx":
            raise ValueError("no such language")
        self._called()
        assert index not in self.open_slots
        self.open_slots.add(index)
        self.opened += 1

    def close(self, index: int) -> None:
        self._called()
        self.open_slots.discard(index)

    def step(self, inputs: Mapping[int, StepInput]) -> Mapping[int, StepOutput]:
        self._called()
        assert inputs.keys() <= self.open_slots
        if self.step_s:
            time.sleep(self.step_s)
        if any(self.poison in frame.pcm for frame in inputs.values()):
            raise RuntimeError("out of memory")
        self.batches.append(len(inputs))
        return {index: StepOutput(frame.pcm) for index, frame in inputs.items()}

    def shutdown(self) -> None:
        self._called()
        self.is_shut_down = True

    def _called(self) -> None:
        self.threads.add(threading.current_thread().name)


class Moody(Echo):
    """For a process of its own: says what it hears, and does what the first sample asks for."""

    RAISES, HANGS = 0.75, 0.5

    def __init__(self, settings: Mapping[str, Any]) -> None:
        if not settings.get("checkpoint", True):
            raise ConfigError("There is no checkpoint.", hint="Name one.")
        if settings.get("broken"):
            raise RuntimeError("no kernel image is available")
        super().__init__(settings.get("slots", 2), settings.get("step_s", 0.0))
        samples = settings.get("frame_samples", 1_920)
        self.info = FrontEndInfo("moody", 24_000, samples, self.info.slots, speaks_alone=True)

    def step(self, inputs: Mapping[int, StepInput]) -> Mapping[int, StepOutput]:
        asked = {float(frame.pcm[0]) for frame in inputs.values()}
        if self.RAISES in asked:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        if self.HANGS in asked:
            time.sleep(600)
        made = super().step(inputs)
        return {
            index: StepOutput(output.pcm, _repeated(inputs[index]), speaking=True)
            for index, output in made.items()
        }


def _repeated(frame: StepInput) -> tuple[Word, ...]:
    return tuple(Word(update.text, update.epoch, 0) for update in frame.oracle)
