"""Tokens drawn for many conversations at once, each with its own temperature, top-k and seed.

Random numbers are a hash of (seed, step, stream, rank), so they depend on nothing else: a
conversation draws the same alone and beside others, today and tomorrow. Only integer tensor
operations are used, which a CUDA graph can hold; torch's generators count draws of the whole
batch. Drawing is by the Gumbel-max trick, which takes one argmax and no cumulative sum.
"""

from dataclasses import dataclass

import torch

MOST_TOP_K = 250
"""The top-k kernel runs with this for every slot; a slot's own k hides the rest."""

_LOW_32 = 0xFFFF_FFFF
_GOLDEN = 0x9E37_79B9


@dataclass(frozen=True, slots=True)
class Draw:
    """How one slot draws; `top_k` 1 to MOST_TOP_K; temperature 0 takes the likeliest."""

    temperature: float
    top_k: int


class Sampler:
    """State of all slots, in tensors that stay where they are for the CUDA graphs.

    Stream 0 is the text, 1 and up are the audio codebooks.
    """

    def __init__(self, slots: int, device: torch.device) -> None:
        self._temperature = torch.ones(2, slots, device=device)
        self._top_k = torch.ones(2, slots, device=device, dtype=torch.long)
        self._seed = torch.zeros(slots, device=device, dtype=torch.long)
        self._step = torch.zeros(slots, device=device, dtype=torch.long)

    def reset(self, slot: int, text: Draw, audio: Draw, seed: int) -> None:
        """`seed`: 0 to 2^63−1."""
        for kind, draw in enumerate((text, audio)):
            self._temperature[kind, slot] = draw.temperature
            self._top_k[kind, slot] = draw.top_k
        self._seed[slot] = seed
        self._step[slot] = 0

    def advance(self, live: torch.Tensor) -> None:
        """Slots in `live` (bool [B]) go on to their next step."""
        self._step += live

    def draw(self, logits: torch.Tensor, stream: int) -> torch.Tensor:
        """A token, int64 [B], for each row of `logits` [B, card]."""
        kind = min(stream, 1)
        temperature = self._temperature[kind, :, None]
        likeliest, tokens = logits.float().topk(min(MOST_TOP_K, logits.shape[-1]))
        ranks = torch.arange(likeliest.shape[-1], device=logits.device)
        noise = self._gumbel(stream, ranks)
        scores = likeliest / temperature.clamp(min=1e-6) + noise
        scores = scores.masked_fill(ranks >= self._top_k[kind, :, None], -torch.inf)
        drawn = tokens.gather(1, scores.argmax(-1, keepdim=True))[:, 0]
        return torch.where(temperature[:, 0] > 0, drawn, logits.argmax(-1))

    def _gumbel(self, stream: int, ranks: torch.Tensor) -> torch.Tensor:
        """Gumbel(0, 1) noise, float32 [B, ranks]."""
        mixed = _mix(_mix(self._seed & _LOW_32) ^ (self._seed >> 32))
        mixed = _mix(_mix(mixed ^ (self._step & _LOW_32)) ^ stream)
        bits = _mix(mixed[:, None] ^ ranks) >> 9
        uniform = (bits + 0.5) * 2**-23  # 23 bits and a half: exact in float32, never 0 or 1
        return -torch.log(-torch.log(uniform.float()))


def _mix(value: torch.Tensor) -> torch.Tensor:
    """A bijection of 32-bit integers held in int64: the finaliser of MurmurHash3."""
    value = (value + _GOLDEN) & _LOW_32
    value = ((value ^ (value >> 16)) * 0x85EB_CA6B) & _LOW_32
    value = ((value ^ (value >> 13)) * 0xC2B2_AE35) & _LOW_32
    return value ^ (value >> 16)
