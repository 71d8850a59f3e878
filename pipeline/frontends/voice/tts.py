"""Piper text-to-speech in a worker process, kept alive."""

import importlib.util
import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from itertools import count
from pathlib import Path

from pipeline.errors import ConfigError, ServiceError
from pipeline.events import ServiceState
from pipeline.frontends.voice.face import Spoken
from pipeline.frontends.voice.process import WorkerProcess
from pipeline.frontends.voice.wire import MOST_TEXT, Kind, Message
from pipeline.types import silence

log = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0
"""Between two starts of a worker that does not come up; doubles each time."""


class PiperTts:
    """Implements Synthesizer (pipeline/frontends/voice/face.py).

    The constructor waits until the worker is ready, about a second: call it off the event loop.
    Raises ConfigError: Piper or the model is missing or does not load.
    If the worker dies, its jobs fail and it is started anew; jobs asked meanwhile wait for it.
    """

    def __init__(self, model: Path) -> None:
        require_piper()
        _check(model)
        self._model = model
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._running: dict[int, Message] = {}
        """With the worker, or waiting for it to come up."""
        self._spoken: deque[Spoken] = deque()
        self._stopping = threading.Event()
        self._report: Callable[[ServiceState], object] | None = None
        try:
            self._worker: WorkerProcess | None = self._start()
        except ServiceError as error:
            raise ConfigError(error.message, hint=f"Is {model} a Piper voice?") from error
        self._thread = threading.Thread(target=self._keep_alive, name="tts", daemon=True)
        self._thread.start()

    @property
    def worker_pid(self) -> int | None:
        """None while it is being started anew."""
        with self._lock:
            return self._worker.pid if self._worker else None

    def watch(self, report: Callable[[ServiceState], object]) -> None:
        """Have `report` told, on a thread of this object's, when the worker dies and is back."""
        self._report = report

    def say(self, text: str, *, urgent: bool = False) -> int:
        kind = Kind.SAY_FIRST if urgent else Kind.SAY
        with self._lock:
            message = Message(kind, next(self._numbers), text.encode()[:MOST_TEXT])
            self._running[message.job] = message
            self._write(message)
        return message.job

    def cancel(self, job: int) -> None:
        with self._lock:
            if self._running.pop(job, None):
                self._write(Message(Kind.CANCEL, job))

    def collect(self) -> list[Spoken]:
        with self._lock:
            spoken, self._spoken = list(self._spoken), deque()
        return spoken

    def shutdown(self) -> None:
        self._stopping.set()
        with self._lock:
            worker = self._worker
        if worker is not None:
            worker.kill()
        self._thread.join()

    def _start(self) -> WorkerProcess:
        return WorkerProcess.start(self._model, _threads())

    def _write(self, message: Message) -> None:
        if self._worker is None:
            return  # it is sent what is running when it comes up
        try:
            self._worker.write(message)
        except BlockingIOError:
            self._failed(message.job, "the TTS worker does not read")
        except OSError:
            pass  # it has died: the thread is about to find out

    def _failed(self, job: int, reason: str) -> None:
        if self._running.pop(job, None):
            self._spoken.append(Spoken(job, silence(0), True, reason))

    # The thread that reads what the worker says, and starts it anew.

    def _keep_alive(self) -> None:
        while (worker := self._living()) is not None:
            while (message := worker.read()) is not None:
                self._take(message)
            self._died(worker)
        if self._worker is not None:  # it came up while this was being shut down
            self._worker.stop()

    def _take(self, message: Message) -> None:
        with self._lock:
            if message.kind is Kind.FAILED:
                self._failed(message.job, message.text)
            elif message.job in self._running:
                last = message.kind is Kind.LAST
                if last:
                    del self._running[message.job]
                self._spoken.append(Spoken(message.job, message.pcm, last))

    def _died(self, worker: WorkerProcess) -> None:
        with self._lock:
            self._worker = None
            code = worker.stop()
            self._fail_all(f"the TTS worker ended with {code}")
        if not self._stopping.is_set():
            log.warning("the TTS worker ended with %s; starting it anew", code)
            self._tell(up=False, message=f"The TTS worker ended with {code}.")

    def _fail_all(self, reason: str) -> None:
        for job in list(self._running):
            self._failed(job, reason)

    def _living(self) -> WorkerProcess | None:
        """The worker, started anew if need be; None: shut down."""
        pause_s = FIRST_PAUSE_S
        while not self._stopping.is_set():
            if self._worker is not None:
                return self._worker
            try:
                self._came_up(self._start())
            except ServiceError as error:
                log.warning("%s", error)
                with self._lock:
                    self._fail_all(error.message)
                self._stopping.wait(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        return None

    def _came_up(self, worker: WorkerProcess) -> None:
        with self._lock:
            self._worker = worker
            for message in self._running.values():
                self._write(message)
        self._tell(up=True)

    def _tell(self, *, up: bool, message: str = "") -> None:
        if self._report is not None:
            self._report(ServiceState("tts", up, message))


def require_piper() -> None:
    """Raises ConfigError if the extra it comes with is not installed."""
    if importlib.util.find_spec("piper") is None:
        raise ConfigError(
            "Piper, the text-to-speech, is not installed.",
            hint="Install the extra: pip install 'umigame[voice]'.",
        )


def _threads() -> int:
    """Half the cores, two at the most: threads wait for each other at every layer, and STT and LLM
    want the cores at the same moment (on 2 busy cores a clause takes 261 ms with one thread and
    298 with two, p50 of 40; at best 142 and 129)."""
    return min(2, max(1, (os.cpu_count() or 1) // 2))


def _check(model: Path) -> None:
    for file in (model, Path(f"{model}.json")):
        if not file.is_file():
            raise ConfigError(f"there is no voice model at {file}")
