"""The thread of an engine, which alone touches the front-end; it knows no event loop."""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future

from pipeline.engine.core import EngineCore
from pipeline.engine.face import EngineLoad
from pipeline.errors import EngineError
from pipeline.types import SessionConfig, Slot, StepInput, StepOutput

Deliver = Callable[[Mapping[Slot, StepOutput]], object]
Fail = Callable[[str, Exception], object]


class EngineThread:
    """`load` makes the front-end, and all with it, on the thread.

    Frames cross to it through the scheduler, which is bounded, under one lock that nobody holds
    for longer than it takes to move a frame. Front-end calls of open and close run between
    steps, in the order they were asked. `deliver` and `fail` are called on the thread.
    """

    def __init__(self, load: Callable[[], EngineCore], deliver: Deliver, fail: Fail) -> None:
        self.loaded: Future[EngineCore] = Future()
        """Done once frames can come; has what `load` raised, if it did."""
        self._load, self._deliver, self._fail = load, deliver, fail
        self._changed = threading.Condition()
        self._calls: deque[tuple[Future[None], Callable[[], None]]] = deque()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Let it end after the step that is under way, and the front-end with it."""
        with self._changed:
            self._stopping = True
            self._changed.notify()

    def join(self) -> None:
        """Waits."""
        self._thread.join()

    # For others, once it is loaded.

    def load(self) -> EngineLoad:
        with self._changed:
            return self._core.load()

    def open(self, config: SessionConfig) -> tuple[Slot, Future[None]]:
        """Take a slot, which is open when the future is done. Raises EngineFull."""
        with self._changed:
            slot = self._core.admit()
        return slot, self._call(lambda: self._core.open(slot, config))

    def submit(self, slot: Slot, frame: StepInput, came_s: float) -> None:
        with self._changed:
            if self._core.submit(slot, frame, came_s):
                self._changed.notify()

    def shed(self, slot: Slot) -> int:
        with self._changed:
            return self._core.shed(slot)

    def close(self, slot: Slot) -> Future[None] | None:
        """Free at once for others to take. None if `slot` is stale."""
        with self._changed:
            held = self._core.dismiss(slot)
        return self._call(lambda: self._core.close(slot)) if held else None

    @property
    def _core(self) -> EngineCore:
        return self.loaded.result(0)

    def _call(self, call: Callable[[], None]) -> Future[None]:
        """Have the thread do `call` between steps."""
        done: Future[None] = Future()
        with self._changed:
            if self._stopping:
                done.set_exception(EngineError("the engine is shut down"))
            else:
                self._calls.append((done, call))
                self._changed.notify()
        return done

    # The thread's side.

    def _run(self) -> None:
        self.loaded.set_running_or_notify_cancel()  # whoever waits for it may give up
        try:
            self.loaded.set_result(self._load())
        except Exception as error:
            self.loaded.set_exception(error)
            return
        try:
            while self._wait():
                self._answer_calls()
                if batch := self._take():
                    self._deliver(self._step(batch))
        except Exception as error:
            self._fail(f"the {self._core.info.name} front-end failed", error)
        finally:
            self._end()

    def _wait(self) -> bool:
        """Until there is something to do; False: stop."""
        with self._changed:
            while not self._stopping and not self._calls:
                due_s = self._core.deadline()
                left_s = None if due_s is None else due_s - time.monotonic()
                if left_s is not None and left_s <= 0:
                    break
                self._changed.wait(left_s)
            return not self._stopping

    def _answer_calls(self) -> None:
        with self._changed:
            calls, self._calls = self._calls, deque()
        for done, call in calls:
            _answer(done, call)

    def _take(self) -> dict[Slot, StepInput]:
        with self._changed:
            return self._core.take(time.monotonic())

    def _step(self, batch: dict[Slot, StepInput]) -> dict[Slot, StepOutput]:
        began_s = time.monotonic()
        outputs = self._core.step(batch)
        ended_s = time.monotonic()
        with self._changed:
            self._core.took(ended_s - began_s, ended_s)
        return outputs

    def _end(self) -> None:
        with self._changed:
            self._stopping = True
            calls, self._calls = self._calls, deque()
        for done, _ in calls:
            if done.set_running_or_notify_cancel():
                done.set_exception(EngineError("the engine is shut down"))
        self._core.shutdown()


def _answer(done: Future[None], call: Callable[[], None]) -> None:
    # Done even if the caller has given up: an open must come before the close that undoes it.
    awaited = done.set_running_or_notify_cancel()
    try:
        call()
    except Exception as error:
        if awaited:
            done.set_exception(error)
    else:
        if awaited:
            done.set_result(None)
