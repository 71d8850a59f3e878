"""How long a silence ends the turn, predicted from the words so far.

People leave gaps of 0.2 s between turns but pause for a second within them (Levinson and
Torreira 2015); what they said tells which it is. Grammar is judged by the last words: "what is
the capital of" cannot be all, "what is the capital of France" can. The full stops and question
marks of an STT say nothing: it closes whatever it is given.

Rules over small word lists, for English. Other languages get a fixed silence.
"""

import re
from enum import Enum

from pipeline.hearing import words as w
from pipeline.settings import HearingSettings

OTHER_LANGUAGE_S = 0.8
DEFAULT = HearingSettings()


class Ending(Enum):
    """May a sentence end here?"""

    COMPLETE = "complete"
    UNSURE = "unsure"
    INCOMPLETE = "incomplete"


class Endpoint:
    """Turns the words so far into the silence that ends the turn."""

    def __init__(self, settings: HearingSettings = DEFAULT, language: str = "en-US") -> None:
        """`language`: a BCP 47 tag; any but English gets OTHER_LANGUAGE_S."""
        self._fixed_s = settings.fixed_silence_s
        if self._fixed_s is None and not language.lower().startswith("en"):
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


def ending(text: str) -> Ending:
    """Can this be all? `text` as an STT gives it: of its punctuation only a comma counts."""
    words = _words(text)
    if not words:
        return Ending.UNSURE
    if len(words) <= 2 and words[-1] in w.ALONE:
        return Ending.COMPLETE
    if len(words) == 1 or _open(words) or _lacks_verb(words) or _hungry(words):
        return Ending.INCOMPLETE
    comma = text.rstrip().endswith(",")
    if comma or len(words) == 2 or words[0] == "i" or _wants_more(words):
        return Ending.UNSURE
    return Ending.COMPLETE


def is_backchannel(text: str) -> bool:
    """Only noises that mean "I am listening"?"""
    words = _words(text)
    return 0 < len(words) <= 3 and all(word in w.BACKCHANNELS for word in words)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text.lower())


def _is_question(words: list[str]) -> bool:
    return words[0].partition("'")[0] in w.WH | w.COPULAS | w.HELPERS


def _superlative(word: str, before: str) -> bool:
    return before == "the" and (word in w.ORDINALS or word.endswith("est"))


def _open(words: list[str]) -> bool:
    """The last word always takes another."""
    before, last = words[-2:]
    if last in w.PREPOSITIONS:
        # "Where are you from?", "What is it made of?": what it governs stands in front.
        fronted = last in w.STRANDED and words[0] in w.WH and len(words) >= 4
        return not (fronted and before in w.PRONOUNS | {"made"})
    gerund = before in w.DETERMINERS and last.endswith("ing")
    demonstrative = last in {"this", "that"} and before not in w.COPULAS | {"do", "use"}
    shown = last in w.OPEN and not (last in {"that", "there"} and before in w.COPULAS)
    subject = (last in w.PRONOUNS and before in w.LINKS) or words[:-1] == ["which"]
    return gerund or demonstrative or shown or subject or _superlative(last, before)


def _wants_more(words: list[str]) -> bool:
    """It could be all, but seldom is."""
    before, last = words[-2:]
    # An STT makes "it" or "that" of the "the" it is cut off after.
    stump = _is_question(words) and len(words) <= 3 and last in w.PRONOUNS | {"not"}
    # "What is the largest planet": a superlative asks for its range.
    range_open = len(words) >= 3 and _superlative(before, words[-3])
    infinitive = before == "to" and not _object_in_front(words)
    return stump or range_open or infinitive


def _hungry(words: list[str]) -> bool:
    """The last word often takes another."""
    before, last = words[-2:]
    if last in w.NUMBERS:
        return before not in w.ARITHMETIC
    if last in {"me", "us"}:
        return len(words) <= 4 and before not in w.PREPOSITIONS
    verb = last in w.TRANSITIVE and before not in w.DETERMINERS
    phrasal = last in {"off", "up"} and before in w.TRANSITIVE
    return phrasal or last in w.RELATIONAL or (verb and not _object_in_front(words))


def _object_in_front(words: list[str]) -> bool:
    """ "What sound does a cow make?" """
    asked = words[0] in {"what", "which", "who"} or words[:2] in (["how", "many"], ["how", "much"])
    return asked and bool(w.HELPERS & set(words))


def _lacks_verb(words: list[str]) -> bool:
    """ "How many legs does a spider", "can you": a helper and a subject, no verb yet."""
    helpers = w.HELPERS | w.COPULAS
    at = next((i for i, word in enumerate(words) if word in helpers), None)
    if at is None or not _is_question(words):
        return False
    rest = words[at + 1 :]
    if words[at] in w.COPULAS and at > 0:
        return not rest
    while "of" in rest and rest[0] in w.DETERMINERS:
        rest = rest[rest.index("of") + 1 :]
    return len(rest) <= (2 if rest and rest[0] in w.DETERMINERS else 1)
