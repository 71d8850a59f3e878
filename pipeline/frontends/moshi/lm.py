"""Upstream's LMGen with what it lacks: an oracle, and sampling of each slot's own.

The rest, delays, caches, guidance and CUDA graphs, is upstream's.
"""

from typing import Any

import torch
from moshi.models import LMGen
from moshi.utils.compile import CUDAGraphed

from pipeline.frontends.moshi.sampling import Sampler

UNGENERATED = -2
"""Upstream's token for a slot that is masked or has no complete frame yet."""


class SteeredLm(LMGen):  # type: ignore[misc]
    """Slots (rows) step or not by `step`'s mask; each begins anew with `reset`."""

    def __init__(
        self, lm: Any, oracle_emb: torch.nn.Module, sampler: Sampler, slots: int, **options: Any
    ) -> None:
        """`options` are LMGen's own: cfg_coef, cfg_is_no_text, condition_tensors."""
        super().__init__(
            lm,
            use_sampling=False,  # it takes the argmax of what _draw_text leaves
            support_out_of_sync=True,
            on_text_logits_hook=self._draw_text,
            **options,
        )
        self._sampler = sampler
        self._oracle_emb = oracle_emb
        self._fused: torch.Tensor | None = None
        """The sum of the model's own conditions, [rows, 1, dim]."""
        self.streaming_forever(slots)

    def advance(self, codes: torch.Tensor, oracle: torch.Tensor, live: torch.Tensor) -> Any:
        """One frame of each slot in `live`.

        Args:
            codes: what the user said, int64 [B, codebooks, 1].
            oracle: a token of the oracle's stream, int64 [B]; −1 is none.
            live: bool [B].

        Returns:
            int64 [B, 1 + dep_q, 1], the text token first; UNGENERATED where there is none.
        """
        self.set_exec_mask(live)
        self._condition(oracle)
        tokens = self.step(codes)
        self._sampler.advance(live)
        return tokens

    @property
    def begun(self) -> torch.Tensor:
        """bool [B]: slots that have stepped since their reset."""
        return self._streaming_state.offsets > 0

    def _condition(self, oracle: torch.Tensor) -> None:
        """KAME: the oracle's embedding is added to those of text and audio (arXiv 2510.02327)."""
        embedded = self._oracle_emb(oracle[:, None])  # [B, 1, dim]
        condition = self._streaming_state.condition_sum  # [rows, 1, dim], rows = 2 B under CFG
        embedded = embedded.repeat(condition.shape[0] // embedded.shape[0], 1, 1)
        condition.copy_(embedded if self._fused is None else embedded + self._fused)

    def _init_streaming_state(self, batch_size: int) -> Any:
        state = super()._init_streaming_state(batch_size)
        # Hundreds of small operations otherwise, which a step would wait for.
        state.reset_callback = CUDAGraphed(
            state.reset_callback, disable=self.lm_model.device.type != "cuda"
        )
        self._fused = state.condition_sum
        rows = batch_size if self.cfg_coef == 1.0 else 2 * batch_size
        # There from the first step on, so that the CUDA graph takes it as an argument.
        state.condition_sum = torch.zeros(
            rows, 1, self.lm_model.dim, device=self.lm_model.device, dtype=self.lm_model.dtype
        )
        return state

    def _draw_text(self, logits: torch.Tensor) -> None:
        """Leave of `logits` [B, 1, 1, card] only the drawn token's."""
        token = self._sampler.draw(logits[:, 0, 0], stream=0)
        logits.zero_().scatter_(-1, token[:, None, None, None], 1.0)

    def depformer_step(
        self, text_token: torch.Tensor, transformer_out: torch.Tensor
    ) -> torch.Tensor:
        """Upstream's, but for the draw: one codebook after the other, int64 [B, dep_q]."""
        token, tokens = text_token, []
        rows = transformer_out.shape[0]
        with self.lm_model.depformer.streaming(rows):
            for codebook in range(self.lm_model.dep_q):
                given = token.repeat(rows // token.shape[0])[:, None, None]
                logits = self.lm_model.forward_depformer(codebook, given, transformer_out)
                token = self._sampler.draw(self._guided(logits)[:, 0, 0], stream=codebook + 1)
                tokens.append(token)
        return torch.stack(tokens, dim=1)

    def _guided(self, logits: torch.Tensor) -> torch.Tensor:
        """Classifier-free guidance (arXiv 2207.12598): away from the rows without condition."""
        if self.cfg_coef == 1.0:
            return logits
        conditioned, null = logits.chunk(2)
        return null + (conditioned - null) * self.cfg_coef
