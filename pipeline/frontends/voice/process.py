"""The TTS worker as its parent sees it: a process, and messages to and from it."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

from pipeline.errors import ServiceError
from pipeline.frontends.voice.wire import Kind, Message, read_message

START_S = 60.0
"""A worker that is not ready after this never will be."""


class WorkerProcess:
    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._stdin, self._stdout = process, process.stdin, process.stdout
        os.set_blocking(self._stdin.fileno(), False)

    @classmethod
    def start(cls, model: Path, threads: int) -> Self:
        """Waits until the model is loaded. Raises ServiceError if that fails."""
        name = "pipeline.frontends.voice.worker"
        command = [sys.executable, "-m", name, str(model), str(threads)]
        pipe = subprocess.PIPE
        worker = cls(subprocess.Popen(command, stdin=pipe, stdout=pipe))  # noqa: S603
        watchdog = threading.Timer(START_S, worker.kill)
        watchdog.start()
        message = worker.read()
        watchdog.cancel()
        if message is None or message.kind is not Kind.READY:
            code = worker.stop()
            reason = message.text if message else f"it ended with {code}"
            raise ServiceError("tts", f"the TTS worker cannot start: {reason}")
        return worker

    @property
    def pid(self) -> int:
        return self._process.pid

    def read(self) -> Message | None:
        """Waits; None: it has died or was stopped."""
        return read_message(self._stdout)

    def write(self, message: Message) -> None:
        """Never waits. Raises OSError if it has died, or has not read for long."""
        os.write(self._stdin.fileno(), message.packed())

    def kill(self) -> None:
        self._process.kill()

    def stop(self) -> int:
        """End it if it lives, once nobody reads any more; returns its exit code."""
        self._process.kill()
        code = self._process.wait()
        self._stdin.close()
        self._stdout.close()
        return code
