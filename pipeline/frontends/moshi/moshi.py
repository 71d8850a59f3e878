"""The front-end moshi: many full-duplex conversations on one model, Moshi's or KAME's."""

import random
from collections.abc import Mapping
from functools import partial

import torch

from pipeline.engine.frontend import FrontEndInfo
from pipeline.errors import ConfigError, InputError
from pipeline.frontends.moshi import attention, hub, memory
from pipeline.frontends.moshi.checkpoint import Fetch, find
from pipeline.frontends.moshi.generation import Generation, generation, lm_options
from pipeline.frontends.moshi.kv_cache import KvKind
from pipeline.frontends.moshi.loading import FRAME_SAMPLES, RATE_HZ, Models, load
from pipeline.frontends.moshi.random_models import random_models
from pipeline.frontends.moshi.stepper import Stepper
from pipeline.frontends.moshi.talk import Talk, Vocabulary
from pipeline.settings import MoshiSettings
from pipeline.types import Mode, SessionConfig, StepInput, StepOutput

_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}

_MOST_SEED = 2**63 - 1


class MoshiFrontEnd:
    """Implements FrontEnd (pipeline/engine/frontend.py).

    Loads, sizes and warms up when it is made: it is ready then, or has raised ConfigError. It wants
    a process of its own.
    """

    def __init__(self, settings: MoshiSettings, fetch: Fetch | None = None) -> None:
        # A step is a thousand small operations. A GPU needs no other thread; on a CPU they wait for
        # each other more than they help, a hundred times as long on a busy machine.
        torch.set_num_threads(1)
        device = usable_device(settings.device)
        with memory.enough("for the weights"):
            models, model_type, self._generation = _models(settings, device, fetch)
        slots = _slots(models, settings, self._generation, device)
        attention.replace(models.lm, KvKind(settings.kv))
        with memory.enough(f"for {slots} conversations"):
            options = lm_options(models.lm, model_type, self._generation, slots)
            self._stepper = Stepper(models, slots, options)
            self._stepper.warm_up()
        self._words = _vocabulary(models)
        self._talks: dict[int, Talk] = {}
        self._seeds = random.Random(settings.seed)
        self.info = _info(models, slots)

    def open(self, index: int, config: SessionConfig) -> None:
        """Raises InputError for a mode it has not."""
        if config.mode not in self.info.modes:
            raise InputError(
                f"the front-end moshi has no mode {config.mode}", hint="Use mode tandem or s2s."
            )
        seed = self._seeds.getrandbits(63) if config.seed is None else config.seed & _MOST_SEED
        self._stepper.reset(index, *self._generation.of(config.sampling), seed)
        self._talks[index] = Talk(config.mode, self._words, FRAME_SAMPLES, self.info.frame_s)

    def close(self, index: int) -> None:
        self._talks.pop(index, None)

    def step(self, inputs: Mapping[int, StepInput]) -> Mapping[int, StepOutput]:
        stepper = self._stepper
        stepper.live[:] = False
        for index, frame in inputs.items():
            stepper.live[index] = True
            stepper.pcm[index] = frame.pcm
            stepper.oracle[index] = self._talks[index].hear(frame)
        stepper.step()
        return {
            index: self._talks[index].say(int(stepper.text[index]), stepper.spoken[index].copy())
            for index in inputs
        }

    def shutdown(self) -> None:
        self._talks.clear()
        del self._stepper


def usable_device(name: str) -> torch.device:
    """Raises ConfigError if there is no such device."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(
            f"There is no device {name} for torch: {str(error).splitlines()[0]}",
            hint="Look at --device; cpu works everywhere, but not in real time.",
        ) from error
    return device


def _models(
    settings: MoshiSettings, device: torch.device, fetch: Fetch | None
) -> tuple[Models, str, Generation]:
    dtype = _DTYPES[settings.dtype]
    if settings.random_weights:
        return random_models(device, dtype, settings.random_size), "moshi", generation(settings, {})
    checkpoint = find(settings, fetch or partial(hub.fetch, revision=settings.revision))
    drawn = generation(settings, checkpoint.generation)  # before the weights: it is quick to fail
    models = load(checkpoint, device, dtype, fuse_lora=settings.fuse_lora)
    return models, checkpoint.model_type, drawn


def _slots(
    models: Models, settings: MoshiSettings, generation: Generation, device: torch.device
) -> int:
    rows = 1 if generation.cfg_coef == 1.0 else 2
    each = memory.slot_bytes(models.lm, models.mimi, KvKind(settings.kv), rows=rows)
    return memory.slots_that_fit(memory.free_bytes(device), each, settings.max_slots)


def _vocabulary(models: Models) -> Vocabulary:
    lm = models.lm
    return Vocabulary(
        models.pieces,
        lm.text_initial_token_id,
        lm.text_padding_token_id,
        lm.end_of_text_padding_id,
    )


def _info(models: Models, slots: int) -> FrontEndInfo:
    if models.oracle_trained:
        modes, about = (Mode.TANDEM, Mode.S2S), "KAME: trained to be steered by an oracle"
    else:
        modes, about = (
            (Mode.S2S, Mode.TANDEM),
            "plain Moshi: nobody trained it to follow an oracle, so tandem steers it badly",
        )
    return FrontEndInfo("moshi", RATE_HZ, FRAME_SAMPLES, slots, True, modes, about)
