"""Looks after the nodes: asks each whether it lives, and gives up on what it will not answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from proxy.core.events import NodeTurned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.node import Node
    from proxy.ports import Clock, Emit

EVERY: Final = 1.0
"""Seconds between two probes of a node; after the first that fails the second comes at once."""


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

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for node in self._nodes:
                group.create_task(self._watched(node))

    async def _watched(self, node: Node) -> None:
        while True:
            await self.look(node)
            if not node.health.doubted:
                await self._clock.sleep(EVERY)

    async def look(self, node: Node) -> None:
        """Probe it once."""
        assert node.probe is not None
        answered = refused = False
        try:
            answered = await node.probe()
        except ConnectionRefusedError:
            refused = True
        node.health.probe(answered=answered)
        state = node.health.state
        if state == "out":
            node.give_up()
            if refused and node.name not in self._gone:
                # Calls go elsewhere now, so that none is refused, which would tell the same.
                self._gone.add(node.name)
                self._lost(node)
        if answered:
            self._gone.discard(node.name)
        if state != self._told[node.name]:
            self._told[node.name] = state
            self._emit(NodeTurned(node.name, state))

    def __repr__(self) -> str:
        out = [node.name for node in self._nodes if node.health.state == "out"]
        return f"<Watch {len(self._nodes)} nodes, out: {' '.join(out) or 'none'}>"
