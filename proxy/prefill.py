"""Prefill single-flight: who needs what a node is just computing for another waits for it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proxy.wish import Pick


class Lead:
    """A call that makes its node compute the end of a prompt."""

    def __init__(self, pick: Pick) -> None:
        self.node = pick.node.name
        self.chain = () if pick.prompt is None else pick.prompt.chain
        self.first = pick.depth
        """Boundaries at the beginning that the node held, or is computing for others."""
        self.computed = False
        """Whether all of it is held now."""
        self.over = asyncio.Event()

    @property
    def start(self) -> int:
        """Tokens before those that it computes."""
        return self.chain[self.first - 1].tokens if self.first else 0


class Prefills:
    """What the nodes are computing now, for calls of this worker: bounded by the calls that run."""

    def __init__(self, least: int, patience: float) -> None:
        """`least`: tokens in common for which waiting is worth it; 0: for none. `patience`:
        seconds, of each call."""
        self._least, self._patience = least, patience
        self._leads: dict[tuple[str, bytes], Lead] = {}

    def begin(self, pick: Pick) -> Lead | None:
        """A call was given a place; None: it has nothing to wait for, and nobody for it."""
        if not self._least or pick.prompt is None or pick.prompt.tokens < self._least:
            return None
        lead = Lead(pick)
        self._claim(lead)
        return lead

    async def turn(self, lead: Lead) -> None:
        """Wait until the node holds what another call makes it compute; at most so long."""
        if self._ahead(lead) is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                while (other := self._ahead(lead)) is not None:
                    await other.over.wait()
                    if not other.computed:
                        # It failed: the first to wake up takes its place, the rest waits for that.
                        lead.first = min(lead.first, other.first)
                        self._claim(lead)

    def end(self, lead: Lead, *, computed: bool) -> None:
        """The first byte is here, or the call is over; only the first time counts."""
        if lead.over.is_set():
            return
        lead.computed = computed
        for boundary in lead.chain[lead.first :]:
            key = lead.node, boundary.digest
            if self._leads.get(key) is lead:
                del self._leads[key]
        lead.over.set()

    def _claim(self, lead: Lead) -> None:
        for boundary in lead.chain[lead.first :]:
            self._leads.setdefault((lead.node, boundary.digest), lead)

    def _ahead(self, lead: Lead) -> Lead | None:
        """Who computes the deepest that this one needs and that is enough to wait for."""
        for boundary in reversed(lead.chain):
            other = self._leads.get((lead.node, boundary.digest))
            if other is None or other is lead:
                continue
            if boundary.tokens - other.start >= self._least:
                return other
            # Not worth it by itself: but it may itself wait for what both need.
        return None

    def __len__(self) -> int:
        return len(self._leads)

    def __repr__(self) -> str:
        return f"<Prefills {len(self)} boundaries>"
