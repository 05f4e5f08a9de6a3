"""Does a worker's memory grow without end when no request is like another?

    python -m tests.bench.growth                                  # every kind, an hour or less
    python -m tests.bench.growth --only short turns --requests 60000 --disk 4GiB

For each kind of traffic of `KINDS` a gateway of its own, with one worker, default settings and a
small memory tier, before an upstream that costs nothing. One line is printed for every `--each`
requests: how many were sent, in which time, MiB resident of the worker (of the semantic process
for `meaning`), and of those the ones that are not pages of a file, as the mapped disk tier is. At
the end of each kind, by how much the latter grew in the last third of its requests, and how they
were answered. Exit code 1: by more than `TOLERATED` MiB for some kind. With many nodes that may be
the table of prompts, which takes 60 MB until its 200,000 boundaries are there.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import uvloop

from tests import answers
from tests.bench import origin
from tests.bench.traffic import EVENTS
from tests.bench.unheard import KINDS
from tests.e2e.meaning import semantic, until
from tests.gateway import Gateway

if TYPE_CHECKING:
    from tests.bench.unheard import Kind

TOLERATED: Final = 16
"""MiB in the last third of a run. Where the disk took less than was answered for a while, it may be
up to 64 once: then the same with more requests tells."""
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


def _answer(body: bytes, status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body


def _items(size: int) -> dict[str, Any]:
    return {"model": "m", "input": [str(at) for at in range(size)]}


_HALF: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"%x\r\n%b\r\n" % (len(EVENTS) // 2, EVENTS[: len(EVENTS) // 2])
)
_VECTORS: Final = {
    size: _answer(answers.dumps(answers.embeddings(_items(size)))) for size in (8, 32)
}
_BY_PATH: Final = {
    b"/v1/messages": _answer(answers.dumps(answers.message("hello"))),
    b"/v1/responses": _answer(answers.dumps(answers.response("hello"))),
}
_FAILURES: Final = {
    name: _answer(answers.error("no"), status)
    for name, status in (
        (b"fail-404", "404 Not Found"),
        (b"fail-429", "429 Too Many Requests"),
        (b"fail-500", "500 Internal Server Error"),
    )
}


class Origin(origin.Origin):
    """Answers by path, and by what the request's model says shall become of it."""

    def answered(self, request: bytes) -> bytes:
        path = request.split(b" ", 2)[1]
        if path == b"/v1/embeddings":
            return _VECTORS[32 if request.count(b'","') > 16 else 8]
        if (known := _BY_PATH.get(path)) is not None:
            return known
        model = request[request.find(b'"model":"') + 9 :][:8]
        if model in _FAILURES:
            return _FAILURES[model]
        if model.startswith((b"silent", b"half")):
            return _HALF if model.startswith(b"half") else b""
        return super().answered(request)


class Run:
    """One kind of traffic against one gateway."""

    def __init__(self, kind: Kind, gateway: Gateway, options: argparse.Namespace) -> None:
        self._kind, self._gateway, self._options = kind, gateway, options
        self._began = time.monotonic()
        self._sent = 0
        self.statuses: Counter[str] = Counter()
        self.own: list[int] = []
        """MiB of the process's own memory, each time it was looked at."""

    async def whole(self) -> None:
        """Send all there is to send, on sixteen connections at once."""
        self._look()
        await asyncio.gather(*(self._talk() for _ in range(16)))
        await asyncio.sleep(1.0)
        self._look()

    async def _talk(self) -> None:
        while self._goes_on():
            reader, writer = await asyncio.open_connection("127.0.0.1", self._gateway.port)
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while self._goes_on() and not await self._over(reader, writer):
                    pass
            writer.transport.abort()

    def _goes_on(self) -> bool:
        late = time.monotonic() - self._began > self._options.seconds
        return self._sent < self._options.requests and not late

    async def _over(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Ask once; whether the connection is not to be used again."""
        self._sent += 1
        if self._sent % self._options.each == 0:
            self._look()
        writer.write(self._kind.made(self._sent))
        if self._kind.leaves:
            await asyncio.sleep(0.02)
            return True
        head = await reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if length is None:
            await reader.readuntil(b"\r\n0\r\n\r\n")
        else:
            await reader.readexactly(int(length[1]))
        outcome = re.search(rb"x-cache: (\w+)", head)
        self.statuses[f"{head[9:12].decode()} {outcome[1].decode() if outcome else ''}"] += 1
        return self._kind.once

    def _look(self) -> None:
        (pid,) = self._gateway.workers()
        if self._kind.meaning:
            pid = semantic(self._gateway)
        status = Path(f"/proc/{pid}/status").read_text()
        whole, own = (
            int(status.split(f"{name}:")[1].split()[0]) >> 10 for name in ("VmRSS", "RssAnon")
        )
        self.own.append(own)
        seconds = time.monotonic() - self._began
        print(
            f"{self._sent:8} requests in {seconds:5.1f} s: {whole:4} MiB resident, {own:4} its own",
            flush=True,
        )


def _grown(own: list[int]) -> int:
    """MiB in the last third."""
    return own[-1] - own[-1 - len(own) // 3]


async def measured(name: str, options: argparse.Namespace) -> int:
    """Run one kind; by how many MiB its worker still grew in the end."""
    kind, listen = KINDS[name], asyncio.get_running_loop().create_server
    origins = [await listen(Origin, "127.0.0.1", 0) for _ in range(kind.nodes)]
    nodes = [
        {"name": f"node-{at}", "url": "http://{}:{}/v1".format(*one.sockets[0].getsockname())}
        for at, one in enumerate(origins)
    ]
    caches = {"disk": {"max_bytes": options.disk}, "memory": {"max_bytes": "8MiB"}}
    meaning = {"semantic": {"mode": "on", "max_bytes": "8MiB"}} if kind.meaning else {}
    with TemporaryDirectory() as folder:
        gateway = Gateway(Path(folder), "", {"upstream": nodes, "cache": caches} | meaning)
        await asyncio.to_thread(gateway.start)
        await until(lambda: not kind.meaning or semantic(gateway) > 0)
        run = Run(kind, gateway, options)
        try:
            await run.whole()
            dropped = gateway.total("hotprefix_backlog_dropped_total")
        finally:
            await asyncio.to_thread(gateway.stop)
    for one in origins:
        one.close()
    told = ", ".join(f"{count} x {status}" for status, count in sorted(run.statuses.items()))
    told += f"; {dropped:.0f} not put on the disk, as too many waited"
    print(f"{name}: {_grown(run.own):+} MiB in the last third; {told}", flush=True)
    return _grown(run.own)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", nargs="*", default=[], choices=KINDS, metavar="KIND")
    parser.add_argument("--requests", type=int, default=40_000)
    parser.add_argument("--seconds", type=float, default=200, help="at most, of each kind")
    parser.add_argument("--each", type=int, default=2_000)
    parser.add_argument("--disk", default="64MiB", help="most bytes on disk")
    options = parser.parse_args()
    grown = [uvloop.run(measured(name, options)) for name in options.only or KINDS]
    return int(max(grown) > TOLERATED)


if __name__ == "__main__":
    sys.exit(main())
