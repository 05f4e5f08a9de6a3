"""Routing over real sockets: engines, gateways and a client as processes, and routers of others.

    python -m tests.bench.route_live [--rounds N] [--part P] [--load L] [--peers VENV]
                                     [--only NAME ...] [--single] [--faults]

Every eighth conversation of the synthetic trace (some 500 requests; the first 500 of the whole
trace hardly have a prefix in common), its 17 minutes pressed into 14 seconds, to five engines
(tests/engine.py) that are as much faster: load and memory in proportion to those of eight nodes and
the whole trace in `route_sim`. Each round takes another eighth: one alone is too little to tell two
good policies apart.

The traces carry no text: each block of a prompt is a fixed text of 1 KiB, and a message ends where
two prompts of a conversation part (`--single`: there is but one, inside which they part). One
process sends the requests as streams at their times, whatever became of the earlier ones, with
`x-cache: off`, so that nothing comes from the cache, and with the conversation's name as
`x-session-id`, by which routers of others may tell it. The 50 ms after which gateways hear of each
other are 3.6 s of the trace's time: more than they would be in earnest.

- hits: the share of the prompts' tokens that engines had kept, by their own count.
- first token: milliseconds from the time at which a request was due to the first byte of content; a
  request that failed counts as one of 8 s, after which the client gives up. What failed is listed.
- `--peers`: an environment that has sglang-router and vllm-router from PyPI. They have their
  defaults, but ask engines for their health as often as we do.
- `--faults`: instead, the engine that was asked most is killed, and started again empty after 5 s;
  or it is frozen for 10 s. Answers are over with their first byte, so no stream is cut. `last`:
  seconds after the fault at which the last request was due that failed, or that had to wait for
  more than 3 s.

Engines are a model, so this ranks policies and predicts nothing. Exit code 1: behind Hotprefix
(prefix) a request failed in the kill, or one failed that was due more than 3 s after the freeze.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import combinations, product, takewhile
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

import aiohttp
import orjson

from tests.bench.redis import percentile
from tests.bench.route_engine import BLOCK, RATES, trace
from tests.e2e.fleet import SECRET
from tests.engine import TOKEN, Running
from tests.gateway import Gateway, free_port
from tests.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tests.bench.route_engine import Request
    from tests.gateway import Settings

ENGINES: Final = 5
SHARE: Final = 8
"""One conversation of so many is asked."""
SECONDS: Final = 14.0
"""From the first request to the last."""
TEXT: Final = 1024
"""Bytes of a block."""
KEPT: Final = 2000 * 8 // SHARE // ENGINES * 2
"""Blocks of an engine: half as large as those of the trace, here, and eight times 2,000 in all."""
PATIENCE: Final = 8.0
SLOW: Final = 3.0


class Asked(NamedTuple):
    """A request, and when it is due."""

    at: float
    conversation: str
    body: bytes


class Outcome(NamedTuple):
    """What became of a request."""

    at: float
    seconds: float
    """Until the first byte of content."""
    error: str

    @property
    def slow(self) -> bool:
        return bool(self.error) or self.seconds > SLOW


class Fault(NamedTuple):
    """What happens to an engine, and when."""

    name: str
    at: float
    lasts: float
    begin: Callable[[Running], None]
    end: Callable[[Running], None]


FAULTS: Final = (
    Fault("kill", 0.4 * SECONDS, 5.0, Running.kill, Running.start),
    Fault(
        "freeze",
        0.2 * SECONDS,
        10.0,
        lambda engine: engine.signal(signal.SIGSTOP),
        lambda engine: engine.signal(signal.SIGCONT),
    ),
)


class Row(NamedTuple):
    """Who routes, and how to start it: the ports that it listens on."""

    name: str
    start: Callable[[ExitStack, Path, Sequence[Running]], list[int]]


def workload(part: int, *, single: bool) -> list[Asked]:
    """The same each time. `part`: which eighth. `single`: each prompt is one message."""
    requests = trace("synthetic")
    begins = sorted({one.blocks[0] for one in requests})
    wanted = set(begins[part % SHARE :: SHARE])
    chosen = [one for one in requests if one.blocks[0] in wanted]
    speed = (chosen[-1].at - chosen[0].at) / SECONDS
    parted: dict[int, list[Request]] = {}
    for one in chosen:
        parted.setdefault(one.blocks[0], []).append(one)
    cuts = {name: [] if single else _cuts(turns) for name, turns in parted.items()}
    return [
        Asked(
            (one.at - chosen[0].at) / speed,
            f"c{one.blocks[0]}",
            _body(_messages(one, cuts[one.blocks[0]])),
        )
        for one in chosen
    ]


def _cuts(turns: Sequence[Request]) -> list[int]:
    """After how many blocks two prompts of a conversation part."""
    found = set()
    for one, other in combinations(turns, 2):
        same = takewhile(
            lambda pair: pair[0] == pair[1], zip(one.blocks, other.blocks, strict=False)
        )
        found.add(len(list(same)))
    return sorted(found)


def _messages(one: Request, cuts: Sequence[int]) -> list[str]:
    whole = "".join(_text(block) for block in one.blocks)[: max(1, one.tokens * TEXT // BLOCK)]
    ends = [cut * TEXT for cut in cuts if cut * TEXT < len(whole)]
    return [whole[a:b] for a, b in zip([0, *ends], [*ends, len(whole)], strict=True)]


def _text(block: int) -> str:
    return random.Random(block).randbytes(TEXT // 2).hex()


def _body(texts: Sequence[str]) -> bytes:
    roles = ("user", "assistant") * len(texts)
    messages = [{"role": r, "content": t} for r, t in zip(roles, texts, strict=False)]
    return orjson.dumps({"model": "m", "messages": messages, "stream": True})


def rate(load: float) -> float:
    """Tokens of 4 bytes that an engine computes in a second: as a node of `route_sim`, but five of
    them for the eighth part of what eight have there, and in another time."""
    requests = trace("synthetic")
    speed = (requests[-1].at - requests[0].at) / SECONDS
    all_of_them = RATES["synthetic"] * 8 / SHARE * speed / load
    return all_of_them / ENGINES * TEXT / BLOCK / TOKEN


async def asked_at(session: aiohttp.ClientSession, port: int, asked: Asked, due: float) -> Outcome:
    """Sent when it is due, and read to its end."""
    loop = asyncio.get_running_loop()
    await asyncio.sleep(due - loop.time())
    first, got, error = 0.0, b"", ""
    headers = {
        "authorization": "Bearer sk-bench",
        "content-type": "application/json",
        "x-cache": "off",
        "x-session-id": asked.conversation,
    }
    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    try:
        async with (
            asyncio.timeout_at(due + PATIENCE),
            session.post(url, data=asked.body, headers=headers) as answer,
        ):
            async for piece in answer.content.iter_any():
                got += piece
                if not first and b'"content"' in got:
                    first = loop.time()
            if answer.status != 200 or b"[DONE]" not in got or not first:
                error = f"{answer.status} {got[:160].decode(errors='replace')!r}"
    except (OSError, aiohttp.ClientError) as failure:
        error = f"{type(failure).__name__} {failure}"
    return Outcome(asked.at, PATIENCE if error else first - due, error)


async def sent(ports: Sequence[int], work: Sequence[Asked]) -> list[Outcome]:
    """All of it, dealt to the ports in turn."""
    connector = aiohttp.TCPConnector(limit=0)
    due = asyncio.get_running_loop().time() + 0.2
    async with aiohttp.ClientSession(connector=connector) as session:
        waiting = [
            asked_at(session, ports[place % len(ports)], one, due + one.at)
            for place, one in enumerate(work)
        ]
        return list(await asyncio.gather(*waiting))


async def broken(engines: Sequence[Running], fault: Fault) -> None:
    """The fault, at its time, of the engine that was asked most until then."""
    await asyncio.sleep(0.2 + fault.at)
    calls = [(await asyncio.to_thread(one.stats))["calls"] for one in engines]
    victim = engines[calls.index(max(calls))]
    await asyncio.to_thread(fault.begin, victim)
    await asyncio.sleep(fault.lasts)
    await asyncio.to_thread(fault.end, victim)


async def _with_fault(
    ports: Sequence[int], work: Sequence[Asked], engines: Sequence[Running], fault: Fault | None
) -> list[Outcome]:
    if fault is None:
        return await sent(ports, work)
    outcomes, _ = await asyncio.gather(sent(ports, work), broken(engines, fault))
    return outcomes


def hotprefix(policy: str, size: int) -> Row:
    """Our gateways, over one Redis if they are several."""

    def start(stack: ExitStack, folder: Path, engines: Sequence[Running]) -> list[int]:
        nodes = [{"name": f"e{i}", "url": one.url} for i, one in enumerate(engines)]
        own: Settings = {
            "upstream": nodes,
            "routing": {"policy": policy},
            "log": {"requests": False},
        }
        if size > 1:
            redis = stack.enter_context(RedisServer(folder / "redis"))
            own["cache"] = {"redis": {"url": redis.url}}
            own["peers"] = {"secret_env": "PEER_SECRET"}
        gateways = [Gateway(folder / f"g{i}", "", own, SECRET) for i in range(size)]
        for one in gateways:
            stack.callback(one.stop)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(Gateway.start, gateways))
        return [one.port for one in gateways]

    return Row(f"hotprefix {policy}" + (f", {size} gateways" if size > 1 else ""), start)


def peer(venv: Path, command: str, *options: str) -> Row:
    """A router of others, from the environment at `venv`."""

    def start(stack: ExitStack, folder: Path, engines: Sequence[Running]) -> list[int]:
        port = free_port()
        called = [str(venv / "bin" / command.split()[0]), *command.split()[1:]]
        called += ["--host", "127.0.0.1", "--port", str(port), "--prometheus-port"]
        called += [str(free_port()), "--log-level", "error", "--health-check-interval-secs", "1"]
        called += ["--health-failure-threshold", "2", "--health-check-timeout-secs", "1"]
        called += ["--worker-urls", *(one.url.removesuffix("/v1") for one in engines), *options]
        with (folder / "peer.log").open("ab") as log:
            process = subprocess.Popen(called, stdout=log, stderr=log)
        stack.callback(process.wait)
        stack.callback(process.kill)
        _until_ready(port, process)
        return [port]

    return Row(f"{command.split()[0]} {options[-1]}", start)


def _until_ready(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readiness", timeout=2):
                return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("did not start")


def rows(options: argparse.Namespace) -> list[Row]:
    """Whom to measure."""
    policies = ("prefix",) if options.faults else ("prefix", "ring", "least", "random")
    found = [hotprefix(policy, 1) for policy in policies]
    found.insert(1, hotprefix("prefix", 4))
    if options.peers:
        found += [
            peer(options.peers, "sglang-router launch", "--policy", "cache_aware"),
            peer(options.peers, "vllm-router", "--policy", "consistent_hash"),
            peer(options.peers, "vllm-router", "--policy", "cache_aware"),
        ]
    else:
        print("routers of others: left out, as there is no --peers")
    return [one for one in found if not options.only or one.name in options.only]


def hits(engines: Iterable[Running]) -> float:
    """The share of tokens that engines had kept."""
    stats = [one.stats() for one in engines]
    return 1 - sum(one["computed"] for one in stats) / sum(one["asked"] for one in stats)


def measured(
    row: Row, work: Sequence[Asked], load: float, fault: Fault | None
) -> tuple[list[Outcome], float]:
    """One run with engines that have nothing yet: outcomes, and the share of hits."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        options = ("--rate", str(rate(load)), "--blocks", str(KEPT))
        engines = [Running(*options) for _ in range(ENGINES)]
        for one in engines:
            stack.callback(one.kill)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(Running.start, engines))
        ports = row.start(stack, folder, engines)
        time.sleep(1)
        outcomes = asyncio.run(_with_fault(ports, work, engines, fault))
        return outcomes, hits(engines)


HEAD: Final = f"{'':30} {'hits':>6} {'mean':>6} {'p50':>6} {'p99':>6} {'failed':>6}"
FAULT_HEAD: Final = f"{'':38} {'failed':>6} {'longest':>7}   last: {'failed':>6} {'slow':>6}"


def told(name: str, outcomes: Sequence[Outcome], share: float) -> None:
    """The line of a run without faults."""
    taken = [1000 * one.seconds for one in outcomes]
    figures = (mean(taken), percentile(taken, 0.5), percentile(taken, 0.99))
    shown = " ".join(f"{one:6.0f}" for one in figures)
    print(f"{name:30} {share:6.1%} {shown} {sum(bool(o.error) for o in outcomes):6}", flush=True)


def told_fault(name: str, outcomes: Sequence[Outcome], fault: Fault) -> None:
    """The line of a run with one."""
    failed = [one.at - fault.at for one in outcomes if one.error]
    slow = [one.at - fault.at for one in outcomes if one.slow]
    longest = max(one.seconds for one in outcomes)
    last = " ".join(f"{max(one):5.1f}s" if one else f"{'-':>6}" for one in (failed, slow))
    print(f"{fault.name:7} {name:30} {len(failed):6} {longest:6.1f}s         {last}", flush=True)


def told_errors(outcomes: Sequence[Outcome]) -> None:
    """What failed, of each kind how many."""
    kinds = Counter(one.error for one in outcomes if one.error)
    for kind, count in kinds.most_common():
        times = ", ".join(f"{one.at:.1f}" for one in outcomes if one.error == kind)
        print(f"    {count} failed, due at {times} s: {kind}", flush=True)


def good(row: Row, outcomes: Sequence[Outcome], fault: Fault | None) -> bool:
    """Whether we kept what we promise."""
    if fault is None or not row.name.startswith("hotprefix"):
        return True
    bearable = 0.0 if fault.name == "kill" else fault.at + SLOW
    return not any(one.error and one.at > bearable for one in outcomes)


def run(options: argparse.Namespace) -> bool:
    """Whether all runs were good; rounds take turns."""
    well = True
    chosen = rows(options)
    cases: Sequence[Fault | None] = FAULTS if options.faults else (None,)
    print(FAULT_HEAD if options.faults else HEAD)
    for fault in cases:
        for turn, row in product(range(options.rounds), chosen):
            work = workload(options.part + turn, single=options.single)
            try:
                outcomes, share = measured(row, work, options.load, fault)
            except (OSError, RuntimeError) as error:
                print(f"{row.name}: left out, {error}")
                continue
            if fault is None:
                told(row.name, outcomes, share)
            else:
                told_fault(row.name, outcomes, fault)
            told_errors(outcomes)
            well = good(row, outcomes, fault) and well
    return well


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.route_live",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--part", type=int, default=0, help="which eighth the first round takes")
    parser.add_argument("--load", type=float, default=1.0, help="engines are slower by this")
    parser.add_argument("--peers", type=Path, help="an environment with other routers")
    parser.add_argument("--only", nargs="*", default=[], help="names of rows")
    parser.add_argument("--single", action="store_true", help="one message a prompt")
    parser.add_argument("--faults", action="store_true")
    return 0 if run(parser.parse_args()) else 1


if __name__ == "__main__":
    sys.exit(main())
