"""The disk tier with a seal: what changes when it is switched on, off, or cannot be had."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from proxy.adapters.disk.store import Disk
from proxy.adapters.vault.vault import Vault, coder
from proxy.adapters.vault.wrapper import Local
from proxy.coder import PLAIN, Coder, SealError
from proxy.core.events import StoreReset
from proxy.ports import StoreError
from tests.fakes import FakeClock
from tests.stored import NOW, entry, key

if TYPE_CHECKING:
    from pathlib import Path

    from proxy.core.events import Event

MIB = 1 << 20


def sealed(master: bytes) -> Coder:
    return coder(Vault([Local(master)], clock=FakeClock(NOW), emit=lambda _: None))


ONE, OTHER = sealed(b"1" * 32), sealed(b"2" * 32)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def reopened(
    folder: Path, before: Coder, after: Coder
) -> tuple[list[Event], object, list[str]]:
    """What opening it with another coder tells, finds and leaves there."""
    events: list[Event] = []
    disk = Disk(folder, 16 * MIB, coder=before, clock=FakeClock(NOW), emit=events.append)
    await disk.put(entry("a"), NOW)
    disk.close()
    disk = Disk(folder, 16 * MIB, coder=after, clock=FakeClock(NOW), emit=events.append)
    found = disk.peek(key("a"), NOW)
    await disk.put(entry("b"), NOW)
    assert disk.peek(key("b"), NOW) == entry("b")
    disk.close()
    return events, found, names(folder)


async def test_under_the_same_key_it_stays_as_it_was(tmp_path: Path) -> None:
    events, found, _ = await reopened(tmp_path, ONE, ONE)

    assert events == []
    assert found == entry("a")


async def test_under_another_key_it_is_kept_and_not_read(tmp_path: Path) -> None:
    """The key may come back among the old ones."""
    events, found, _ = await reopened(tmp_path, ONE, OTHER)

    assert events == []
    assert found is None


@pytest.mark.parametrize(("before", "after"), [(PLAIN, ONE), (ONE, PLAIN)], ids=["on", "off"])
async def test_switched_on_or_off_it_begins_anew_and_keeps_nothing(
    tmp_path: Path, before: Coder, after: Coder
) -> None:
    events, found, left = await reopened(tmp_path, before, after)

    assert events == [StoreReset("disk", "encryption")]
    assert found is None
    assert "data.mdb.aside" not in left


async def test_without_a_key_it_takes_nothing_and_says_so(tmp_path: Path) -> None:
    def closed(payload: bytes, bound: bytes) -> bytes:
        raise SealError("no data key yet")

    how = Coder(closed, lambda data, bound: None)
    disk = Disk(tmp_path, 16 * MIB, coder=how, clock=FakeClock(NOW), emit=lambda _: None)

    with pytest.raises(StoreError, match="SealError"):
        await disk.put(entry("a"), NOW)

    assert disk.peek(key("a"), NOW) is None
    assert await disk.delete(key("a")) is False
    disk.close()
