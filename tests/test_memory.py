"""The memory tier: its bound, what it evicts, and how long it holds a copy."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.adapters.memory import Memory
from proxy.core.entry import OVERHEAD, Entry, Question
from tests.stored import NOW, entry, key

MIB = 1 << 20


def kept(memory: Memory, names: range, now: float = NOW) -> list[int]:
    return [name for name in names if memory.peek(key(name), now) is not None]


def weighing(name: object, weight: int, now: float = NOW) -> Entry:
    return entry(name, now, headers=(), body=b"x" * (weight - OVERHEAD))


def test_a_copy_in_memory_is_dropped_before_its_entry_expires() -> None:
    memory = Memory(MIB, ttl=5.0)
    memory.keep(entry("a"), NOW)

    assert memory.peek(key("a"), NOW + 4.9) is not None
    assert memory.peek(key("a"), NOW + 5.0) is None


def test_a_late_copy_in_memory_does_not_outlive_its_entry() -> None:
    memory = Memory(MIB, ttl=300.0)
    memory.keep(entry("a"), NOW + 59.0)

    assert memory.peek(key("a"), NOW + 60.0) is None


def test_one_pass_of_new_keys_does_not_drive_out_what_is_asked_for() -> None:
    memory = Memory(100 * 2048, ttl=300.0)
    for name in range(50):
        memory.keep(weighing(name, 2048), NOW)
        memory.peek(key(name), NOW)
    for name in range(1000, 2000):
        memory.keep(weighing(name, 2048), NOW)
        for hot in range(50):
            memory.peek(key(hot), NOW)

    assert kept(memory, range(50)) == list(range(50))
    assert memory.stats().entries == 100


def test_what_was_not_asked_for_goes_oldest_first() -> None:
    memory = Memory(10 * 2048, ttl=300.0)
    for name in range(10):
        memory.keep(weighing(name, 2048), NOW)
    memory.peek(key(0), NOW)
    memory.keep(weighing(10, 2048), NOW)
    memory.keep(weighing(11, 2048), NOW)

    assert kept(memory, range(12)) == [0, *range(3, 12)]


def test_storing_a_key_anew_in_a_full_memory_evicts_nobody() -> None:
    memory = Memory(10 * 2048, ttl=300.0)
    for name in range(10):
        memory.keep(weighing(name, 2048), NOW)
    memory.keep(weighing(3, 2048, NOW + 1.0), NOW + 1.0)

    assert kept(memory, range(10), NOW + 1.0) == list(range(10))
    assert memory.stats().evictions == 0


def test_an_entry_that_grew_drives_out_others_first() -> None:
    memory = Memory(16 * 2048, ttl=300.0)
    for name in range(16):
        memory.keep(weighing(name, 2048), NOW)
    memory.keep(weighing(0, 4096, NOW + 1.0), NOW + 1.0)

    assert kept(memory, range(16), NOW + 1.0) == [0, *range(2, 16)]
    assert memory.stats().bytes == 16 * 2048


def test_what_is_too_large_is_not_kept_nor_what_it_replaces() -> None:
    memory = Memory(10 * 2048, ttl=300.0)
    memory.keep(weighing("a", 2048), NOW)
    memory.keep(weighing("b", 2048), NOW)
    memory.keep(weighing("a", 4096, NOW + 1.0), NOW + 1.0)

    assert memory.peek(key("a"), NOW + 1.0) is None
    assert memory.peek(key("b"), NOW + 1.0) is not None


def test_expired_copies_make_way_though_nobody_asks_for_them() -> None:
    memory = Memory(MIB, ttl=300.0)
    for name in range(100):
        memory.keep(entry(name), NOW)
    for name in range(1000, 1100):
        memory.keep(entry(name, NOW + 60.0), NOW + 60.0)

    assert memory.stats().entries == 100
    assert memory.stats().evictions == 0


def test_an_expired_copy_goes_before_a_living_one_though_it_was_asked_for() -> None:
    memory = Memory(60 * 2048, ttl=300.0)
    for name in range(30):
        memory.keep(weighing(name, 2048), NOW)
        memory.peek(key(name), NOW)
    for name in range(30, 60):
        memory.keep(weighing(name, 2048, NOW + 50.0), NOW + 50.0)
    memory.keep(weighing(60, 6 * 2048, NOW + 61.0), NOW + 61.0)

    assert kept(memory, range(30, 61), NOW + 61.0) == list(range(30, 61))


def pinned(name: object, weight: int, now: float = NOW) -> Entry:
    return msgspec.structs.replace(weighing(name, weight, now), pinned=True)


def test_what_is_pinned_stays_whatever_comes() -> None:
    memory = Memory(16 * 2048, ttl=300.0)
    for name in range(8):
        memory.keep(pinned(name, 2048), NOW)
    for name in range(100, 200):
        memory.keep(weighing(name, 2048), NOW)
        memory.peek(key(name), NOW)

    assert kept(memory, range(8)) == list(range(8))
    assert memory.stats().bytes == 16 * 2048


def test_pinned_ones_beyond_half_of_the_bound_are_like_all_others() -> None:
    memory = Memory(16 * 2048, ttl=300.0)
    for name in range(12):
        memory.keep(pinned(name, 2048), NOW)
    for name in range(100, 108):
        memory.keep(weighing(name, 2048), NOW)

    assert kept(memory, range(200)) == [*range(8), *range(100, 108)]


def test_what_is_no_longer_pinned_can_be_evicted() -> None:
    memory = Memory(16 * 2048, ttl=300.0)
    memory.keep(pinned(0, 2048), NOW)
    memory.keep(weighing(0, 2048, NOW + 1.0), NOW + 1.0)
    for name in range(100, 116):
        memory.keep(weighing(name, 2048), NOW + 1.0)

    assert kept(memory, range(1), NOW + 1.0) == []


def test_a_pinned_entry_that_grew_beyond_half_of_the_bound_is_like_all_others() -> None:
    memory = Memory(16 * 2048, ttl=300.0)
    for name in range(8):
        memory.keep(pinned(name, 2048), NOW)
    memory.keep(pinned(0, 4096, NOW + 1.0), NOW + 1.0)
    for name in range(100, 120):
        memory.keep(weighing(name, 2048), NOW + 1.0)

    assert kept(memory, range(8), NOW + 1.0) == list(range(1, 8))
    assert memory.stats().bytes <= 16 * 2048


def test_a_pinned_copy_ends_as_all_others_do_and_makes_room_for_another() -> None:
    memory = Memory(16 * 2048, ttl=300.0)
    for name in range(8):
        memory.keep(pinned(name, 2048), NOW)
    for name in range(8, 16):
        memory.keep(pinned(name, 2048, NOW + 61.0), NOW + 61.0)
    for name in range(8, 16):  # what was held before has been found expired by now
        memory.keep(pinned(name, 2048, NOW + 62.0), NOW + 62.0)
    for name in range(100, 120):
        memory.keep(weighing(name, 2048, NOW + 62.0), NOW + 62.0)

    assert kept(memory, range(16), NOW + 62.0) == list(range(8, 16))


@given(st.floats(0, 400), st.lists(st.floats(0, 100), max_size=20))
def test_no_reading_keeps_a_copy_alive(late: float, pauses: list[float]) -> None:
    """Nor does a copy that was made late live any longer than the entry it is of."""
    memory, now = Memory(MIB, ttl=300.0), NOW + late
    memory.keep(entry("a", ttl=200.0), now)
    end = min(NOW + 200.0, now + 300.0)
    for pause in pauses:
        now += pause

        assert (memory.peek(key("a"), now) is not None) == (now < end)


def test_memory_without_room_keeps_nothing() -> None:
    memory = Memory(0, ttl=300.0)
    memory.keep(entry("a"), NOW)

    assert memory.stats().entries == 0


names = st.integers(0, 12)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("keep"), names, st.integers(OVERHEAD + 1, 3 * OVERHEAD)),
        st.tuples(st.just("pin"), names, st.integers(OVERHEAD + 1, 3 * OVERHEAD)),
        st.tuples(st.just("peek"), names, st.just(0)),
        st.tuples(st.just("drop"), names, st.just(0)),
        st.tuples(st.just("wait"), st.integers(0, 40), st.just(0)),
    ),
    max_size=60,
)


@settings(max_examples=200)
@given(steps)
def test_whatever_happens_memory_counts_right_and_stays_in_its_bound(
    steps: list[tuple[str, int, int]],
) -> None:
    """A found entry is always the last one kept under its key."""
    memory, now = Memory(24 * OVERHEAD, ttl=50.0), NOW
    last: dict[int, Entry] = {}
    for step, name, weight in steps:
        if step in ("keep", "pin"):
            made = weighing if step == "keep" else pinned
            last[name] = made(name, weight, now)
            memory.keep(last[name], now)
        elif step == "drop":
            memory.drop(key(name))
            last.pop(name, None)
        elif step == "wait":
            now += name
        elif (found := memory.peek(key(name), now)) is not None:
            assert found == last[name]
            assert found.expires > now
        stats = memory.stats()
        assert stats.bytes <= 24 * OVERHEAD

    held = [name for name in last if memory.peek(key(name), now) is not None]
    assert memory.stats().bytes == sum(last[name].weight for name in held)
    assert memory.clear() == len(held)
    assert memory.stats().bytes == 0


async def test_entries_with_questions_are_found() -> None:
    memory = Memory(1 << 20, 60.0)
    asked = Question(key("scope"), "how do I get a refund")
    memory.keep(entry("plain"), NOW)
    memory.keep(entry("old", question=asked, ttl=10.0), NOW)
    memory.keep(entry("asked", question=asked), NOW)

    found = [one.key async for some in memory.questions(NOW + 20) for one in some]

    assert found == [key("asked")]
