"""The upstream nodes: which may serve a model, in what order they are tried, how busy they are."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, Literal, Self, TypeAlias

from proxy.core.entry import Usage
from proxy.core.events import UpstreamAnswered, UpstreamFailed
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.core.message import Call, Head
    from proxy.ports import Clock, Emit, Upstream, UpstreamResponse


_UNSEEN: Final = frozenset(("connect",))
_UNANSWERED: Final = frozenset(("connect", "cut", "protocol"))
"""A node that was silent for too long is not among them: the next would be as slow to wait for."""


Choice: TypeAlias = Literal["only", "least", "failover"]
"""Why a node was asked: there was no other; it was the least busy; another could not answer."""


class NoNodeError(Exception):
    """No node serves the model."""

    def __init__(self, model: str) -> None:
        super().__init__(f"no upstream serves the model {model!r}")
        self.model = model


class Node:
    """An upstream, what it serves, and how many calls it is answering."""

    def __init__(
        self,
        name: str,
        upstream: Upstream,
        *,
        models: Sequence[str] = ("*",),
        credential: str | None = None,
        ask_usage: bool = True,
    ) -> None:
        self.name = name
        self.upstream = upstream
        self.models = tuple(models)
        self.credential = credential
        """Sent instead of the client's own; None: the client's."""
        self.ask_usage = ask_usage
        self.running = 0

    def serves(self, model: str) -> bool:
        return any(fnmatchcase(model, glob) for glob in self.models)

    def __repr__(self) -> str:
        return f"<Node {self.name} running={self.running}>"


class Answering:
    """A node's answer; the node counts as busy until it is closed, and its end is told once."""

    def __init__(
        self,
        response: UpstreamResponse,
        node: Node,
        reason: Choice,
        asked: float,
        clock: Clock,
        emit: Emit,
    ) -> None:
        self.head: Head = response.head
        self.node = node.name
        self.reason: Choice = reason
        self.counted = node.ask_usage
        """Whether streams of this node are asked for usage, wanted or not."""
        self.usage = Usage()
        """What the answer says it cost, set by who read it; told when it is closed."""
        self._response = response
        self._chunks = response.__aiter__()
        self._of = node
        self._asked = asked
        self._first = clock.mono()
        self._clock = clock
        self._emit = emit
        self._open = True
        self._failed = False

    @property
    def seconds(self) -> float:
        """Since it was asked."""
        return self._clock.mono() - self._asked

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await self._chunks.__anext__()
        except UpstreamError as error:
            self._failed = True
            self._emit(UpstreamFailed(self.node, error.kind))
            raise

    async def aclose(self) -> None:
        if not self._open:
            return
        self._open = False
        self._of.running -= 1
        await self._response.aclose()
        if self._failed:
            return
        first, usage = self._first - self._asked, self.usage
        self._emit(
            UpstreamAnswered(
                self.node, self.head.status, first, self.seconds, usage.input, usage.output
            )
        )


class Fleet:
    """All nodes."""

    def __init__(self, nodes: Sequence[Node], clock: Clock, emit: Emit) -> None:
        self.nodes = tuple(nodes)
        self._clock = clock
        self._emit = emit

    async def send(
        self,
        model: str | None,
        build: Callable[[Node], Call],
        *,
        repeatable: bool = True,
        sticky: bool = False,
    ) -> Answering:
        """The answer of the least busy node that serves `model`; `sticky`: of the first one, since
        files, batches and other state lie where they were made. None: any node serves it.

        Where a node cannot be reached or breaks off before its first byte, each other one is tried
        once. What is not `repeatable`, an upload that was begun or an operation that may not be
        done twice, goes to another node only where the first never saw it.

        Raises: NoNodeError, UpstreamError (the last node's).
        """
        candidates = [node for node in self.nodes if model is None or node.serves(model)]
        if not sticky:
            candidates.sort(key=_busy)
        failed: UpstreamError | None = None
        reason: Choice = "least" if len(candidates) > 1 else "only"
        for node in candidates:
            asked = self._clock.mono()
            node.running += 1
            try:
                response = await node.upstream.send(build(node))
            except UpstreamError as error:
                node.running -= 1
                self._emit(UpstreamFailed(node.name, error.kind))
                if error.kind not in (_UNANSWERED if repeatable else _UNSEEN):
                    raise
                failed, reason = error, "failover"
            except BaseException:  # a cancelled call must not count for ever
                node.running -= 1
                raise
            else:
                return Answering(response, node, reason, asked, self._clock, self._emit)
        raise failed or NoNodeError(model or "")

    def __repr__(self) -> str:
        return f"<Fleet {' '.join(map(repr, self.nodes))}>"


def _busy(node: Node) -> int:
    return node.running
