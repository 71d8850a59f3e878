"""How long a silence ends the turn, predicted from the words so far.

People leave gaps of 0.2 s between turns but pause for a second within them (Levinson and
Torreira 2015); what they said tells which it is, by the rules of grammar.py and by what a language
model expects to follow (completeness.py), if it was English. Other languages get a fixed silence.
"""

from pipeline.hearing.grammar import Ending, ending, is_english, split
from pipeline.hearing.words import BACKCHANNELS, WH
from pipeline.settings import HearingSettings

OTHER_LANGUAGE_S = 0.8
DEFAULT = HearingSettings()

LIKELY = 0.2
"""Probability of an end from which the model lets pass what grammar takes for complete. A small
model spreads its odds thin: so 88 % of 116 whole turns end at once, and 6 % of 87 pauses."""
CERTAIN = 0.75
"""And from which it overrules a grammar that does not."""


class Endpoint:
    """Turns the words so far into the silence that ends the turn."""

    def __init__(self, settings: HearingSettings = DEFAULT, language: str = "en-US") -> None:
        """`language`: a BCP 47 tag; any but English gets OTHER_LANGUAGE_S."""
        self._fixed_s = settings.fixed_silence_s
        if self._fixed_s is None and not is_english(language):
            self._fixed_s = OTHER_LANGUAGE_S
        self._waits = {
            Ending.SURE: 0.0,
            Ending.COMPLETE: 0.0,
            Ending.UNSURE: settings.unsure_silence_s,
            Ending.INCOMPLETE: settings.unfinished_silence_s,
        }

    @property
    def by_words(self) -> bool:
        """The words matter to it."""
        return self._fixed_s is None

    def wait_s(self, text: str | None, ends: float | None = None) -> float:
        """Seconds of silence that end the turn; `text` is None while it is not yet known.

        `ends`: the probability that nothing follows it, if a language model was asked.
        """
        if self._fixed_s is not None:
            return self._fixed_s
        return self._waits[Ending.UNSURE if text is None else _judge(ending(text), ends)]


def _judge(grammar: Ending, ends: float | None) -> Ending:
    if ends is None or grammar is Ending.SURE:
        return grammar
    if ends >= (LIKELY if grammar is Ending.COMPLETE else CERTAIN):
        return Ending.COMPLETE
    return Ending.UNSURE if grammar is Ending.COMPLETE else grammar


def is_backchannel(text: str) -> bool:
    """Only noises that mean "I am listening"?"""
    words = split(text)
    return 0 < len(words) <= 3 and all(word in BACKCHANNELS for word in words)


def is_interjection(text: str) -> bool:
    """A word or two that often come before more: "Stop", "No, thanks", "Wait"?"""
    words = split(text)
    asks = bool(words) and words[0] in WH
    return len(words) <= 2 and not asks and not is_backchannel(text) and ending(text) is Ending.SURE
