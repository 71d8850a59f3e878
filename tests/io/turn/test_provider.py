import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from turn.ice import IceServer, NoIceServers
from turn.provider import fetch_offer

SERVER = {"urls": "turn:x", "username": "u", "credential": "c"}


async def answer(request: web.Request) -> web.Response:
    if request.method == "POST":
        if request.headers.get("Authorization") != "Bearer token":
            raise web.HTTPForbidden
        ttl = (await request.json())["ttl"]
        return web.json_response({"iceServers": SERVER, "ttl": ttl}, status=201)
    return web.json_response([SERVER], headers={"Cache-Control": "private, max-age=7"})


async def test_providers_are_asked_in_their_ways() -> None:
    app = web.Application()
    app.router.add_route("*", "/", answer)
    async with TestServer(app) as server:
        url = str(server.make_url("/"))
        got, posted = await fetch_offer(url, "", 60), await fetch_offer(url, "token", 60)
        assert got.servers == posted.servers == (IceServer(("turn:x",), "u", "c"),)
        assert (got.ttl_s, posted.ttl_s) == (7, 60)
        with pytest.raises(NoIceServers, match="status 403"):
            await fetch_offer(url, "wrong", 60)
    with pytest.raises(NoIceServers, match="cannot be asked") as failed:
        await fetch_offer(url + "?key=hidden", "", 60)
    assert "hidden" not in str(failed.value)
