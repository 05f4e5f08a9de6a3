"""Which node holds which prefix, as far as it can be known from outside.

Soft state: a wrong entry costs a prefill, never an answer.
"""

from __future__ import annotations

from collections import OrderedDict
from math import inf
from typing import TYPE_CHECKING, Final

from proxy.core.capacity import Capacity
from proxy.core.restart import Restarts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from proxy.core.chain import Boundary

CAPACITY: Final = 2_000_000
"""Tokens that a node is first taken to keep. Rather too many: too few costs far more."""
_SLACK: Final = 256
"""Tokens beyond the next boundary from which on it was there: not a part of it alone."""
_AT_ONCE: Final = 1024
"""Boundaries of a forgotten node that are cleared with each prompt: more than any prompt adds."""


class Held:
    """What one node keeps: boundaries, the ones used longest ago dropped first."""

    __slots__ = ("bit", "boundaries", "capacity", "restarts", "tokens", "until")

    def __init__(self, capacity: Capacity, bit: int) -> None:
        self.bit, self.capacity = bit, capacity
        self.boundaries: OrderedDict[bytes, int] = OrderedDict()
        """Tokens since the boundary before, by digest; oldest first."""
        self.until: dict[bytes, float] = {}
        """When those are forgotten that are only kept for a time."""
        self.tokens = 0
        self.restarts = Restarts()

    def holds(self, digest: bytes, now: float) -> bool:
        """Whether it keeps that boundary still."""
        return digest in self.boundaries and (not self.until or self.lasts(digest) > now)

    def lasts(self, digest: bytes) -> float:
        """Until when it keeps it; infinite: until it is driven out."""
        return self.until.get(digest, inf)


class Prefixes:
    """The boundaries that each node holds, bounded in number.

    Every operation is linear in the chain's length and free of the number of boundaries known.
    """

    def __init__(
        self, nodes: Iterable[str], *, entries: int, capacity: float = CAPACITY, adapts: bool = True
    ) -> None:
        """`entries`: boundaries known of all nodes together. `capacity`: tokens. `adapts`: whether
        reports correct it."""
        self._held = {
            name: Held(Capacity(capacity, adapts=adapts), 1 << at) for at, name in enumerate(nodes)
        }
        self._owners: dict[bytes, int] = {}
        """By boundary, the bits of the nodes that hold it: one look-up, however many nodes."""
        self.each = max(1, entries // max(1, len(self._held)))
        """Boundaries known of one node, at most."""
        self._gone: list[tuple[Held, OrderedDict[bytes, int]]] = []
        """What forgotten nodes held and is not yet out of `owners`: it is cleared bit by bit."""

    def depths(
        self, names: Sequence[str], chain: Sequence[Boundary], now: float = -inf
    ) -> list[int]:
        """Of each node, how many boundaries of the chain it holds, counted to the deepest one.
        `now`: by the clock of what is put until a time."""
        places = {self._held[name].bit: at for at, name in enumerate(names)}
        found, left, owners = [0] * len(names), sum(places), self._owners
        for depth in range(len(chain), 0, -1):
            digest = chain[depth - 1][0]
            new = owners.get(digest, 0) & left
            while new:
                bit = new & -new  # one after the other: most boundaries are held by few nodes
                new ^= bit
                at = places[bit]
                if self._held[names[at]].holds(digest, now):
                    found[at] = depth
                    left ^= bit
            if not left:
                break
        return found

    def put(self, name: str, chain: Sequence[Boundary], until: float = inf) -> None:
        """The node computes this prompt, and will keep it, for that time at most."""
        held, known, owners = self._held[name], self._held[name].boundaries, self._owners
        # Deepest first, so that what is dropped first is the tail of the chain used longest ago,
        # as engines do it.
        for at in range(len(chain) - 1, -1, -1):
            digest, tokens = chain[at]
            if digest in known:
                known.move_to_end(digest)
            else:
                size = max(0, tokens - chain[at - 1][1]) if at else tokens
                known[digest] = size
                held.tokens += size
                owners[digest] = owners.get(digest, 0) | held.bit
            if until < inf:
                held.until[digest] = until
        self._trim(held)
        self._clear()

    def recall(self, name: str, rows: Iterable[tuple[bytes, int, float]]) -> None:
        """The node was seen to use these, the last of them last: digests, tokens since the boundary
        before, and until when it keeps them."""
        held, known, owners = self._held[name], self._held[name].boundaries, self._owners
        for digest, size, until in rows:
            if digest in known:
                known.move_to_end(digest)
            else:
                known[digest] = size
                held.tokens += size
                owners[digest] = owners.get(digest, 0) | held.bit
            if until < inf:
                held.until[digest] = max(until, held.until.get(digest, until))
        self._trim(held)
        self._clear()

    def lasts(self, name: str, digest: bytes) -> float:
        """Until when the node keeps that boundary; infinite: until it is driven out."""
        return self._held[name].lasts(digest)

    def report(
        self, name: str, chain: Sequence[Boundary], expected: int, cached: float, counted: int = 0
    ) -> bool:
        """The node says what share of the prompt it had kept: `cached` in [0, 1], where the first
        `expected` boundaries were thought to be there when it was asked. `counted`: tokens of the
        prompt as the node counts them; 0: it does not say. Whether that proves that it began anew,
        with this prompt."""
        held, restarts = self._held[name], self._held[name].restarts
        capacity, whole = held.capacity, chain[-1].tokens
        restarts.tells = True
        if counted:
            capacity.measure(whole, counted, cached)
        slack, tokens = capacity.slack(whole, counted), cached * whole
        thought = chain[expected - 1].tokens if expected else 0
        if tokens >= thought - slack:
            if thought > slack:
                restarts.kept()
            # Up to the next boundary more is no surprise: what another prompt has in common with
            # this one ends where it likes. That boundary itself was thought to be gone.
            if expected < len(chain) and tokens >= min(chain[expected].tokens + _SLACK, whole):
                capacity.larger()
            return False
        if not restarts.lost:
            capacity.confirmed()
        capacity.smaller()
        if not restarts.missed(everything=tokens < 1):
            self._trim(held)
            return False
        capacity.restored()
        self.forget(name)
        self.put(name, chain)
        return True

    def room(self, name: str, tokens: int) -> None:
        """The node has room for so many tokens, by its own count, which is known from the blocks
        that it stores and removes: from now on reports correct its capacity below that only."""
        held = self._held[name]
        held.capacity.told(tokens)
        self._trim(held)

    def epoch(self, name: str) -> int:
        """Counts the lives of the node's cache."""
        return self._held[name].restarts.number

    def restarts(self, name: str) -> Restarts:
        """Of the node, as far as it tells."""
        return self._held[name].restarts

    def doubt(self, name: str) -> None:
        """The node could not be reached: it may have begun anew. One that never tells has."""
        if not self._held[name].restarts.doubt():
            self.forget(name)

    def forget(self, name: str) -> None:
        """The node began anew: it holds nothing."""
        held = self._held[name]
        if held.boundaries:
            self._gone.append((held, held.boundaries))
            held.boundaries, held.until = OrderedDict(), {}
        held.tokens = 0
        held.restarts.begin()

    def stats(self, name: str) -> tuple[int, int, float, int]:
        """Boundaries, their tokens, the capacity in tokens, and the epoch."""
        held = self._held[name]
        return len(held.boundaries), held.tokens, held.capacity.tokens, held.restarts.number

    def _trim(self, held: Held) -> None:
        known = held.boundaries
        while known and (held.tokens > held.capacity.tokens or len(known) > self.each):
            self._drop(held)

    def _clear(self) -> None:
        """Some of what is gone."""
        for _ in range(_AT_ONCE if self._gone else 0):
            held, boundaries = self._gone[-1]
            digest, _ = boundaries.popitem()
            if digest not in held.boundaries:
                self._disown(held, digest)
            if not boundaries:
                self._gone.pop()
                if not self._gone:
                    break

    def _drop(self, held: Held) -> None:
        digest, tokens = held.boundaries.popitem(last=False)
        held.until.pop(digest, None)
        held.tokens -= tokens
        self._disown(held, digest)

    def _disown(self, held: Held, digest: bytes) -> None:
        owners = self._owners.get(digest, 0)
        if others := owners & ~held.bit:
            self._owners[digest] = others
        elif owners:
            del self._owners[digest]

    def __repr__(self) -> str:
        known = sum(len(held.boundaries) for held in self._held.values())
        return f"<Prefixes {known} boundaries of {len(self._held)} nodes>"
