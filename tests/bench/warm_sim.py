"""What warming is worth, and what it costs: public traces over simulated nodes that lose all.

    python -m tests.bench.warm_sim [--seeds N] [--trace conversation] [--uses 2 3] [--budget N]

Half-way through a trace its zone fails, and a standby zone with as many nodes takes over, which had
no request before; or, with `--restart`, all nodes begin anew, empty, one after the other, half a
minute apart. Told are the first tokens of the minute after that and of the four minutes after it,
without warming and with it: the gateway's own decisions (`proxy.core.warming` over `uses`, `purse`
and `savings`, once a second) for prompts used at least so often. Nodes, traces and the routing are
those of `route_sim`. A shadow call begins only at an idle node, computes a chunk, and counts for
nothing if a request comes before its end. `spent` and `saved` are thousands of tokens, from the
beginning (warming) or the failure (savings) to five minutes after the failure; those that a
request would have found anyway are not saved.

Exit code 1: warming made the mean of the first minute more than 3 % longer.
"""

from __future__ import annotations

import argparse
import sys
from collections import OrderedDict
from math import inf
from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple

from proxy.config import Warming
from proxy.core import route
from proxy.core.providers import RULES
from proxy.core.purse import Purse
from proxy.core.savings import Savings
from proxy.core.uses import Uses
from proxy.core.warming import SLACK, Spot, Wanted, plan
from tests.bench.route_engine import BLOCK, RATES, Node, Replay, Request, arrivals, trace
from tests.bench.route_ours import Ours, Routers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.bench.route_engine import Call

NODES: Final = 8
CACHE: Final = 2000
"""Blocks that a node keeps."""
WORSE: Final = 1.03
_ENGINE: Final = next(rule for rule in RULES if rule.provider == "engine")
_TICK: Final = 1.0
_EACH: Final = 128
"""Prompts that are looked at in a tick, as in production."""
_KNOWN: Final = 4096
_MINUTE: Final = 60.0
_BETWEEN: Final = 30.0
"""Seconds between two restarts."""


class Told(NamedTuple):
    """Of one run."""

    minute: float
    """Mean seconds to the first token, in the minute after the failure."""
    later: float
    """The same in the four minutes after that."""
    hit: float
    """Share of the prompt tokens of all five that a node had kept."""
    spent: float
    saved: float

    def __str__(self) -> str:
        return (
            f"{self.minute:>9.3f}{self.later:>9.3f}{100 * self.hit:>8.1f}"
            f"{self.spent / 1e3:>9.0f}{self.saved / 1e3:>9.0f}"
        )


class Habit:
    """The beginning of a prompt up to one of its boundaries."""

    def __init__(self, asked: Request, depth: int) -> None:
        chain = asked.prompt.chain[:depth]
        tokens = chain[-1].tokens
        self.uses = Uses()
        blocks = asked.blocks[: tokens // BLOCK]
        self.request = Request(0.0, tokens, 0, blocks, asked.prompt._replace(chain=chain, anchor=0))


class Shadowed(Node):
    """A node that computes prompts ahead while it has nothing else to do."""

    shadow: tuple[float, Request, int] | None = None
    """When it is done, with what, and how many of its tokens were new."""


class Failing(Replay):
    """A replay in which the nodes that serve are replaced, or emptied, half-way."""

    def __init__(
        self, nodes: Sequence[Shadowed], policy: Ours, uses: int, budget: float, at: float
    ) -> None:
        """`uses`: 0: nothing is warmed."""
        super().__init__(nodes[:NODES], policy)
        self._ours, self._uses, self._at = policy, uses, at
        self._standby = list(nodes[NODES:])
        """Empty: the nodes begin anew instead, one after the other."""
        self._restarts = [at + _BETWEEN * number for number in range(NODES)]
        self._purse = Purse(budget, _MINUTE)
        self._habits: OrderedDict[bytes, Habit] = OrderedDict()
        self._next = 0.0
        self.spent = self.saved = 0
        self.savings = Savings(1 << 20)

    def over(self, asked: Iterable[Request]) -> list[Call]:
        for one in asked:
            self._clock(one.at)
            self._until(one.at)
            self._send(one, one.at)
            self._note(one)
        self._until(inf)
        return self.calls

    def _clock(self, now: float) -> None:
        """What happens beside the requests, up to now."""
        while self._next <= now:
            self._until(self._next)
            self._finish(self._next)
            self._fail(self._next)
            if self._uses:
                self._warm(self._next)
            self._next += _TICK
        self._finish(now)

    def _fail(self, now: float) -> None:
        if self._standby and now >= self._at:
            self._nodes, self._standby = list(self._standby), []
            self._restarts = []
        while not self._standby and self._restarts and self._restarts[0] <= now:
            node = self._nodes[NODES - len(self._restarts)]
            self._restarts.pop(0)
            node._kept.clear()  # its cache is a matter of its own otherwise
            self._ours.views[0].prefixes.forget(node.name)

    def _note(self, asked: Request) -> None:
        chain = asked.prompt.chain
        for depth in range(1, len(chain) + 1):
            if chain[depth - 1].tokens < Warming().min_tokens:
                continue
            digest = chain[depth - 1].digest
            habit = self._habits.get(digest)
            if habit is None:
                habit = self._habits[digest] = Habit(asked, depth)
            self._habits.move_to_end(digest)
            habit.uses.note(asked.at)
            if len(self._habits) > _KNOWN:
                self._habits.popitem(last=False)

    def _send(self, asked: Request, now: float) -> None:
        super()._send(asked, now)
        call = max(self._events, key=lambda event: event[1])[3]
        assert isinstance(call.node, Shadowed)
        if call.node.shadow is not None:
            self.spent += call.node.shadow[2]  # and it was for nothing
            call.node.shadow = None
        saved = self.savings.found(call.node.name, asked.prompt.chain, call.cached)
        if self._at <= now < self._at + 5 * _MINUTE:
            self.saved += saved

    def _finish(self, now: float) -> None:
        for node in [*self._nodes, *self._standby]:
            assert isinstance(node, Shadowed)
            if node.shadow is not None and node.shadow[0] <= now:
                at, asked, new = node.shadow
                node.shadow = None
                node.take(asked, at - new / node._rate)
                self._ours.views[0].prefixes.put(node.name, asked.prompt.chain)
                if now < self._at + 5 * _MINUTE:
                    self.spent += new
                self.savings.await_(node.name, asked.prompt.chain[-1].digest, new)

    def _warm(self, now: float) -> None:
        """At the standby's nodes while it stands by, else at those that serve."""
        nodes = [node for node in self._standby or self._nodes if isinstance(node, Shadowed)]
        habits = dict(self._frequent())
        wanted = [
            Wanted(
                digest,
                habit.request.tokens,
                habit.uses.rate(now),
                list(self._spots(habit, nodes, now)),
            )
            for digest, habit in habits.items()
        ]
        by_name = {node.name: node for node in nodes}
        for one in plan(wanted):
            node, asked = by_name[one.node], habits[one.digest].request
            held = min(asked.tokens, BLOCK * node.held(asked.blocks))
            goal = min(asked.tokens, held + Warming().chunk_tokens)
            new = goal - held
            if new > 0 and self._purse.take(new, now):
                node.shadow = now + new / node._rate, _up_to(asked, goal), new

    def _frequent(self) -> Iterator[tuple[bytes, Habit]]:
        looked = 0
        for digest, habit in list(self._habits.items()):
            if habit.uses.count >= self._uses:
                self._habits.move_to_end(digest)
                yield digest, habit
                looked += 1
                if looked == _EACH:
                    return

    def _spots(self, habit: Habit, nodes: Sequence[Shadowed], now: float) -> Iterator[Spot]:
        view, prompt = self._ours.views[0], habit.request.prompt
        names = [node.name for node in nodes]
        depths = view.prefixes.depths(names, prompt.chain)
        known = zip(names, depths, strict=True)
        candidates = [view.candidate(name, depth, now) for name, depth in known]
        best = route.prefix(candidates, prompt).at
        for at in [best, *(i for i in range(len(nodes)) if i != best)]:
            idle = not nodes[at].running and nodes[at].shadow is None
            yield Spot(names[at], _ENGINE, prompt.held(depths[at]), idle=idle)


def _up_to(asked: Request, tokens: int) -> Request:
    if tokens >= asked.tokens - SLACK:
        return asked
    chain = (
        tuple(one for one in asked.prompt.chain if one.tokens <= tokens) or asked.prompt.chain[:1]
    )
    prompt = asked.prompt._replace(chain=chain)
    return asked._replace(tokens=tokens, blocks=asked.blocks[: tokens // BLOCK], prompt=prompt)


def run(name: str, asked: Sequence[Request], uses: int, budget: float, *, restart: bool) -> Told:
    """Half-way all is lost."""
    number = NODES if restart else 2 * NODES
    nodes = [Shadowed(f"node-{at}", RATES[name], CACHE) for at in range(number)]
    at = asked[-1].at / 2
    replay = Failing(nodes, Ours([n.name for n in nodes], Routers()), uses, budget, at)
    calls = [call for call in replay.over(asked) if at <= call.request.at < at + 5 * _MINUTE]
    early = [call.ttft for call in calls if call.request.at < at + _MINUTE]
    later = [call.ttft for call in calls if call.request.at >= at + _MINUTE]
    hit = sum(call.cached for call in calls) / sum(call.request.tokens for call in calls)
    return Told(fmean(early), fmean(later), hit, replay.spent, replay.saved)


def main() -> int:
    """Replay and judge; the exit code."""
    parser = argparse.ArgumentParser(description="What warming is worth, and what it costs.")
    parser.add_argument("--trace", choices=[*RATES, "both"], default="both")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--uses", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--budget", type=float, default=200_000.0, help="tokens a minute")
    parser.add_argument("--restart", action="store_true", help="nodes begin anew, one by one")
    args = parser.parse_args()
    worse = []
    for name in RATES if args.trace == "both" else [args.trace]:
        what = "nodes begin anew" if args.restart else "a standby zone takes over"
        print(
            f"\n{name}: {what}; {NODES} nodes, {args.seeds} seeds, {args.budget:g} tokens a minute"
        )
        print(f"{'':<22}{'minute':>9}{'later':>9}{'hit %':>8}{'spent':>9}{'saved':>9}")
        bare = 0.0
        for uses in (0, *args.uses):
            rows = []
            for seed in range(1, args.seeds + 1):
                asked = arrivals(trace(name), 1.0, seed)
                rows.append(run(name, asked, uses, args.budget, restart=args.restart))
            row = Told(*map(fmean, zip(*rows, strict=True)))
            bare = bare or row.minute
            print(f"{f'used {uses} times' if uses else 'without warming':<22}{row}", flush=True)
            if row.minute > WORSE * bare:
                worse.append(f"{name}, used {uses} times: {row.minute / bare:.3f}")
    print("\nworse: " + "; ".join(worse) if worse else "\nnever worse by more than 3 %")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
