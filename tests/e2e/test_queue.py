"""More callers than places."""

import asyncio
from contextlib import AsyncExitStack

import aiohttp
import pytest

from pipeline.clock import now
from server.rtc.client import CallFailed, dial
from server.rtc.peer import Peer
from tests.e2e.conftest import SECRET
from tests.fakes.guest import PATIENCE_S, calling, spoken_to, types, write
from tests.fakes.server_process import ServerProcess


async def test_the_one_too_many_learns_its_place_at_once_and_is_served_when_its_turn_comes(
    narrow: ServerProcess,
) -> None:
    async with AsyncExitStack() as first:
        await first.enter_async_context(calling(narrow.url, bearer=SECRET))
        async with calling(narrow.url, bearer=SECRET) as queued:
            connected_s = now()
            place = await queued.wait_for("umigame.queue")
            assert place.at_s - connected_s < 1.0
            assert place.event["position"] == 1
            assert place.event["eta_s"] > 0
            await first.aclose()
            async with asyncio.timeout(PATIENCE_S):
                while place.event["position"]:
                    place = await queued.wait_for("umigame.queue", since_s=place.at_s + 1e-3)
            got = await write(queued, "What is the capital of Italy?")
            assert "rome" in got.said.lower()


async def test_with_a_full_queue_a_caller_is_told_when_to_come_again(
    narrow: ServerProcess,
) -> None:
    async with calling(narrow.url, bearer=SECRET), calling(narrow.url, bearer=SECRET):
        with pytest.raises(CallFailed) as refused:
            async with dial(narrow.url, bearer=SECRET):
                pass
        assert refused.value.status == 429
        peer = Peer("one more")
        headers = {"Authorization": f"Bearer {SECRET}", "Content-Type": "application/sdp"}
        async with aiohttp.ClientSession(headers=headers) as http:
            offer = await peer.offer()
            async with http.post(f"{narrow.url}v1/realtime/calls", data=offer) as response:
                assert response.status == 429
                assert int(response.headers["Retry-After"]) > 0
        await peer.close()


async def test_who_hangs_up_and_calls_again_never_waits_for_their_own_place(
    narrow: ServerProcess,
) -> None:
    for _ in range(10):
        async with calling(narrow.url, bearer=SECRET) as call:
            await spoken_to(call)
        assert "umigame.queue" not in types(call, 0.0)
