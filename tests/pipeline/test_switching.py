"""Another LLM in mid-call, on the virtual clock."""

import asyncio

import numpy as np

from pipeline.events import Overload, ReplyEnded, ReplyStarted
from pipeline.oracle.race import alone
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.talk import Talk, microphone, talking, voice_engine

OLD = "The capital of France is Paris, a city of two million people on the river Seine."
NEW = "It is Paris, says another."


async def test_the_next_question_goes_to_the_new_llm_and_no_packet_is_missed() -> None:
    talk = Talk(voice_engine(), model=ScriptedModel([OLD]))
    new = ScriptedModel([NEW], name="claude")
    async with talking(talk), asyncio.TaskGroup() as tasks:
        speaking = tasks.create_task(talk.peer.say(microphone(20.0, 0.5, 11.0)))
        await asyncio.sleep(4.0)
        assert talk.told(ReplyStarted) and not talk.told(ReplyEnded), "in mid-answer"
        talk.conversation.oracle.configure(talk.conversation.config, alone(new))
        await speaking
    assert [reply.text for reply in talk.told(ReplyEnded)] == [OLD, NEW]
    assert talk.told(Overload) == []
    stamps = np.array([packet.timestamp for _, packet in talk.peer.heard])
    sent_s = np.array([at_s for at_s, _ in talk.peer.heard])
    assert set(np.diff(stamps)) == {960}
    assert np.diff(sent_s).max() < 0.03, "20 ms packets, one after the other"
