"""Routing by prefix before real engines: what they say that they had kept, and what it is worth.

    python -m tests.bench.engine_route --model NAME --engine URL --engine URL
        [--rounds N] [--sessions N] [--turns N] [--words N] [--clients N]

The engines (llama-server, vLLM, SGLang ...) run already; URL ends in /v1. Two parts:

- feedback: one conversation behind Hotprefix, turn by turn: tokens that the node was thought to
  have kept (ours: bytes / 4), and what it says itself, by its own count and turned into ours.
- effect: `sessions` conversations of `turns` turns that grow, each behind instructions of `words`
  words of its own, `clients` calls at a time and the turns of all in a random order; placed on the
  engines in turn by the client itself (round robin), each conversation at one engine by the client
  itself (pinned), and by Hotprefix, whose cache is off. Each round another of them is first; every
  run has new texts. Time to the first token in milliseconds, of all calls and of those after each
  conversation's first; the share of the prompts' tokens that engines had kept.

Exit code 1: Hotprefix's mean was not below that of round robin, or no feedback came.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from tests.bench.engine_chat import asked, opening, question
from tests.bench.redis import percentile
from tests.gateway import Gateway

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.bench.engine_chat import Said

    Place: TypeAlias = Callable[[int, int], str]
    """The engine of a call, by its number and that of its conversation."""

NAMES: Final = ("a", "b", "c", "d")


class Turn(NamedTuple):
    """A call of a run."""

    later: bool
    """Not its conversation's first."""
    said: Said


def gateway(folder: Path, engines: Sequence[str]) -> Gateway:
    """Before these engines, with nothing known of them."""
    nodes = [{"name": name, "url": url} for name, url in zip(NAMES, engines, strict=False)]
    return Gateway(folder, "", {"upstream": nodes, "log": {"requests": False}})


def decided(before: Gateway) -> dict[str, object]:
    """The last decision."""
    told = json.loads(before.admin("/admin/decisions")[1])
    return dict(told["decisions"][0])


def feedback(before: Gateway, model: str, words: int) -> bool:
    """Whether what engines report was taken in."""
    chance = random.Random()
    talk, came = opening(chance, words), True
    print(f"{'turn':4} {'node':4} {'reason':6} {'prompt':>7} {'thought':>8} {'said':>6}", end="")
    print(f"   {'by its own count':>16}")
    for number in range(4):
        talk.append(question(chance, number))
        said = asked(before.base_url, model, talk)
        made = decided(before)
        thought = said.headers.get("x-upstream-cached", "0")
        came = came and made["reported"] is not None
        print(
            f"{number:4} {made['node']:4} {made['reason']:6} {made['tokens']:7} {thought:>8}",
            end="",
        )
        print(f" {made['reported']!s:>6}   {said.cached:>6} of {said.tokens}", flush=True)
        talk.append({"role": "assistant", "content": "Noted."})
    sums = {
        kind: before.total("hotprefix_prefix_tokens_total", kind=kind)
        for kind in ("prompt", "predicted", "reported")
    }
    print("hotprefix_prefix_tokens_total:", ", ".join(f"{k} {v:.0f}" for k, v in sums.items()))
    return came


def run(place: Place, options: argparse.Namespace) -> list[Turn]:
    """Conversations, their calls dealt to as many clients."""
    chance = random.Random()
    talks = [opening(chance, options.words) for _ in range(options.sessions)]
    turns: list[Turn] = []
    with ThreadPoolExecutor(options.clients) as clients:
        for turn in range(options.turns):
            order = chance.sample(range(len(talks)), len(talks))
            for at in order:
                talks[at].append(question(chance, turn))
            calls = [
                clients.submit(
                    asked, place(turn * len(talks) + n, at), options.model, list(talks[at])
                )
                for n, at in enumerate(order)
            ]
            turns += [Turn(turn > 0, call.result()) for call in calls]
            for one in talks:
                one.append({"role": "assistant", "content": "Noted."})
    return turns


def told(name: str, turns: Sequence[Turn]) -> float:
    """A line; the mean of all calls in milliseconds."""
    all_of_them = [1e3 * one.said.first for one in turns]
    later = [1e3 * one.said.first for one in turns if one.later]
    shown = [
        f"{mean(one):7.0f} {percentile(one, 0.5):6.0f} {percentile(one, 0.99):6.0f}"
        for one in (all_of_them, later)
    ]
    kept = sum(one.said.cached for one in turns) / sum(one.said.tokens for one in turns)
    print(f"{name:14} {len(turns):5} {kept:6.1%} {shown[0]}   {shown[1]}", flush=True)
    return mean(all_of_them)


def effect(before: Gateway, options: argparse.Namespace) -> bool:
    """Whether routing by prefix is worth it."""
    engines = options.engine
    rows: dict[str, Place] = {
        "round robin": lambda call, _: engines[call % len(engines)],
        "pinned": lambda _, conversation: engines[conversation % len(engines)],
        "hotprefix": lambda *_: before.base_url,
    }
    found: dict[str, list[Turn]] = {name: [] for name in rows}
    print(f"{'':14} {'calls':>5} {'kept':>6} {'mean':>7} {'p50':>6} {'p99':>6}", end="")
    print(f"   {'later':>7} {'p50':>6} {'p99':>6}")
    for turn in range(options.rounds):
        names = list(rows)[turn % len(rows) :] + list(rows)[: turn % len(rows)]
        for name in names:
            turns = run(rows[name], options)
            told(name, turns)
            found[name] += turns
    print("all rounds")
    means = {name: told(name, turns) for name, turns in found.items()}
    print(f"{means['round robin'] / means['hotprefix']:.2f} times sooner than round robin")
    return means["hotprefix"] < means["round robin"]


def main() -> int:
    """Run both parts; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.engine_route",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--engine", action="append", required=True, help="its base URL, with /v1")
    parser.add_argument("--model", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sessions", type=int, default=7)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--words", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=1)
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        before = gateway(Path(folder), options.engine)
        before.start()
        try:
            well = feedback(before, options.model, options.words)
            well = effect(before, options) and well
        finally:
            before.stop()
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
