"""Asks a TURN provider over HTTP for its servers."""

import re

import aiohttp

from turn.ice import NoIceServers, Offer, read_offer

PATIENCE_S = 4.0
"""A caller waits for this."""


async def fetch_offer(url: str, token: str, ttl_s: int) -> Offer:
    """GET `url`; with a token, POST with it as bearer and the TTL wished for (Cloudflare's way).

    Raises NoIceServers, which names neither the URL, that may hold a key, nor the token.
    """
    timeout = aiohttp.ClientTimeout(total=PATIENCE_S)
    try:
        async with aiohttp.ClientSession(timeout=timeout) as http:
            if token:
                headers = {"Authorization": f"Bearer {token}"}
                asked = http.post(url, json={"ttl": ttl_s}, headers=headers)
            else:
                asked = http.get(url)
            async with asked as response:
                if not response.ok:
                    raise NoIceServers(f"The provider answered with status {response.status}.")
                body = await response.json(content_type=None)
                return read_offer(body, _max_age_s(response.headers.get("Cache-Control", "")))
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise NoIceServers(f"The provider cannot be asked: {type(error).__name__}.") from None


def _max_age_s(cache_control: str) -> float | None:
    found = re.search(r"\bmax-age=(\d+)", cache_control)
    return float(found[1]) if found else None
