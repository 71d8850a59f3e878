"""Several STTs, of which each conversation uses the one that its settings name."""

from collections.abc import Mapping

from pipeline.channel import Channel, Outlet
from pipeline.stt.face import Listened, SpeechToText
from pipeline.types import SessionConfig, Transcript


class SttChoice:
    """Implements SpeechToText by handing on to one of `by_name`, whose first is the default."""

    def __init__(self, by_name: Mapping[str, SpeechToText]) -> None:
        self.names = tuple(by_name)
        self._by_name = by_name
        default = by_name[self.names[0]]
        self.name, self.rate_hz = default.name, default.rate_hz
        self.languages = default.languages
        assert all(each.rate_hz == self.rate_hz for each in by_name.values())

    def languages_of(self, name: str) -> tuple[str, ...]:
        return self._by_name[name].languages

    async def transcribe(
        self, config: SessionConfig, inbox: Channel[Listened], outbox: Outlet[Transcript]
    ) -> None:
        await self._by_name[config.stt].transcribe(config, inbox, outbox)
