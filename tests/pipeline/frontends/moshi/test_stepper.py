import torch

from pipeline.frontends.moshi.random_models import random_models
from pipeline.frontends.moshi.sampling import Draw
from pipeline.frontends.moshi.stepper import Stepper


def test_a_model_that_could_say_anything_does_not_say_the_same_all_the_time() -> None:
    models = random_models(torch.device("cpu"), torch.float32, "tiny")
    models.lm.text_linear.weight.data.zero_()  # every token is as likely as the next
    stepper = Stepper(models, 2, {})
    stepper.reset(0, Draw(1.0, 250), Draw(1.0, 250), seed=7)
    stepper.live[:] = [True, False]
    said = []
    for _ in range(20):
        stepper.step()
        said.append(int(stepper.text[0]))
    spoken = [token for token in said if token >= 0]
    assert len(spoken) > 15
    assert len(set(spoken)) > 8, "each step draws anew"
