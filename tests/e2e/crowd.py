"""Many clients at once, each on a connection of its own."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests import answers, sse
from tests.client import NOTHING, Connection, CutError, Got, spelled
from tests.reply import JSON_TYPE, body, events

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.answers import Json
    from tests.gateway import Gateway
    from tests.reply import Gate, Headers, Reply, Seen
    from tests.upstream import Channel

_READERS = "hotprefix_singleflight_waiters"
ASKED: Json = {"model": "m-small", "messages": [{"role": "user", "content": "all at once"}]}


@dataclass
class First:
    """The first bytes of a body."""

    came: asyncio.Event = field(default_factory=asyncio.Event)
    at: float = 0.0
    """When; by `time.perf_counter`."""


@dataclass
class Member:
    """One client: where it is connected and what it will have got."""

    connection: Connection
    stream: bool
    task: asyncio.Task[Got]
    first: First = field(default_factory=First)

    @property
    def got(self) -> Got:
        return self.task.result()

    @property
    def text(self) -> str:
        """What the model says to this one."""
        if self.stream:
            return sse.text(self.got.body)
        return str(self.got.json()["choices"][0]["message"]["content"])


def in_both_forms(text: str, gate: Gate | None = None) -> Callable[[Seen], Reply]:
    """A script that says `text` in the form asked for, with the gate before its end."""
    first, *rest = answers.chat_events([text], usage=answers.USAGE)
    held = () if gate is None else (gate,)

    def script(seen: Seen) -> Reply:
        if seen.json().get("stream"):
            return events([first, *rest[:1], *held, *rest[1:]])
        return body(answers.chat(text), hold=gate)

    return script


def request(upstream: Channel, stream: bool, headers: Headers = (), asked: Json = ASKED) -> bytes:
    given = [("Authorization", f"Bearer {upstream.key}"), JSON_TYPE, *headers]
    sent = json.dumps({**asked, "stream": True} if stream else asked).encode()
    return spelled("POST", "/v1/chat/completions", given, sent)


async def join(
    gateway: Gateway,
    upstream: Channel,
    stream: bool,
    headers: Headers = (),
    asked: Json = ASKED,
) -> Member:
    """Connect and ask; the answer is awaited in the background."""
    connection, first = await Connection.to(gateway.port), First()
    await connection.send(request(upstream, stream, headers, asked))
    return Member(connection, stream, asyncio.create_task(_answer(connection, first)), first)


async def _answer(connection: Connection, first: First) -> Got:
    head, body = NOTHING, b""
    async with connection:
        try:
            head = await connection.head()
            body = await _begun(connection, first)
            return Got(head, body + await connection.rest(), complete=True)
        except CutError as error:
            return Got(head, body + error.body, complete=False)
        except (ConnectionError, asyncio.IncompleteReadError):
            return Got(NOTHING, b"", complete=False)  # its worker died


async def _begun(connection: Connection, first: First) -> bytes:
    piece = await connection.piece()
    first.at = time.perf_counter()
    first.came.set()
    return piece


async def gather(
    gateway: Gateway, upstream: Channel, size: int, headers: Headers = (), asked: Json = ASKED
) -> list[Member]:
    """As many clients, every other one a stream, all asking now."""
    joining = (join(gateway, upstream, i % 2 == 1, headers, asked) for i in range(size))
    return list(await asyncio.gather(*joining))


async def waiting(gateway: Gateway, upstream: Channel, size: int) -> None:
    """Until at least so many readers are at flights, as the metrics tell."""
    await upstream.until(lambda: gateway.total(_READERS) >= size, seconds=20)


async def left(gateway: Gateway, upstream: Channel, size: int) -> None:
    """Until at most so many readers are at flights."""
    await upstream.until(lambda: gateway.total(_READERS) <= size, seconds=20)


async def over(members: list[Member]) -> None:
    """Until all are answered or cut off."""
    await asyncio.wait([member.task for member in members], timeout=30)
