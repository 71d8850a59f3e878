"""Where text becomes speech: jobs of all slots at one synthesizer."""

import logging
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from pipeline.frontends.voice.face import Spoken, Synthesizer
from pipeline.types import Pcm

log = logging.getLogger(__name__)

TRIES = 3
"""A text that failed so often is left out."""

KEPT = 64
"""Recordings kept for the case that the same text is wanted again, as when a newer answer
begins like the one before: about 10 MB."""


@dataclass(slots=True, eq=False)
class Clip:
    """A text and, once it is synthesised, its audio."""

    text: str
    pcm: Pcm | None = None
    job: int = 0
    tries: int = 1
    failed: bool = False
    """It never will be ready."""

    @property
    def ready(self) -> bool:
        return self.pcm is not None

    @property
    def audio(self) -> Pcm:
        """Only of a clip that is ready."""
        assert self.pcm is not None
        return self.pcm


class Studio:
    """Shared by all slots; used on the engine's thread only."""

    def __init__(self, synthesizer: Synthesizer) -> None:
        self._synthesizer = synthesizer
        self._running: dict[int, Clip] = {}
        self._pieces: dict[int, list[Pcm]] = {}
        self._kept: OrderedDict[str, Clip] = OrderedDict()

    def record(self, text: str, *, urgent: bool = False) -> Clip:
        """Have `text` spoken; the clip becomes ready in a later `collect`."""
        if text in self._kept:
            self._kept.move_to_end(text)
            return self._kept[text]
        clip = Clip(text, job=self._synthesizer.say(text, urgent=urgent))
        self._running[clip.job] = clip
        return clip

    def drop(self, clip: Clip) -> None:
        """It is not wanted any more."""
        if self._running.pop(clip.job, None) is not None:
            self._pieces.pop(clip.job, None)
            self._synthesizer.cancel(clip.job)

    def collect(self) -> None:
        """Take what was finished; ask again for what failed."""
        for spoken in self._synthesizer.collect():
            clip = self._running.get(spoken.job)
            if clip is None:
                continue
            if spoken.failed:
                self._failed(clip, spoken.failed)
            else:
                self._spoken(clip, spoken)

    def _spoken(self, clip: Clip, spoken: Spoken) -> None:
        pieces = self._pieces.setdefault(clip.job, [])
        pieces.append(spoken.pcm)
        if spoken.last:
            clip.pcm = np.concatenate(self._pieces.pop(clip.job))
            del self._running[clip.job]
            self._keep(clip)

    def _failed(self, clip: Clip, reason: str) -> None:
        log.warning("speech synthesis failed (try %d of %d): %s", clip.tries, TRIES, reason)
        del self._running[clip.job]
        self._pieces.pop(clip.job, None)
        if clip.tries == TRIES:
            clip.failed = True
            return
        clip.tries += 1
        clip.job = self._synthesizer.say(clip.text, urgent=True)
        self._running[clip.job] = clip

    def _keep(self, clip: Clip) -> None:
        self._kept[clip.text] = clip
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
