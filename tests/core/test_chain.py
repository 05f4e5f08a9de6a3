"""Chains as they are known to the whole fleet, and what no boundary of theirs gives away."""

from __future__ import annotations

import pytest
from blake3 import blake3
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import GCM
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.chain import Boundary, laid, rooted

ROOT = rooted([b"tenant"])
# Above and below the sizes at which parts are cut.
sizes = st.sampled_from([0, 1, 40, 512, 513, 2048, 8192, 8193, 20_000])
texts = st.builds(lambda word, size: (word * size)[:size], st.sampled_from([b"a", b"ab"]), sizes)
parts = st.tuples(st.sampled_from([b"user", b"assistant", b""]), texts)
conversations = st.lists(parts, max_size=6)


def tag(key: bytes, text: bytes) -> bytes:
    """The tag of GMAC, by another way than AEAD."""
    made = Cipher(AES(key), GCM(bytes(12))).encryptor()
    made.authenticate_additional_data(text)
    made.finalize()
    return made.tag


def test_a_chain_is_what_it_always_was() -> None:
    """Gateways of other versions, and what is shared through Redis, know prompts by it."""
    root = rooted([b"tenant", b""])
    _, made, ends = laid(root, [(b"system", b"x" * 9000), (b"", b""), (b"user", b"hello")])

    assert [(one.digest.hex(), one.tokens) for one in made] == [
        ("b372c4171379fc778271bc8b38608cf5", 512),
        ("69f7c0838f63697907b06254947a3747", 1024),
        ("dc145a85db28e074971132d59229e953", 2048),
        ("45f715621267a93829e0090fd578b60f", 2250),
        ("5e0f5a01f74cda64843a0f33f6d87e49", 2250),
        ("7d1c317789f24a29c7faadd50521a4ba", 2252),
    ]
    assert ends == [(b"system", 4), (b"", 5), (b"user", 6)]


@given(conversations, parts)
def test_a_conversation_that_goes_on_has_the_boundaries_that_it_had(
    said: list[tuple[bytes, bytes]], more: tuple[bytes, bytes]
) -> None:
    before, after = laid(ROOT, said).links, laid(ROOT, [*said, more]).links

    assert after[: len(before)] == before
    assert len(after) > len(before)


@given(conversations, conversations, conversations)
def test_what_went_before_changes_no_boundary(
    both: list[tuple[bytes, bytes]],
    one: list[tuple[bytes, bytes]],
    other: list[tuple[bytes, bytes]],
) -> None:
    before = laid(ROOT, both + one)

    assert laid(ROOT, both + other, before) == laid(ROOT, both + other)
    assert before == laid(ROOT, both + one)


def test_what_went_before_is_not_hashed_again() -> None:
    said, more = [(b"system", b"x" * 9000), (b"user", b"hello")], (b"assistant", b"hi")
    before = laid(ROOT, said)
    marked = [Boundary(bytes(16), one.tokens) for one in before.links]
    after = laid(ROOT, [*said, more], before._replace(links=marked)).links
    shorter = laid(ROOT, [said[0], more], before._replace(links=marked)).links

    assert after[:-1] == marked
    assert shorter[:-1] == marked[:-1]
    assert after[-1].digest == blake3(bytes(16) + b"assistant\xfehi").digest(16)
    assert after[-1].tokens == 2252


@pytest.mark.parametrize("size", [0, 5, 512, 513, 8191])
def test_between_a_text_or_its_tag_and_a_digest_is_blake3(size: int) -> None:
    text = b"x" * size
    first, second = laid(ROOT, [(b"user", text), (b"assistant", text)]).links
    told = b"\xfe" + text if size <= 512 else tag(ROOT[16:], text)

    assert first.digest == blake3(ROOT[:16] + b"user" + told).digest(16)
    assert second.digest == blake3(first.digest + b"assistant" + told).digest(16)


def test_two_tenants_share_neither_a_boundary_nor_a_key() -> None:
    one, other = rooted([b"one"]), rooted([b"other"])
    mine, theirs = (laid(root, [(b"user", b"hello")] * 9).links for root in (one, other))

    assert one[16:] != other[16:]
    assert not {boundary.digest for boundary in mine} & {boundary.digest for boundary in theirs}


def test_a_long_part_is_told_by_what_it_says_up_to_each_boundary() -> None:
    one, other = (laid(ROOT, [(b"user", b"x" * 6000 + end * 9000)]).links for end in (b"a", b"b"))

    assert [boundary.tokens for boundary in one] == [512, 1024, 2048, 3750]
    assert [a == b for a, b in zip(one, other, strict=True)] == [True, True, False, False]
