"""Front-ends that say what they hear, and go wrong on demand."""

import threading
import time
from collections.abc import Mapping

from pipeline.engine.frontend import FrontEndInfo
from pipeline.types import SessionConfig, StepInput, StepOutput


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
