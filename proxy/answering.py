"""A node's answer while it arrives, and what its course says of the node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from proxy.core.cached import Edges
from proxy.core.entry import Usage
from proxy.core.events import UpstreamAnswered, UpstreamFailed
from proxy.core.status import Why
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from proxy.core.message import Head
    from proxy.place import Place
    from proxy.ports import Clock, Emit, UpstreamResponse

_OVERLOADED: Final = frozenset((503, 529))
"""By these a node says that it has more calls than it can take."""

_UNWANTED: Final = 4 << 20
"""Bytes of an answer that was to be one token long: Responses repeat their instructions."""


class Answering:
    """A node's answer; it takes up a place at the node until it is closed, and its end is told
    once."""

    def __init__(
        self,
        response: UpstreamResponse,
        place: Place,
        asked: float,
        clock: Clock,
        emit: Emit,
    ) -> None:
        """`asked`: when, in monotonic seconds."""
        self.head: Head = response.head
        self.node = place.node.name
        self.why = Why(place.route.reason, place.route.cached)
        self.counted = place.node.ask_usage
        """Whether streams of this node are asked for usage, wanted or not."""
        self.usage = Usage()
        """What the answer says it cost, set by who read it; told when it is closed."""
        self.reserved = 0
        """Tokens that its tenant was charged before they were counted."""
        self._response, self._place, self._asked = response, place, asked
        self._chunks = response.__aiter__()
        self._head_at = clock.mono()
        self._first: float | None = None
        self._clock, self._emit = clock, emit
        self._open = True
        self._failed = self._whole = self._frozen = self._stream = False
        self._next: bytes | None = None
        self._edges = _edges(self.head) if place.route.routed else None
        """None: nobody asks what they say of usage."""
        place.route.answered(self.head.get("x-request-id") or "")
        self._unwell(self.head.status)
        place.node.outstanding.begun(self._freeze, place.elsewhere)

    def begins(self, begun: bytes | None, *, stream: bool) -> None:
        """`begun`: its first bytes, where they are here. `stream`: it comes token by token."""
        self._stream, self._next = stream, begun
        if begun is None:
            return
        self._begun()
        if self._edges is not None:
            self._edges.feed(begun)
            if self.head.status < 400 and (told := self._edges.counts()) is not None:
                self.why = self.why._replace(reported=self._place.route.measured(*told))

    @property
    def seconds(self) -> float:
        """Since it was asked."""
        return self._clock.mono() - self._asked

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        chunk, self._next = self._next, None
        if chunk is None:
            try:
                chunk = await self._chunks.__anext__()
                if self._edges is not None:
                    self._edges.feed(chunk)
            except StopAsyncIteration:
                self._ended()
                raise
            except UpstreamError as error:
                raise self._broken(error) from error
        self._place.node.outstanding.heard += 1
        if self._first is None:
            self._begun()
        return chunk

    async def aclose(self) -> None:
        if not self._open:
            return
        self._open = False
        self._place.node.outstanding.ended(self._freeze)
        try:
            await self._response.aclose()
        finally:  # not before: the node is busy with it until then
            self._left()
            self._place.leave()
        if self._failed:
            return
        usage = self.usage
        self._emit(
            UpstreamAnswered(
                self.node, self.head.status, self._waited(), self.seconds, usage.input, usage.output
            )
        )

    async def _freeze(self) -> None:
        """No more will come of its node. Whoever reads it meets its end."""
        self._frozen = True
        await self._response.aclose()

    def _broken(self, error: UpstreamError) -> UpstreamError:
        """As which error its reader is to meet its end."""
        self._failed = True
        if self._frozen:
            told = f"upstream {self.node} fell silent, and answers no probes"
            error = UpstreamError(self.node, "frozen", told)
        self._place.judge("failure", self._waited())
        self._emit(UpstreamFailed(self.node, error.kind))
        return error

    def _unwell(self, status: int) -> None:
        if status >= 500:
            self._place.judge("failure", self._head_at - self._asked)
        if status in _OVERLOADED:
            self._place.refused()

    def _begun(self) -> None:
        """The first byte: many send the head of a stream long before it."""
        self._first = self._clock.mono()
        self._place.route.computed(well=self.head.status < 300)
        if self.head.status < 300:
            media = (self.head.get("content-type") or "").partition(";")[0]
            self._place.flows(media, self._first - self._asked)
            if self._stream:
                pace = self._place.node.outstanding.pace
                pace.took(self._place.route.ahead, self._first - self._asked)

    def _ended(self) -> None:
        self._whole = True
        if self.head.status < 400:
            self._place.judge("success", self._waited())
            if self._edges is not None and (told := self._edges.counts()) is not None:
                self._place.route.report(*told, timed=self._stream)

    def _left(self) -> None:
        """Who leaves says nothing of the node, but how long nothing had come."""
        if self.head.status < 400 and not self._whole:
            unbegun = self._first is None
            self._place.judge("neither", self.seconds if unbegun else self._waited())

    def _waited(self) -> float:
        """Seconds to the first byte, or, of an answer without any, to its head."""
        first = self._head_at if self._first is None else self._first
        return first - self._asked


async def first(response: UpstreamResponse) -> bytes | None:
    """The first bytes of an answer, once they are here; None: it has none. Raises: UpstreamError;
    it is closed then."""
    try:
        return await anext(aiter(response))
    except StopAsyncIteration:
        return None
    except BaseException:
        await response.aclose()
        raise


async def skimmed(response: UpstreamResponse) -> tuple[int, int] | None:
    """What an answer that nobody wants says of usage, as `core.cached.counts`. Raises:
    UpstreamError; kind `status` where it is a refusal or does not end."""
    edges, size, status = _edges(response.head), 0, response.head.status
    try:
        async for chunk in response:
            edges.feed(chunk)
            size += len(chunk)
            if size > _UNWANTED:
                break
    finally:
        await response.aclose()
    if status >= 400 or size > _UNWANTED:
        raise UpstreamError(response.node, "status", "not what was asked for", status)
    return edges.counts()


def _edges(head: Head) -> Edges:
    return Edges(head.coding)
