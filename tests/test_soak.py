"""A day of expiry in short."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.soak import Day

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1 << 20


async def test_memory_and_file_stay_within_their_bounds_for_a_day(tmp_path: Path) -> None:
    memory_bytes, disk_bytes = MIB // 8, 4 * MIB
    day = Day(tmp_path / "cache", 30_000, memory_bytes, disk_bytes, step=600)
    hours = await day.pass_by(lambda hour: None)

    assert [hour.hour for hour in hours] == [*range(1, 25), 48]
    assert max(hour.memory_bytes for hour in hours) <= memory_bytes
    assert max(hour.file_bytes for hour in hours) <= disk_bytes
    assert hours[-1].expired > 5_000
    assert hours[-1].evicted > 500
    assert hours[-1].memory_evicted > 500
    assert hours[-1].disk_entries == 0
    assert hours[-1].found > 100
