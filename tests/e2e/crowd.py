"""Many clients at once, each on a connection of its own."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests import answers, sse
from tests.client import NOTHING, Connection, Got, answer, spelled
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
class Member:
    """One client: where it is connected and what it will have got."""

    connection: Connection
    stream: bool
    task: asyncio.Task[Got]

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


def request(upstream: Channel, stream: bool, headers: Headers = ()) -> bytes:
    given = [("Authorization", f"Bearer {upstream.key}"), JSON_TYPE, *headers]
    sent = json.dumps({**ASKED, "stream": True} if stream else ASKED).encode()
    return spelled("POST", "/v1/chat/completions", given, sent)


async def join(gateway: Gateway, upstream: Channel, stream: bool, headers: Headers = ()) -> Member:
    """Connect and ask; the answer is awaited in the background."""
    connection = await Connection.to(gateway.port)
    await connection.send(request(upstream, stream, headers))
    return Member(connection, stream, asyncio.create_task(_answer(connection)))


async def _answer(connection: Connection) -> Got:
    async with connection:
        try:
            return await answer(connection)
        except (ConnectionError, asyncio.IncompleteReadError):
            return Got(NOTHING, b"", complete=False)  # its worker died


async def gather(
    gateway: Gateway, upstream: Channel, size: int, headers: Headers = ()
) -> list[Member]:
    """As many clients, every other one a stream, all asking now."""
    joining = (join(gateway, upstream, i % 2 == 1, headers) for i in range(size))
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
