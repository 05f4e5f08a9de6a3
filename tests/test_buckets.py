"""Buckets that the workers of one machine share."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
from typing import TYPE_CHECKING

import pytest

from proxy.adapters.clock import SystemClock
from proxy.adapters.pages.buckets import Buckets
from proxy.core.bucket import Spent
from proxy.ports import StoreError
from tests.fakes import FakeClock

if TYPE_CHECKING:
    from pathlib import Path

NAME = b"t" * 16 + b"r"


async def test_workers_take_from_one_bucket(tmp_path: Path) -> None:
    clock = FakeClock()
    one, two = (Buckets(tmp_path / "b", clock=clock) for _ in range(2))

    assert await one.sync({NAME: Spent(10, 60)}) == {NAME: 50}
    assert await two.sync({NAME: Spent(15, 60)}) == {NAME: 35}
    clock.advance(10)
    assert await one.sync({NAME: Spent(0, 60)}) == {NAME: 45}
    one.close()
    two.close()


async def test_buckets_have_nothing_to_do_with_each_other(tmp_path: Path) -> None:
    buckets = Buckets(tmp_path / "b", clock=FakeClock())
    names = [n.to_bytes(17, "big") for n in range(1000)]
    await buckets.sync({name: Spent(n, 2000) for n, name in enumerate(names)})
    levels = await buckets.sync({name: Spent(0, 2000) for name in names})

    assert [levels[name] for name in names] == [2000 - n for n in range(1000)]
    buckets.close()


async def test_where_there_is_no_room_the_one_unused_for_longest_gives_way(tmp_path: Path) -> None:
    clock = FakeClock()
    buckets = Buckets(tmp_path / "b", clock=clock, slots=4)
    for name in (b"1", b"2", b"3", b"4", b"1", b"5"):
        await buckets.sync({name: Spent(3, 6)})
        clock.advance(1)
    names = (b"5", b"4", b"3", b"1", b"2")  # the last takes a place from one of the others

    levels = [(await buckets.sync({name: Spent(0, 6)}))[name] for name in names]
    assert [level < 6 for level in levels] == [True, True, True, True, False]
    buckets.close()


async def test_nobody_waits_for_a_worker_that_was_stopped(tmp_path: Path) -> None:
    buckets = Buckets(tmp_path / "b", clock=FakeClock())
    with (tmp_path / "b").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StoreError):
            await buckets.sync({NAME: Spent(1, 60)})

    assert await buckets.sync({NAME: Spent(1, 60)}) == {NAME: 59}
    buckets.close()


def test_a_worker_that_was_killed_holds_up_nobody(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        with (tmp_path / "b").open("wb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    buckets = Buckets(tmp_path / "b", clock=SystemClock())

    assert asyncio.run(buckets.sync({NAME: Spent(1, 60)})) == {NAME: 59}
    buckets.close()
