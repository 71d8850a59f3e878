"""Voice activity: how likely is it that somebody speaks in this window?

Silero VAD (MIT) as an ONNX graph. The model sees 512 samples at 16 kHz with the 64 samples
before them, and carries a small recurrent state from window to window.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime

from pipeline.errors import ConfigError
from pipeline.types import Pcm

RATE_HZ = 16_000
WINDOW = 512
"""Samples the model takes at a time: 32 ms."""
CONTEXT = 64

Vad = Callable[[Pcm], float]
"""Takes the next WINDOW samples, gives the probability of speech, 0..1."""


class SileroVad:
    """The model, loaded once and shared: `listener` gives each conversation its own state."""

    def __init__(self, model: Path) -> None:
        """Raises ConfigError if `model` cannot be loaded."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        try:
            self._session = onnxruntime.InferenceSession(
                str(model), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime raises a dozen unrelated types
            raise ConfigError(
                f"The voice activity model {model} cannot be loaded: {error}",
                hint="Delete it from the weights' folder and start again.",
            ) from error

    def listener(self) -> Vad:
        return _Listener(self._session)


class _Listener:
    """One microphone's state: a few hundred floats."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session
        self._state = np.zeros((2, 1, 128), dtype=np.float32)
        self._input = np.zeros((1, CONTEXT + WINDOW), dtype=np.float32)
        self._rate = np.array(RATE_HZ, dtype=np.int64)

    def __call__(self, window: Pcm) -> float:
        assert len(window) == WINDOW
        self._input[0, :CONTEXT] = self._input[0, -CONTEXT:]
        self._input[0, CONTEXT:] = window
        feeds = {"input": self._input, "state": self._state, "sr": self._rate}
        probability, self._state = self._session.run(None, feeds)
        return float(probability[0, 0])
