"""What the path needs of the outside, as protocols of at most three methods each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from proxy.core.entry import Entry, Form, Key, Stored
    from proxy.core.events import Event
    from proxy.core.message import Call, Head
    from proxy.core.near import Blamed, Near, Verdict, Why
    from proxy.core.request import Lookup

    Emit = Callable[[Event], None]


class StoreError(Exception):
    """A tier that cannot serve now. The path treats it as a miss and emits an event."""

    def __init__(self, tier: str, message: str) -> None:
        super().__init__(f"{tier}: {message}")
        self.tier = tier


class Store(Protocol):
    """One tier. Bytes that do not prove to be the entry asked for are a miss, never an error."""

    async def get(self, key: Key, now: float) -> Stored | None:
        """What is stored under `key` and may still be served at `now` (unix seconds).

        Raises: StoreError.
        """

    async def put(self, stored: Stored, now: float) -> bool:
        """Keep it; False: something asked for later is there, and stays. What is kept may be
        dropped at any time. Raises: StoreError.
        """

    async def delete(self, key: Key) -> bool:
        """Forget it; whether it was there. Raises: StoreError."""


class UpstreamError(Exception):
    """An upstream that gave no (whole) answer.

    `kind` is connect (it never saw the request), reused (a connection that had carried another
    request ended before any byte of an answer), timeout, protocol, cut, ejected (it had not begun
    to answer, and answers no probes any more), frozen (it had begun), status (an answer that is
    worse than none), gone (another gateway that had asked for us), stranger (one that does not talk
    to us), or overload (nobody was asked: every node has all it can take, or is left alone after
    failures).
    """

    def __init__(
        self,
        node: str,
        kind: str,
        message: str,
        status: int = 0,
        retry_after: float = 0.0,
        why: str = "",
    ) -> None:
        super().__init__(message)
        self.node = node
        self.kind = kind
        self.why = why
        """Of `connect`, in words that name no host."""
        self.status = status
        """Of the answer, where there was one."""
        self.retry_after = retry_after
        """Seconds after which asking again makes sense; 0: nobody knows."""

    @property
    def broke_off(self) -> bool:
        """Whether an answer had begun. To who only waited for it beside another it says nothing: a
        call of its own may end well."""
        return self.kind in ("cut", "frozen", "protocol", "gone")


class Body(Protocol):
    """Bytes that are still arriving."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The bytes as they come. Raises UpstreamError where they break off."""

    async def aclose(self) -> None:
        """Read no more; ends the call behind it if nobody else reads it."""


class UpstreamResponse(Body, Protocol):
    """An answer that is arriving: its head, then its body as received, still encoded."""

    head: Head
    node: str


class Followed(UpstreamResponse, Protocol):
    """An answer that another worker receives, while it arrives there."""

    asked: Form
    """The form that the upstream was asked for."""
    raw: bytes
    """The request that it was asked with, by its bytes."""
    counted: bool
    """Whether it was asked for usage."""


class Upstream(Protocol):
    """One upstream node."""

    async def send(self, call: Call) -> UpstreamResponse:
        """The answer, once its head is there. Raises: UpstreamError."""


class Peers(Protocol):
    """The other workers, of this machine and of others."""

    async def follow(self, owner: str, name: bytes) -> Followed | None:
        """The running flight of that name at `owner`; None if it does not fly there (any more).

        Raises: UpstreamError: what the owner's flight met, or kind `gone` where the owner is dead
        or frozen; an answer breaks off with that kind too.
        """


class SemanticError(Exception):
    """The semantic process gave no answer: it is not there, busy, or could not."""


class SemanticAbsentError(SemanticError):
    """Nobody listens there: it is still starting, or has ended."""


class Semantic(Protocol):
    """Stored questions, compared by their meaning. All methods raise SemanticError."""

    async def nearest(self, lookup: Lookup, epoch: int) -> Near:
        """A stored question that means the same as this one's."""

    async def learn(self, entries: Sequence[Entry]) -> Sequence[Key]:
        """Remember the questions that these answer; the keys of those that have to be told once
        more before all that mean the same can be found."""

    async def forget(self, keys: Sequence[Key], why: Why, mark: int | None = None) -> None:
        """The answers under these keys are gone. `mark`: by what the process said then; what it has
        learnt since stays."""


class School(Protocol):
    """What the semantic process learns its errors from. All methods raise SemanticError."""

    async def compare(self, near: Near, text: str, stored: str, answered: str) -> Sequence[Verdict]:
        """Whether a stored answer was right for a question, by what the upstream answered."""

    async def consult(self, near: Near, text: str, stored: str) -> Near:
        """The same, to be served or not as a judge says of the stored answer."""


class Complaints(Protocol):
    """What somebody may call wrong afterwards. All methods raise SemanticError."""

    async def served(self, near: Near, text: str, request: str) -> None:
        """A request that asked `text` was answered with it."""

    async def blame(self, request: str) -> Blamed | None:
        """Somebody calls the hit of a request wrong, of any machine's. None: no such hit is known
        (any more). Raises: StoreError: what other machines know cannot be asked for."""


class Clock(Protocol):
    """The time. `now`: unix seconds, comparable between machines; `mono`: this process only."""

    def now(self) -> float: ...

    def mono(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class Leases(Protocol):
    """Which worker, of this machine or of the fleet, flies for a key."""

    async def acquire(self, name: bytes, instead: str = "") -> int | str:
        """Where this worker holds it now: the fencing token, which grows with each holder, or 0
        where there is none to be had. Otherwise the address of the worker that does.

        `instead`: an owner that it is taken away from, where that is possible.

        Any failure of the lease store reads as 0: everyone flies alone.
        """

    async def release(self, name: bytes) -> None:
        """Give it back, if this worker holds it."""
