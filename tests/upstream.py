"""A scriptable OpenAI-compatible upstream on real sockets, written on raw streams to misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import struct
import threading
import time
import uuid
from typing import TYPE_CHECKING

from tests import frames
from tests.reply import Gate, Reply, Script, Seen, numbered

if TYPE_CHECKING:
    from collections.abc import Callable

_LINGER_RST = struct.pack("ii", 1, 0)
_HEAD_LIMIT = 1 << 20
_TOKEN = re.compile(r"tkn[0-9a-f]{16}")


class Channel:
    """One test's view of the mock: the requests that carry its token, and what answers them."""

    def __init__(self, server: Server, token: str) -> None:
        self.token = token
        """Have it in every request, best in the credential: it leads to this channel."""
        self.url = server.url
        self.key = f"sk-{token}"
        """A credential that only this test uses, so that its cache starts empty."""
        self.seen: list[Seen] = []
        self.left = 0
        """Calls that the other side closed before their answer was complete."""
        self.default: Script = numbered
        self._server = server
        self._queue: list[Script] = []

    @property
    def calls(self) -> int:
        return len(self.seen)

    @property
    def open(self) -> int:
        """Connections that are open now, of all channels."""
        return self._server.connections

    def gate(self) -> Gate:
        return Gate(self._server.loop)

    def reply(self, *scripts: Script) -> None:
        """Answer the next requests so, one each; then `default` again."""
        self._queue.extend(scripts)

    @property
    def early(self) -> bool:
        """Whether the next answer comes before the request's body."""
        script = self._queue[0] if self._queue else self.default
        return isinstance(script, Reply) and script.early

    def next(self, seen: Seen) -> Reply:
        script = self._queue.pop(0) if self._queue else self.default
        return script if isinstance(script, Reply) else script(seen)

    async def until(self, condition: Callable[[], bool], seconds: float = 10.0) -> None:
        """Wait for something that happens in the mock's thread or the gateway."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError("what the test waits for did not happen")
            await asyncio.sleep(0.005)


class _Wire(asyncio.StreamReaderProtocol):
    """Tells when the other side closed, also while nobody reads."""

    def __init__(self, server: Server) -> None:
        reader = asyncio.StreamReader(limit=_HEAD_LIMIT)
        super().__init__(reader, server.connected)
        self.gone = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Else what follows a head would wait 40 ms for its acknowledgement: of a listening socket
        # that was handed to the loop the loop does not know that it is TCP.
        end: socket.socket = transport.get_extra_info("socket")
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)

    def eof_received(self) -> bool | None:
        self.gone.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()
        super().connection_lost(exc)


class Server:
    """The mock's loop in a thread of its own, so that blocking clients can be tested too."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.strays: list[Seen] = []
        """Requests that carry no test's token."""
        self.connections = 0
        self._channels: dict[str, Channel] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._stray = Channel(self, "")
        asyncio.run_coroutine_threadsafe(self._listen(), self.loop).result()

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def channel(self) -> Channel:
        token = f"tkn{uuid.uuid4().hex[:16]}"
        return self._channels.setdefault(token, Channel(self, token))

    async def _listen(self) -> None:
        self._server = await self.loop.create_server(lambda: _Wire(self), sock=self._socket)

    async def _close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until either side ends it."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the caller left, or the test ended
        finally:
            self.connections -= 1
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; whether the connection goes on."""
        seen = await _head(reader, writer)
        channel = self._find(f"{seen.line} {seen.headers}", seen)
        if channel is None or not channel.early:
            await _read_body(reader, writer, seen)
            seen.whole = True
        if channel is None:
            channel = self._find(seen.body[:65536].decode("latin-1"), seen)
        if channel is None:
            self.strays.append(seen)
            channel = self._stray
        reply = channel.next(seen)
        if reply.status == 101:
            await _websocket(reader, writer, seen, reply)
            return False
        return await _answer_or_leave(writer, seen, reply, channel)

    def _find(self, text: str, seen: Seen) -> Channel | None:
        """The test whose token is in `text`; it sees the request from now on."""
        found = _TOKEN.search(text)
        channel = None if found is None else self._channels.get(found[0])
        if channel is not None:
            channel.seen.append(seen)
            seen.number = channel.calls
        return channel


async def _head(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Seen:
    data = await reader.readuntil(b"\r\n\r\n")
    line, *rest = data[:-4].decode("latin-1").split("\r\n")
    pairs = (text.partition(":") for text in rest)
    headers = tuple((name, value.strip()) for name, _, value in pairs)
    return Seen(line, headers, writer.get_extra_info("peername")[1])


async def _read_body(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: Seen
) -> None:
    if (seen.get("expect") or "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if (seen.get("transfer-encoding") or "").lower() == "chunked":
        while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
            seen.body += await reader.readexactly(size)
            await reader.readexactly(2)
        while await reader.readline() != b"\r\n":
            pass
        return
    missing = int(seen.get("content-length") or 0)
    while missing:
        data = await reader.read(min(missing, 1 << 20))
        if not data:
            raise asyncio.IncompleteReadError(bytes(seen.body), missing)
        seen.body += data
        missing -= len(data)


async def _answer_or_leave(
    writer: asyncio.StreamWriter, seen: Seen, reply: Reply, channel: Channel
) -> bool:
    """Answer, unless the caller goes away first; whether the connection goes on."""
    wire = writer.transport.get_protocol()
    assert isinstance(wire, _Wire)
    answer = asyncio.ensure_future(_answer(writer, seen, reply))
    gone = asyncio.ensure_future(wire.gone.wait())
    try:
        await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            channel.left += 1
            return False
        return answer.result()
    finally:
        answer.cancel()
        gone.cancel()
        await asyncio.gather(answer, gone, return_exceptions=True)


async def _answer(writer: asyncio.StreamWriter, seen: Seen, reply: Reply) -> bool:
    await _pause(reply.hold)
    if not reply.silent:
        writer.write(_shown_head(reply))
    for piece in reply.pieces if seen.method != "HEAD" else ():
        if not isinstance(piece, bytes):
            await _pause(piece)
        elif reply.framing == "chunked":
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        else:
            writer.write(piece)
        await writer.drain()
    if reply.ending == "rst":
        _reset(writer)
    if reply.ending != "clean":
        return False
    if reply.framing == "chunked" and seen.method != "HEAD":
        writer.write(b"0\r\n\r\n")
    await writer.drain()
    closing = (seen.get("connection") or "").lower() == "close" or reply.framing == "close"
    return not closing and not reply.early


async def _pause(piece: Gate | float | bytes | None) -> None:
    if isinstance(piece, Gate):
        await piece.passed()
    elif isinstance(piece, float | int):
        await asyncio.sleep(piece)


def _shown_head(reply: Reply) -> bytes:
    lines = [f"HTTP/1.1 {reply.status} {reply.reason}"]
    lines += [f"{name}: {value}" for name, value in reply.headers]
    if reply.framing == "length":
        size = sum(len(piece) for piece in reply.pieces if isinstance(piece, bytes))
        lines.append(f"Content-Length: {size}")
    elif reply.framing == "chunked":
        lines.append("Transfer-Encoding: chunked")
    elif reply.framing == "close":
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _reset(writer: asyncio.StreamWriter) -> None:
    """End the connection as a crash does: no FIN, everything unsent is lost."""
    end = writer.get_extra_info("socket")
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_RST)
    writer.transport.abort()


async def _websocket(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: Seen, reply: Reply
) -> None:
    """Echo every frame; the text `close N` makes this side close with that code."""
    key = frames.accept(seen.get("sec-websocket-key") or "")
    given = (("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", key))
    switch = Reply(status=101, reason="Switching Protocols", headers=(*given, *reply.headers))
    writer.write(_shown_head(switch.but(framing="given")))
    while True:
        kind, payload = await frames.read(reader)
        if kind == frames.TEXT and payload.startswith(b"close "):
            code = int(payload.split()[1])
            writer.write(frames.frame(frames.CLOSE, code.to_bytes(2, "big") + b"upstream says so"))
        elif kind == frames.PING:
            writer.write(frames.frame(frames.PONG, payload))
        elif kind != frames.PONG:
            seen.body += bytes([kind]) + payload
            writer.write(frames.frame(kind, payload))
        await writer.drain()
        if kind == frames.CLOSE:
            return
