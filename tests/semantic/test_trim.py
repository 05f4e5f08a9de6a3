"""Memory given back after much was learnt."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from semantic import trim

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.mark.parametrize(
    ("known", "given"),
    [([0, 0, 0], 0), ([1999, 1999], 0), ([2000, 2000, 3000], 1), ([5000, 7000, 9000], 3)],
)
async def test_it_is_given_back_each_time_that_much_was_learnt(
    monkeypatch: pytest.MonkeyPatch, known: Sequence[int], given: int
) -> None:
    monkeypatch.setattr(trim, "_EVERY", 0.0)
    times: list[int] = []
    looks = iter(known)
    running = asyncio.create_task(trim.run(lambda: next(looks), lambda: times.append(1)))

    with suppress(RuntimeError):  # the figures are at their end
        await running

    assert len(times) == given


def test_pages_that_are_free_go_back() -> None:
    """Between small pieces that stay, so that the allocator keeps them by itself."""
    held = [(bytearray(100_000), bytearray(8000)) for _ in range(500)]
    kept = [small for _, small in held]
    held.clear()
    before = resident()

    trim.giving()()

    assert len(kept) == 500
    assert before - resident() > 20_000


def resident() -> int:
    """KB of this process."""
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0])
