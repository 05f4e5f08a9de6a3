"""Looks after the nodes: asks each whether it lives, and gives up on what it will not answer."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from proxy.core.events import NodeSuspected, NodeTurned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.node import Node
    from proxy.ports import Clock, Emit

EVERY: Final = 1.0
"""Seconds between two probes of a node; after the first that fails the second comes at once."""
_SOONEST: Final = 0.2
"""Seconds after a probe before a late first byte brings the next: many may be late at a time."""


class Watch:
    """Probes those nodes that can be probed."""

    def __init__(
        self, nodes: Sequence[Node], lost: Callable[[Node], None], clock: Clock, emit: Emit
    ) -> None:
        """`lost`: takes those where nobody listens any more, and who begin anew."""
        self._lost = lost
        self._nodes = tuple(node for node in nodes if node.probe is not None)
        self._clock, self._emit = clock, emit
        self._told = {node.name: "in" for node in nodes}
        self._gone: set[str] = set()
        """Of whom that was said since they last answered."""
        self._resting: dict[str, _Rest] = {}
        """Nodes that have no probe on its way."""
        for node in self._nodes:
            node.outstanding.late = partial(self.late, node)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for node in self._nodes:
                group.create_task(self._watched(node))

    async def _watched(self, node: Node) -> None:
        while True:
            await self.look(node)
            if not node.health.doubted:
                await self._rest(node)

    async def _rest(self, node: Node) -> None:
        """Until the next probe, which comes sooner where a first byte is late."""
        begun = asyncio.get_running_loop().time()
        with suppress(TimeoutError):
            async with asyncio.timeout(None) as limit:
                self._resting[node.name] = _Rest(limit, begun + _SOONEST)
                try:
                    await self._clock.sleep(EVERY)
                finally:
                    self._resting.pop(node.name, None)

    def late(self, node: Node) -> None:
        """A first byte is late, and nothing else came of the node: it is probed at once, unless it
        is being probed, or was a moment ago."""
        if node.health.state == "out" or (rest := self._resting.pop(node.name, None)) is None:
            return
        node.health.suspect()
        self._emit(NodeSuspected(node.name))
        rest.limit.reschedule(max(rest.soonest, asyncio.get_running_loop().time()))

    async def look(self, node: Node) -> None:
        """Probe it once."""
        assert node.probe is not None
        health, calls = node.health, node.outstanding
        heard = calls.heard
        sign = await node.probe()
        if sign == "silent" and calls.heard != heard:
            sign = "alive"  # too busy for a probe, but not for others
        health.probe(sign, mono=self._clock.mono(), heard=calls.heard)
        if health.state == "out":
            calls.give_up()
            await calls.silent_for(health.silence)
            if sign == "refused" and node.name not in self._gone:
                # Calls go elsewhere now, so that none is refused, which would tell the same.
                self._gone.add(node.name)
                self._lost(node)
        if sign == "alive":
            self._gone.discard(node.name)
        if health.state != self._told[node.name]:
            self._told[node.name] = health.state
            self._emit(NodeTurned(node.name, health.state))

    def __repr__(self) -> str:
        out = [node.name for node in self._nodes if node.health.state == "out"]
        return f"<Watch {len(self._nodes)} nodes, out: {' '.join(out) or 'none'}>"


class _Rest(NamedTuple):
    """The time between two probes."""

    limit: asyncio.Timeout
    soonest: float
    """When it may end, by the loop's clock."""
