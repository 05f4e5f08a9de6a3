"""A crowd at several gateways that asks one new question at once: calls, and who waits how long.

    python -m tests.bench.fleet [--gateways 4] [--clients 250] [--rounds 7] [--latency 2]

What is told of each form is the time between the first byte of the client whose gateway calls
upstream and the first bytes of all others, over all rounds.
"""

from __future__ import annotations

import argparse
import json
import select
import socket
import statistics
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests import answers
from tests.client import spelled
from tests.e2e.fleet import SECRET, settings
from tests.gateway import Gateway
from tests.redis_server import RedisServer
from tests.reply import JSON_TYPE, Reply, body, events
from tests.upstream import Server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.reply import Script, Seen
    from tests.upstream import Channel

TEXT: Final = "one answer for all of them"
TARGET: Final = 0.050
"""Seconds after the owner's first byte."""
_PATIENCE: Final = 60.0


@dataclass
class Client:
    """One connection, and what came back on it."""

    end: socket.socket
    first: float = 0.0
    data: bytearray = field(default_factory=bytearray)

    @property
    def outcome(self) -> bytes:
        """What its `x-cache` says."""
        return bytes(self.data).partition(b"x-cache: ")[2].partition(b"\r\n")[0]

    def whole(self, *, stream: bool) -> bool:
        """Whether the answer has come to its end."""
        return bytes(self.data).endswith(b"0\r\n\r\n" if stream else b"}")


def asked(upstream: Channel, number: int, *, stream: bool) -> bytes:
    """A question that nobody has asked before."""
    text = {"role": "user", "content": f"question {number}"}
    value = {"model": "m-small", "messages": [text], "stream": stream}
    given = [("Authorization", f"Bearer {upstream.key}"), JSON_TYPE]
    return spelled("POST", "/v1/chat/completions", given, json.dumps(value).encode())


def crowd(gateways: Sequence[Gateway], clients: int) -> list[Client]:
    """Connected, and as many at each gateway."""
    ports = [gateway.port for gateway in gateways] * clients
    return [Client(socket.create_connection(("127.0.0.1", port))) for port in ports]


def run(clients: Sequence[Client], request: bytes, *, stream: bool) -> None:
    """All ask, and read to the end. One loop without any library: its own work on an answer is
    small beside what it measures."""
    poll = select.epoll()
    by_number = {client.end.fileno(): client for client in clients}
    for client in clients:
        client.end.sendall(request)
        client.end.setblocking(False)
        poll.register(client.end.fileno(), select.EPOLLIN)
    until = time.perf_counter() + _PATIENCE
    while by_number and time.perf_counter() < until:
        ready = poll.poll(1.0)
        now = time.perf_counter()
        for number, _ in ready:
            client = by_number[number]
            client.first = client.first or now
            piece = client.end.recv(1 << 16)
            client.data += piece
            if not piece or client.whole(stream=stream):
                poll.unregister(number)
                del by_number[number]
    poll.close()


def measured(
    gateways: Sequence[Gateway],
    upstream: Channel,
    clients: int,
    numbers: range,
    *,
    stream: bool,
) -> tuple[list[int], list[list[float]]]:
    """Calls, and the seconds after the owner's first byte, of each round."""
    calls, after = [], []
    for number in numbers:
        before, members = upstream.calls, crowd(gateways, clients)
        run(members, asked(upstream, number, stream=stream), stream=stream)
        calls.append(upstream.calls - before)
        first = [one.first for one in members if one.outcome == b"MISS"]
        good = [one for one in members if TEXT.encode() in one.data]
        if len(good) < len(members) or not first:
            raise SystemExit(f"{len(members) - len(good)} clients got no whole answer")
        after.append([one.first - min(first) for one in members if one.outcome != b"MISS"])
        for one in members:
            one.end.close()
        time.sleep(0.5)
    return calls, after


def told(name: str, calls: Sequence[int], rounds: Sequence[Sequence[float]]) -> None:
    """A line with the medians over the rounds."""
    ranks = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
    found = {
        rank: statistics.median(sorted(one)[int(at * (len(one) - 1))] for one in rounds)
        for rank, at in ranks.items()
    }
    share = statistics.median(sum(abs(it) <= TARGET for it in one) / len(one) for one in rounds)
    figures = "  ".join(f"{rank} {1000 * value:6.1f} ms" for rank, value in found.items())
    print(f"{name:7} calls {max(calls)} at most   {figures}   within 50 ms {share:6.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gateways", type=int, default=4)
    parser.add_argument("--clients", type=int, default=250, help="at each gateway")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--latency", type=float, default=2.0, help="seconds to the first byte")
    args = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        redis = stack.enter_context(RedisServer(folder / "redis"))
        mock = Server()
        mock.start()
        stack.callback(mock.stop)
        upstream = mock.channel()
        upstream.default = _script(args.latency)
        gateways = []
        for number in range(args.gateways):
            own = settings(redis.url, timeout="2s")
            one = Gateway(folder / f"gateway{number}", mock.url, own, SECRET)
            stack.callback(one.stop)
            one.start()
            gateways.append(one)
        total = args.gateways * args.clients
        print(f"{total} clients at {args.gateways} gateways, medians of {args.rounds} rounds")
        for start, stream in ((1, False), (10_001, True)):
            numbers = range(start, start + args.rounds + 1)  # the first one warms up
            calls, after = measured(gateways, upstream, args.clients, numbers, stream=stream)
            told("stream" if stream else "JSON", calls, after[1:])


def _script(latency: float) -> Script:
    def answer(seen: Seen) -> Reply:
        if not seen.json().get("stream"):
            return body(answers.chat(TEXT), hold=latency)
        first, *rest = answers.chat_events([TEXT], usage=answers.USAGE)
        return events([first, *rest[:1], 0.2, *rest[1:]], hold=latency)

    return answer


if __name__ == "__main__":
    main()
