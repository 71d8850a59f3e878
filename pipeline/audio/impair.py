"""A bad network that is the same bad network each time. Pure."""

from collections.abc import Iterable
from dataclasses import replace
from random import Random

from pipeline.types import OpusPacket


def impaired(
    sent: Iterable[OpusPacket], seed: int, loss: float = 0.0, jitter_s: float = 0.0
) -> list[OpusPacket]:
    """Loses a share of the packets and delays the rest by 0..jitter_s, reordering them."""
    random = Random(seed)
    late = [
        replace(packet, arrived_s=packet.arrived_s + random.uniform(0, jitter_s)) for packet in sent
    ]
    kept = [packet for packet in late if random.random() >= loss]
    return sorted(kept, key=lambda packet: packet.arrived_s)
