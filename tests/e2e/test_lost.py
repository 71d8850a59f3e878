"""Callers who vanish, and who come back."""

import asyncio
import time

from server.life import LOST_S
from tests.fakes.guest import PATIENCE_S, ask, calling, write
from tests.fakes.server_process import UMIGAME, ServerProcess
from tests.fakes.speaker import Speaker

SLOTS = "umigame_engine_slots"
LONG_SILENCE_S = 60.0


async def test_a_killed_client_gives_up_its_place_within_five_seconds(
    server: ServerProcess, speaker: Speaker
) -> None:
    sound = speaker("Hello.", tail_s=LONG_SILENCE_S)
    client = await asyncio.create_subprocess_exec(UMIGAME, "talk", sound, "--url", server.url)
    try:
        await server.until(SLOTS, 1, within_s=PATIENCE_S)
        await asyncio.sleep(1)
    finally:
        client.kill()
        await client.wait()
    assert await server.until(SLOTS, 0, within_s=5) > 2, "a short gap in the network is no end"


async def test_a_lost_call_is_resumed_with_all_that_was_said(
    server: ServerProcess, speaker: Speaker
) -> None:
    question = speaker("What is the capital of Italy?")
    async with calling(server.url) as first:
        before = (await first.wait_for("umigame.session")).event
        await ask(first, question)
        known = [each.event["item"]["id"] for each in first.events if "item.added" in each.type]
        await first.vanish()
        began_s = time.monotonic()
        async with calling(server.url, resume=before["token"]) as second:
            after = (await second.wait_for("umigame.session")).event
            assert time.monotonic() - began_s < LOST_S, (
                "nobody waits for the old path to be given up"
            )
            assert after["call_id"] == before["call_id"]
            assert after["token"] != before["token"], "a token is good for once"
            got = await write(second, "And what is the capital of France?")
            assert "paris" in got.said.lower()
            item = await second.wait_for("conversation.item.added")
            assert item.event["previous_item_id"] == known[-1]
