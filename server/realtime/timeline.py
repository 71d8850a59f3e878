"""What the timeline keeps of a conversation: who did what when, and what came of it. Pure."""

from pipeline.events import (
    Event,
    OracleAsked,
    OracleChosen,
    OracleFate,
    ReplyEnded,
    ReplyStarted,
    Speech,
    Typed,
)
from server.realtime.writer import JsonObject


def timeline_entry(event: Event, at_s: float) -> JsonObject | None:
    """`event` as a line of umigame.timeline; None if it is of no kind that is kept.

    `at_s` counts from the conversation's beginning.
    """
    fields = _fields(event)
    return None if fields is None else {"at_s": round(at_s, 3), **fields}


def _fields(event: Event) -> JsonObject | None:
    match event:
        case Speech(event=heard):
            return {"type": f"speech_{heard.kind}", "utterance": heard.utterance}
        case Typed(utterance=utterance):
            return {"type": "typed", "utterance": utterance}
        case OracleAsked(epoch=epoch, source=source):
            return {"type": "oracle_asked", "epoch": epoch, "source": source}
        case OracleChosen(epoch=epoch, source=source, why=why, over=over):
            chosen = {"type": "oracle_chosen", "epoch": epoch, "source": source, "why": why}
            return {**chosen, "over": ", ".join(over)}
        case OracleFate(epoch=epoch, fate=fate, words=words):
            return {"type": "oracle_fate", "epoch": epoch, "fate": fate.value, "words": words}
        case ReplyStarted(reply=reply, response_s=response_s):
            return {"type": "reply_started", "reply": reply, "response_ms": ms(response_s)}
        case ReplyEnded(reply=reply, cut=cut, played_s=played_s):
            return {"type": "reply_ended", "reply": reply, "cut": cut, "played_ms": ms(played_s)}
    return None


def ms(seconds: float | None) -> float | None:
    """Milliseconds to a tenth; what is not known stays so."""
    return None if seconds is None else round(seconds * 1000, 1)
