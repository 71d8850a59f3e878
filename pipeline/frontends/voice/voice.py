"""The voice front-end: turn-taking and streaming text-to-speech, no model of its own."""

from collections.abc import Mapping
from itertools import count

from pipeline.engine.frontend import FrontEndInfo
from pipeline.errors import InputError
from pipeline.frontends.voice.face import Synthesizer
from pipeline.frontends.voice.phrases import OPENERS, Phrases
from pipeline.frontends.voice.studio import Studio
from pipeline.frontends.voice.turns import HOLD_S, INFORMED_S, PATIENCE_S, Pace, TurnTaking
from pipeline.settings import VoiceSettings
from pipeline.types import Mode, SessionConfig, StepInput, StepOutput

RATE_HZ = 24_000
FRAME_SAMPLES = 480


class VoiceFrontEnd:
    """Implements FrontEnd (pipeline/engine/frontend.py); shuts `synthesizer` down with itself."""

    def __init__(self, settings: VoiceSettings, synthesizer: Synthesizer) -> None:
        self.info = FrontEndInfo("voice", RATE_HZ, FRAME_SAMPLES, settings.slots, False)
        self._synthesizer = synthesizer
        self._studio = Studio(synthesizer)
        self._phrases = Phrases(self._studio)
        waits_s = (settings.opener_after_s, HOLD_S, INFORMED_S, PATIENCE_S)
        self._pace = Pace(RATE_HZ, FRAME_SAMPLES, *(int(wait_s * RATE_HZ) for wait_s in waits_s))
        self._turns: dict[int, TurnTaking] = {}
        self._opened = count()

    def open(self, index: int, config: SessionConfig) -> None:
        """Raises InputError for mode s2s: there is no voice without an oracle here."""
        if config.mode is Mode.S2S:
            raise InputError(
                "the voice front-end cannot answer without an oracle",
                hint="Use mode tandem or cascade.",
            )
        seed = next(self._opened) if config.seed is None else config.seed
        self._turns[index] = TurnTaking(
            config.mode, self._studio, self._phrases, self._pace, seed % len(OPENERS)
        )

    def close(self, index: int) -> None:
        if turns := self._turns.pop(index, None):
            turns.close()

    def step(self, inputs: Mapping[int, StepInput]) -> Mapping[int, StepOutput]:
        self._studio.collect()
        return {index: self._turns[index].step(frame) for index, frame in inputs.items()}

    def shutdown(self) -> None:
        self._synthesizer.shutdown()
