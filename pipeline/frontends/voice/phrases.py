"""What the voice says of its own accord; recorded when the server starts."""

from pipeline.frontends.voice.studio import Clip, Studio

OPENERS = ("Well,", "So,", "Right,", "Sure,", "Alright,")
"""Said when the answer is late, as people do. Short, for the answer waits until they are said; of
such words, Piper says these well each time."""

CORRECTIONS = ("Actually,", "Sorry,")
"""Said before what contradicts the words before it."""

APOLOGY = "I'm sorry, I can't think of an answer right now."
"""Said when no answer comes."""


class Phrases:
    """Their recordings, for all slots."""

    def __init__(self, studio: Studio) -> None:
        self.openers = [studio.record(text) for text in OPENERS]
        self.corrections = [studio.record(text) for text in CORRECTIONS]
        self.apology = studio.record(APOLOGY)


def next_ready(clips: list[Clip], after: int) -> int | None:
    """Index of the first clip behind `after` (round and round) that can be played."""
    for step in range(1, len(clips) + 1):
        index = (after + step) % len(clips)
        if clips[index].ready:
            return index
    return None
