"""Listens to the cache events that vLLM and SGLang publish over ZeroMQ: an extra, `events`.

Nothing that comes, or does not come, touches a request: a node's knowledge is made void, or its
room corrected. Who publishes is taken for an engine of ours; one that goes wrong is bounded.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import zmq
import zmq.asyncio
from zmq.utils.monitor import recv_monitor_message

from proxy.core.blocks import END, Removed, Stored, decoded, number, numbered
from proxy.core.bucket import full, taken, wait
from proxy.core.events import BlocksHeld, BlocksTold, NodeVoid
from proxy.core.lives import VOID, Lives

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from proxy.config import Upstream
    from proxy.core.blocks import Batch
    from proxy.core.lives import Word
    from proxy.node import Node
    from proxy.ports import Clock, Emit
    from proxy.router import Router

_SILENCE: Final = 1.0
"""Seconds between two batches of a replay after which it is given up."""
_PATIENCE: Final = 10.0
"""Seconds for all of it; what the stream brings meanwhile waits."""
_TRUSTED: Final = 8.0
"""Times a minute that a node's knowledge is made void. A publisher that wants it more often is out
of order, and what we sent the node is then the better knowledge."""
_AGAIN: Final = 0.2
"""Seconds from a broken connection to the next."""
_TURNS: Final = (
    zmq.EVENT_HANDSHAKE_SUCCEEDED
    | zmq.EVENT_DISCONNECTED
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
)
_OPTIONS: Final = (
    (zmq.LINGER, 0),
    (zmq.IPV6, 1),
    (zmq.RCVHWM, 1000),  # batches; beyond that they wait at the publisher, and are lost there
    (zmq.MAXMSGSIZE, 2 << 20),  # bytes; a step of 8,192 tokens has some 60,000
    (zmq.RECONNECT_IVL, 100),
    (zmq.RECONNECT_IVL_MAX, 1000),
    (zmq.HEARTBEAT_IVL, 5000),
    (zmq.HEARTBEAT_TIMEOUT, 15000),
)


class Events:
    """All nodes that publish, for one worker."""

    def __init__(
        self, nodes: Sequence[tuple[Upstream, Node]], router: Router, clock: Clock, emit: Emit
    ) -> None:
        self._listeners = [Listener(*one, router, clock, emit) for one in nodes]

    async def run(self) -> None:
        """Until cancelled."""
        context = zmq.asyncio.Context()
        try:
            async with asyncio.TaskGroup() as group:
                for one in self._listeners:
                    group.create_task(one.run(context))
        finally:
            context.destroy(linger=0)


class Listener:
    """Of one node."""

    def __init__(
        self, settings: Upstream, node: Node, router: Router, clock: Clock, emit: Emit
    ) -> None:
        self._url, self._replay = settings.events, settings.events_replay
        self._topic = settings.events_topic
        self._node, self._router = node, router
        self._clock, self._emit = clock, emit
        self._lives = Lives()
        self._trust = full(_TRUSTED, clock.mono())

    async def run(self, context: zmq.asyncio.Context) -> None:
        """Until cancelled."""
        while True:
            with (
                _socket(context, zmq.SUB) as socket,
                socket.get_monitor_socket(_TURNS) as turns,
            ):
                try:
                    await self._listen(context, socket, turns)
                finally:
                    socket.disable_monitor()
            await self._clock.sleep(_AGAIN)

    async def _listen(
        self, context: zmq.asyncio.Context, socket: zmq.asyncio.Socket, turns: zmq.asyncio.Socket
    ) -> None:
        """Until the connection broke, of which `turns` has a message, and all was taken that had
        come by it. The library would connect again, but not after a message that it refuses."""
        socket.subscribe(self._topic)
        socket.connect(self._url)
        poller = zmq.asyncio.Poller()
        poller.register(socket, zmq.POLLIN)
        poller.register(turns, zmq.POLLIN)
        broken = False
        while True:
            found = dict(await poller.poll(0 if broken else None))
            if turns in found:
                told = await recv_monitor_message(turns)
                broken = broken or told["event"] != zmq.EVENT_HANDSHAKE_SUCCEEDED
                if broken:
                    self._lives.parted()
                elif self._replay and self._lives.due is not None:
                    await self._found_again(context)
            elif socket not in found:
                return
            if socket in found:
                await self._take(context, await socket.recv_multipart())
            await asyncio.sleep(0)  # requests come in between, however many wait

    async def _found_again(self, context: zmq.asyncio.Context) -> None:
        """Its replay tells at once whether it is the engine that it was, and not only its next
        batch, before which requests would be sent there for what it may have lost."""
        try:
            async with asyncio.timeout(_PATIENCE):
                if await self._replayed(context, self._lives.asked()):
                    self._note(self._lives.ended())
        except TimeoutError:
            self._note(("silent",))
        self._measure(None)

    async def _take(self, context: zmq.asyncio.Context, frames: list[bytes]) -> None:
        told = number(frames[-2]) if len(frames) > 1 else None
        if told is None or told == END:
            self._note(("garbled",))
            return
        batch = decoded(frames[-1])
        words = self._lives.heard(told, batch)
        self._note(words)
        if "stranger" in words:
            return
        if self._lives.behind(told):
            if self._replay:
                await self._fill(context, told)
            self._note(self._lives.settled(told, batch))
        self._measure(batch)

    async def _fill(self, context: zmq.asyncio.Context, before: int) -> None:
        """As far as the replay has it. It drops what its queue has no room for: then it is asked
        again from there."""
        due: int | None = END
        try:
            async with asyncio.timeout(_PATIENCE):
                while self._lives.behind(before) and self._lives.due != due:
                    due = self._lives.due
                    await self._replayed(context, self._lives.asked())
        except TimeoutError:
            self._note(("silent",))

    async def _replayed(self, context: zmq.asyncio.Context, start: int) -> bool:
        """From this number on; whether it came to its end."""
        with _socket(context, zmq.DEALER) as socket:
            socket.connect(self._replay)
            await socket.send_multipart([b"", numbered(start)])
            while True:
                try:
                    async with asyncio.timeout(_SILENCE):
                        frames = await socket.recv_multipart()
                except TimeoutError:
                    self._note(("silent",))
                    return False
                told = number(frames[-2]) if len(frames) > 1 else END
                if told is None or told == END:
                    return told == END
                self._note(self._lives.replayed(told, decoded(frames[-1])))
                await asyncio.sleep(0)

    def _note(self, words: Iterable[Word]) -> None:
        for word in words:
            self._emit(BlocksTold(self._node.name, word))
            if word in VOID:
                self._void(word)

    def _void(self, word: Word) -> None:
        """What was lost was lost here: others may have heard it."""
        now = self._clock.mono()
        if wait(self._trust, _TRUSTED, 1.0, now):
            self._emit(BlocksTold(self._node.name, "distrusted"))
            return
        self._trust = taken(self._trust, _TRUSTED, 1.0, now)
        self._router.void(self._node, tell=word != "lost")
        self._emit(NodeVoid(self._node.name, word))

    def _measure(self, batch: Batch | None) -> None:
        name, stock = self._node.name, self._lives.stock
        changes = () if batch is None else batch.changes
        for kind, label in ((Stored, "stored"), (Removed, "removed")):
            count = sum(len(one.blocks) for one in changes if isinstance(one, kind))
            if count:
                self._emit(BlocksTold(name, label, count))
        self._router.prefixes.restarts(name).tells = True
        self._router.prefixes.room(name, stock.room)
        self._emit(BlocksHeld(name, stock.tokens, stock.room))

    def __repr__(self) -> str:
        return f"<Listener {self._node.name} {self._lives!r}>"


def _socket(context: zmq.asyncio.Context, kind: int) -> zmq.asyncio.Socket:
    """To be closed; once it is told where, it connects, and connects again, by itself."""
    socket = context.socket(kind)
    for option, value in _OPTIONS:
        socket.setsockopt(option, value)
    return socket
