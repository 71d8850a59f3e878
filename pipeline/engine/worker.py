"""The process of an engine: one front-end, one thread that touches it, and a socket.

    python -m pipeline.engine.worker

Its order (order.py) comes as a line of JSON on stdin, which then stays open: when it ends, so
does the process. A line on stdout tells whether the front-end could be loaded. SIGTERM lets no
more conversations begin, and the process ends with the last one.
"""

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from operator import attrgetter
from typing import IO

import uvloop

from pipeline.engine.core import EngineCore
from pipeline.engine.frontend import FrontEnd
from pipeline.engine.order import Order, Report
from pipeline.engine.served import EngineServer, refusal
from pipeline.engine.thread import EngineThread
from pipeline.errors import UmigameError
from pipeline.types import Slot, StepOutput, Ticks

log = logging.getLogger(__name__)

READ_BYTES = 1 << 20
"""Of a client's messages, before its socket is left alone for a moment."""

END_S = 5.0
"""For the step under way, once told to end; a thread that hangs is not waited for."""

SWITCH_S = 0.0005
"""How long one thread may keep the interpreter from another: steps run much Python, and the
socket must not wait for it for 5 ms, which is the default."""


class Worker:
    def __init__(self, order: Order) -> None:
        self._order = order
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._thread = EngineThread(lambda: load(order), self._deliver, self._fail)
        self._server: EngineServer

    async def run(self, out: IO[bytes]) -> int:
        """Until told to end, or the front-end is dead; gives the exit status."""
        self._thread.start()
        loading = asyncio.wrap_future(self._thread.loaded)
        await asyncio.wait((loading, self._ended), return_when=asyncio.FIRST_COMPLETED)
        if not loading.done():
            return self._ended.result()
        if error := loading.exception():
            _tell(out, error)
            return 1
        self._server = EngineServer(self._thread)
        self._loop.add_signal_handler(signal.SIGTERM, self._server.drain)
        await asyncio.start_unix_server(self._server.serve, self._order.socket, limit=READ_BYTES)
        _tell(out)
        idle = asyncio.create_task(self._server.idle.wait(), name="drained")
        await asyncio.wait((idle, self._ended), return_when=asyncio.FIRST_COMPLETED)
        idle.cancel()
        await self._stop()
        return self._ended.result() if self._ended.done() else 0

    def end(self, status: int) -> None:
        if not self._ended.done():
            self._ended.set_result(status)

    async def _stop(self) -> None:
        end_within(END_S)
        self._thread.stop()
        await asyncio.to_thread(self._thread.join)
        await self._server.close()

    # The engine's thread.

    def _deliver(self, outputs: Mapping[Slot, StepOutput]) -> None:
        self._loop.call_soon_threadsafe(self._server.deliver, outputs)

    def _fail(self, message: str, error: Exception) -> None:
        log.error("%s", message, exc_info=error)
        self._loop.call_soon_threadsafe(self._server.fail, f"{message}: {error}")
        self._loop.call_soon_threadsafe(self.end, 1)


def load(order: Order) -> EngineCore:
    module, _, name = order.front_end.partition(":")
    front_end: FrontEnd = attrgetter(name)(import_module(module))(order.settings)
    # What is loaded stays: looking through all of it for garbage holds up several frames.
    gc.collect()
    gc.freeze()
    ticks = Ticks(time.monotonic(), front_end.info.frame_s)
    return EngineCore(front_end, ticks, order.generation)


def wait_for_end(stream: int, then: Callable[[], object]) -> None:
    """The parent holds the other end of `stream`, a file descriptor: it lets go, or is dead."""
    while os.read(stream, 1):
        pass
    end_within(2 * END_S)
    with suppress(RuntimeError):  # its event loop has ended by itself
        then()


def end_within(seconds: float) -> None:
    """This process, whatever hangs in it."""
    end = threading.Timer(seconds, os._exit, (1,))
    end.daemon = True
    end.start()


def _tell(out: IO[bytes], error: BaseException | None = None) -> None:
    """The one line on stdout."""
    if error is not None and not isinstance(error, UmigameError):
        log.error("the front-end cannot be loaded", exc_info=error)
    failed = refusal(error) if isinstance(error, Exception) else None
    out.write(Report(failed).line())
    out.close()


async def main(out: IO[bytes]) -> int:
    worker, loop = Worker(Order.read(sys.stdin.buffer.readline())), asyncio.get_running_loop()
    told = (sys.stdin.fileno(), lambda: loop.call_soon_threadsafe(worker.end, 0))
    threading.Thread(target=wait_for_end, args=told, name="parent", daemon=True).start()
    return await worker.run(out)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server's affair: it needs a voice to drain
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # until there is something to drain
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    sys.setswitchinterval(SWITCH_S)
    stdout = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no report
    sys.exit(uvloop.run(main(stdout)))
