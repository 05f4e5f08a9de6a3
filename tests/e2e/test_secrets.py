"""No prompt, answer or credential is in any log line, metric or admin answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests import answers
from tests.client import Connection, ask, post, spelled
from tests.reply import JSON_TYPE, body, events

if TYPE_CHECKING:
    from tests.e2e.conftest import Start
    from tests.gateway import Gateway
    from tests.upstream import Channel

PROMPT, ANSWER, TOOL = "prompt-zebra", "answer-walrus", "tool-ocelot"
HIDDEN = (PROMPT, ANSWER, TOOL, "cookie-lynx", "query-otter", "namespace-heron", "tag-stork")


async def test_every_kind_of_request_leaves_no_word_behind(start: Start, upstream: Channel) -> None:
    gateway = start({"server": {"workers": 2}}, {"SECRET": upstream.token})
    await every_kind(gateway, upstream)
    await asyncio.sleep(0.5)
    paths = ("/metrics", "/admin/stats", "/healthz", "/readyz", "/nothing")
    outputs = [gateway.admin(path)[1] for path in paths]
    gateway.stop()
    outputs += [gateway.stdout(), gateway.stderr()]

    assert len([line for line in gateway.log() if line["event"] == "request"]) >= 12
    for text in outputs:
        for secret in (*HIDDEN, upstream.token, upstream.token[:8]):
            assert secret not in text


async def every_kind(gateway: Gateway, upstream: Channel) -> None:
    """Hits, misses, errors, cuts, refusals, pass-through, leavers."""
    asked = {"model": "m", "messages": [{"role": "user", "content": PROMPT}]}
    upstream.default = body(answers.chat(ANSWER), ("Set-Cookie", "cookie-lynx=1"))
    port, key = gateway.port, upstream.key
    for value in (asked, asked, {**asked, "tools": [{"name": TOOL}]}, {**asked, "stream": True}):
        await post(port, key, value)
    await post(port, key, asked, ("x-cache-namespace", "namespace-heron"))
    await post(port, key, asked, ("x-cache-tags", "tag-stork"), ("Cookie", "cookie-lynx=1"))
    await post(port, key, asked, ("x-cache-ttl", PROMPT))
    await post(port, key, asked, path="chat/completions?q=query-otter")
    await post(port, key, PROMPT.encode())
    await post(port, key, b'{"model":"m","messages":[{"content":"' + PROMPT.encode())
    await post(port, key, {**asked, "model": "odd \n\x00"})
    given = [("Authorization", f"Bearer {key}")]
    await ask(port, "GET", "/v1/files/query-otter?q=query-otter", given)
    upstream.default = body(answers.error(ANSWER), status=400)
    await post(port, key, {**asked, "n": 2})
    upstream.default = body(answers.error(ANSWER), status=500)
    await post(port, key, {**asked, "n": 3})
    upstream.default = events([*answers.chat_events([ANSWER])[:2], 0.05], ending="rst")
    await post(port, key, {**asked, "n": 4, "stream": True})
    await post(port, key, {**asked, "n": 5})
    upstream.default = events([upstream.gate()])
    async with await Connection.to(port) as connection:
        line = spelled("POST", "/v1/chat/completions", [*given, JSON_TYPE], b'{"n":6}')
        await connection.send(line)
        await connection.head()
    async with await Connection.to(port) as connection:
        await connection.send(f"{PROMPT}\r\nAuthorization: {key}\r\n\r\n".encode())
        await connection.raw()
