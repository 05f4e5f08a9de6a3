"""Who holds a prompt, for an operator."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

if TYPE_CHECKING:
    from proxy.core.prefix import Prompt
    from proxy.router import Router

    Status: TypeAlias = Literal["HOT", "WARMING", "COLD"]


class Holder(msgspec.Struct, frozen=True):
    """What is known of a prompt at a node."""

    node: str
    provider: str
    zone: str
    status: Status
    """WARMING: some is being computed just now, for any gateway; HOT: some is there; COLD: nothing
    is."""
    depth: int
    """Boundaries."""
    tokens: int
    """Up to there, estimated."""
    epoch: int
    """Counts the lives of the node's cache: by the fleet's table, or as far as this gateway saw
    them."""
    expires: float | None
    """Seconds after which the node forgets it; None: once it is driven out."""


def holders(router: Router, prompt: Prompt, model: str) -> list[Holder]:
    """Of each node."""
    names, prefixes, gossip = [node.name for node in router.nodes], router.prefixes, router.gossip
    found = []
    for node, depth in zip(router.nodes, router.held(names, prompt, model), strict=True):
        lasts, epoch = inf, gossip.table.epoch(node.name)
        if depth:
            lasts = prefixes.lasts(node.name, prompt.chain[depth - 1].digest) - router.mono()
        warming = gossip.computing(node, prompt.chain)
        found.append(
            Holder(
                node.name,
                router.rule(node.name, model).provider,
                node.zone,
                "WARMING" if warming else "HOT" if depth else "COLD",
                depth,
                prompt.held(depth),
                prefixes.epoch(node.name) if epoch is None else epoch,
                None if lasts == inf else round(lasts, 3),
            )
        )
    return found
