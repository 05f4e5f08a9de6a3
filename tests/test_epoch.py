"""The epoch that all workers of a machine read."""

from __future__ import annotations

import fcntl
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from proxy.adapters.epoch import Epochs
from tests.fakes import FakeClock
from tests.offspring import Offspring

if TYPE_CHECKING:
    from pathlib import Path

BUMPS = """
import sys
from proxy.adapters.epoch import Epochs
from tests.fakes import FakeClock

epochs = Epochs(sys.argv[1], clock=FakeClock())
for _ in range(200):
    epochs.bump()
"""

OPENS = """
import sys
from proxy.adapters.epoch import Epochs
from tests.fakes import FakeClock

try:
    Epochs(sys.argv[1], clock=FakeClock())
except OSError:
    sys.exit(3)
"""


def test_a_bump_is_seen_at_once_by_all_that_have_it_open(tmp_path: Path) -> None:
    one, other = (Epochs(tmp_path / "epoch", clock=FakeClock()) for _ in range(2))
    before = other.current()

    assert one.bump() == before + 1
    assert other.current() == before + 1
    assert other.bump() == before + 2
    one.close()
    other.close()


def test_it_outlives_the_process(tmp_path: Path) -> None:
    first = Epochs(tmp_path / "deep" / "epoch", clock=FakeClock())
    bumped = first.bump()
    first.close()
    later = Epochs(tmp_path / "deep" / "epoch", clock=FakeClock(now=1.0))

    assert later.current() == bumped
    later.close()


@pytest.mark.parametrize("content", [None, b"", b"short", bytes(8), b"\xff" * 8, b"long" * 100])
def test_a_lost_or_foreign_file_never_brings_back_what_was_void(
    tmp_path: Path, content: bytes | None
) -> None:
    clock = FakeClock()
    lost = Epochs(tmp_path / "epoch", clock=clock)
    void = lost.current()
    lost.bump()
    lost.close()
    (tmp_path / "epoch").unlink()
    if content is not None:
        (tmp_path / "epoch").write_bytes(content)
    clock.advance(1.0)
    anew = Epochs(tmp_path / "epoch", clock=clock)

    assert void < anew.current() < 2**53
    assert (tmp_path / "epoch").stat().st_size == 8
    anew.close()


def test_bumps_of_several_processes_all_count(tmp_path: Path) -> None:
    epochs = Epochs(tmp_path / "epoch", clock=FakeClock())
    before = epochs.current()
    children = [Offspring(BUMPS, tmp_path / "epoch") for _ in range(3)]

    assert [child.finish() for child in children] == [0, 0, 0]
    assert epochs.current() == before + 600
    epochs.close()


def test_a_start_gives_way_to_the_first_epoch_that_is_heard(tmp_path: Path) -> None:
    """Each new machine would otherwise void what the whole fleet has stored."""
    epochs, other = (Epochs(tmp_path / "epoch", clock=FakeClock()) for _ in range(2))
    assert epochs.provisional

    assert epochs.learn(7) == 7
    assert (other.current(), other.provisional) == (7, False)
    assert other.learn(6) == 7
    assert epochs.learn(9) == other.current() == 9
    epochs.close()
    other.close()


def test_a_purge_voids_what_was_stored_before_the_fleet_was_met(tmp_path: Path) -> None:
    """What a machine stores until it hears of its fleet has a larger epoch than the fleet's."""
    clock = FakeClock()
    epochs = Epochs(tmp_path / "epoch", clock=clock)
    stored = epochs.current()
    epochs.learn(stored - 86_400_000)
    clock.advance(1.0)

    assert epochs.bump() > stored
    epochs.close()


def test_it_stays_provisional_over_a_restart(tmp_path: Path) -> None:
    Epochs(tmp_path / "epoch", clock=FakeClock()).close()
    later = Epochs(tmp_path / "epoch", clock=FakeClock(now=1.0))

    assert later.provisional
    assert later.current() == FakeClock().now() * 1000
    later.close()


def test_what_was_purged_before_a_fleet_was_met_stays_void(tmp_path: Path) -> None:
    epochs = Epochs(tmp_path / "epoch", clock=FakeClock())
    bumped = epochs.bump()

    assert not epochs.provisional
    assert epochs.learn(7) == bumped
    epochs.close()


@pytest.mark.parametrize("foreign", [0, -1, 2**53, 2**64])
def test_a_number_that_is_no_epoch_is_not_learnt(tmp_path: Path, foreign: int) -> None:
    epochs = Epochs(tmp_path / "epoch", clock=FakeClock())

    assert epochs.learn(foreign) == epochs.current() == FakeClock().now() * 1000
    assert epochs.provisional
    epochs.close()


def test_a_full_disk_is_an_error_and_no_death(tmp_path: Path) -> None:
    """A page of memory without a place on the disk kills whoever touches it."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8k", "none", tmp_path], check=False
    )
    if mounted.returncode:
        pytest.skip("only root may make a small disk")
    try:
        (tmp_path / "full").write_bytes(bytes(8192))
        child = Offspring(OPENS, tmp_path / "epoch")
        assert child.finish() == 3
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_a_process_that_stands_still_in_a_change_holds_up_nobody_for_ever(tmp_path: Path) -> None:
    epochs = Epochs(tmp_path / "epoch", clock=FakeClock(), patience=0.02)
    before = epochs.current()
    other = os.open(tmp_path / "epoch", os.O_RDWR)
    fcntl.flock(other, fcntl.LOCK_EX)
    with pytest.raises(OSError, match="locked"):
        epochs.bump()
    os.close(other)

    assert epochs.current() == before
    assert epochs.bump() > before
