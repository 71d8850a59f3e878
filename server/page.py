"""The web page, out of the installed package `web`."""

import hashlib
from dataclasses import dataclass
from importlib.resources import files

from aiohttp import web

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
}
"""What is served; other files of the package are not."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One file of the page."""

    body: bytes
    content_type: str
    etag: str


def read_page() -> dict[str, Asset]:
    """Every file of the page by its path; "/" is index.html. Blocks: call it at start."""
    assets = {}
    for entry in files("web").iterdir():
        content_type = _TYPES.get("." + entry.name.rpartition(".")[2])
        if content_type is not None and entry.is_file():
            body = entry.read_bytes()
            etag = hashlib.sha256(body).hexdigest()[:16]
            path = "/" if entry.name == "index.html" else f"/{entry.name}"
            assets[path] = Asset(body, content_type, etag)
    return assets


class Page:
    """Serves the files; browsers ask each time whether they changed."""

    def __init__(self, assets: dict[str, Asset]) -> None:
        self._assets = assets

    def routes(self) -> list[web.RouteDef]:
        return [web.get(path, self.serve) for path in self._assets]

    async def serve(self, request: web.Request) -> web.Response:
        asset = self._assets[request.path]
        known = {etag.value for etag in request.if_none_match or ()}
        headers = {"Cache-Control": "no-cache", "ETag": f'"{asset.etag}"'}
        if asset.etag in known:
            return web.Response(status=304, headers=headers)
        return web.Response(body=asset.body, headers=headers | {"Content-Type": asset.content_type})
