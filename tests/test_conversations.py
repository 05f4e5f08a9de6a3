"""Conversations that go on: the same chains as if nothing were known, within a bound of bytes."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from proxy.conversations import Conversations
from proxy.core.chain import laid, rooted

ROOTS = [rooted([b"one"]), rooted([b"other"])]
texts = st.builds(lambda one, size: one * size, st.sampled_from([b"a", b"b"]), st.integers(0, 9000))
parts = st.lists(st.tuples(st.sampled_from([b"user", b"assistant", b"system"]), texts), max_size=4)
turns = st.lists(st.tuples(st.sampled_from(ROOTS), parts), max_size=8)


@given(turns, st.integers(0, 40_000))
def test_chains_are_what_they_are_without_it(
    told: list[tuple[bytes, list[tuple[bytes, bytes]]]], most: int
) -> None:
    known = Conversations(most)

    for root, said in told:
        assert known.laid(root, said) == laid(root, said)


def test_tenants_with_the_same_words_share_nothing() -> None:
    known, said = Conversations(), [(b"user", b"hello")]

    assert known.laid(ROOTS[0], said) == laid(ROOTS[0], said)
    assert known.laid(ROOTS[1], said) == laid(ROOTS[1], said)


def talk(*texts: bytes) -> list[tuple[bytes, bytes]]:
    roles = (b"system", b"user", b"assistant")
    return [
        (roles[at] if at < 3 else roles[1 + (at + 1) % 2], text) for at, text in enumerate(texts)
    ]


def goes_on(known: Conversations, *texts: bytes) -> int:
    """How many boundaries were known of it: those are the very same objects."""
    first, second = known.laid(ROOTS[0], talk(*texts)), known.laid(ROOTS[0], talk(*texts, b"more"))
    return sum(one is other for one, other in zip(first.links, second.links, strict=False))


def test_the_next_turn_goes_on_from_what_is_known() -> None:
    known = Conversations()

    assert goes_on(known, b"be brief", b"hello", b"hi") == 3
    assert goes_on(known, b"be brief", b"x" * 9000, b"hi", b"and") == 7


def test_turns_of_many_conversations_with_one_system_prompt_do_not_end_each_other() -> None:
    known = Conversations()
    first = [known.laid(ROOTS[0], talk(b"be brief" * 99, b"question %d" % at)) for at in range(50)]

    for at, one in enumerate(first):
        said = talk(b"be brief" * 99, b"question %d" % at, b"an answer")
        assert known.laid(ROOTS[0], said).links[1] is one.links[1]


def test_what_is_kept_is_bounded_in_bytes_and_the_oldest_goes_first() -> None:
    known = Conversations(100_000)
    old, lately = talk(b"old", b"x" * 30_000), talk(b"lately", b"x" * 30_000)
    made = {b"old": known.laid(ROOTS[0], old), b"lately": known.laid(ROOTS[0], lately)}
    known.laid(ROOTS[0], talk(b"next", b"x" * 30_000))
    assert "3, " in repr(known)
    again = known.laid(ROOTS[0], lately)
    known.laid(ROOTS[0], talk(b"big", b"x" * 60_000))

    assert again.links[0] is made[b"lately"].links[0]
    assert known.laid(ROOTS[0], lately).links[0] is again.links[0]
    assert known.laid(ROOTS[0], old).links[0] is not made[b"old"].links[0]
    known.laid(ROOTS[0], talk(b"too big", b"x" * 100_000))
    assert "0, 0 of" in repr(known)


def test_threads_may_go_on_with_one_conversation_at_once() -> None:
    known = Conversations(50_000)
    said = talk(b"be brief", *(b"x" * 900 for _ in range(40)))

    def run(at: int) -> bool:
        here = said[: at % 40 + 1]
        return known.laid(ROOTS[0], here) == laid(ROOTS[0], here)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run, range(2000)))


def test_what_threads_keep_at_once_is_counted() -> None:
    known, turn = Conversations(50_000), sys.getswitchinterval()
    said = [talk(b"brief", b"one", b"x" * length) for length in range(8)]

    def run(at: int) -> None:
        for _ in range(3000):
            known.laid(ROOTS[0], said[at])

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(run, range(8)))
    finally:
        sys.setswitchinterval(turn)
    known.laid(ROOTS[0], talk(b"too big", b"x" * 100_000))

    assert "0, 0 of" in repr(known)
