"""An inference engine without a model, as a real process: it keeps blocks of prompts, computes the
rest at a set rate one prompt after the other, and says how much it had kept.

    python -m tests.engine --port N [--rate TOKENS_PER_SECOND] [--blocks N] [--decode SECONDS]
                           [--eager]

A token is 4 bytes, a block 128 tokens. The least recently used blocks are dropped, the end of a
prompt first, as vLLM and SGLang do it.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import logging
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import OrderedDict
from typing import Any, Self

import orjson
from aiohttp import web

from tests.gateway import ROOT, free_port

BLOCK = 512
"""Bytes."""
TOKEN = 4


class Blocks:
    """What was computed before."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[bytes, None] = OrderedDict()

    def held(self, prompt: bytes) -> int:
        """Tokens of the prompt that are kept."""
        cached = 0
        for one in _chain(prompt):
            if one not in self._kept:
                break
            cached += BLOCK // TOKEN
        return cached

    def keep(self, prompt: bytes) -> None:
        """All of it was computed."""
        for one in reversed(_chain(prompt)):
            self._kept[one] = None
            self._kept.move_to_end(one)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)


def _chain(prompt: bytes) -> list[bytes]:
    chain, parent = [], b""
    for start in range(0, len(prompt) - BLOCK + 1, BLOCK):
        parent = hashlib.sha256(parent + prompt[start : start + BLOCK]).digest()
        chain.append(parent)
    return chain


class Engine:
    """Answers chat completions."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._rate, self._decode, self._eager = args.rate, args.decode, args.eager
        self._blocks, self._health = Blocks(args.blocks), 500 if args.unwell else 200
        self._turn = asyncio.Semaphore(args.batch)
        self.calls = self.asked = self.computed = 0
        self.has, self._most = 0, args.batch

    async def complete(self, request: web.Request) -> web.StreamResponse:
        self.calls += 1
        self.has += 1
        try:
            return await self._completed(request)
        finally:
            self.has -= 1

    async def _completed(self, request: web.Request) -> web.StreamResponse:
        asked = orjson.loads(await request.read())
        prompt = b"".join(orjson.dumps([m["role"], m["content"]]) for m in asked["messages"])
        stream = web.StreamResponse(headers={"content-type": "text/event-stream"})
        if self._eager and asked.get("stream"):
            await stream.prepare(request)
        async with self._turn:
            cached = self._blocks.held(prompt)
            self.asked += len(prompt) // TOKEN
            self.computed += len(prompt) // TOKEN - cached
            await asyncio.sleep((len(prompt) // TOKEN - cached) / self._rate)
            self._blocks.keep(prompt)
        usage = {
            "prompt_tokens": len(prompt) // TOKEN,
            "completion_tokens": 1,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        if asked.get("stream"):
            return await self._streamed(request, stream, usage)
        await asyncio.sleep(self._decode)
        message = {"role": "assistant", "content": f"from {os.getpid()}"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return web.json_response({"model": asked["model"], "choices": [choice], "usage": usage})

    async def _streamed(
        self, request: web.Request, response: web.StreamResponse, usage: dict[str, Any]
    ) -> web.StreamResponse:
        await response.prepare(request)  # nothing, where it was before
        said = {"index": 0, "delta": {"content": f"from {os.getpid()}"}, "finish_reason": None}
        await response.write(_event({"choices": [said]}))
        await asyncio.sleep(self._decode)
        await response.write(
            _event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        )
        await response.write(_event({"choices": [], "usage": usage}) + b"data: [DONE]\n\n")
        return response

    async def stats(self, request: web.Request) -> web.Response:
        told = {"calls": self.calls, "asked": self.asked, "computed": self.computed}
        return web.json_response(told)

    async def metrics(self, request: web.Request) -> web.Response:
        """As vLLM tells it, of what it has: all but as many as it computes wait."""
        running = min(self.has, self._most)
        told = {"running": running, "waiting": self.has - running}
        lines = [
            f"# HELP vllm:num_requests_{kind} Number of requests {kind}.\n"
            f"# TYPE vllm:num_requests_{kind} gauge\n"
            f'vllm:num_requests_{kind}{{engine="0",model_name="m"}} {count:.1f}\n'
            for kind, count in told.items()
        ]
        return web.Response(text="".join(lines))

    async def health(self, request: web.Request) -> web.Response:
        return web.Response(status=self._health)


def _event(value: object) -> bytes:
    return b"data: " + orjson.dumps(value) + b"\n\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--rate", type=float, default=100_000.0)
    parser.add_argument("--blocks", type=int, default=20_000)
    parser.add_argument("--decode", type=float, default=0.0)
    parser.add_argument("--batch", type=int, default=1, help="prompts computed side by side")
    parser.add_argument("--unwell", action="store_true", help="probes fail, prompts do not")
    parser.add_argument("--eager", action="store_true", help="streams' heads come at once")
    args = parser.parse_args()
    engine = Engine(args)
    app = web.Application(client_max_size=1 << 26)
    app.router.add_post("/v1/chat/completions", engine.complete)
    app.router.add_get("/stats", engine.stats)
    app.router.add_get("/health", engine.health)
    app.router.add_get("/metrics", engine.metrics)
    # Other routers ask first whether it speaks HTTP/2, and it does not.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    web.run_app(app, host="127.0.0.1", port=args.port, print=None, handle_signals=True)


class Running:
    """An engine's process, for tests and benchmarks."""

    def __init__(self, *options: str) -> None:
        self.port = free_port()
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def stats(self) -> dict[str, int]:
        """Calls so far, tokens of the prompts that were begun, and how many of them it computed."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/stats", timeout=5) as answer:
            told: dict[str, int] = orjson.loads(answer.read())
        return told

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        """Start and wait until it takes connections."""
        command = [sys.executable, "-m", "tests.engine", "--port", str(self.port), *self._options]
        self._process = subprocess.Popen(command, cwd=ROOT)
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """As if the machine were gone; `start` again begins with nothing kept."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


if __name__ == "__main__":
    main()
