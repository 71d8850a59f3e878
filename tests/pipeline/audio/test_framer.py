import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.audio.framer import Framer
from pipeline.types import AudioFrame
from tests.fakes.sender import joined


def ramp(sizes: list[int], concealed: int = 0) -> list[AudioFrame]:
    """Each sample's value is its position."""
    ends = np.cumsum(sizes)
    return [
        AudioFrame(
            np.arange(end - size, end, dtype=np.float32),
            24_000,
            int(end - size),
            float(number),
            min(concealed, size),
        )
        for number, (size, end) in enumerate(zip(sizes, ends, strict=True))
    ]


@given(
    sizes=st.lists(st.integers(1, 3_000), min_size=1, max_size=40),
    frame_samples=st.sampled_from([480, 1_920]),
)
def test_every_sample_comes_once_and_in_its_place(sizes: list[int], frame_samples: int) -> None:
    framer = Framer(frame_samples)
    made = [each for frame in ramp(sizes) for each in framer.push(frame)]
    assert len(made) == sum(sizes) // frame_samples
    for index, frame in enumerate(made):
        assert len(frame.pcm) == frame_samples
        assert frame.pts == frame.pcm[0] == index * frame_samples
    if made:
        assert (np.diff(joined(made)) == 1).all()


def test_a_frame_arrived_when_its_newest_sample_did_and_counts_all_that_was_concealed() -> None:
    framer = Framer(1_920)
    made = [each for frame in ramp([480] * 8, concealed=120) for each in framer.push(frame)]
    assert [frame.arrived_s for frame in made] == [3.0, 7.0]
    assert [frame.concealed for frame in made] == [480, 480]


def test_a_frame_of_the_right_size_passes_untouched() -> None:
    frame = ramp([480])[0]
    assert Framer(480).push(frame) == [frame]
