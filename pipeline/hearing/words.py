"""English words, by what they say about whether a sentence can end with them."""


def _set(*words: str) -> frozenset[str]:
    return frozenset(" ".join(words).split())


BACKCHANNELS = _set(
    "mm hm hmm mhm mmm uh huh um ah oh yeah yep yes yup ok okay right sure so i see em-hmm"
)
"""Noises that mean "I am listening"."""

ALONE = _set(
    "yes no yeah yep nope okay ok stop hello hi hey thanks goodbye bye cancel continue help sure",
    "wait repeat",
) | {
    *("yes please", "no thanks", "thank you", "please stop", "go on", "never mind", "hi there"),
    *("hello there", "good morning", "good evening", "what happened", "what else", "who knows"),
    *("why not", "how come", "what now", "say again", "what can you do", "tell me a joke"),
    *("how are you", "what time is it", "what day is it", "what do you mean", "repeat that"),
    *("what's the weather like", "sorry"),
}
"""A turn of their own."""

WH = _set("what who where when why how which whose")
"""Open a question."""
COPULAS = _set("is are was were")
HELPERS = _set("do does did can could should would will may")
"""Stand before the subject of a question, which then needs a verb."""
PRONOUNS = _set("i you we they he she it there this that")
DETERMINERS = _set(
    "a an the my your his our their its every each some any no these those whose all"
)
PREPOSITIONS = _set(
    "of in on at for from with into onto about by as than between during without within under",
    "over near through against towards across behind above below until since to after before",
    "around among",
)
STRANDED = _set("from for about of like with to")
"""Those that a question can end with."""
INTRANSITIVE = _set("live work belong come go look listen wait")
"""Leave "What planet do we live on?" nothing but the thing asked for."""
ORDINALS = _set("first second third next last main most")
"""With a noun they ask for more: "the largest planet" of what?"""
NOT_MOST = _set(
    "tempest forest west interest guest test chest nest rest quest harvest request contest priest",
    "vest pest",
)
"""End like superlatives."""
NUMBERS = _set(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen",
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety",
    "hundred thousand million",
)
ARITHMETIC = _set("plus minus times divided at is half of by past")
"""Before a number, they let it stand alone."""

LINKS = _set(
    "and or but nor because if whether although while unless so that which who whom when where"
)
"""Begin a clause."""

POSSESSIVES = _set("my your his our their its")
STUMPS = _set("it that this i there not")
ANYBODY = _set("you we they people i")
HAVING = _set("has have had with won gets get made")
THINGS = _set("morning evening king ring thing spring string building wedding meeting ceiling wing")
"""Nouns that look like gerunds."""
PARTICIPLES = _set("built found put set like")
"""Irregular ones that are verbs too, and "like": "what is it like"."""
CIRCUMSTANTIAL = _set("get speak need use find see celebrate play have")
"""Verbs whose object may stand in front, but which seldom end a question about people at large."""
TOPICAL = _set("story fact facts book movie film article")
"""Are about something, if not always."""

_CONTRACTIONS = (
    "isn't aren't don't doesn't didn't can't couldn't wouldn't shouldn't won't i'm you're we're "
    "they're what's who's where's how's there's i'd i'll i've you'll let's it's that's"
)
_DEGREES = (
    "very more less least too quite really just only also even almost another other such many "
    "much few several both different own"
)
_ADJECTIVES = (
    "new old good best better big great large small long short fast high whole famous popular "
    "common favourite favorite fresh united solar northern southern eastern western"
)
OPEN = _set(
    *(LINKS | DETERMINERS | COPULAS | HELPERS | WH | ORDINALS),
    *(_CONTRACTIONS, _DEGREES, _ADJECTIVES),
    "half am be been being shall might must has had i we they he she plus minus times um uh er erm",
)
"""A sentence always goes on after these."""

TRANSITIVE = _set(
    "wrote painted invented discovered founded composed built directed explain describe translate",
    "recommend suggest remind wondering think play give show tell set add send turn switch find",
    "buy book get make take put called want wants need needs like mean means mix become becomes",
    "comes contains know eat telling teach read",
)
"""Verbs that need an object, unless a question has put it in front."""

RELATIONAL = _set(
    "capital name number meaning difference opposite history population author kind sort type",
    "piece cup way point distance height president king queen colour color chapter recipe list",
    "size speed cost price amount part end beginning middle top bottom known closest symbol title",
    "formula plural root sum product currency area reason result effect cause purpose role weight",
    "length depth date rest majority member group pair bottle slice leader head founder",
    "owner inventor winner mayor minister something alarm timer reminder word",
)
"""Nouns and the like that are of something."""
