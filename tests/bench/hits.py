"""How fast the gateway is beside bare servers of the same framework: hits, misses, bypass.

    python -m tests.bench.hits [--rounds N] [--seconds S] [--connections C] [--only NAME ...]

Real processes over loopback, one worker each, driven by a client process that speaks a bare
protocol on C kept-alive connections:

- echo: aiohttp and uvloop; reads the body, parses it with orjson, answers the same fixed bytes.
- pass: aiohttp server and client; reads the body, sends it on, streams the answer back.
- the gateway with one worker and its default settings, before an upstream that costs nothing.
  For hits on disk a second one whose memory tier keeps nothing, so that every hit is read from
  LMDB (checked in each answer's `x-cache-tier`).

In each round, each scenario's gateway and reference are measured one right after the other, S
seconds each, which of them first changing by round. A ratio is taken within a round, the median of
the rounds is reported: other work on the machine falls on both. Many short rounds tell more than
few long ones, since a virtual machine's speed changes from one second to the next. CPU is that of
the serving processes (supervisor and worker) for each request. Exit code 1: a target of `TARGETS`
was missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from tests.bench import traffic
from tests.bench.client import Job, Result
from tests.bench.processes import Client, Server, cpu
from tests.bench.traffic import Request
from tests.gateway import Gateway


class Scenario(msgspec.Struct, frozen=True):
    """A request that is repeated, who answers it, and what the answer's head must say."""

    name: str
    request: Request
    expected: str
    reference: str = "echo"
    gateway: str = "memory"


SCENARIOS: Final = (
    Scenario("memory hit, short", traffic.short(), "x-cache-tier: memory\r\n"),
    Scenario("memory hit, 100 kB", traffic.long(), "x-cache-tier: memory\r\n"),
    Scenario("stream replay, 23 kB", traffic.stream(), "x-cache-tier: memory\r\n"),
    Scenario("disk hit, short", traffic.short(), "x-cache-tier: disk\r\n", gateway="disk"),
    Scenario("miss, short", traffic.unseen(), "x-cache: MISS\r\n", "pass"),
    Scenario("miss, stream", traffic.stream(unique=True), "x-cache: MISS\r\n", "pass"),
    Scenario("bypass", traffic.short(controls="x-cache: off\r\n"), "x-cache: BYPASS\r\n", "pass"),
)

TARGETS: Final = {
    "memory hit, short": 0.9,
    "memory hit, 100 kB": 1.5,
    "disk hit, short": 0.75,
    "miss, short": 0.85,
}
"""Least requests per second, as a multiple of the reference's."""


class Measured(msgspec.Struct, frozen=True):
    """One measurement and the CPU a request took (seconds)."""

    result: Result
    cpu: float


class Bench:
    """All processes of a run."""

    def __init__(self, stack: ExitStack, connections: int, seconds: float) -> None:
        self._connections = connections
        self._seconds = seconds
        origin = stack.enter_context(Server("origin"))
        folder = Path(stack.enter_context(TemporaryDirectory()))
        self.client = stack.enter_context(Client())
        self.servers: dict[str, tuple[int, list[int]]] = {}
        for kind in ("echo", "proxy"):
            server = stack.enter_context(Server("rivals", kind, str(origin.port)))
            self.servers["pass" if kind == "proxy" else kind] = server.port, server.pids
        for name, memory in (("memory", {}), ("disk", {"ttl": 0})):
            disk = {"max_bytes": "4GiB"}
            settings = {"cache": {"disk": disk, "memory": memory}}
            url = f"http://127.0.0.1:{origin.port}/v1"
            gateway = Gateway(folder / name, url, settings)
            gateway.start()
            stack.callback(gateway.stop)
            self.servers[name] = gateway.port, [gateway.pid, *gateway.workers()]

    def measure(self, server: str, request: Request, expected: str, seconds: float = 0) -> Measured:
        """Raises: RuntimeError where an answer was not as expected."""
        port, pids = self.servers[server]
        before = cpu(pids)
        result = self.client.measure(
            Job(port, request, self._connections, seconds or self._seconds, expected)
        )
        return Measured(result, (cpu(pids) - before) / result.answers)

    def warm(self, scenario: Scenario) -> None:
        """Have the answer stored, and all connections' code run once."""
        self.measure(scenario.gateway, scenario.request, "", 0.3)
        self.measure(scenario.reference, scenario.request, "", 0.3)

    def pair(self, scenario: Scenario, *, swapped: bool) -> tuple[Measured, Measured]:
        """The gateway and its reference, in the order in which they are told."""
        if swapped:
            reference = self.measure(scenario.reference, scenario.request, "")
            return self.measure(scenario.gateway, scenario.request, scenario.expected), reference
        gateway = self.measure(scenario.gateway, scenario.request, scenario.expected)
        return gateway, self.measure(scenario.reference, scenario.request, "")


Pairs = list[tuple[Measured, Measured]]


def ratio(pairs: Pairs) -> float:
    """Requests per second, against the reference of the same round."""
    return median(ours.result.rate / theirs.result.rate for ours, theirs in pairs)


def row(scenario: Scenario, pairs: Pairs) -> str:
    """What is printed of a scenario."""
    target, found = TARGETS.get(scenario.name), ratio(pairs)
    verdict = "" if target is None else f">= {target:<4} {'ok' if found >= target else 'MISSED'}"
    ours, theirs = zip(*pairs, strict=True)
    cpu_ratio = median(mine.cpu / other.cpu for mine, other in pairs)
    rates, costs, halves, tails = (
        [median(value(measured) for measured in side) for side in (ours, theirs)]
        for value in VALUES
    )
    return (
        f"{scenario.name:<21}{scenario.reference:<5}{rates[0]:>8,.0f}{rates[1]:>8,.0f}{found:>7.2f}"
        f" {verdict:<15}{costs[0]:>6.0f}{costs[1]:>6.0f}{cpu_ratio:>6.2f}"
        f"{halves[0]:>8.2f}{halves[1]:>7.2f}{tails[0]:>8.2f}{tails[1]:>7.2f}"
    )


VALUES: Final[tuple[Callable[[Measured], float], ...]] = (
    lambda measured: measured.result.rate,
    lambda measured: 1e6 * measured.cpu,
    lambda measured: 1e3 * measured.result.p50,
    lambda measured: 1e3 * measured.result.p99,
)
TITLE: Final = (
    f"{'':<21}{'':<5}{'requests/s':>16}{'':>7} {'':<15}{'CPU us/request':>18}"
    f"{'p50 ms':>15}{'p99 ms':>15}\n"
    f"{'scenario':<21}{'ref':<5}{'ours':>8}{'ref':>8}{'ratio':>7} {'target':<15}"
    f"{'ours':>6}{'ref':>6}{'ratio':>6}{'ours':>8}{'ref':>7}{'ours':>8}{'ref':>7}"
)


def main() -> int:
    """Measure and judge; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.hits", description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--only", nargs="*", default=[], help="words of scenario names")
    args = parser.parse_args()
    chosen = [s for s in SCENARIOS if not args.only or any(word in s.name for word in args.only)]
    pairs: dict[str, Pairs] = {scenario.name: [] for scenario in chosen}
    with ExitStack() as stack:
        bench = Bench(stack, args.connections, args.seconds)
        for scenario in chosen:
            bench.warm(scenario)
        for number in range(args.rounds):
            for scenario in chosen:
                pairs[scenario.name].append(bench.pair(scenario, swapped=bool(number % 2)))
            print(f"round {number + 1} of {args.rounds}", file=sys.stderr)
    print(TITLE)
    for scenario in chosen:
        print(row(scenario, pairs[scenario.name]))
    missed = [s.name for s in chosen if ratio(pairs[s.name]) < TARGETS.get(s.name, 0.0)]
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
