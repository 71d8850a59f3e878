"""Model and codec of all slots: one frame in and one out, on the device."""

import contextlib
from typing import Any

import numpy as np
import torch
from moshi.utils.compile import no_compile

from pipeline.frontends.moshi.codec import Codec
from pipeline.frontends.moshi.lm import SteeredLm
from pipeline.frontends.moshi.loading import FRAME_SAMPLES, Models
from pipeline.frontends.moshi.sampling import Draw, Sampler
from pipeline.frontends.moshi.twin import Twin

WARM_UP = 4
"""Steps until every part has run once, and once more to be captured in its CUDA graph; the first
has nothing to decode."""


class Stepper:
    """Fill `pcm`, `oracle` and `live` (arrays, by slot), call `step`, read `text` and `spoken`."""

    def __init__(self, models: Models, slots: int, options: dict[str, Any]) -> None:
        device = models.lm.device
        self._device = device
        self._sampler = Sampler(slots, device)
        self.lm = SteeredLm(models.lm, models.oracle_emb, self._sampler, slots, **options)
        self._codec = Codec(models.mimi, slots)
        self._pcm = Twin((slots, FRAME_SAMPLES), torch.float32, device)
        self._oracle = Twin((slots,), torch.long, device)
        self._live = Twin((slots,), torch.bool, device)
        self._text = Twin((slots,), torch.long, device)
        self._spoken = Twin((slots, FRAME_SAMPLES), torch.float32, device)
        self.pcm, self.oracle, self.live = self._pcm.array, self._oracle.array, self._live.array
        self.text, self.spoken = self._text.array, self._spoken.array

    def reset(self, slot: int, text: Draw, audio: Draw, seed: int) -> None:
        """`slot` begins anew; the others do not notice."""
        self._sampler.reset(slot, text, audio, seed)
        self._reset(np.arange(len(self.live)) == slot)

    def step(self) -> None:
        """Advance the slots in `live`. Where `text` is then UNGENERATED, there is silence."""
        with torch.no_grad(), self._uncompiled():
            live = self._live.upload()
            # What is heard in a slot's first frame is never read: upstream puts initial tokens
            # there, and its server then makes Mimi forget the frame. Here Mimi does not hear it.
            codes = self._codec.encode(self._pcm.upload(), live & self.lm.begun)
            tokens = self.lm.advance(codes, self._oracle.upload(), live)
            self._text.download(tokens[:, 0, 0])
            self._spoken.download(self._codec.decode(tokens[:, 1:]))
            self._wait()

    def warm_up(self) -> None:
        """Compiles and captures steps and resets, so that no caller waits for that."""
        self.live[:] = True
        for _ in range(WARM_UP):
            self.step()
        self.live[:] = False
        for _ in range(WARM_UP):
            self._reset(np.ones(len(self.live), dtype=np.bool_))

    def _reset(self, slots: Any) -> None:
        mask = torch.from_numpy(slots).to(self._device)
        with torch.no_grad():
            self.lm.reset_streaming(mask)
            self._codec.reset(mask)

    def _wait(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.current_stream(self._device).synchronize()

    def _uncompiled(self) -> Any:
        """torch.compile costs 20 s on a CPU, and saves nothing there."""
        return contextlib.nullcontext() if self._device.type == "cuda" else no_compile()
