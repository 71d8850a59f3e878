"""The real Google client against a server that speaks Google's protocol, and fails as told.

Words are tones (tests/fakes/tone_words.py), so audio that is lost or heard twice is a word that
is. People speak at eight times the speed here, and what takes Google minutes takes a moment.
"""

import asyncio
import gc
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from statistics import median

import pytest
from grpc import StatusCode

from pipeline.stt.streams import Times
from pipeline.types import Pcm
from tests.fakes.google_call import SPEED, Branch, Speaker, branch, naive, run_on
from tests.fakes.google_server import Fault, GoogleServer, google_server
from tests.fakes.tone_words import RATE_HZ, sentence, words

TIMES = Times(proven=0.05, silent=0.6, settle=0.1, final=0.8)
LIMIT_S = 0.15
"""Google's five minutes."""
SAID = sentence(1, 12)


async def heard(address: str, *turns: Pcm, times: Times = TIMES, quiet_s: float = 0.5) -> Branch:
    speaker = Speaker()
    async with branch(address, speaker, times) as told:
        for number, pcm in enumerate(turns, 1):
            await speaker.quiet(quiet_s)
            await speaker.turn(pcm, number)
        await told.until_final(len(turns))
    return told


async def no_stream_left(server: GoogleServer) -> None:
    async with asyncio.timeout(3):
        while server.open:
            server.ended.clear()
            await server.ended.wait()


async def heard_by_naive(address: str, pcm: Pcm, quiet_s: float = 0.0) -> str:
    speaker = Speaker()
    task = asyncio.create_task(naive(address, speaker))
    await speaker.quiet(quiet_s)
    await speaker.turn(pcm)
    await speaker.quiet(0.5)
    speaker.inbox.close()
    await asyncio.wait([task], timeout=0.5)
    task.cancel()
    await asyncio.wait([task])
    return "" if task.cancelled() else " ".join(task.result())


async def test_words_come_while_they_are_spoken_and_a_final_when_the_turn_is_over() -> None:
    async with google_server() as server:
        told = await heard(server.address, SAID, sentence(13, 4))
        assert told.finals == [words(1, 12), words(13, 4)]
        assert [each.utterance for each in told.told if each.final] == [1, 2]
        partials = {each.text for each in told.told if each.utterance == 1 and not each.final}
        assert len(partials) >= 4
        assert not told.states


async def test_where_nothing_fails_the_naive_loop_hears_as_much() -> None:
    async with google_server() as server:
        assert await heard_by_naive(server.address, SAID) == words(1, 12)


async def test_google_is_told_the_language_and_never_hears_silence() -> None:
    async with google_server() as server:
        speaker = Speaker()
        async with branch(server.address, speaker, TIMES, "ja") as told:
            await speaker.quiet(4.0)
            await speaker.turn(SAID)
            await told.until_final()
        (stream,) = server.streams
        assert stream.config is not None
        assert list(stream.config.config.language_codes) == ["ja-JP"]
        assert stream.recognizer == "projects/mine/locations/global/recognizers/_"
        assert stream.audio_s < len(SAID) / RATE_HZ + 1.5


IN_TIME = Times(renew=0.09, limit=0.1, overlap=0.6, proven=0.05, final=0.8)


@pytest.mark.parametrize(
    ("times", "gap_s"),
    [
        pytest.param(TIMES, 0.04, id="ended by the server"),
        pytest.param(IN_TIME, 0.0, id="renewed in time, where nobody pauses"),
    ],
)
async def test_a_monologue_over_twenty_streams_loses_and_doubles_no_word(
    times: Times, gap_s: float
) -> None:
    async with google_server(limit_s=LIMIT_S) as server:
        said, text = run_on(0, round(26 * LIMIT_S * SPEED / (0.12 + gap_s)), gap_s)
        told = await heard(server.address, said, times=times)
        assert told.finals == [text]
        assert len(server.streams) > 20
        began = [stream.heard_s - stream.began_s for stream in server.streams if stream.heard_s]
        assert median(began[-7:]) < median(began[:7]) + 0.1, "the pause does not grow"


async def test_the_naive_loop_loses_words_at_every_end_of_a_stream() -> None:
    async with google_server(limit_s=LIMIT_S) as server:
        said, text = run_on(0, 20)
        assert await heard_by_naive(server.address, said) != text


async def test_after_a_long_silence_the_first_word_is_kept() -> None:
    async with google_server(limit_s=LIMIT_S) as server:
        told = await heard(server.address, sentence(1, 3), quiet_s=8.0)
        assert told.finals == [words(1, 3)]
        assert len(server.streams) <= 3, "no stream was held open through the silence"


START, MIDDLE = 0.0, 0.1
FAULTS = {
    "409 at the start": ([Fault(StatusCode.ABORTED, START)] * 2, "broke the stream off"),
    "409 in mid-stream": ([Fault(StatusCode.ABORTED, MIDDLE)], ""),
    "500 at the start": ([Fault(StatusCode.INTERNAL, START)] * 2, "failed .INTERNAL"),
    "500 in mid-stream": ([Fault(StatusCode.INTERNAL, MIDDLE)], ""),
    "503": ([Fault(StatusCode.UNAVAILABLE)] * 2, "cannot be reached"),
    "401": ([Fault(StatusCode.UNAUTHENTICATED)] * 2, "refuses the credentials. Check"),
    "401 in mid-stream": ([Fault(StatusCode.UNAUTHENTICATED, MIDDLE)], ""),
    "403": ([Fault(StatusCode.PERMISSION_DENIED)] * 2, "Enable the Speech-to-Text API"),
    "429": ([Fault(StatusCode.RESOURCE_EXHAUSTED)] * 2, "no quota left"),
    "200 and silence": ([Fault(deaf=True)], "takes in speech but gives no results"),
    "200 and the end": ([Fault(StatusCode.OK)], "ends its streams at once|broke the stream off"),
    "no end after the last word": ([Fault(endless=True)], ""),
}
"""What becomes of the first streams, and what the user is told: nothing if no word is late."""


@pytest.mark.parametrize(("faults", "cause"), FAULTS.values(), ids=FAULTS.keys())
async def test_whatever_fails_no_word_is_lost_and_the_true_cause_is_told(
    faults: list[Fault], cause: str
) -> None:
    async with google_server() as server, google_server() as other:
        server.faults.extend(faults)
        other.faults.extend(faults)
        told, naively = await asyncio.gather(
            heard(server.address, SAID), heard_by_naive(other.address, SAID)
        )
        assert naively != words(1, 12), "the loop most people write does not survive it"
        assert told.finals == [words(1, 12)]
        assert bool(told.causes) == bool(cause)
        assert all(re.search(cause, each) for each in told.causes), told.causes
        await no_stream_left(server)


async def test_a_service_that_comes_back_is_said_to_be_up_once_it_has_answered() -> None:
    async with google_server() as server:
        server.faults.extend([Fault(StatusCode.UNAVAILABLE)] * 2)
        speaker = Speaker()
        async with branch(server.address, speaker, TIMES) as told:
            await speaker.turn(SAID)
            await told.until_up()
        assert [state.up for state in told.states] == [False, False, True]
        assert told.finals == [words(1, 12)]


class Cable:
    """TCP between client and server, that can be cut."""

    def __init__(self, address: str) -> None:
        self._host, _, port = address.partition(":")
        self._port = int(port)
        self._ends: list[asyncio.StreamWriter] = []

    async def join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(self._host, self._port)
        self._ends += [writer, far_writer]
        await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))

    def cut(self) -> None:
        for end in self._ends:
            end.transport.abort()  # RST
        self._ends.clear()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
    except ConnectionError:
        pass
    finally:
        writer.close()


@asynccontextmanager
async def cable(address: str) -> AsyncIterator[tuple[str, Cable]]:
    made = Cable(address)
    async with await asyncio.start_server(made.join, "127.0.0.1", 0) as listening:
        host, port = listening.sockets[0].getsockname()
        yield f"{host}:{port}", made
        made.cut()


async def test_a_connection_that_is_reset_in_mid_word_costs_no_word() -> None:
    async with google_server() as server, cable(server.address) as (address, line):
        cut = asyncio.get_running_loop().call_later(0.2, line.cut)
        told = await heard(address, SAID)
        assert told.finals == [words(1, 12)]
        assert len(server.streams) >= 2 and cut.when() > 0
    async with google_server() as server, cable(server.address) as (address, line):
        asyncio.get_running_loop().call_later(0.15, line.cut)
        assert await heard_by_naive(address, SAID) != words(1, 12)


async def test_what_was_said_while_the_server_was_away_is_heard_once_it_is_back() -> None:
    async with google_server() as server:
        port = int(server.address.rpartition(":")[2])
    speaker = Speaker()
    async with branch(f"127.0.0.1:{port}", speaker, TIMES) as told:
        await speaker.turn(SAID)
        async with google_server(port) as server:
            await told.until_final()
    assert told.finals == [words(1, 12)]
    assert all("cannot be reached" in cause for cause in told.causes)


async def test_sockets_tasks_and_streams_are_back_at_zero_after_a_call(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with google_server() as server:
        await heard(server.address, SAID[:8000])  # what gRPC makes once for the process
        before, tasks = _sockets(), len(asyncio.all_tasks())
        for _ in range(3):
            server.faults.extend([Fault(StatusCode.INTERNAL, MIDDLE), Fault(deaf=True)])
            speaker = Speaker()
            async with branch(server.address, speaker, TIMES):
                await speaker.turn(SAID)  # and hangs up with a stream open
            server.faults.clear()
        await no_stream_left(server)
        await asyncio.sleep(0.2)  # for gRPC to put its things away
        gc.collect()
        assert "destroyed but it is pending" not in caplog.text, "readers of our audio were left"
        assert len(asyncio.all_tasks()) <= tasks and _sockets() <= before


def _sockets() -> int:
    links = (f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd"))
    return sum(os.path.islink(link) and os.readlink(link).startswith("socket") for link in links)
