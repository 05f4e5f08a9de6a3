"""What the gateway is held against: the least that the same framework can do.

Run as `python -m tests.bench.rivals echo PORT` or `… proxy PORT UPSTREAM_PORT`.
"""

from __future__ import annotations

import asyncio
import sys

import aiohttp
import orjson
import uvloop
from aiohttp import web

from tests.bench.traffic import ANSWER, EVENTS, PATH


async def echo(request: web.Request) -> web.Response:
    """Read the body, parse it, answer the fixed bytes."""
    if orjson.loads(await request.read()).get("stream"):
        return web.Response(body=EVENTS, content_type="text/event-stream")
    return web.Response(body=ANSWER, content_type="application/json")


class Passing:
    """Passes requests to one upstream and its answers back, as they come."""

    def __init__(self, session: aiohttp.ClientSession, port: int) -> None:
        self._session = session
        self._origin = f"http://127.0.0.1:{port}"

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        headers = {
            name: value
            for name, value in request.headers.items()
            if name not in ("Host", "Content-Length", "Connection")
        }
        body = await request.read()
        url = self._origin + request.path_qs
        async with self._session.post(url, data=body, headers=headers) as upstream:
            kept = ("Content-Type", "Content-Length")
            told = {name: upstream.headers[name] for name in kept if name in upstream.headers}
            response = web.StreamResponse(status=upstream.status, headers=told)
            await response.prepare(request)
            async for chunk in upstream.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response


async def _serve(kind: str, port: int, upstream: int) -> None:
    app = web.Application(client_max_size=1 << 30)
    session = aiohttp.ClientSession(
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None),
        connector=aiohttp.TCPConnector(limit=0),
    )
    async with session:
        app.router.add_post(PATH, echo if kind == "echo" else Passing(session, upstream))
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port, backlog=1024).start()
        await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(_serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[-1])))
