"""Text over the `oai-events` data channel, sent without ever waiting."""

from collections import deque

from aiortc import RTCDataChannel

LABEL = "oai-events"
"""As OpenAI's Realtime API names it."""
MAX_WAITING = 256
"""Events kept until the channel opens."""
MAX_BUFFERED_BYTES = 1_000_000
"""What a client may leave unread before events to it are dropped."""


class EventSender:
    """Keeps events until the channel opens; afterwards drops, counted, what a client won't read."""

    def __init__(self) -> None:
        self.dropped = 0
        self._waiting: deque[str] = deque()
        self._channel: RTCDataChannel | None = None

    def open(self, channel: RTCDataChannel) -> None:
        """Send through `channel`, which is open, from now on."""
        self._channel = channel
        while self._waiting:
            self.send(self._waiting.popleft())

    def send(self, text: str) -> None:
        channel = self._channel
        if channel is None:
            room = len(self._waiting) < MAX_WAITING
            if room:
                self._waiting.append(text)
        else:
            room = channel.readyState == "open" and channel.bufferedAmount < MAX_BUFFERED_BYTES
            if room:
                channel.send(text)
        self.dropped += not room
