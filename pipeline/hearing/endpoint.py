"""How long a silence ends the turn, predicted from the words so far.

People leave gaps of 0.2 s between turns but pause for a second within them (Levinson and
Torreira 2015); what they said tells which it is (grammar.py), if it was English. Other languages
get a fixed silence.
"""

from pipeline.hearing.grammar import Ending, ending, is_english, split
from pipeline.hearing.words import BACKCHANNELS
from pipeline.settings import HearingSettings

OTHER_LANGUAGE_S = 0.8
DEFAULT = HearingSettings()


class Endpoint:
    """Turns the words so far into the silence that ends the turn."""

    def __init__(self, settings: HearingSettings = DEFAULT, language: str = "en-US") -> None:
        """`language`: a BCP 47 tag; any but English gets OTHER_LANGUAGE_S."""
        self._fixed_s = settings.fixed_silence_s
        if self._fixed_s is None and not is_english(language):
            self._fixed_s = OTHER_LANGUAGE_S
        self._waits = {
            Ending.COMPLETE: 0.0,
            Ending.UNSURE: settings.unsure_silence_s,
            Ending.INCOMPLETE: settings.unfinished_silence_s,
        }

    def wait_s(self, text: str | None) -> float:
        """Seconds of silence that end the turn; `text` is None while it is not yet known."""
        if self._fixed_s is not None:
            return self._fixed_s
        return self._waits[Ending.UNSURE if text is None else ending(text)]


def is_backchannel(text: str) -> bool:
    """Only noises that mean "I am listening"?"""
    words = split(text)
    return 0 < len(words) <= 3 and all(word in BACKCHANNELS for word in words)
