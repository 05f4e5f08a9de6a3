"""The fair queue: tenants take turns, and whoever floods it pushes out itself alone."""

from __future__ import annotations

from collections import deque

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from proxy.core.fair import Fair

TENANTS = [b"", b"a", b"b", b"c"]


def everything(item: object) -> bool:
    return True


def filled(limit: int, *items: str) -> Fair[str]:
    """Items are named by their tenant and a number."""
    queue: Fair[str] = Fair(limit)
    for item in items:
        queue.push(item[:1].encode(), item)
    return queue


def test_tenants_take_turns_and_the_oldest_of_each_is_first() -> None:
    queue = filled(9, "a1", "a2", "a3", "b1", "c1", "b2")

    assert [queue.pop(everything) for _ in range(7)] == ["a1", "b1", "c1", "a2", "b2", "a3", None]


def test_who_comes_back_at_once_waits_for_the_others_turns() -> None:
    queue = filled(9, "a1", "b1", "c1")
    assert queue.pop(everything) == "a1"
    queue.push(b"a", "a2")

    assert [queue.pop(everything) for _ in range(3)] == ["b1", "c1", "a2"]


def test_what_does_not_fit_is_passed_over_and_keeps_its_turn() -> None:
    queue = filled(9, "a1", "a2", "b1")

    assert queue.pop(lambda item: item == "b1") == "b1"
    assert queue.pop(everything) == "a1"
    assert queue.pop(lambda _: False) is None


def test_what_is_removed_waits_no_more() -> None:
    queue = filled(9, "a1", "a2")

    assert queue.remove(b"a", "a1")
    assert not queue.remove(b"a", "a1")
    assert not queue.remove(b"b", "a2")
    assert list(queue) == ["a2"]


def test_a_full_queue_drops_the_newest_of_who_has_the_most_waiting() -> None:
    queue = filled(3, "a1", "a2", "a3")

    assert queue.push(b"a", "a4") == "a4"
    assert queue.push(b"b", "b1") == "a3"
    assert queue.push(b"b", "b2") == "b2"
    assert list(queue) == ["a1", "a2", "b1"]


def test_nothing_waits_where_nothing_may() -> None:
    queue: Fair[str] = Fair(0)

    assert queue.push(b"a", "a1") == "a1"
    assert (len(queue), list(queue), queue._lines) == (0, [], {})


class Played(RuleBasedStateMachine):
    """Nothing is lost, doubled, or kept of tenants that do not wait."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: Fair[int] = Fair(5)
        self.lines: dict[bytes, deque[int]] = {}
        self.next = 0

    def gone(self, item: int) -> None:
        for tenant, line in list(self.lines.items()):
            if item in line:
                line.remove(item)
            if not line:
                del self.lines[tenant]

    @rule(tenant=st.sampled_from(TENANTS))
    def push(self, tenant: bytes) -> None:
        self.next += 1
        dropped = self.queue.push(tenant, self.next)
        self.lines.setdefault(tenant, deque()).append(self.next)
        if dropped is not None:
            assert any(line[-1] == dropped for line in self.lines.values())
            self.gone(dropped)

    @rule(odd=st.booleans())
    def pop(self, odd: bool) -> None:
        item = self.queue.pop(lambda item: not odd or item % 2 == 1)
        fitting = [[i for i in line if not odd or i % 2] for line in self.lines.values()]
        oldest = [line[0] for line in fitting if line]

        assert item in oldest if oldest else item is None
        if item is not None:
            self.gone(item)

    @rule(tenant=st.sampled_from(TENANTS), item=st.integers(1, 20))
    def remove(self, tenant: bytes, item: int) -> None:
        waits = item in self.lines.get(tenant, ())

        assert self.queue.remove(tenant, item) == waits
        if waits:
            self.gone(item)

    @invariant()
    def as_expected(self) -> None:
        assert len(self.queue) == sum(map(len, self.lines.values())) <= 5
        assert {name: list(line) for name, line in self.queue._lines.items()} == {
            name: list(line) for name, line in self.lines.items()
        }


TestPlayed = Played.TestCase
