"""The user's half of the conversation: utterances and typed lines as items. Pure.

An utterance's item begins when its turn ends; until then its words are told as
`umigame.partial`, since the STT still rewords them.
"""

from collections import OrderedDict
from dataclasses import dataclass

from pipeline.events import Typed
from pipeline.types import SpeechEvent, SpeechKind, Transcript
from server.realtime.writer import JsonObject, Writer

MOST_RECENT = 16
"""Utterances that can still get their final transcript or be retracted; then they are forgotten."""


@dataclass(slots=True)
class _Utterance:
    item_id: str
    speaking: bool = False
    committed: bool = False
    settled: bool = False
    """Its transcript is final, or will never be."""
    latest: str = ""
    stable: str = ""
    """The words in front that the last two partials agree on."""
    told: str = ""
    """What went out as deltas."""


class Listening:
    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._recent: OrderedDict[int, _Utterance] = OrderedDict()

    def speech(self, event: SpeechEvent) -> list[JsonObject]:
        at_ms = round(event.at_s * 1000)
        if event.kind is SpeechKind.STARTED:
            return self._started(self._utterance(event.utterance), at_ms)
        utterance = self._recent.get(event.utterance)
        if utterance is None:
            return []
        stopped = self._stopped(utterance, at_ms)
        if event.kind is SpeechKind.TURN_ENDED:
            return stopped + self._commit(utterance)
        if event.kind is SpeechKind.RETRACTED:
            del self._recent[event.utterance]
            return stopped + self._withdraw(utterance)
        return stopped

    def heard(self, transcript: Transcript) -> list[JsonObject]:
        """A transcript of an utterance that was retracted, or never began, is not told."""
        utterance = self._recent.get(transcript.utterance)
        if utterance is None or utterance.settled:
            return []
        if transcript.final and utterance.committed:
            return self._completed(utterance, transcript)
        if transcript.text == utterance.latest:
            return []
        utterance.stable = common_words(utterance.latest, transcript.text)
        utterance.latest = transcript.text
        partial = self._writer.event(
            "umigame.partial", item_id=utterance.item_id, text=transcript.text
        )
        return [partial, *self._grow(utterance, utterance.stable)]

    def typed(self, line: Typed) -> list[JsonObject]:
        item_id = line.item_id or self._writer.new_id("item")
        content: JsonObject = {"type": "input_text", "text": line.text}
        return self._item(item_id, self._writer.follow(item_id), content)

    def failed(self, message: str) -> list[JsonObject]:
        """The STT went down: no turn that is over will get its transcript."""
        waiting = [each for each in self._recent.values() if each.committed and not each.settled]
        for each in waiting:
            each.settled = True
        error = {"type": "stt_error", "message": message}
        return [self._transcription(each, "failed", error=error) for each in waiting]

    def _utterance(self, number: int) -> _Utterance:
        if number not in self._recent:
            self._recent[number] = _Utterance(self._writer.new_id("item"))
            if len(self._recent) > MOST_RECENT:
                self._recent.popitem(last=False)
        return self._recent[number]

    def _started(self, utterance: _Utterance, at_ms: int) -> list[JsonObject]:
        if utterance.speaking:
            return []  # they go on, over a reply that has begun meanwhile
        utterance.speaking = True
        return [
            self._writer.event(
                "input_audio_buffer.speech_started",
                item_id=utterance.item_id,
                audio_start_ms=at_ms,
            )
        ]

    def _stopped(self, utterance: _Utterance, at_ms: int) -> list[JsonObject]:
        if not utterance.speaking:
            return []
        utterance.speaking = False
        return [
            self._writer.event(
                "input_audio_buffer.speech_stopped", item_id=utterance.item_id, audio_end_ms=at_ms
            )
        ]

    def _commit(self, utterance: _Utterance) -> list[JsonObject]:
        if utterance.committed:
            return []
        utterance.committed = True
        previous = self._writer.follow(utterance.item_id)
        committed = self._writer.event(
            "input_audio_buffer.committed", item_id=utterance.item_id, previous_item_id=previous
        )
        content: JsonObject = {"type": "input_audio", "transcript": None}
        return [
            committed,
            *self._item(utterance.item_id, previous, content),
            *self._grow(utterance, utterance.stable),
        ]

    def _withdraw(self, utterance: _Utterance) -> list[JsonObject]:
        events = [self._writer.event("conversation.item.deleted", item_id=utterance.item_id)]
        if not utterance.committed:
            events.insert(0, self._writer.event("input_audio_buffer.cleared"))
        return events

    def _grow(self, utterance: _Utterance, text: str) -> list[JsonObject]:
        """A delta of what `text` adds; none if it takes back what was told."""
        grown = text.removeprefix(utterance.told)
        if not utterance.committed or not grown or not text.startswith(utterance.told):
            return []
        utterance.told = text
        return [self._transcription(utterance, "delta", delta=grown)]

    def _completed(self, utterance: _Utterance, final: Transcript) -> list[JsonObject]:
        utterance.settled = True
        seconds = round(max(0.0, final.end_s - final.start_s), 3)
        return [
            *self._grow(utterance, final.text),
            self._transcription(
                utterance,
                "completed",
                transcript=final.text,
                usage={"type": "duration", "seconds": seconds},
            ),
        ]

    def _transcription(self, utterance: _Utterance, what: str, **fields: object) -> JsonObject:
        kind = f"conversation.item.input_audio_transcription.{what}"
        return self._writer.event(kind, item_id=utterance.item_id, content_index=0, **fields)

    def _item(self, item_id: str, previous: str | None, content: JsonObject) -> list[JsonObject]:
        item: JsonObject = {
            "id": item_id,
            "object": "realtime.item",
            "type": "message",
            "status": "completed",
            "role": "user",
            "content": [content],
        }
        return [
            self._writer.event(kind, item=item, previous_item_id=previous)
            for kind in ("conversation.item.added", "conversation.item.done")
        ]


def common_words(one: str, other: str) -> str:
    """The whole words in front that both texts share, as `other` writes them."""
    theirs, ours, shared = one.split(" "), other.split(" "), 0
    while shared < min(len(theirs), len(ours)) and theirs[shared] == ours[shared]:
        shared += 1
    return " ".join(ours[:shared])
