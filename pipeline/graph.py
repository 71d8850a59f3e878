"""The media graph of one attached conversation: the voice path, and hearing and STT beside it.

    peer ─▶ jitter ─┬▶ framer ──▶ ENGINE ─▶ playout ─┬▶ encode ─▶ peer
                    └▶ resample ─▶ hearing ─▶ stt    │
                                      ▲              │
                                      └── resample ◀─┘ what was played: the echo reference

The upper line (voice_path.py) hands on without waiting; the lower one hangs on channels that
drop their oldest audio, so that a slow STT is never heard as silence. What hearing and STT find
goes to the Conversation, and from there to front-end and oracle.
"""

import asyncio
from concurrent.futures import Executor
from dataclasses import dataclass

from pipeline.audio.resample import Resampler
from pipeline.channel import Channel, Full
from pipeline.clock import now
from pipeline.conversation import Conversation
from pipeline.engine.face import Engine
from pipeline.hearing.completeness import Completeness, score_words
from pipeline.hearing.hearing import Hearing, Hears, Played, run_hearing
from pipeline.probe import Probes
from pipeline.stage import Into
from pipeline.stt.face import Listened, SpeechToText
from pipeline.supervise import keep_trying, unless
from pipeline.types import AudioFrame, Slot, SpeechEvent, Transcript
from pipeline.voice_path import MediaPeer, VoicePath

FRAMES_A_SECOND = 50
"""Of 20 ms each, as they come from the wire."""

HEARS = 2 * 2 * FRAMES_A_SECOND
"""Two seconds of microphone and playout."""

WORDS = 16
"""Transcripts; of those that are not final only the newest matters."""

LISTENED = 20 * FRAMES_A_SECOND


@dataclass(frozen=True, slots=True)
class Services:
    """What all conversations of a server share."""

    stt: SpeechToText
    hearing_thread: Executor
    probes: Probes
    completeness: Completeness | None = None
    """None: rules alone judge whether somebody is done."""


class Graph:
    """Cores and channels of one attached conversation; `run` moves what is in them."""

    def __init__(
        self,
        peer: MediaPeer,
        engine: Engine,
        slot: Slot,
        conversation: Conversation,
        hearing: Hearing,
        services: Services,
    ) -> None:
        self._conversation, self._hearing, self._services = conversation, hearing, services
        self._engine, self._slot = engine, slot
        self._hears = Channel[Hears]("hears", HEARS, Full.DROP_OLDEST, spares=_is_word)
        self._listened = Channel[Listened]("stt", LISTENED, Full.DROP_OLDEST, spares=_is_word)
        self._words = Channel[Transcript]("words", WORDS, Full.DROP_OLDEST, spares=_is_final)
        self._microphone = Resampler(engine.info.rate_hz, services.stt.rate_hz)
        self._reference = Resampler(engine.info.rate_hz, services.stt.rate_hz)
        self._listening = False
        self.voice = VoicePath(
            conversation.call_id,
            peer,
            engine,
            slot,
            conversation,
            services.probes,
            heard=Into(self._to_hearing),
            played=Into(self._to_echo_gate),
        )

    async def run(self) -> None:
        """Until the peer is gone; then what is inside flows out, stage by stage."""
        name = self._conversation.call_id
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._talk(), name=f"{name} voice path")
            tasks.create_task(self._hear(), name=f"{name} hear")
            tasks.create_task(self._transcribe(), name=f"{name} transcribe")
            tasks.create_task(self._score(), name=f"{name} score")

    def dropped(self) -> dict[str, int]:
        """Frames of 20 ms dropped so far, by place."""
        info = self._engine.info
        frame = info.rate_hz // FRAMES_A_SECOND
        return {
            "jitter": self.voice.jitter.stats.dropped // frame,
            "engine": self._engine.dropped(self._slot) * info.frame_samples // frame,
            "playout": self.voice.playout.stats.dropped_speech,
            "hearing": self._hears.dropped,
            "stt": self._listened.dropped,
        }

    async def _talk(self) -> None:
        await self.voice.run()
        self._hears.close()

    def _to_hearing(self, frame: AudioFrame) -> None:
        self._listening = True
        for each in self._microphone.push(frame):
            self._hears.offer(each)

    def _to_echo_gate(self, frame: AudioFrame) -> None:
        if not self._listening:
            return  # there is no media time yet, and nothing that could hear an echo
        at_s = self._conversation.media_s(now())
        for each in self._reference.push(frame):
            self._hears.offer(Played(each, at_s))

    async def _hear(self) -> None:
        thread, probe = self._services.hearing_thread, self._services.probes("hear")
        await run_hearing(self._hearing, self._hears, Into(self._heard), thread, probe)
        self._listened.close()

    def _heard(self, item: Listened) -> None:
        self._listened.offer(item)
        if isinstance(item, SpeechEvent):
            self._conversation.heard_speech(item)

    async def _transcribe(self) -> None:
        await keep_trying("stt", self._attempt_stt, self._conversation.note)
        self._words.close()

    async def _attempt_stt(self) -> None:
        changed, stt = self._conversation.stt_changed, self._services.stt
        while True:
            changed.clear()
            config = self._conversation.config
            if await unless(changed, stt.transcribe(config, self._listened, self._words)):
                return

    async def _score(self) -> None:
        # Before the conversation hears of the words and asks for an answer: the model that
        # tells whether they are all would have to do both at once.
        completeness = self._services.completeness if self._hearing.by_words else None
        await score_words(completeness, self._words, Into(self._understood))

    def _understood(self, words: Transcript) -> None:
        self._conversation.heard_words(words)
        self._hears.offer(words)


def _is_final(words: Transcript) -> bool:
    return words.final


def _is_word(item: Hears | Listened) -> bool:
    """Turns begin and end with these: audio is dropped before them."""
    return isinstance(item, Transcript | SpeechEvent)
