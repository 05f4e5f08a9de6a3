"""The ports played by hand: time that is moved, stores, upstreams, peers and leases that keep
bytes or fail."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias

from msgspec import structs

from proxy.core import wire
from proxy.core.entry import Entry, Key
from proxy.core.message import Head
from proxy.core.near import Action, Blamed, Near, Verdict, Why
from proxy.ports import SemanticAbsentError, SemanticError, StoreError, UpstreamError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.core.entry import Form, Stored
    from proxy.core.message import Call, Headers
    from proxy.core.request import Lookup

JSON: Headers = (("content-type", "application/json"),)
EVENTS: Headers = (("content-type", "text/event-stream"),)

Piece: TypeAlias = "bytes | asyncio.Event | Exception"
"""Bytes arrive at once, an event is waited for, an exception is where it breaks off."""


async def settle() -> None:
    """Let all that can go on do so, until everyone waits."""
    for _ in range(100):
        await asyncio.sleep(0)


class FakeClock:
    """Stands still until it is advanced; who sleeps wakes when it was advanced far enough."""

    def __init__(self, now: float = 1_800_000_000.0, mono: float = 1000.0) -> None:
        self._now = now
        self._mono = mono
        self._sleepers: list[tuple[float, asyncio.Event]] = []

    def now(self) -> float:
        return self._now

    def mono(self) -> float:
        return self._mono

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        sleeper = (self._mono + seconds, asyncio.Event())
        self._sleepers.append(sleeper)
        try:
            await sleeper[1].wait()
        finally:
            self._sleepers.remove(sleeper)

    def advance(self, seconds: float) -> None:
        """Move both clocks. Those woken run when the caller next awaits."""
        self._now += seconds
        self._mono += seconds
        for due, event in self._sleepers:
            if due <= self._mono:
                event.set()


class FakeStore:
    """A Store in a dict. It keeps bytes, so that a value without an encoding shows."""

    def __init__(self) -> None:
        self.data: dict[Key, bytes] = {}

    async def get(self, key: Key, now: float) -> Stored | None:
        stored = wire.decode(self.data.get(key, b""), key)
        return stored if stored is not None and stored.expires > now else None

    async def put(self, stored: Stored, now: float) -> bool:
        held = await self.get(stored.key, now)
        if held is not None and held.asked > stored.asked:
            return False
        self.data[stored.key] = wire.encode(stored)
        return True

    async def holds(self, keys: Sequence[Key], now: float) -> dict[Key, float]:
        found = [await self.get(key, now) for key in keys]
        asked = [one for one in found if isinstance(one, Entry) and one.question is not None]
        return {one.key: one.asked for one in asked}

    async def delete(self, key: Key) -> bool:
        return self.data.pop(key, None) is not None


class AwayStore(FakeStore):
    """One that cannot be read at times."""

    away = False

    async def get(self, key: Key, now: float) -> Stored | None:
        if self.away:
            raise StoreError("away", "no answer in time")
        return await super().get(key, now)


class BrokenStore:
    """A Store that can do nothing, and counts how often it was asked."""

    def __init__(self, tier: str = "broken") -> None:
        self.tier = tier
        self.asked = 0

    async def get(self, key: Key, now: float) -> Stored | None:
        raise self._refused()

    async def put(self, stored: Stored, now: float) -> bool:
        raise self._refused()

    async def delete(self, key: Key) -> bool:
        raise self._refused()

    def _refused(self) -> StoreError:
        self.asked += 1
        return StoreError(self.tier, "always fails")


class FakeLeases:
    """Leases of one worker. Workers made with the same `board` compete with each other."""

    def __init__(
        self,
        board: dict[bytes, tuple[str, float]],
        address: str,
        clock: FakeClock,
        term: float = 1.5,
    ) -> None:
        self.board = board
        self.address = address
        self.failing = False
        self._held: dict[bytes, tuple[str, float]] = {}
        self._clock = clock
        self._term = term

    async def acquire(self, name: bytes, instead: str = "") -> int | str:
        owner, until = self.board.get(name, (self.address, 0.0))
        if self.failing:
            return 0
        if owner not in (self.address, instead) and until > self._clock.mono():
            return owner
        self.board[name] = self._held[name] = (self.address, self._clock.mono() + self._term)
        return 0

    async def release(self, name: bytes) -> None:
        if name in self._held and self.board.get(name) == self._held.pop(name):
            del self.board[name]

    async def renew(self) -> None:
        """Extend what this worker holds."""
        for name, held in list(self._held.items()):
            if self.board.get(name) == held:
                self.board[name] = self._held[name] = (held[0], self._clock.mono() + self._term)


@dataclass(frozen=True)
class Answer:
    """What an upstream says to one call."""

    pieces: Sequence[Piece] = ()
    status: int = 200
    headers: Headers = JSON
    door: asyncio.Event | None = None
    """What comes before the head."""


class FakeResponse:
    """An answer while it arrives. It tells its upstream when it is closed."""

    def __init__(self, answer: Answer, node: str, closed: Callable[[], None]) -> None:
        self.head = Head(answer.status, answer.headers)
        self.node = node
        self._pieces = iter(answer.pieces)
        self._closed: Callable[[], None] | None = closed
        self._waiting: asyncio.Timeout | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        for piece in self._pieces:
            match piece:
                case bytes():
                    return piece
                case asyncio.Event():
                    await self._until(piece)
                case Exception():
                    raise piece
        raise StopAsyncIteration

    async def _until(self, piece: asyncio.Event) -> None:
        """Raises: UpstreamError, where it is closed meanwhile."""
        try:
            async with asyncio.timeout(None) as self._waiting:
                await piece.wait()
        except TimeoutError:
            raise UpstreamError(self.node, "cut", "it was closed") from None
        finally:
            self._waiting = None

    async def aclose(self) -> None:
        if self._waiting is not None:
            self._waiting.reschedule(asyncio.get_running_loop().time())
        closed, self._closed = self._closed, None
        if closed is not None:
            closed()


class FakeUpstream:
    """A node that gives its answers one after the other, the last one again and again."""

    def __init__(self, *script: Answer | UpstreamError, name: str = "gpu") -> None:
        self.script = list(script)
        self.name = name
        self.calls: list[Call] = []
        self.answering = 0
        """Calls that were begun and are not closed."""

    async def send(self, call: Call) -> FakeResponse:
        turn = min(len(self.calls), len(self.script) - 1)
        self.calls.append(call)
        answer = self.script[turn]
        if isinstance(answer, UpstreamError):
            raise answer
        self.answering += 1
        try:
            if answer.door is not None:
                await answer.door.wait()
        except BaseException:
            self._closed()
            raise
        return FakeResponse(answer, self.name, self._closed)

    def _closed(self) -> None:
        self.answering -= 1


class FakeFollowed(FakeResponse):
    """Another worker's answer."""

    def __init__(
        self, answer: Answer, node: str, closed: Callable[[], None], asked: Form = "json"
    ) -> None:
        super().__init__(answer, node, closed)
        self.asked: Form = asked
        self.raw = b""
        self.counted = True


class FakePeers:
    """Other workers: what each look at an owner finds, the last one again and again."""

    def __init__(self, *script: Answer | UpstreamError | None, asked: Form = "json") -> None:
        self.script = list(script)
        self.asked: Form = asked
        self.looks: list[tuple[str, bytes]] = []
        self.following = 0

    async def follow(self, owner: str, name: bytes) -> FakeFollowed | None:
        turn = min(len(self.looks), len(self.script) - 1)
        self.looks.append((owner, name))
        answer = self.script[turn]
        if isinstance(answer, UpstreamError):
            raise answer
        if answer is None:
            return None
        self.following += 1
        return FakeFollowed(answer, "gpu", self._closed, self.asked)

    def _closed(self) -> None:
        self.following -= 1


class FakeSemantic:
    """A semantic process by which two questions mean the same if they begin with the same word."""

    def __init__(self, action: Action = "serve", *, agrees: bool = True) -> None:
        """`agrees`: what its judge says, and what comes of comparing two answers."""
        self.action: Action = action
        self.agrees = agrees
        self.fails = self.absent = False
        self.blind = False
        """Whether its embedder fails."""
        self.known: dict[Key, Entry] = {}
        self.forgotten: list[tuple[Key, Why, int | None]] = []
        self.told: list[int] = []
        """How many answers at a time."""
        self.unread: bytes | None = None
        """The form of what its embedder cannot read; empty: of what may not be compared at all."""
        self.asked: list[str] = []
        self.compared: list[tuple[str, str, str]] = []
        self.answered: dict[str, Key] = {}
        """What requests were answered with."""

    async def nearest(self, lookup: Lookup, epoch: int) -> Near:
        self._fail()
        question = lookup.question
        assert question is not None
        self.asked.append(question.text)
        if self.unread is not None:
            return Near(reason="ineligible:script", form=self.unread)
        for key, entry in self.known.items():
            stored = entry.question
            assert stored is not None
            if stored.scope == question.scope and _first(stored.text) == _first(question.text):
                reason = "" if self.action in ("serve", "judge") else "shadow"
                near = Near(self.action, key, question.scope, "semantic", 0.97, reason=reason)
                return structs.replace(near, tag="fake:1", vector=b"vv", mark=len(self.known))
        return Near(reason="scope_empty", tag="fake:1", vector=b"vv")

    async def learn(self, entries: Sequence[Entry]) -> list[Key]:
        self._fail()
        self.told.append(len(entries))
        self.known |= {entry.key: entry for entry in entries}
        return [entry.key for entry in entries if self.blind]

    async def forget(self, keys: Sequence[Key], why: Why, mark: int | None = None) -> None:
        self._fail()
        self.forgotten += [(key, why, mark) for key in keys]
        for key in keys:
            self.known.pop(key, None)

    async def compare(self, near: Near, text: str, stored: str, answered: str) -> list[Verdict]:
        self._fail()
        self.compared.append((text, stored, answered))
        return [Verdict(near.kind, not self.agrees)]

    async def consult(self, near: Near, text: str, stored: str) -> Near:
        self._fail()
        self.compared.append((text, stored, ""))
        if not self.agrees:
            return Near("none", near.key, reason="judge")
        return Near("serve", near.key, similarity=near.similarity)

    async def served(self, near: Near, text: str, request: str) -> None:
        self._fail()
        self.answered[request] = near.key

    async def blame(self, request: str) -> Blamed | None:
        self._fail()
        key = self.answered.get(request)
        return None if key is None else Blamed(Verdict("semantic", True), (key,))

    def _fail(self) -> None:
        if self.absent:
            raise SemanticAbsentError("ConnectionRefusedError")
        if self.fails:
            raise SemanticError("busy")


def _first(text: str) -> str:
    return text.split()[0]
