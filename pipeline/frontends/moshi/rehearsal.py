"""The front-end moshi as a bench wants it: with random weights, and conversations of any age."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.engine.frontend import FrontEnd
from pipeline.frontends.moshi.filled import fill_caches, skip_to
from pipeline.frontends.moshi.moshi import MoshiFrontEnd
from pipeline.settings import MoshiSettings
from pipeline.types import SessionConfig, StepInput, StepOutput


class Rehearsal(MoshiFrontEnd):
    """A session's seed says how old its conversation is: per mille of the context.

    Each step is told as a line of JSON in the file `trace`.
    """

    def __init__(self, settings: MoshiSettings, trace: Path) -> None:
        super().__init__(settings)
        self._lm = self._stepper.lm
        fill_caches(self._lm)
        self._trace = trace.open("a", buffering=1)

    def open(self, index: int, config: SessionConfig) -> None:
        super().open(index, config)
        age = (config.seed or 0) * self._lm.lm_model.context // 1000
        skip_to(self._lm, index, age)

    def step(self, inputs: Mapping[int, StepInput]) -> Mapping[int, StepOutput]:
        began_s = time.monotonic()
        outputs = super().step(inputs)
        took_s = time.monotonic() - began_s
        line = {"began_s": began_s, "took_s": took_s, "slots": len(inputs)}
        self._trace.write(json.dumps(line) + "\n")
        return outputs

    def shutdown(self) -> None:
        super().shutdown()
        self._trace.close()


def rehearsal(order: Mapping[str, Any]) -> FrontEnd:
    """`order`: "moshi", which is as in the settings, and "trace", a path."""
    moshi = {**order["moshi"], "random_weights": True}
    return Rehearsal(MoshiSettings.model_validate(moshi), Path(order["trace"]))
