"""What a call may be given a place at, and the node that was picked for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from proxy.core.route import considered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.core.prefix import Prompt
    from proxy.core.route import Candidate, Considered, Reason
    from proxy.node import Node

    Why: TypeAlias = Reason | Literal["only", "failover", "island"]
    """only: there was no other; failover: another could not answer; island: by what this gateway
    alone knows, since it cannot hear the others."""


class Wish(NamedTuple):
    """What a call may be given a place at."""

    nodes: tuple[Node, ...]
    model: str | None
    """None: it is about no model, so no breaker speaks for it."""
    tenant: bytes
    sticky: bool
    """Whether the first node counts more than a free one."""
    prompt: Prompt | None = None
    """None: it has none, or no choice depends on it."""

    def scope(self, node: Node) -> tuple[str, str, bytes]:
        """What a refusal of the node's holds for: it, the model, and whose limits it speaks of."""
        return node.name, self.model or "", self.tenant if node.credential is None else b""

    def without(self, *nodes: Node) -> Wish:
        return self._replace(nodes=tuple([node for node in self.nodes if node not in nodes]))


class Pick(NamedTuple):
    """A node, and what speaks for it."""

    node: Node
    reason: Why
    prompt: Prompt | None = None
    depth: int = 0
    """Boundaries of the prompt that it is thought to hold."""
    candidates: Sequence[Candidate] = ()
    """All that could have been asked; empty: there was no choice."""
    costs: Sequence[float] = ()
    """Of each, in tokens; empty: the policy goes by something else."""

    @property
    def cached(self) -> int:
        """Tokens of the prompt that it is thought to hold."""
        return self.prompt.held(self.depth) if self.prompt else 0

    @property
    def considered(self) -> tuple[Considered, ...]:
        """The candidates as an operator sees them."""
        return considered(self.candidates, self.costs, self.prompt)
