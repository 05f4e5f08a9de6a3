"""An engine's cache events as a real process publishes them over ZeroMQ, and its replay.

    python -m tests.publisher PORT REPLAY_PORT [--maps] [--kept N]

It is told what to publish by lines of JSON, and says when it did. Batches are as vLLM and SGLang
encode them: arrays, or maps as newer vLLM has it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import select
import subprocess
import sys
import time
from collections import deque
from typing import Any, Self

import msgspec
import zmq

from tests.gateway import ROOT, free_port

PATIENCE = 15.0
"""Seconds that it may take to say something."""
SIZE = 16
"""Tokens of a block."""


class Stored(msgspec.Struct, array_like=True, tag="BlockStored"):
    block_hashes: list[bytes]
    parent_block_hash: bytes | None
    token_ids: list[int]
    block_size: int = SIZE
    lora_id: int | None = None
    medium: str | None = "GPU"
    lora_name: str | None = None


class Removed(msgspec.Struct, array_like=True, tag="BlockRemoved"):
    block_hashes: list[bytes]
    medium: str | None = "GPU"


class Cleared(msgspec.Struct, array_like=True, tag="AllBlocksCleared"):
    pass


class Cache:
    """Which blocks there are, in the order in which they were stored."""

    def __init__(self) -> None:
        self._held: deque[bytes] = deque()
        self._numbers = itertools.count()

    def event(self, what: dict[str, Any]) -> Stored | Removed | Cleared:
        blocks = range(what.get("blocks", 1))
        match what["event"]:
            case "stored":
                new = [next(self._numbers).to_bytes(32, "big") for _ in blocks]
                self._held.extend(new)
                return Stored(new, None, [7] * SIZE * len(new))
            case "removed":
                return Removed([self._held.popleft() for _ in blocks])
            case _:
                self._held.clear()
                return Cleared()


def payload(event: Stored | Removed | Cleared, rank: int, *, maps: bool) -> bytes:
    """One batch."""
    made = [event]
    if not maps:
        return msgspec.msgpack.encode([time.time(), made, rank])
    tagged = [
        {
            "type": one.__struct_config__.tag,
            **{name: getattr(one, name) for name in one.__struct_fields__},
        }
        for one in made
    ]
    return msgspec.msgpack.encode({"ts": time.time(), "events": tagged})


def say(word: str) -> None:
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


class Engine:
    """The publisher itself."""

    def __init__(self, port: int, replay: int, kept: int, *, maps: bool) -> None:
        context = zmq.Context()
        # As PUB to its subscribers, and it hears of them.
        self._stream = context.socket(zmq.XPUB)
        self._stream.setsockopt(zmq.XPUB_VERBOSE, 1)
        self._stream.bind(f"tcp://127.0.0.1:{port}")
        self._replay = context.socket(zmq.ROUTER)
        self._replay.bind(f"tcp://127.0.0.1:{replay}")
        self._numbers = itertools.count()
        self._kept: deque[tuple[int, bytes]] = deque(maxlen=kept)
        self._maps, self._cache = maps, Cache()
        # A replay without a topic is that of SGLang, and was vLLM's.
        self._topics = [] if maps else [b"kv"]
        self._orders = open(sys.stdin.fileno(), "rb", buffering=0)  # noqa: SIM115  # to the end

    def run(self) -> None:
        """Until its input ends."""
        poller = zmq.Poller()
        for one in (self._stream, self._replay, sys.stdin.fileno()):
            poller.register(one, zmq.POLLIN)
        say("ready")
        while True:
            found = dict(poller.poll())
            if self._stream in found and self._stream.recv()[:1] == b"\x01":
                say("subscribed")
            if self._replay in found:
                self._answer(*self._replay.recv_multipart())
            if sys.stdin.fileno() in found:
                if not (line := self._orders.readline()):
                    return
                self._do(json.loads(line))
                say("done")

    def _do(self, what: dict[str, Any]) -> None:
        if "frames" in what:
            self._stream.send_multipart([bytes.fromhex(one) for one in what["frames"]])
            return
        for _ in range(what.get("times", 1)):
            event, number = self._cache.event(what), next(self._numbers)
            made = payload(event, what.get("rank", 0), maps=self._maps)
            self._kept.append((number, made))
            if what.get("sent", True):
                self._stream.send_multipart([b"kv", number.to_bytes(8, "big"), made])

    def _answer(self, client: bytes, empty: bytes, start: bytes) -> None:
        for number, made in self._kept:
            if number >= int.from_bytes(start, "big"):
                told = [number.to_bytes(8, "big"), made]
                self._replay.send_multipart([client, empty, *self._topics, *told])
        self._replay.send_multipart([client, empty, *self._topics, b"\xff" * 8, b""])


class Publisher:
    """The process, from outside. Killed and started again, it begins a new life."""

    def __init__(self, *options: str) -> None:
        self._options = options
        self._ports = [free_port(), free_port()]
        self._process: subprocess.Popen[bytes] | None = None
        self._listeners = 0

    @property
    def url(self) -> str:
        return f"tcp://127.0.0.1:{self._ports[0]}"

    @property
    def replay(self) -> str:
        return f"tcp://127.0.0.1:{self._ports[1]}"

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.publisher", *map(str, self._ports), *self._options],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self._listeners = 0
        self._said("ready")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                with contextlib.suppress(OSError):
                    pipe.close()
            self._process = None

    async def subscribed(self, times: int = 1) -> None:
        """Until so many listen that were not waited for before."""
        while self._listeners < times:
            await asyncio.to_thread(self._line)
        self._listeners -= times

    async def publish(self, name: str, **more: Any) -> None:
        """A batch with this event: stored, removed or cleared."""
        await asyncio.to_thread(self._told, {"event": name, **more})

    async def frames(self, *frames: bytes) -> None:
        """A message of these."""
        await asyncio.to_thread(self._told, {"frames": [one.hex() for one in frames]})

    def _told(self, what: dict[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what).encode() + b"\n")
        self._said("done")

    def _said(self, word: str) -> None:
        while self._line() != word:
            pass

    def _line(self) -> str:
        """The next that it says."""
        assert self._process is not None
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], PATIENCE)[0]:
            raise AssertionError("the publisher says nothing")
        line = self._process.stdout.readline().strip().decode()
        if not line:
            raise AssertionError("the publisher is gone")
        self._listeners += line == "subscribed"
        return line

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def main() -> None:
    parser = argparse.ArgumentParser("publisher")
    parser.add_argument("ports", type=int, nargs=2)
    parser.add_argument("--maps", action="store_true")
    parser.add_argument("--kept", type=int, default=10_000)
    args = parser.parse_args()
    port, replay = args.ports
    Engine(port, replay, args.kept, maps=args.maps).run()


if __name__ == "__main__":
    main()
