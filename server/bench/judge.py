"""What a caller's events and audio say about how a question was answered. Pure.

Events tell what was said, audio tells when: an event about a word leaves the server together
with the packet in which the word begins, so the word is heard with the first audible packet from
then on. The final answer is the last reply, without the opener in front, and without what the
voice took back with a correction.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from pipeline.frontends.voice.phrases import CORRECTIONS, OPENERS
from pipeline.oracle.words import words
from pipeline.types import AudioFrame
from server.bench.asking import Asked
from server.rtc.client import Received
from server.rtc.microphone import AUDIBLE

PACKET_S = 0.02
"""An event may overtake its packet, or lag behind by less than this."""


@dataclass(slots=True)
class Reply:
    began_s: float
    words: list[tuple[float, str]] = field(default_factory=list)
    """When each was told, and how it reads."""
    cut: bool = False

    def text(self, start: int = 0) -> str:
        return "".join(word for _, word in self.words[start:]).strip()


@dataclass(frozen=True, slots=True)
class Judged:
    """Times from the end of the user's speech; None: it never came."""

    first_audio_s: float | None
    """Of the first reply that began after the user had ended."""
    first_answer_word_s: float | None
    took_over: bool
    """A reply began before the user had ended."""
    split: bool
    """Their turn was taken to be over before they had ended."""
    opener: bool
    """The first thing said was a phrase of the voice's own."""
    false_start: bool
    """An answer was begun that was then taken back, or cut off by the user going on."""


def judge(asked: Asked) -> Judged:
    ended_s = asked.said.ended_s
    told = replies(asked.events)
    early = [reply for reply in told if reply.began_s < ended_s]
    after = [reply for reply in told if reply.began_s >= ended_s and reply.words]
    first = after[0] if after else None
    last = after[-1] if after else None
    begins = answer_begins(last, oracle_texts(asked.events)) if last else 0
    word_s = last.words[begins][0] if last and begins < len(last.words) else None
    return Judged(
        first_audio_s=_since(ended_s, asked.heard, first.began_s if first else None),
        first_answer_word_s=_since(ended_s, asked.heard, word_s),
        took_over=bool(early),
        split=any(
            each.type == "input_audio_buffer.committed" and each.at_s < ended_s
            for each in asked.events
        ),
        opener=first is not None and opener_length(first, oracle_texts(asked.events)) > 0,
        false_start=any(reply.cut for reply in early) or any(took_back(r) for r in told),
    )


def replies(events: Sequence[Received]) -> list[Reply]:
    """What the assistant said, reply by reply."""
    found: dict[str, Reply] = {}
    for each in events:
        event = each.event
        match each.type:
            case "output_audio_buffer.started":
                found[event["response_id"]] = Reply(each.at_s)
            case "response.output_audio_transcript.delta":
                if reply := found.get(event["response_id"]):
                    reply.words.append((each.at_s, event["delta"]))
            case "output_audio_buffer.cleared":
                if reply := found.get(event["response_id"]):
                    reply.cut = True
    return list(found.values())


def oracle_texts(events: Sequence[Received]) -> list[str]:
    """Each epoch's answer, as far as it came."""
    texts = {each.event["epoch"]: each.event["text"] for each in events if is_oracle(each)}
    return [text for text in texts.values() if text]


def is_oracle(each: Received) -> bool:
    return each.type == "umigame.oracle"


def opener_length(reply: Reply, answers: Sequence[str]) -> int:
    """Words of the opener that a reply begins with; an answer may begin like one, too."""
    for phrase in OPENERS:
        length = _length_of(phrase, reply, 0)
        if length and not any(_starts(answer, phrase) for answer in answers):
            return length
    return 0


def answer_begins(reply: Reply, answers: Sequence[str]) -> int:
    """Index of the first word of the final answer."""
    last = max((end for _, end in _corrections(reply)), default=0)
    return last or opener_length(reply, answers)


def took_back(reply: Reply) -> bool:
    """Something of an answer was said before a correction."""
    return any(start > opener_length(reply, ()) for start, _ in _corrections(reply))


def _corrections(reply: Reply) -> Iterator[tuple[int, int]]:
    for start in range(len(reply.words)):
        for phrase in CORRECTIONS:
            if length := _length_of(phrase, reply, start):
                yield start, start + length


def _length_of(phrase: str, reply: Reply, start: int) -> int:
    """Words of `phrase` if it stands at `start`, mark and all."""
    count = len(phrase.split())
    here = [word.strip() for _, word in reply.words[start : start + count]]
    return count if " ".join(here).lower() == phrase.lower() else 0


def _starts(text: str, phrase: str) -> bool:
    return words(text)[: len(words(phrase))] == words(phrase)


def _since(ended_s: float, heard: Sequence[AudioFrame], told_s: float | None) -> float | None:
    """When what was told of at `told_s` was heard."""
    if told_s is None:
        return None
    for frame in heard:
        if frame.arrived_s >= told_s - PACKET_S and np.abs(frame.pcm).max() >= AUDIBLE:
            return frame.arrived_s - ended_s
    return None
