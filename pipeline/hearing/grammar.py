"""May a sentence end here? Judged by the words alone.

"What is the capital of" cannot be all, "what is the capital of France" can. The full stops and
question marks of an STT say nothing: it closes whatever it is given.

Rules over small word lists (words.py), for English.
"""

import re
from enum import Enum

from pipeline.hearing import words as w


class Ending(Enum):
    SURE = "sure"
    """A turn of its own, known by heart."""
    COMPLETE = "complete"
    UNSURE = "unsure"
    """It could be all, but seldom is."""
    INCOMPLETE = "incomplete"


def ending(text: str) -> Ending:
    """Can this be all? `text` as an STT gives it: of its punctuation only a comma counts."""
    words = split(text)
    if not words:
        return Ending.UNSURE
    if " ".join(words) in w.ALONE:
        return Ending.SURE
    if len(words) == 1 or _open(words) or _hungry(words) or _lacks_verb(words):
        return Ending.INCOMPLETE
    comma = text.rstrip().endswith(",")
    if comma or len(words) == 2 or words[0] == "i" or _wants_more(words):
        return Ending.UNSURE
    return Ending.COMPLETE


def can_be_all(text: str, language: str) -> bool:
    """The same for any language (a BCP 47 tag): of all but English nothing is known."""
    return not is_english(language) or ending(text) in {Ending.SURE, Ending.COMPLETE}


def is_english(language: str) -> bool:
    return language.lower().partition("-")[0] == "en"


def split(text: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text.lower())


def _is_question(words: list[str]) -> bool:
    return _is_wh(words[0]) or words[0] in w.COPULAS | w.HELPERS


def _is_wh(word: str) -> bool:
    return word.partition("'")[0] in w.WH


def _superlative(word: str, before: str) -> bool:
    most = word.endswith("est") and word not in w.NOT_MOST
    return before == "the" and (most or word in w.ORDINALS)


def _open(words: list[str]) -> bool:
    """The last word always takes another."""
    before, last = words[-2:]
    if words[-3:-1] == ["opposite", "of"]:
        return False
    if last in w.PREPOSITIONS:
        return not _stranded(words)
    if _superlative(last, before):
        return not _ranked(words)
    if last == "do" and w.HELPERS & set(words[1:-1]):
        return False  # "what can you do"
    gerund = before in w.DETERMINERS and last.endswith("ing") and last not in w.THINGS
    demonstrative = last in {"this", "that"} and before not in w.COPULAS | {"do", "use"}
    shown = last in w.OPEN and not (last in {"that", "there"} and before in w.COPULAS)
    subject = last in w.PRONOUNS and before in w.LINKS
    return gerund or demonstrative or shown or subject


def _stranded(words: list[str]) -> bool:
    """What the preposition governs stands in front: "Where are you from?"."""
    before, last = words[-2:]
    if before in w.INTRANSITIVE and _object_in_front(words[:-2]):
        return words[-3] in w.PRONOUNS
    if last not in w.STRANDED or words[0] not in w.WH or len(words) < 4:
        return False
    return before in w.PRONOUNS | {"made"} or (words[0], last) == ("where", "from")


def _ranked(words: list[str]) -> bool:
    """Something was named before the superlative: "Which planet is the hottest?"."""
    return len(words) >= 5 and words[-3] not in w.HAVING


def _wants_more(words: list[str]) -> bool:
    """It could be all, but seldom is."""
    before, last = words[-2:]
    # An STT makes "it" or "that" of the "the" it is cut off after.
    stump = len(words) == 3 and words[0] in {"what", "who"} and last in w.STUMPS
    # "What is the largest planet": a superlative asks for its range.
    range_open = len(words) >= 4 and _superlative(before, words[-3]) and words[-4] not in w.HAVING
    infinitive = before == "to" and not _object_in_front(words)
    # "What language do they speak": where?
    circumstance = before in w.ANYBODY and last in w.CIRCUMSTANTIAL
    topic = last in w.TOPICAL and before != "the" and not _is_wh(words[0])
    return stump or range_open or infinitive or circumstance or topic


def _hungry(words: list[str]) -> bool:
    """The last word often takes another."""
    before, last = words[-2:]
    if last in w.NUMBERS:
        sum_begins = _is_question(words) and before == "is"
        return sum_begins or before not in w.ARITHMETIC | w.NUMBERS
    if last in {"me", "us"}:
        return before in w.TRANSITIVE
    named = last == "call" and before in w.ANYBODY
    verb = last in w.TRANSITIVE and before not in w.DETERMINERS
    verb = verb and not _object_in_front(words) and not _passive(words)
    phrasal = last in {"off", "up"} and before in w.TRANSITIVE | {"me"}
    return named or verb or phrasal or (last in w.RELATIONAL and _is_noun(words))


def _is_noun(words: list[str]) -> bool:
    """Not so in "when did the war end" nor, as it is somebody's, in "what's your name"."""
    if words[-2] in w.POSSESSIVES:
        return False
    return not w.HELPERS & set(words[:2]) or words[-2] in w.DETERMINERS | w.OPEN


def _object_in_front(words: list[str]) -> bool:
    """ "What sound does a cow make?" """
    asked = words[0] in {"what", "which", "who"} or words[:2] in (["how", "many"], ["how", "much"])
    return asked and bool(w.HELPERS & set(words))


def _passive(words: list[str]) -> bool:
    """ "When was it invented?" """
    asked = "'" in words[0] or bool(w.COPULAS & set(words[:3]))
    return asked and (words[-1].endswith("ed") or words[-1] in w.PARTICIPLES)


def _lacks_verb(words: list[str]) -> bool:
    """ "How many legs does a spider", "can you", "which month"."""
    start = 1 if words[0] in w.PREPOSITIONS and words[1] in w.WH else 0
    if not _is_question(words[start:]):
        return False
    helpers = w.HELPERS | w.COPULAS
    at = next((i for i, word in enumerate(words) if word.partition("'")[0] in helpers), None)
    if at is None:
        return start > 0 or _only_asks(words)
    rest = words[at + 1 :]
    if words[at] in w.COPULAS and at > 0:
        return not rest
    while "of" in rest and rest[0] in w.DETERMINERS:
        rest = rest[rest.index("of") + 1 :]
    while len(rest) > 1 and rest[0] in (w.DETERMINERS | w.OPEN) - w.PRONOUNS:
        rest = rest[1:]
    return len(rest) <= 1


def _only_asks(words: list[str]) -> bool:
    """A question with no helping verb and too few words to have another."""
    if "'" in words[0]:
        return False  # "what's"
    if "of" in words[1:4] and "of" in words[-3:-1]:
        return True  # "what kind of fruit", "which of the planets"
    if words[0] in {"what", "which", "whose"}:
        verb = len(words) == 3 and words[1].endswith("s")  # "what causes rain"
        return len(words) < 4 and not verb
    if words[1] in {"many", "much"}:
        return len(words) < 5
    return len(words) < 3
