"""Passes TCP on: python -m tests.fakes.forward LISTEN_HOST LISTEN_PORT TARGET_HOST TARGET_PORT."""

import asyncio
import contextlib
import sys


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def main(host: str, port: int, target: str, target_port: int) -> None:
    async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(target, target_port)
        await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))

    server = await asyncio.start_server(passed_on, host, port)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    _, host, port, target, target_port = sys.argv
    asyncio.run(main(host, int(port), target, int(target_port)))
