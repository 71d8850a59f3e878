"""The values that travel through the pipeline.

All are frozen; arrays in them are read-only by agreement. The unit stands in the name (`_s`,
`_hz`) or under the field. Times called `*_s` on packets and frames are event-loop seconds;
media seconds count samples since the peer's audio began.
"""

import math
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Pcm = NDArray[np.float32]
"""Mono samples, float32, −1..1, shape [n]."""


def silence(samples: int) -> Pcm:
    """`samples` zeros."""
    return np.zeros(samples, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class OpusPacket:
    """One Opus payload as it is on the wire (RFC 6716, RFC 7587)."""

    payload: bytes
    sequence: int
    """RTP sequence number, unwrapped: never falls."""
    timestamp: int
    """RTP timestamp, unwrapped, samples at 48 kHz (RFC 7587 section 4.1)."""
    arrived_s: float


@dataclass(frozen=True, slots=True, eq=False)
class AudioFrame:
    """A run of PCM."""

    pcm: Pcm
    rate_hz: int
    pts: int
    """Position of the first sample, in samples at `rate_hz` since the audio began."""
    arrived_s: float
    """When the newest sample reached the server."""
    concealed: int = 0
    """How many of the samples were invented (PLC or silence)."""

    @property
    def end_s(self) -> float:
        """Media time just after the last sample."""
        return (self.pts + len(self.pcm)) / self.rate_hz


class SpeechKind(StrEnum):
    STARTED = "started"
    """Somebody is really speaking: not a cough, a hum or our own echo."""
    STOPPED = "stopped"
    """They fell silent; the turn may go on."""
    TURN_ENDED = "turn_ended"
    """They are done and await an answer."""
    RETRACTED = "retracted"
    """It was no speech after all, or nothing that asks for an answer ("mm-hm")."""


@dataclass(frozen=True, slots=True)
class SpeechEvent:
    """What hearing found out; STT, policy, page and front-ends share the utterance number."""

    kind: SpeechKind
    utterance: int
    at_s: float
    """Media seconds at which it happened, not at which it was noticed."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """What the user has said in one utterance so far (the whole text, not a delta)."""

    text: str
    start_s: float
    end_s: float
    """Media seconds of the audio it covers."""
    final: bool
    utterance: int
    ends: float | None = None
    """Probability that nothing follows, by a language model; None: nobody was asked."""


@dataclass(frozen=True, slots=True)
class OracleUpdate:
    """A piece of the LLM's answer. A higher epoch replaces every lower one at once."""

    epoch: int
    text: str
    """Delta, spaces kept."""
    final: bool
    heard_until_s: float
    """Media seconds of the user's speech this answer knows of; it rises within an epoch when more
    was heard that leaves the answer as it is."""
    source: str
    """Model name, such as "gpt-4.1"."""
    utterance: int = 0

    def joined(self, later: "OracleUpdate") -> "OracleUpdate":
        """This piece and a later one of the same epoch, as one."""
        return replace(
            later,
            text=self.text + later.text,
            final=self.final or later.final,
            heard_until_s=max(self.heard_until_s, later.heard_until_s),
        )


@dataclass(frozen=True, slots=True)
class Word:
    """A word the front-end speaks."""

    text: str
    """As it reads, spaces kept in front."""
    epoch: int
    """The oracle it was taken from; 0: the front-end's own (an opener)."""
    start_sample: int
    """Position in the slot's output, samples at the engine's rate."""


@dataclass(frozen=True, slots=True, eq=False)
class StepInput:
    """One frame for one slot."""

    pcm: Pcm
    """frame_samples samples."""
    speech: tuple[SpeechEvent, ...] = ()
    oracle: tuple[OracleUpdate, ...] = ()
    commands: tuple["Command", ...] = ()
    concealed: int = 0


class Command(StrEnum):
    """What a client may ask of a front-end between frames."""

    STOP = "stop"
    """Stop speaking now (response.cancel, output_audio_buffer.clear)."""


@dataclass(frozen=True, slots=True, eq=False)
class StepOutput:
    """What one slot says in one frame."""

    pcm: Pcm
    """frame_samples samples."""
    words: tuple[Word, ...] = ()
    """Words that start in this frame, or were only now known to be whole."""
    speaking: bool = False
    """True from the first to the last frame of a reply."""
    yielded: bool = False
    """The reply was cut off here: what was queued must not be played."""
    start_sample: int = 0
    """Position of the first sample in the slot's output; counted by the engine."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in the engine; a stale generation is ignored."""

    index: int
    generation: int


@dataclass(frozen=True, slots=True)
class Ticks:
    """When an engine steps: at `at_s` and every `every_s` before and after.

    Seconds of CLOCK_MONOTONIC: the time of event loops, and the same in all processes of a machine.
    """

    at_s: float
    every_s: float

    def next(self, now: float) -> float:
        """The first tick that is not before `now`."""
        return self.at_s + math.ceil((now - self.at_s) / self.every_s) * self.every_s


class Mode(StrEnum):
    TANDEM = "tandem"
    """The front-end answers at once while the oracle steers it."""
    CASCADE = "cascade"
    """Final transcript, then LLM, then TTS: no speculation, no opener."""
    S2S = "s2s"
    """The front-end alone, no oracle."""


@dataclass(frozen=True, slots=True)
class Persona:
    """Who answers."""

    name: str = "Umigame"
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a model's tokens are drawn; None: as the front-end is set. Others ignore it."""

    temperature: float | None = None
    """Of speech; 0: always the likeliest."""
    text_temperature: float | None = None
    top_k: int | None = None
    """Of speech: how many of the likeliest may be drawn."""
    text_top_k: int | None = None


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """What one conversation may choose."""

    mode: Mode = Mode.TANDEM
    persona: Persona = Persona()
    language: str = "en-US"
    stt: str = "local"
    llm: str = "local"
    seed: int | None = None
    sampling: Sampling = Sampling()


@dataclass(frozen=True, slots=True)
class Message:
    """One line of a conversation as an LLM sees it."""

    role: str
    """system, user or assistant."""
    text: str
