"""What routing by prefix, and learning for warming, add to a miss before its first byte.

    python -m tests.bench.route_overhead [--rounds N] [--seconds S] [--connections C]

Gateways with one worker each before the same upstream, which costs nothing and is configured as
four nodes: `random` looks at no prompt, `prefix` routes by it, `learning` counts for warming too.
Requests of 8k tokens in 16 messages that differ in the last turn, none of which is in the cache. In
each round all are measured one right after the other, which of them first changing by round; of the
differences to `random` within a round the median is told, and beside it the CPU that a request took
more, which other work on the machine changes less. Exit code 1: a millisecond or more at p50.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import orjson

from tests.bench import traffic
from tests.bench.client import Job
from tests.bench.processes import Client, Server, cpu
from tests.gateway import Gateway, Settings

LIMIT: Final = 1e-3
"""Seconds at the median."""
_NUMBER: Final = "000000000000"
_NODES: Final = 4
_BARE: Final = "random"
_SETTINGS: Final[dict[str, Settings]] = {
    _BARE: {"routing": {"policy": "random"}},
    "prefix": {},
    "learning": {"warming": {"mode": "on"}},
}


def question(messages: int = 16, size: int = 2048) -> traffic.Request:
    """8k tokens, of which the last turn is unlike all others."""
    text = ("the order was shipped on Monday; " * size)[:size]
    roles = ("system", *("user", "assistant") * messages)
    turns = [{"role": role, "content": text} for role in roles[: messages - 1]]
    turns.append({"role": "user", "content": f"{_NUMBER} {text}"})
    body = orjson.dumps({"model": "bench-1", "messages": turns})
    head = (
        f"POST {traffic.PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer sk-bench\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    before, _, after = (head.encode() + body).partition(_NUMBER.encode())
    return traffic.Request(before, after, unique=True)


def started(stack: ExitStack, name: str, url: str, folder: Path) -> Gateway:
    nodes = [{"name": f"n{at}", "url": url} for at in range(_NODES)]
    more: Settings = {"upstream": nodes, "log": {"requests": False}, **_SETTINGS[name]}
    gateway = Gateway(folder / name, url, more)
    gateway.start()
    stack.callback(gateway.stop)
    return gateway


class Measured(NamedTuple):
    """Of one run: seconds, the last of them of CPU for each request."""

    p50: float
    p99: float
    cpu: float


def measure(client: Client, job: Job, pids: list[int]) -> Measured:
    before = cpu(pids)
    result = client.measure(job)
    return Measured(result.p50, result.p99, (cpu(pids) - before) / result.answers)


def main() -> int:
    """Measure and judge; the exit code."""
    parser = argparse.ArgumentParser(description="What routing adds to a miss.")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--connections", type=int, default=1)
    args = parser.parse_args()
    told: dict[str, list[Measured]] = {name: [] for name in _SETTINGS}
    with ExitStack() as stack:
        url = f"http://127.0.0.1:{stack.enter_context(Server('origin')).port}/v1"
        folder = Path(stack.enter_context(TemporaryDirectory()))
        gateways = {name: started(stack, name, url, folder) for name in _SETTINGS}
        client, asked = stack.enter_context(Client()), question()
        for number in range(args.rounds + 1):
            names = list(_SETTINGS)
            for name in names[number % len(names) :] + names[: number % len(names)]:
                gateway = gateways[name]
                job = Job(gateway.port, asked, args.connections, args.seconds, "x-cache: MISS\r\n")
                measured = measure(client, job, [gateway.pid, *gateway.workers()])
                if number:  # the first round runs all code once
                    told[name].append(measured)
    bare, late = told[_BARE], []
    for name, results in told.items():
        p50, p99 = (1e3 * median(one[at] for one in results) for at in (0, 1))
        pairs = list(zip(results, bare, strict=True))
        added = [1e3 * median(one[at] - other[at] for one, other in pairs) for at in (0, 2)]
        print(
            f"{name:10} p50 {p50:6.2f} ms, p99 {p99:6.2f} ms;"
            f" added: {added[0]:6.3f} ms at p50, {added[1]:6.3f} ms of CPU"
        )
        late += [name] if added[0] >= 1e3 * LIMIT else []
    print("missed: " + ", ".join(late) if late else f"all below {1e3 * LIMIT:g} ms")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
