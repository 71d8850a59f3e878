"""A checkpoint's files as models, checked before any caller comes.

Upstream builds the models; the weights are put in here, for it refuses a file that holds more than
its own, and KAME's holds `oracle_emb.weight` too.
"""

import copy
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from moshi.models import loaders
from moshi.modules.lora import replace_all_linear_with_lora, replace_lora_with_linear
from safetensors import SafetensorError
from safetensors.torch import load_file

from pipeline.errors import ConfigError
from pipeline.frontends.moshi.checkpoint import Checkpoint
from pipeline.frontends.moshi.tokens import MARK

FRAME_SAMPLES = 1920
RATE_HZ = 24_000

ORACLE = "oracle_emb."
"""Begins the names of KAME's own weights."""

_MISMATCH = "config.json and weights are not of the same model. Look at --config-path."

State = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Models:
    """Everything of a checkpoint that runs, on its device."""

    lm: Any
    """moshi.models.LMModel."""
    oracle_emb: torch.nn.Module
    oracle_trained: bool
    """False: plain Moshi; the oracle's embedding is a copy of the text's, as KAME's began."""
    mimi: Any
    """moshi.models.MimiModel."""
    pieces: Any
    """TextPieces."""


def load(
    checkpoint: Checkpoint, device: torch.device, dtype: torch.dtype, *, fuse_lora: bool
) -> Models:
    """Raises ConfigError, which says which file is at fault and what to do."""
    shape = copy.deepcopy(dict(checkpoint.shape or loaders._lm_kwargs))
    lora = {key: shape.pop(key, None) for key in ("lora", "lora_rank", "lora_scaling")}
    lm = _build_lm(checkpoint.name, shape, dtype)
    pieces = load_pieces(checkpoint.tokenizer, lm.text_card)  # what is small comes first
    mimi = _load_mimi(checkpoint, lm, device)
    state = read_weights(checkpoint.moshi, device, dtype)
    oracle = _split_oracle(state)
    put_weights(lm, state, checkpoint.moshi)
    if checkpoint.lora:
        state = read_weights(checkpoint.lora, device, dtype)
        oracle |= _split_oracle(state)
        _add_lora(lm, state, lora, checkpoint.lora, fuse=fuse_lora)
    elif lora["lora"]:
        raise ConfigError(
            f"{checkpoint.name} says it has LoRA weights, but not where.",
            hint="Name them with --lora-weight.",
        )
    oracle_emb = copy.deepcopy(lm.text_emb)
    if oracle:
        put_weights(oracle_emb, oracle, checkpoint.moshi)
    if checkpoint.model_type == "hibiki":
        lm.text_emb.weight.data[2] = lm.text_emb.weight.data[3]  # as upstream: never end by itself
    return Models(lm.eval(), oracle_emb.eval(), bool(oracle), mimi, pieces)


def read_weights(path: Path, device: torch.device, dtype: torch.dtype) -> State:
    """The floating-point ones as `dtype`, but for conditions and 8-bit scales: those float32."""
    if path.suffix not in (".safetensors", ".sft", ".sfts"):
        raise ConfigError(f"{path} is not a safetensors file.", hint="Other formats are not read.")
    try:
        state: State = load_file(path, device=str(device))
    except (SafetensorError, OSError) as error:
        raise ConfigError(
            f"{path} is truncated or not a safetensors file: {error}.", hint="Fetch it again."
        ) from error
    for name, value in state.items():
        if value.is_floating_point():
            wide = name.startswith(("condition_provider.", "fuser.")) or name.endswith("_scb")
            state[name] = value.to(torch.float32 if wide else dtype)
    return state


def put_weights(
    module: torch.nn.Module, state: State, path: Path, *, all_of_it: bool = True
) -> None:
    """`all_of_it`: everything in `module` must be in `state`. Nothing else may be."""
    try:
        missing, unknown = module.load_state_dict(state, strict=False, assign=True)
    except RuntimeError as error:  # wrong shapes: the first line only announces them
        reason = str(error).partition("\n")[2].partition("\n")[0].strip() or str(error)
        raise ConfigError(f"{path} does not fit: {reason}", hint=_MISMATCH) from error
    if missing and all_of_it:
        raise ConfigError(f"{path} lacks {_some(missing)}.", hint=_MISMATCH)
    if unknown:
        raise ConfigError(f"{path} holds what the model has not: {_some(unknown)}.", hint=_MISMATCH)


def _some(names: list[str]) -> str:
    first = ", ".join(names[:3])
    return first if len(names) <= 3 else f"{first} and {len(names) - 3} more"


def _split_oracle(state: State) -> State:
    names = [name for name in state if name.startswith(ORACLE)]
    return {name.removeprefix(ORACLE): state.pop(name) for name in names}


def _build_lm(name: str, shape: dict[str, Any], dtype: torch.dtype) -> Any:
    """Without weights: on the device that has no memory."""
    if shape.get("quantize") and importlib.util.find_spec("bitsandbytes") is None:
        raise ConfigError(
            f"The weights of {name} are 8-bit.", hint="pip install 'umigame[moshi,moshi-q8]'"
        )
    try:
        lm = loaders.get_moshi_lm(None, shape, "meta", dtype)
    except (TypeError, ValueError, KeyError, AssertionError, AttributeError) as error:
        raise ConfigError(
            f"The config.json of {name} describes no Moshi model: {error!r}.",
            hint="Look at --config-path.",
        ) from error
    if not 1 <= lm.dep_q < lm.n_q:
        raise ConfigError(
            f"{name} does not both listen and speak: it has {lm.n_q} streams and makes {lm.dep_q}.",
            hint="Models for speech-to-text or text-to-speech alone are no front-ends.",
        )
    return lm


def _add_lora(lm: Any, state: State, lora: dict[str, Any], path: Path, *, fuse: bool) -> None:
    """LoRA (arXiv 2106.09685), added into the weights if `fuse`."""
    rank, scaling = lora["lora_rank"] or 128, lora["lora_scaling"] or 2.0
    replace_all_linear_with_lora(lm, rank, scaling, device=torch.device("meta"))
    put_weights(lm, state, path, all_of_it=False)
    bare = [name for name, value in lm.named_parameters() if value.is_meta]
    if bare:
        raise ConfigError(f"{path} lacks {_some(bare)}.", hint=_MISMATCH)
    if fuse:
        replace_lora_with_linear(lm)


def _load_mimi(checkpoint: Checkpoint, lm: Any, device: torch.device) -> Any:
    codebooks = max(lm.dep_q, lm.n_q - lm.dep_q)
    shape = None if checkpoint.mimi_shape is None else copy.deepcopy(dict(checkpoint.mimi_shape))
    try:
        mimi = loaders.get_mimi(None, shape, device, num_codebooks=codebooks)
    except (TypeError, ValueError, KeyError, AssertionError) as error:
        raise ConfigError(
            f"No codec for {checkpoint.name} can be built: {error!r}.",
            hint="Look at its mimi_config_name.",
        ) from error
    put_weights(mimi, read_weights(checkpoint.mimi, device, torch.float32), checkpoint.mimi)
    if (mimi.sample_rate, mimi.frame_size) != (RATE_HZ, FRAME_SAMPLES):
        raise ConfigError(
            f"The codec of {checkpoint.name} has frames of {mimi.frame_size} samples at"
            f" {mimi.sample_rate} Hz, not {FRAME_SAMPLES} at {RATE_HZ}."
        )
    if mimi.cardinality != lm.card:
        raise ConfigError(
            f"The codec has {mimi.cardinality} codes a book, the model {lm.card}.", hint=_MISMATCH
        )
    return mimi.eval()


class _Pieces:
    """SentencePiece, with "▁" before each text whether the model adds it or not."""

    def __init__(self, processor: Any) -> None:
        self._processor = processor
        bare = processor.encode("a")
        self._space = "" if processor.id_to_piece(bare[0]).startswith(MARK) else " "

    def encode(self, text: str) -> list[int]:
        tokens: list[int] = self._processor.encode(self._space + text) if text else []
        return tokens

    def id_to_piece(self, token: int) -> str:
        known = token < len(self._processor) and not self._processor.is_control(token)
        return str(self._processor.id_to_piece(token)) if known else ""


def load_pieces(path: Path, card: int) -> _Pieces:
    try:
        processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    except (OSError, RuntimeError) as error:
        raise ConfigError(
            f"{path} is truncated or not a SentencePiece model.", hint="Fetch it again."
        ) from error
    if processor.get_piece_size() > card:
        raise ConfigError(
            f"{path} has {processor.get_piece_size()} tokens, the model {card}.", hint=_MISMATCH
        )
    return _Pieces(processor)
