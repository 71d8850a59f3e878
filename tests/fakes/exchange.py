"""A Relay, driven frame by frame on a clock of its own, and pure streams that answer it."""

from pipeline.errors import ServiceError
from pipeline.stt.relay import Relay
from pipeline.stt.streams import Doing, Drop, Finish, Heard, Lost, Open, Send, Times
from pipeline.types import AudioFrame, Pcm, SpeechEvent, SpeechKind, Transcript, silence
from tests.fakes.tone_words import RATE_HZ, Recogniser

FRAME = 320
TIMES = Times()
BROKEN = ServiceError("stt", "broke off")


class Exchange:
    """A relay, and streams to a recogniser that answer within a frame."""

    def __init__(self, times: Times = TIMES) -> None:
        self.relay, self.now, self.pts = Relay(RATE_HZ, times), 100.0, 0
        self.streams: dict[int, Recogniser] = {}
        self.opened: list[tuple[int, float]] = []
        self.sent: dict[int, int] = {}
        self.answered: dict[int, int] = {}
        """How much audio each stream had heard when it gave its last result."""
        self.told: list[Transcript] = []
        self.failed: list[ServiceError] = []
        self.dead = False
        """Streams take all and say nothing."""
        self.mute: set[int] = set()
        """Streams that say no more, and break off when they should finish."""
        self.lives_s = float("inf")
        """Age at which the other side breaks a stream off."""

    @property
    def media_s(self) -> float:
        return self.pts / RATE_HZ

    @property
    def finals(self) -> list[str]:
        return [each.text for each in self.told if each.final]

    def hear(self, pcm: Pcm) -> "Exchange":
        for start in range(0, len(pcm), FRAME):
            frame = AudioFrame(pcm[start : start + FRAME], RATE_HZ, self.pts, self.now)
            self.pts += len(frame.pcm)
            self.now += len(frame.pcm) / RATE_HZ
            self.do(self.relay.push(frame, self.now))
            self.answer()
        return self

    def quiet(self, seconds: float) -> "Exchange":
        return self.hear(silence(round(seconds * RATE_HZ)))

    def tell(self, kind: SpeechKind, utterance: int = 1, ago_s: float = 0.0) -> "Exchange":
        event = SpeechEvent(kind, utterance, self.media_s - ago_s)
        self.do(self.relay.push(event, self.now))
        self.answer()
        return self

    def turn(self, pcm: Pcm, utterance: int = 1) -> "Exchange":
        """A turn as hearing notices it: its start 0.1 s late, as its stop."""
        self.hear(pcm[:1600]).tell(SpeechKind.STARTED, utterance, 0.1).hear(pcm[1600:])
        self.quiet(0.1).tell(SpeechKind.STOPPED, utterance, 0.1)
        return self.quiet(0.5).tell(SpeechKind.TURN_ENDED, utterance, 0.6)

    def answer(self) -> None:
        for number, recogniser in list(self.streams.items()):
            opened_s = next(at for each, at in self.opened if each == number)
            if self.now - opened_s >= self.lives_s:
                self.lose(number, BROKEN)
            elif (
                not self.dead
                and number not in self.mute
                and recogniser.samples != self.answered.get(number)
            ):
                self.answered[number] = recogniser.samples
                if recogniser.open or recogniser.settled:
                    self.do(self.relay.push(result(number, recogniser), self.now))

    def lose(self, number: int, error: ServiceError | None = BROKEN) -> None:
        self.streams.pop(number, None)
        self.do(self.relay.push(Lost(number, error), self.now))

    def do(self, made: list[Doing]) -> None:
        for each in made:
            match each:
                case Open(stream):
                    self.streams[stream] = Recogniser()
                    self.opened.append((stream, self.now))
                case Send(stream, pcm):
                    self.streams[stream].hear(pcm)
                    self.sent[stream] = self.sent.get(stream, 0) + len(pcm)
                case Finish(stream) if stream in self.mute:
                    self.lose(stream)
                case Finish(stream) if not self.dead:
                    self.streams[stream].finish()
                    self.do(self.relay.push(result(stream, self.streams[stream]), self.now))
                    self.lose(stream, None)
                case Drop(stream):
                    self.streams.pop(stream, None)
                case Transcript():
                    self.told.append(each)
                case ServiceError():
                    self.failed.append(each)


def result(number: int, recogniser: Recogniser) -> Heard:
    settled, recogniser.settled = " ".join(recogniser.settled), []
    ends_s = recogniser.settled_until / RATE_HZ
    until_s = recogniser.samples / RATE_HZ
    return Heard(number, settled, ends_s, " ".join(recogniser.open), until_s)
