"""Upstream's own loop for one caller, as its server runs it: what the engine is measured against.

    python -m pipeline.frontends.moshi.bare DEVICE SIZE SECONDS

A frame every 80 ms; the time of each step in ms is printed as a JSON list.
"""

import contextlib
import json
import sys
import time

import torch
from moshi.models import LMGen
from moshi.utils.compile import no_compile

from pipeline.frontends.moshi.loading import FRAME_SAMPLES, RATE_HZ
from pipeline.frontends.moshi.random_models import random_models

WARM_UP = 8
FRAME_S = FRAME_SAMPLES / RATE_HZ


def steps_ms(device: torch.device, size: str, seconds: float) -> list[float]:
    cuda = device.type == "cuda"
    models = random_models(device, torch.bfloat16 if cuda else torch.float32, size)
    mimi, gen = models.mimi, LMGen(models.lm)
    took_ms = []
    with torch.no_grad(), contextlib.nullcontext() if cuda else no_compile():
        mimi.streaming_forever(1)
        gen.streaming_forever(1)
        due_s = time.monotonic()
        for _ in range(WARM_UP + round(seconds / FRAME_S)):
            heard = torch.randn(1, 1, FRAME_SAMPLES) * 0.1
            due_s = max(due_s + FRAME_S, time.monotonic())
            time.sleep(max(0.0, due_s - time.monotonic()))
            began_s = time.perf_counter()
            tokens = gen.step(mimi.encode(heard.to(device)))
            if tokens is not None:
                mimi.decode(tokens[:, 1:]).cpu()
            took_ms.append(1000 * (time.perf_counter() - began_s))
    return took_ms[WARM_UP:]


if __name__ == "__main__":
    out = sys.stdout
    sys.stdout = sys.stderr  # for what libraries print
    name, size, seconds = sys.argv[1:]
    json.dump(steps_ms(torch.device(name), size, float(seconds)), out)
