"""One slot's side of a conversation, all but the model: a pure core."""

from dataclasses import dataclass

from pipeline.frontends.moshi.oracle_queue import OracleIds, OracleQueue
from pipeline.frontends.moshi.speaking import Speaking
from pipeline.frontends.moshi.tokens import TextPieces, WordStream
from pipeline.types import Command, Mode, Pcm, SpeechKind, StepInput, StepOutput, Word, silence

NO_ORACLE = -1
"""Embeds to nothing."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a model's text tokens mean."""

    pieces: TextPieces
    start: int
    """Begins the text stream, and with it each oracle (text_initial_token_id)."""
    pad: int
    """Nothing is said in this frame (text_padding_token_id)."""
    pad_end: int
    """The last padding before a word (end_of_text_padding_id)."""

    @property
    def padding(self) -> frozenset[int]:
        return frozenset((self.pad, self.pad_end))


class Talk:
    """`hear` a frame, have the model step, `say` what it made."""

    def __init__(self, mode: Mode, words: Vocabulary, frame_samples: int, frame_s: float) -> None:
        idle = words.pad if mode is Mode.TANDEM else NO_ORACLE
        self._oracle = OracleQueue(OracleIds(words.start, idle), words.pieces)
        self._steered = mode is Mode.TANDEM
        self._padding = words.padding
        self._words = WordStream(words.pieces, words.padding)
        self._speaking = Speaking(frame_s)
        self._frame_samples = frame_samples
        self._made = 0
        self._hushed = self._cut = False

    def hear(self, frame: StepInput) -> int:
        """The oracle's token for this frame."""
        if Command.STOP in frame.commands:
            self._oracle.stop()
            self._cut = self._speaking.on and not self._hushed
            self._hushed = self._speaking.on
        if any(event.kind is SpeechKind.STARTED for event in frame.speech):
            self._hushed = False
        if self._steered:
            for update in frame.oracle:
                self._oracle.push(update)
        return self._oracle.next()

    def say(self, token: int, pcm: Pcm) -> StepOutput:
        """`token` of the text stream goes with `pcm`; one below 0 says that there is none yet."""
        start = self._made
        self._made += self._frame_samples
        spoken = token >= 0 and token not in self._padding
        word = self._words.push(token, self._oracle.epoch, start) if token >= 0 else None
        # A model cannot be told to stop: after STOP it is not heard until it pauses by itself or
        # the user speaks again.
        on = self._speaking.step(pcm, word=spoken)
        self._hushed = self._hushed and on
        if self._hushed:
            cut, self._cut = self._cut, False
            return StepOutput(silence(self._frame_samples), yielded=cut)
        return StepOutput(pcm, _known(word), speaking=on)


def _known(word: Word | None) -> tuple[Word, ...]:
    return () if word is None else (word,)
