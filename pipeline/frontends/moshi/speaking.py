"""Whether a model that always sends audio is speaking: a pure core."""

import numpy as np

from pipeline.types import Pcm

AUDIBLE = 0.01
"""RMS, full scale 1 (−40 dB): a pause of Moshi's lies well below, speech well above."""

PAUSE_S = 0.64
"""A pause as long ends a reply; those within a sentence are shorter."""


class Speaking:
    """A reply begins with a word of the text stream, which is ahead of its sound or with it.

    Sound alone, such as a breath, begins none. It ends once neither text nor sound has come for
    PAUSE_S, so its end is told that much late.
    """

    def __init__(self, frame_s: float) -> None:
        self._patience = round(PAUSE_S / frame_s)
        self._quiet = 0
        """Frames since the last word or sound."""
        self.on = False

    def step(self, pcm: Pcm, *, word: bool) -> bool:
        """A frame and whether a text token other than padding came with it."""
        audible = bool(np.sqrt(np.mean(np.square(pcm))) > AUDIBLE)
        self._quiet = 0 if word or audible else self._quiet + 1
        self.on = word or (self.on and self._quiet < self._patience)
        return self.on
