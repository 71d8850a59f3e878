import pytest

from pipeline.errors import ConfigError
from pipeline.frontends.moshi.generation import generation
from pipeline.frontends.moshi.sampling import Draw
from pipeline.settings import MoshiSettings
from pipeline.types import Sampling


def test_the_operator_wins_over_the_checkpoint_and_that_over_upstream() -> None:
    drawn = generation(MoshiSettings(temperature=0.3), {"temp": 0.5, "temp_text": 0.6, "top_k": 50})
    assert drawn.audio == Draw(0.3, 50)
    assert drawn.text == Draw(0.6, 25)
    assert drawn.cfg_coef == 1.0


def test_a_conversation_may_wish_for_less_than_all_of_it() -> None:
    usual = generation(MoshiSettings(), {})
    text, audio = usual.of(Sampling(temperature=0.0, text_top_k=9999))
    assert audio == Draw(0.0, usual.audio.top_k)
    assert text == Draw(usual.text.temperature, 250)


def test_a_checkpoint_that_does_not_sample_is_greedy() -> None:
    drawn = generation(MoshiSettings(), {"use_sampling": False})
    assert (drawn.text.temperature, drawn.audio.temperature) == (0.0, 0.0)


def test_an_unknown_key_of_the_checkpoint_is_told() -> None:
    with pytest.raises(ConfigError, match="top_p"):
        generation(MoshiSettings(), {"top_p": 0.9})
