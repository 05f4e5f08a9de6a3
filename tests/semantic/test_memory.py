"""What is known of stored questions: one a key, found by form, the oldest forgotten first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from semantic.memory import Held, Memory, named

S, T = b"s" * 32, b"t" * 32


def held(scope: bytes = S, form: bytes = b"f", expires: float = 100.0, epoch: int = 0) -> Held:
    return Held(scope, "a question", expires, epoch, named(scope, form) if form else b"")


def test_the_last_of_one_form_is_found_first() -> None:
    memory = Memory(10)
    for key in (b"1", b"2", b"3", b"4"):
        memory.add(key, held())

    assert [memory.same(S, b"f", most) for most in (1, 3, 9)] == [
        [b"4"],
        [b"4", b"3", b"2"],
        [b"4", b"3", b"2", b"1"],
    ]
    memory.remove(b"2")
    memory.remove(b"4")
    assert memory.same(S, b"f", 9) == [b"3", b"1"]
    memory.add(b"1", held())
    assert memory.same(S, b"f", 9) == [b"1", b"3"]
    memory.remove(b"3")
    memory.remove(b"1")
    assert memory.same(S, b"f") == []


def test_forms_are_of_one_scope() -> None:
    memory = Memory(10)
    memory.add(b"1", held())

    assert memory.same(T, b"f") == []
    assert memory.same(S, b"g") == []


def test_what_was_not_used_for_longest_makes_room() -> None:
    memory = Memory(2)
    memory.add(b"1", held(form=b"1"))
    memory.add(b"2", held(form=b"2"))
    memory.get(b"1")

    assert [key for key, _ in memory.add(b"3", held(form=b"3"))] == [b"2"]
    assert memory.same(S, b"2") == []
    assert memory.get(b"1") is not None


def test_what_ends_or_is_void_is_dead() -> None:
    memory = Memory(10)
    memory.add(b"ends", held(expires=50.0))
    memory.add(b"old", held(epoch=1))
    memory.add(b"lives", held(epoch=2))
    memory.epoch = 2

    assert memory.dead(memory.keys(), 50.0) == [b"ends", b"old"]


@given(
    st.lists(st.tuples(st.sampled_from("ar"), st.integers(0, 6), st.integers(0, 3))),
    st.integers(1, 5),
)
def test_it_never_holds_more_and_forms_lead_to_what_is_there(
    steps: list[tuple[str, int, int]], limit: int
) -> None:
    memory = Memory(limit)
    for step, name, form in steps:
        key, said = bytes([name]), bytes([form])
        if step == "a":
            memory.add(key, held(form=said))
            assert memory.same(S, said) == [key]
        else:
            memory.remove(key)

    assert len(memory) <= limit
    led = [(form, key) for form in range(4) for key in memory.same(S, bytes([form]), 100)]
    assert len(led) == len(memory)
    for form, key in led:
        known = memory.get(key)
        assert known is not None
        assert known.name == named(S, bytes([form]))
