"""Chains as they have always been, and links that are remembered but never others."""

from __future__ import annotations

from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from proxy.core.chain import Boundary, Links, laid, linked, rooted

Part: TypeAlias = tuple[bytes, bytes]

ROOT = rooted([b"tenant"])
# Above and below the sizes at which parts are cut.
sizes = st.sampled_from([0, 1, 40, 1500, 2048, 8192, 8193, 20_000])
texts = st.builds(lambda word, size: (word * size)[:size], st.sampled_from([b"a", b"ab"]), sizes)
parts = st.tuples(st.sampled_from([b"user", b"assistant", b""]), texts)
conversations = st.lists(parts, max_size=6)
edits = st.lists(
    st.tuples(st.sampled_from(["add", "put", "drop", "change"]), st.integers(0, 8), parts),
    max_size=8,
)


def edited(said: list[Part], how: str, at: int, part: Part) -> list[Part]:
    at = min(at, len(said))
    match how:
        case "add":
            return [*said, part]
        case "put":
            return [*said[:at], part, *said[at:]]
        case "drop":
            return said[:at]
        case _:
            return [*said[:at], part, *said[at + 1 :]]


@given(conversations, edits, st.integers(1, 12), st.sampled_from([ROOT, rooted([b"other"])]))
def test_what_is_remembered_changes_no_chain(
    said: list[Part], how: list[tuple[str, int, Part]], most: int, root: bytes
) -> None:
    """However a conversation goes on or is written anew, and however little is kept of it."""
    links = Links(most)
    laid(ROOT, said, links)
    for edit in how:
        said = edited(said, *edit)

        assert laid(root, said, links) == laid(root, said)
    assert len(links) <= most


def test_a_chain_is_what_it_always_was() -> None:
    """Gateways of other versions, and what is shared through Redis, know prompts by it."""
    root = rooted([b"tenant", b""])
    made, ends = laid(root, [(b"system", b"x" * 9000), (b"", b""), (b"user", b"hello")])

    assert [(one.digest.hex(), one.tokens) for one in made] == [
        ("f04bc3b4e30991595169df384c339352", 512),
        ("602063f1ecdc0e04b444cfd816ff4abd", 1024),
        ("5570f88636d81f785b355197c47a535a", 2048),
        ("63b218b71686bb7ed804b1d9448080a8", 2250),
        ("e70ea1200a3fa900eb454d4550c53e08", 2252),
    ]
    assert ends == [(b"system", 4), (b"", 4), (b"user", 5)]


def test_the_next_turn_makes_no_link_again() -> None:
    links, turn = Links(), [(b"user", b"a" * 5000), (b"assistant", b"b" * 300)]
    before, _ = laid(ROOT, turn, links)
    after, _ = laid(ROOT, [*turn, (b"user", b"c")], links)

    assert all(one is other for one, other in zip(before, after, strict=False))
    assert len(links) == 3


def test_the_links_used_longest_ago_are_forgotten_first() -> None:
    links = Links(2)
    first, second = links(b"", b"a", 1), links(b"", b"b", 1)
    assert links(b"", b"a", 1) is first
    links(b"", b"c", 1)

    assert links(b"", b"a", 1) is first
    assert links(b"", b"b", 1) is not second
    assert len(links) == 2


def test_two_tenants_share_no_link() -> None:
    links = Links()
    for tenant in (b"one", b"other"):
        laid(rooted([tenant]), [(b"user", b"hello")], links)

    assert len(links) == 2


def test_long_pieces_are_not_remembered() -> None:
    links = Links()
    made, _ = laid(ROOT, [(b"user", b"x" * 40_000)], links)

    assert [one.tokens for one in made] == [512, 1024, 2048, 4096, 8192, 10_000]
    assert len(links) == 5  # all but the one of 16 KiB


def test_a_link_says_where_it_ends() -> None:
    assert linked(b"opening", b"x" * 8, 13) == Boundary(linked(b"opening", b"x" * 8, 0).digest, 4)
