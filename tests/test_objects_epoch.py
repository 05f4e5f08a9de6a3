"""The epoch beside the objects, for machines that remember nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from proxy.adapters.epoch import Epochs
from proxy.adapters.objects.epoch import KeptEpoch
from tests.fakes import FakeClock
from tests.stored import NOW

if TYPE_CHECKING:
    from pathlib import Path

    from proxy.core.events import Event


class Machine:
    """One with a new disk, and a view of the objects."""

    def __init__(self, folder: Path, name: str, now: float = NOW, **changes: Any) -> None:
        self.clock = FakeClock(now)
        self.events: list[Event] = []
        self.epochs = Epochs(folder / name, clock=self.clock)
        self.kept = KeptEpoch(
            f"file://{folder}/objects",
            self.epochs,
            **{
                "secret": b"ours",
                "timeout": 5.0,
                "alone": True,
                "clock": self.clock,
                "emit": self.events.append,
                **changes,
            },
        )


async def test_a_new_machine_takes_over_what_is_kept(tmp_path: Path) -> None:
    one, other = Machine(tmp_path, "one"), Machine(tmp_path, "other", NOW + 60)
    await one.kept.align()
    await other.kept.align()

    assert one.epochs.current() == other.epochs.current() == NOW * 1000
    assert not other.epochs.provisional


async def test_a_purge_of_all_is_kept_and_heard(tmp_path: Path) -> None:
    one, other = Machine(tmp_path, "one"), Machine(tmp_path, "other")
    await one.kept.align()
    await other.kept.align()
    one.epochs.bump()
    await one.kept.align()
    await other.kept.align()

    assert other.epochs.current() == NOW * 1000 + 1


async def test_with_a_fleet_a_machine_that_does_not_know_it_yet_says_nothing(
    tmp_path: Path,
) -> None:
    shy, sure = Machine(tmp_path, "shy", alone=False), Machine(tmp_path, "sure", alone=False)
    await shy.kept.align()
    assert shy.epochs.provisional
    assert not shy.kept.pending

    sure.epochs.learn(7)
    await sure.kept.align()
    await shy.kept.align()
    assert shy.epochs.current() == 7


@pytest.mark.parametrize("rubbish", [b"", b"9" * 16, b"9" * 40, b"x" * 5000])
async def test_rubbish_in_its_place_is_written_over(tmp_path: Path, rubbish: bytes) -> None:
    one = Machine(tmp_path, "one")
    await one.kept.align()
    (name,) = (path.name for path in (tmp_path / "objects").iterdir())
    (tmp_path / "objects" / name).write_bytes(rubbish)
    await one.kept.align()

    other = Machine(tmp_path, "other", NOW + 60)
    await other.kept.align()
    assert other.epochs.current() == NOW * 1000


async def test_other_fleets_have_other_epochs(tmp_path: Path) -> None:
    one, other = Machine(tmp_path, "one"), Machine(tmp_path, "other", NOW + 60, secret=b"theirs")
    await one.kept.align()
    await other.kept.align()

    assert other.epochs.current() == (NOW + 60) * 1000


async def test_two_new_machines_at_once_agree(tmp_path: Path) -> None:
    machines = [Machine(tmp_path, str(number), NOW + number) for number in range(3)]
    await asyncio.gather(*(one.kept.align() for one in machines))
    await asyncio.gather(*(one.kept.align() for one in machines))

    assert len({one.epochs.current() for one in machines}) == 1


async def test_out_of_reach_it_is_waited_for_no_longer_than_a_moment(tmp_path: Path) -> None:
    (tmp_path / "objects").write_text("in the way")
    one = Machine(tmp_path, "one")
    await one.kept.align()
    before = one.kept.pending
    assert [event.tier for event in one.events if hasattr(event, "tier")] == ["objects"]
    async with asyncio.timeout(5.0):
        await one.kept.meet(0.01)

    one.clock.advance(5.0)
    assert (before, one.kept.pending) == (True, False)
    assert one.epochs.current() == NOW * 1000
