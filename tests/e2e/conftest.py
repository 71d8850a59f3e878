"""Servers that many tests share, and what it takes to talk with them."""

import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from pipeline.stt.moonshine import Moonshine
from pipeline.types import Pcm, silence
from server.weights import Weights
from tests.fakes.server_process import ServerProcess
from tests.fakes.speaker import Speaker, plain

SECRET = "an open secret, sixteen long"
StartServer = Callable[..., ServerProcess]
ReadBack = Callable[[Pcm], str]


@pytest.fixture(scope="session")
def start_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartServer]:
    """Starts servers; at the end none may have complained of itself."""
    Weights().fetch(["vad", "llm", "tts"])
    started: list[ServerProcess] = []

    def start(**settings: object) -> ServerProcess:
        started.append(ServerProcess(tmp_path_factory.mktemp("server"), **settings))
        return started[-1]

    yield start
    for server in started:
        server.stop()
        assert not re.search("Traceback|Warning:| ERROR ", server.log), server.log


@pytest.fixture(scope="session")
def shared_server(start_server: StartServer) -> ServerProcess:
    return start_server()


@pytest.fixture(scope="session")
def shared_narrow(start_server: StartServer) -> ServerProcess:
    return start_server(secret=SECRET, LIMITS__CALLS=1, LIMITS__QUEUE=1)


@pytest.fixture
async def server(shared_server: ServerProcess) -> ServerProcess:
    """The default set, and nobody calls."""
    await shared_server.deserted()
    return shared_server


@pytest.fixture
async def narrow(shared_narrow: ServerProcess) -> ServerProcess:
    """One may talk, one may wait, and there is a secret; nobody calls."""
    await shared_narrow.deserted()
    return shared_narrow


@pytest.fixture(scope="session")
def read_back() -> ReadBack:
    """Speech at 16 kHz to its plain words."""
    moonshine, room = Moonshine(), silence(4000)
    return lambda sound: plain(moonshine.decode(np.concatenate([room, sound, room])))


@pytest.fixture(scope="session")
def speaker(request: pytest.FixtureRequest, read_back: ReadBack) -> Iterator[Speaker]:
    """Makes sentences into sound files, which outlive the test run."""
    speaker = Speaker(request.config.cache.mkdir("speech"), read_back)
    yield speaker
    speaker.close()
