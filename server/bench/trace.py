"""When the parts of a server did their share of one answer: where its time went. Pure."""

from collections.abc import Callable, Sequence
from typing import Any

from pipeline.oracle.words import words
from server.bench.asking import Asked
from server.bench.judge import Judged, is_oracle, replies
from server.rtc.client import Received
from server.talk import TRANSCRIPT, transcripts


def trace(mode: str, asked: Asked, judged: Judged, read_back: str) -> dict[str, Any]:
    """Milliseconds from the end of the user's speech; None: it did not happen."""
    events, question = asked.events, asked.spoken.question
    heard = " ".join(transcripts(events, TRANSCRIPT))
    oracle = [each for each in events if is_oracle(each)]
    epoch = max((each.event["epoch"] for each in oracle), default=0)
    final = [each for each in oracle if each.event["epoch"] == epoch]
    moments = {
        "speech_stopped": _last(events, lambda e: e.type == "input_audio_buffer.speech_stopped"),
        "words_known": _first(events, lambda e: _tells(e, heard)),
        "turn_ended": _last(events, lambda e: e.type == "input_audio_buffer.committed"),
        "final_transcript": _last(events, lambda e: e.type == TRANSCRIPT),
        "asked": final[0] if final else None,
        "first_token": _first(final, lambda e: bool(e.event["text"])),
        "answer_complete": _first(final, lambda e: bool(e.event["final"])),
    }
    at_ms = {
        name: None if each is None else _ms(each.at_s - asked.said.ended_s)
        for name, each in moments.items()
    }
    return {
        "mode": mode,
        "question": question.text,
        "pause_s": question.pause_s,
        "heard": heard,
        "said": [reply.text() for reply in replies(events)],
        "read_back": read_back,
        "epochs": len({each.event["epoch"] for each in oracle}),
        "last_prompt": final[0].event["prompt"] if final else "",
        **at_ms,
        "replies_began": [_ms(r.began_s - asked.said.ended_s) for r in replies(events)],
        "first_audio": _ms(judged.first_audio_s),
        "first_answer_word": _ms(judged.first_answer_word_s),
        "took_over": judged.took_over,
        "split": judged.split,
        "opener": judged.opener,
        "false_start": judged.false_start,
    }


def _tells(each: Received, heard: str) -> bool:
    """The words of the final transcript were all there, if only in a partial one."""
    told = each.event.get("text" if each.type == "umigame.partial" else "transcript")
    return bool(heard) and isinstance(told, str) and words(heard) == words(told)


def _first(events: Sequence[Received], of: Callable[[Received], bool]) -> Received | None:
    return next((each for each in events if of(each)), None)


def _last(events: Sequence[Received], of: Callable[[Received], bool]) -> Received | None:
    return _first(events[::-1], of)


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)
