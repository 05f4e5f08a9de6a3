"""What routing costs a miss: the chain of a prompt, a decision, and the memory of a million
boundaries.

    python -m tests.bench.route_cost [--nodes N] [--boundaries N]

In microseconds of this process; a miss before a single node pays none of it. A decision is all that
happens between a prompt and its call: which nodes are well, what each holds and has to do, the
choice, and the note that is kept of it. It is the median of repeated runs, over nodes that all have
calls of this gateway and of others: cold, the prompt is new to all of them; warm, each holds
another part of it. Of prompts it is the least, besides their parsing: of one that begins like no
other, and of the same conversation's next turn, two messages later. Exit code 1: a decision took
200 us or more, or a prompt more than its target.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from statistics import median
from typing import TYPE_CHECKING

import orjson

from proxy.config import Breaker, Config, Overload, Routing
from proxy.conversations import Conversations
from proxy.core import canonical
from proxy.core.chain import Boundary
from proxy.core.controls import Controls
from proxy.core.endpoint import Endpoint
from proxy.core.entry import Tenant
from proxy.core.prefix import Prompt, prompt
from proxy.core.request import Request
from proxy.core.route import Load
from proxy.core.rules import rules
from proxy.gate import Gate
from proxy.node import Node
from proxy.router import Router
from proxy.wish import Wish
from tests.fakes import FakeClock, FakeUpstream

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.core.events import Event
    from proxy.core.rules import Rules

_TARGETS = {
    "decision": 200.0,
    "8k tokens, 8 messages": 1000.0,
    "100 kB, 1 message": 60.0,
    "100 kB, 20 messages": 60.0,
}


_TIMES = 200


def micros(run: Callable[[], object], times: int = _TIMES) -> float:
    """The median of so many runs."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        run()
        taken.append(time.perf_counter() - began)
    return 1e6 * median(taken)


def turns(messages: int, size: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": os.urandom(size // 2).hex()} for _ in range(messages)]


def body(said: list[dict[str, str]]) -> bytes:
    return orjson.dumps({"model": "m", "messages": said})


def chain(messages: int, size: int, asked: Request, known: Rules) -> tuple[float, float]:
    """Of a new prompt of so many messages, and of the next turn, besides their parsing."""
    clock, held = time.perf_counter, Conversations()
    taken: list[list[float]] = [[], [], [], []]
    for _ in range(_TIMES):
        said = turns(messages, size)
        for at, sent in enumerate((body(said), body(said + turns(2, 200)))):
            began = clock()
            canonical.decoded(sent)
            parsed = clock()
            prompt(sent, asked, known, lay=held.laid)
            taken[2 * at].append(parsed - began)
            taken[2 * at + 1].append(clock() - parsed)
    parsing, first, parsing_next, following = map(min, taken)
    return 1e6 * (first - parsing), 1e6 * (following - parsing_next)


def request() -> Request:
    """As `receive` makes them."""
    return Request(
        endpoint=Endpoint.CHAT,
        tenant=Tenant(b"t" * 16),
        tenant_name="",
        credential=None,
        model="m",
        controls=Controls(),
        codings=frozenset(),
    )


def resident() -> int:
    """Bytes that this process has in memory."""
    with open("/proc/self/statm", encoding="ascii") as held:
        return int(held.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def fleet(number: int, boundaries: int) -> tuple[Router, Gate]:
    """Nodes that have calls of this gateway's and of others', and hold so many boundaries."""
    clock, settings = FakeClock(), Routing(table_entries=boundaries)
    nodes = [Node(f"node-{at}", FakeUpstream()) for at in range(number)]
    router = Router(nodes, clock, ignored, settings=settings)
    for _ in range(boundaries // 8 // number + 1):
        for node in nodes:
            chain = [Boundary(os.urandom(16), 64 * depth) for depth in range(1, 9)]
            router.prefixes.put(node.name, chain)
    for node in nodes:
        node.running, node.queued = 2, 100.0
        node.progress.sent(100, clock.mono())
        node.progress.took(10_000, 1.0)
    told = {node.name: Load(5000.0, 3) for node in nodes}
    router.gossip.hear_loads([told, told])
    gate = Gate(nodes, clock, ignored, breaker=Breaker(), overload=Overload(), router=router)
    return router, gate


def ignored(event: Event) -> None:
    """Nobody counts here."""


def decision(gate: Gate, asked: Prompt) -> float:
    """The median of many, each given up again before the next."""
    wish = Wish(gate._nodes, "m", b"", sticky=False, prompt=asked)

    def decide() -> None:
        place = gate.enter_now(wish)
        assert place is not None
        place.leave()

    return micros(decide)


def main() -> int:
    parser = argparse.ArgumentParser(description="What routing costs a miss.")
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--boundaries", type=int, default=1_000_000)
    args = parser.parse_args()
    known, asked, told = rules(Config(), {}), request(), {}
    for name, messages, size in (
        ("8k tokens, 8 messages", 8, 4096),
        ("100 kB, 1 message", 1, 100_000),
        ("100 kB, 20 messages", 20, 5000),
        ("100 kB, 200 messages", 200, 500),
    ):
        told[name], following = chain(messages, size, asked, known)
        print(f"{name:28} {told[name]:4.0f} us, the next turn {following:4.0f}")
    before = resident()
    router, gate = fleet(args.nodes, args.boundaries)
    held = resident() - before
    long = prompt(body(turns(40, 2000)), asked, known)
    assert long is not None
    cold = decision(gate, long)
    for at, node in enumerate(gate._nodes):
        router.prefixes.put(node.name, long.chain[: at % len(long.chain)])
    warm = decision(gate, long)
    told["decision"] = max(cold, warm)
    print(f"decision, {args.nodes} nodes          cold {cold:.0f} us, warm {warm:.0f} us")
    print(f"{router.prefixes!r}: {held / 1e6:.0f} MB")
    missed = [name for name, most in _TARGETS.items() if told[name] > most]
    print("missed: " + ", ".join(missed) if missed else "all targets met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
