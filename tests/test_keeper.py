"""What waits to be stored is bounded in bytes, its requests among them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from proxy.adapters.memory import Memory
from proxy.backlog import Backlog
from proxy.core.entry import Entry
from proxy.core.events import BacklogFull
from proxy.keeper import Keeper
from proxy.marks import Marks
from proxy.meanings import NoMeaning
from proxy.tier import Tier
from proxy.tiers import Tiers
from tests.asking import chat
from tests.fakes import FakeClock, FakeStore, settle
from tests.staged import KEEPING, Stage, said
from tests.stored import NOW, entry, key

if TYPE_CHECKING:
    from proxy.core.entry import Key, Stored
    from proxy.core.events import Event

MIB = 1 << 20


class Slow(FakeStore):
    """A disk that takes nothing until it is well."""

    def __init__(self) -> None:
        super().__init__()
        self.well = asyncio.Event()
        self.waiting = 0
        """Answers that are to be stored."""

    async def put(self, stored: Stored, now: float) -> bool:
        self.waiting += isinstance(stored, Entry)
        await self.well.wait()
        return await super().put(stored, now)


class Desk:
    """A keeper with a memory and a slow disk, and 1 MiB of room before that."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.disk, self.memory, clock = Slow(), Memory(MIB, ttl=300.0), FakeClock(NOW)
        near = Tier("memory", self.memory, peek=self.memory.peek, keep=self.memory.keep)
        emit = self.events.append
        self._keeper = Keeper(
            Tiers([near, Tier("disk", self.disk)], clock, emit, Backlog(emit)),
            KEEPING,
            Marks(10, clock),
            clock=clock,
            emit=emit,
            max_entry_bytes=MIB,
            meaning=NoMeaning(),
            renewed=self._renewed,
            room=MIB,
        )
        self.tasks: list[asyncio.Task[None]] = []

    async def _renewed(self, key: Key, asked: float) -> None:
        """Nobody is told."""

    async def put(self, *names: int, held: int) -> None:
        """Store an answer under each name, behind a request of so many bytes."""
        for name in names:
            put = self._keeper.put(entry(name), held=held)
            self.tasks.append(asyncio.create_task(put))
        await settle()


async def test_a_slow_disk_holds_no_more_requests_than_there_is_room_for() -> None:
    desk = Desk()
    await desk.put(*range(10), held=MIB // 4)

    assert desk.disk.waiting == 3
    assert desk.events.count(BacklogFull()) == 7


async def test_of_requests_without_much_text_too_it_holds_only_so_many() -> None:
    desk = Desk()
    await desk.put(*range(100), held=100)

    assert 30 < desk.disk.waiting <= MIB // (16 << 10)


async def test_what_there_is_no_room_for_is_in_memory_all_the_same() -> None:
    desk = Desk()
    await desk.put(*range(10), held=MIB // 4)

    assert all(desk.memory.peek(key(name), NOW) for name in range(10))


async def test_once_the_disk_is_well_there_is_room_again() -> None:
    desk = Desk()
    await desk.put(*range(10), held=MIB // 4)
    desk.disk.well.set()
    await asyncio.gather(*desk.tasks)
    await desk.put(10, 11, 12, held=MIB // 4)

    assert set(desk.disk.data) == {key(name) for name in (0, 1, 2, 10, 11, 12)}


async def test_who_gives_up_waiting_makes_room() -> None:
    desk = Desk()
    await desk.put(0, 1, 2, held=MIB // 4)
    for task in desk.tasks:
        task.cancel()
    await settle()
    await desk.put(3, held=MIB // 4)

    assert desk.disk.waiting == 4


async def test_what_is_larger_than_all_the_room_is_stored_where_nothing_else_waits() -> None:
    desk = Desk()
    await desk.put(0, 1, held=2 * MIB)

    assert desk.disk.waiting == 1


async def test_on_the_path_a_request_counts_by_its_length() -> None:
    disk = Slow()
    stage = Stage(*[said() for _ in range(10)], stores=[disk])
    for number in range(10):
        text = b"%d" % number + b"x" * (8 * MIB)
        ask = b'{"model":"m","messages":[{"role":"user","content":"%b"}]}' % text
        await (await stage.ask(ask)).body()
    await settle()

    assert disk.waiting == 7


async def test_on_the_path_a_request_counts_with_its_head() -> None:
    disk = Slow()
    stage = Stage(*[said() for _ in range(10)], stores=[disk])
    for number in range(10):
        await (await stage.ask(chat(f"{number}"), ("x-long", "x" * (8 * MIB)))).body()
    await settle()

    assert disk.waiting == 7
