"""Which routing policy has the shortest wait for a first token: public traces over simulated nodes.

    python -m tests.bench.route_sim                              # both traces, loads 1.0 and 1.4
    python -m tests.bench.route_sim --trace synthetic --load 0.6 --nodes 16 --cache 6000
    python -m tests.bench.route_sim --kill                       # one node dies half-way

The gateway's choice is its own code, `proxy.core.route` over `proxy.core.prefixes`, and is told
only what a gateway is told: its own calls, and what nodes report with the first token. The others
are re-implemented from published descriptions (`route_baselines`) and see the nodes' exact state.
The nodes are a model (`route_engine`): what it says is which policy is ahead, not by how many
milliseconds in a given fleet. The traces carry no text; equal block numbers are equal prompts.

The traces are Mooncake's (`traces/LICENCE.md`). The synthetic one is whole. Of the conversations
only the first 6,000 of 12,031 requests are here, so figures published over all of them differ by
some per cent. Times in them count in steps of 3 s: each seed spreads the arrivals within these
steps in its own way, and what is printed is the mean over the seeds. Of one seed to the next the
p99 of two good policies change places: one or two seeds decide nothing. All takes four minutes.

In the tables, hit is the share of prompt tokens that a node had kept, the times are those of the
first token in seconds, and imbalance is what the busiest node computed over what nodes computed on
average, minute by minute. `thought` is the capacity that the gateway believes nodes to have at the
end over the one they have.

Below them the gateway does without parts of itself: a = 0 is the shortest expected wait, without
feedback it believes its own table, and several routers share what they know late or never. `--kill`
tells the first tokens before a node's death, in the minute after it, and in the four after that;
and of the prompts that a node held the most of, how many went elsewhere: in the five minutes
before and in the five after, when only survivors count, and in the latter of a fleet that had one
node fewer from the beginning. Prompts move when their node is busy, and fewer nodes are busier; a
death that moves no more of them than that has left the survivors' prefixes where they were.

Exit code 1: a target of `judged` was missed.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from functools import cache
from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.bench import route_engine
from tests.bench.route_baselines import BASELINES, Setting
from tests.bench.route_engine import BLOCK, RATES, Node, Replay, arrivals
from tests.bench.route_ours import Ours, Routers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.bench.route_engine import Call, Policy, Request

OURS: Final = "hotprefix"
NEAR: Final = 1.02
"""Mean and p99 may be this times the best baseline's."""
AHEAD: Final = 0.7
"""The mean may be this times that of `RIVALS`."""
RIVALS: Final = ("sglang tree", "chwbl 1.25")
SHARED: Final = 1.1
"""The mean of 4 routers that know of each other after 0.1 s may be this times that of one."""
REMAPPED: Final = 0.02
"""Of the prompts that a survivor holds, how many more than in a smaller fleet may leave it."""
_STALE: Final = (0.0, 0.1, 1.0, None)
_MINUTE: Final = 60.0


class Fleet(NamedTuple):
    """What a policy is tried on."""

    trace: str
    load: float
    nodes: int
    cache: int
    """Blocks that a node keeps."""
    seeds: int


class Row(NamedTuple):
    """How a policy did; times are seconds."""

    hit: float
    mean: float
    p50: float
    p90: float
    p99: float
    imbalance: float
    thought: float = 0.0

    def __str__(self) -> str:
        thought = f"{self.thought:>9.2f}" if self.thought else ""
        return (
            f"{100 * self.hit:>7.1f}{self.mean:>9.3f}{self.p50:>9.3f}{self.p90:>9.2f}"
            f"{self.p99:>9.2f}{self.imbalance:>10.2f}{thought}"
        )


class Death(NamedTuple):
    """How a policy did around a node's death; times are seconds, the rest are shares."""

    before: float
    minute: float
    later: float
    moved_before: float
    moved: float
    moved_fewer: float
    """By a fleet without that node, in the same minutes."""

    def __str__(self) -> str:
        return (
            f"{self.before:>9.3f}{self.minute:>9.3f}{self.later:>9.3f}"
            f"{100 * self.moved_before:>10.1f}{100 * self.moved:>8.1f}"
            f"{100 * self.moved_fewer:>8.1f}"
        )


_TITLE: Final = (
    f"{'':<34}{'hit %':>7}{'mean':>9}{'p50':>9}{'p90':>9}{'p99':>9}{'imbalance':>10}{'thought':>9}"
)
_DEATH: Final = (
    f"{'':<34}{'mean TTFT':^27}{'moved %':>18}\n"
    f"{'':<34}{'before':>9}{'minute':>9}{'later':>9}{'before':>10}{'after':>8}{'fewer':>8}"
)


def names(fleet: Fleet) -> tuple[str, ...]:
    return tuple(f"node-{number}" for number in range(fleet.nodes))


def replay(
    fleet: Fleet, policy: Policy, requests: Iterable[Request], killed: float | None = None
) -> list[Call]:
    """All calls of one run, in the order of their first tokens."""
    rate = RATES[fleet.trace]
    nodes = [Node(name, rate, fleet.cache) for name in names(fleet)]
    return Replay(nodes, policy).run(requests, killed)


@cache
def requests_of(trace: str) -> list[Request]:
    return route_engine.trace(trace)


def made(fleet: Fleet, policy: str | Routers, seed: int) -> Policy:
    if isinstance(policy, Routers):
        return Ours(names(fleet), policy)
    return BASELINES[policy](Setting(names(fleet), RATES[fleet.trace], seed))


def tried(fleet: Fleet, policy: str | Routers) -> list[Row]:
    """Of each seed."""
    rows = []
    for seed in range(1, fleet.seeds + 1):
        chooses = made(fleet, policy, seed)
        requests = arrivals(requests_of(fleet.trace), fleet.load, seed)
        row = measured(replay(fleet, chooses, requests), fleet.nodes)
        if isinstance(chooses, Ours):
            row = row._replace(thought=chooses.capacity() / (BLOCK * fleet.cache))
        rows.append(row)
    return rows


def mean(rows: Iterable[Row]) -> Row:
    return Row(*map(fmean, zip(*rows, strict=True)))


def measured(calls: Sequence[Call], nodes: int) -> Row:
    waits = sorted(call.ttft for call in calls)
    p50, p90, p99 = (waits[int(share * (len(waits) - 1))] for share in (0.5, 0.9, 0.99))
    hit = sum(call.cached for call in calls) / sum(call.request.tokens for call in calls)
    return Row(hit, fmean(waits), p50, p90, p99, imbalance(calls, nodes))


def imbalance(calls: Iterable[Call], nodes: int) -> float:
    minutes: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for call in calls:
        minutes[int(call.at / _MINUTE)][call.node.name] += call.uncached
    return fmean(
        nodes * max(work.values()) / sum(work.values())
        for work in minutes.values()
        if any(work.values())
    )


def killed(fleet: Fleet, policy: str | Routers) -> Death:
    """The mean over the seeds, of a node's death half-way."""
    deaths = []
    fewer = fleet._replace(nodes=fleet.nodes - 1)
    for seed in range(1, fleet.seeds + 1):
        requests = arrivals(requests_of(fleet.trace), fleet.load, seed)
        at = requests[-1].at / 2
        calls = replay(fleet, made(fleet, policy, seed), requests, at)
        others = replay(fewer, made(fewer, policy, seed), requests)
        deaths.append(
            Death(
                waited(calls, 0, at),
                waited(calls, at, at + _MINUTE),
                waited(calls, at + _MINUTE, at + 5 * _MINUTE),
                moved(calls, at - 5 * _MINUTE, at),
                moved(calls, at, at + 5 * _MINUTE),
                moved(others, at, at + 5 * _MINUTE),
            )
        )
    return Death(*map(fmean, zip(*deaths, strict=True)))


def waited(calls: Iterable[Call], start: float, end: float) -> float:
    return fmean(call.ttft for call in calls if start <= call.request.at < end)


def moved(calls: Iterable[Call], start: float, end: float) -> float:
    """The share of prompts, out of those that some node held more of than all have in common."""
    held = [call for call in calls if start <= call.at < end and call.most > 1]
    return sum(call.moved for call in held) / max(1, len(held))


def ablations(routers: Iterable[int]) -> dict[str, Routers]:
    """The gateway without some part of itself, by name."""
    cases = {
        "a = 0": Routers(a=0.0),
        "a = 4": Routers(a=4.0),
        "no feedback": Routers(feedback=False),
    }
    for count in routers:
        for stale in _STALE if count > 1 else ():
            told = "no sharing" if stale is None else f"shared after {stale:g} s"
            cases[f"{count} routers, {told}"] = Routers(number=count, staleness=stale)
    return cases


class Target(NamedTuple):
    """A ratio of times that was asked for, and what was found: of the means over the seeds, and of
    the single seeds the least and the most."""

    name: str
    found: float
    low: float
    high: float
    most: float

    @property
    def good(self) -> bool:
        return self.found <= self.most

    def __str__(self) -> str:
        return (
            f"{self.name:<46}{self.found:>6.3f} ({self.low:.3f} to {self.high:.3f}) "
            f"<= {self.most:<5}{'ok' if self.good else 'MISSED'}"
        )


def judged(rows: dict[str, list[Row]]) -> Iterable[Target]:
    """What was asked for."""
    means = {name: mean(several) for name, several in rows.items()}
    baselines = [name for name in rows if name in BASELINES]

    def ratio(name: str, over: str, of: str, field: str, most: float) -> Target:
        def times(several: Iterable[Row]) -> list[float]:
            return [getattr(row, field) for row in several]

        single = [one / two for one, two in zip(times(rows[of]), times(rows[over]), strict=True)]
        found = getattr(means[of], field) / getattr(means[over], field)
        return Target(name, found, min(single), max(single), most)

    for field in ("mean", "p99") if baselines else ():
        best = min(baselines, key=lambda name: getattr(means[name], field))
        yield ratio(f"{field} over the best ({best})", best, OURS, field, NEAR)
    for rival in RIVALS:
        if rival in rows:
            yield ratio(f"mean over {rival}", rival, OURS, "mean", AHEAD)
    shared = "4 routers, shared after 0.1 s"
    if shared in rows:
        yield ratio("mean of 4 routers over one", OURS, shared, "mean", SHARED)


def compared(fleet: Fleet, chosen: Sequence[str], routers: Sequence[int]) -> list[str]:
    """Tables of one trace and load; the targets that were missed."""
    print(f"\n{told(fleet)}\n{_TITLE}")
    rows: dict[str, list[Row]] = {}
    cases: dict[str, str | Routers] = {name: name for name in BASELINES if picked(name, chosen)}
    for name, policy in {**cases, OURS: Routers()}.items():
        rows[name] = tried(fleet, policy)
        print(f"{name:<34}{mean(rows[name])}", flush=True)
    print()
    for name, routing in ablations(routers).items():
        if picked(name, chosen):
            rows[name] = tried(fleet, routing)
            print(f"{name:<34}{mean(rows[name])}", flush=True)
    missed = []
    print()
    for target in judged(rows):
        print(target)
        if not target.good:
            missed.append(f"{told(fleet)}: {target.name} {target.found:.3f}")
    return missed


def survived(fleet: Fleet, chosen: Sequence[str]) -> list[str]:
    """The table of a node's death; the targets that were missed."""
    print(f"\n{told(fleet)}, one node dies\n{_DEATH}")
    cases: dict[str, str | Routers] = {name: name for name in BASELINES if picked(name, chosen)}
    for name, policy in cases.items():
        print(f"{name:<34}{killed(fleet, policy)}", flush=True)
    ours = killed(fleet, Routers())
    print(f"{OURS:<34}{ours}")
    more = ours.moved - ours.moved_fewer
    if more <= REMAPPED:
        return []
    return [f"{fleet.trace}, load {fleet.load:g}: {100 * more:.1f} % more moved after the death"]


def told(fleet: Fleet) -> str:
    return (
        f"{fleet.trace}, load {fleet.load:g}: {fleet.nodes} nodes of {fleet.cache} blocks, "
        f"seeds 1 to {fleet.seeds}"
    )


def picked(name: str, chosen: Sequence[str]) -> bool:
    return not chosen or any(word in name for word in chosen)


def main() -> int:
    """Replay and judge; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.route_sim",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--trace", choices=[*RATES, "both"], default="both")
    parser.add_argument("--load", type=float, nargs="+", default=[1.0, 1.4])
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--cache", type=int, default=2000, help="blocks that a node keeps")
    parser.add_argument("--seeds", type=int, default=7, help="how many")
    parser.add_argument("--routers", type=int, nargs="*", default=[4, 8])
    parser.add_argument("--kill", action="store_true", help="a node dies half-way")
    parser.add_argument("--only", nargs="*", default=[], help="words of policies' names")
    args = parser.parse_args()
    missed: list[str] = []
    for trace in RATES if args.trace == "both" else [args.trace]:
        for load in args.load:
            fleet = Fleet(trace, load, args.nodes, args.cache, args.seeds)
            if args.kill:
                missed += survived(fleet, args.only)
            else:
                missed += compared(fleet, args.only, args.routers)
    print("\nmissed:" if missed else "\nall targets met")
    for line in missed:
        print(f"- {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
