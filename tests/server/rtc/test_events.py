from server.rtc.events import MAX_BUFFERED_BYTES, MAX_WAITING, EventSender


class Channel:
    """A data channel that keeps what its reader leaves unread."""

    def __init__(self) -> None:
        self.readyState = "open"
        self.sent: list[str] = []
        self.bufferedAmount = 0

    def send(self, text: str) -> None:
        self.sent.append(text)
        self.bufferedAmount += len(text)


def test_events_wait_for_the_channel_in_order() -> None:
    sender, channel = EventSender(), Channel()
    for n in range(3):
        sender.send(str(n))
    sender.open(channel)
    sender.send("3")
    assert channel.sent == ["0", "1", "2", "3"]


def test_a_client_that_never_opens_the_channel_costs_a_bounded_queue() -> None:
    sender, channel = EventSender(), Channel()
    for n in range(MAX_WAITING + 5):
        sender.send(str(n))
    assert sender.dropped == 5
    sender.open(channel)
    assert channel.sent[0] == "0"


def test_a_client_that_does_not_read_loses_events_and_they_are_counted() -> None:
    sender, channel = EventSender(), Channel()
    sender.open(channel)
    for _ in range(200):
        sender.send("x" * 10_000)
    assert channel.bufferedAmount < MAX_BUFFERED_BYTES + 10_000
    assert sender.dropped == 200 - len(channel.sent)
    channel.bufferedAmount = 0
    sender.send("read again")
    assert channel.sent[-1] == "read again"


def test_a_closed_channel_is_no_error() -> None:
    sender, channel = EventSender(), Channel()
    sender.open(channel)
    channel.readyState = "closed"
    sender.send("too late")
    assert (channel.sent, sender.dropped) == ([], 1)
