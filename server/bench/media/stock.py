"""The same echo as aiortc's own examples do it: its jitter buffer, decoder, tracks and encoder."""

from collections import deque

from aiortc import MediaStreamTrack, RTCPeerConnection, RTCSessionDescription
from av import AudioFrame

FRAME_MS = 20


class Blocks(MediaStreamTrack):
    """Waits for a block of the source's frames, as a model would, then gives them all at once."""

    kind = "audio"

    def __init__(self, source: MediaStreamTrack, block_ms: int) -> None:
        super().__init__()
        self._source = source
        self._frames_a_block = block_ms // FRAME_MS
        self._block = deque[AudioFrame]()

    async def recv(self) -> AudioFrame:
        if not self._block:
            for _ in range(self._frames_a_block):
                frame = await self._source.recv()
                assert isinstance(frame, AudioFrame)
                self._block.append(frame)
        return self._block.popleft()


class StockEcho:
    """Answers offers; a call ends with its connection."""

    def __init__(self, block_ms: int) -> None:
        self._block_ms = block_ms
        self._connections = set[RTCPeerConnection]()

    async def answer(self, offer: str) -> str:
        connection = RTCPeerConnection()
        self._connections.add(connection)

        @connection.on("track")
        def echo(track: MediaStreamTrack) -> None:
            connection.addTrack(Blocks(track, self._block_ms))

        await connection.setRemoteDescription(RTCSessionDescription(offer, "offer"))
        await connection.setLocalDescription(await connection.createAnswer())
        return connection.localDescription.sdp
