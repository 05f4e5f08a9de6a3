"""Which prompts are worth being computed before they are asked for: what that saves, what it costs.

Uses are taken for a Poisson process: with `rate` a second, one comes within `t` seconds with the
probability 1 - exp(-rate * t).
"""

from __future__ import annotations

from math import exp, inf
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from proxy.core.message import Arrival
    from proxy.core.prefix import Prompt
    from proxy.core.providers import Rule
    from proxy.core.request import Request

HORIZON: Final = 300.0
"""Seconds for which a node of ours is taken to keep what it was made to compute: measured on
traces, a third to three quarters of what was used twice is used again within them."""
_IDLE: Final = 0.25
"""What a token costs that an idle node of ours computes, beside one that somebody waits for."""
LEAD: Final = 30.0
"""Seconds before a provider forgets a prompt at which it is renewed: later may be too late."""
SLACK: Final = 256
"""Tokens by which what is held may fall short: the last block is never whole."""


class Target(NamedTuple):
    """A prompt to be computed."""

    arrival: Arrival
    """Whose body has it, with what a node must be told besides."""
    request: Request
    prompt: Prompt


class Result(msgspec.Struct, frozen=True):
    """What came of the wish to have a prompt computed."""

    node: str
    outcome: str
    """warmed; held: it was already. busy, budget, cancelled, elsewhere: not now. paid, unpriced,
    short, unmarked: not there, by the rules. refused, failed, timeout, void: the node did not."""
    tokens: int = 0
    """Of the prompt, estimated."""
    spent: int = 0
    """Tokens computed for it, by the node's word where it gave one."""
    again: float = 0.0
    """Seconds after which trying again makes sense; 0: it makes none."""


class Spot(NamedTuple):
    """A node where a prompt could be warmed."""

    node: str
    rule: Rule
    held: int = 0
    """Tokens of it that the node is thought to hold."""
    since: float = inf
    """Seconds since it was last used there."""
    idle: bool = True


class Wanted(NamedTuple):
    """The beginning of a prompt that requests have in common."""

    digest: bytes
    tokens: int
    rate: float
    """Uses a second to be expected."""
    spots: Sequence[Spot]
    """The node that would be asked for it first."""
    copies: int = 1
    """Of these, how many shall hold it."""


class Shadow(NamedTuple):
    """A prompt to be computed at a node."""

    digest: bytes
    node: str
    gain: float
    """What it is expected to save, less its price, in input tokens."""


def gain(rule: Rule, rate: float, since: float) -> float:
    """What warming saves of each token, less its price, in prices of an input token. `since`:
    seconds since the prompt was last used at the node, infinite if it is not there.

    What a provider still keeps is renewed only shortly before it is forgotten, and only for those
    uses that come after that: what comes before renews it by itself.
    """
    saved = rule.write - rule.read
    if rule.ttl and since < rule.ttl:
        left = rule.ttl - since
        if left > LEAD:
            return 0.0
        late = exp(-rate * left) - exp(-rate * rule.ttl)
        return late * saved - rule.read
    price = rule.write if rule.paid else rule.write * _IDLE
    return (1 - exp(-rate * (rule.ttl or HORIZON))) * saved - price


def cost(rule: Rule, tokens: int, *, held: int = 0) -> float:
    """The money that a call for so many tokens costs, of which so many are kept there."""
    if not rule.paid:
        return 0.0
    return rule.price / 1e6 * (rule.read * held + rule.write * max(0, tokens - held))


def barred(rule: Rule, target: Target, *, paid: bool) -> str:
    """Why a prompt may not be warmed at a node with that rule, in a word; empty: it may be.
    `paid`: whether that may cost money."""
    if rule.paid and not paid:
        return "paid"
    if rule.paid and not rule.price:
        return "unpriced"
    if target.prompt.tokens < rule.min_tokens:
        return "short"
    return "unmarked" if rule.marked and b'"cache_control"' not in target.arrival.body else ""


def kept(spot: Spot, tokens: int) -> bool:
    """Whether the node holds it, for a while at least."""
    fresh = not spot.rule.ttl or spot.since < spot.rule.ttl - LEAD
    return fresh and spot.held >= tokens - SLACK


def plan(wanted: Iterable[Wanted]) -> list[Shadow]:
    """What to warm now, at most one prompt for each node, the most worth first."""
    found = [shadow for one in wanted for shadow in _missing(one)]
    taken: set[str] = set()
    chosen = []
    for shadow in sorted(found, key=lambda one: -one.gain):
        if shadow.node not in taken:
            taken.add(shadow.node)
            chosen.append(shadow)
    return chosen


def _missing(one: Wanted) -> list[Shadow]:
    """The calls by which as many nodes hold it as shall."""
    short = one.copies - sum(kept(spot, one.tokens) for spot in one.spots)
    made: list[Shadow] = []
    for spot in one.spots:
        if len(made) >= short:
            break
        if kept(spot, one.tokens) or not spot.idle or one.tokens < spot.rule.min_tokens:
            continue
        there = spot.held >= one.tokens - SLACK
        worth = gain(spot.rule, one.rate, spot.since if there else inf) * one.tokens
        if worth > 0:
            made.append(Shadow(one.digest, spot.node, worth))
    return made
