"""Chains as they are known to the whole fleet, and what no boundary of theirs gives away."""

from __future__ import annotations

import pytest
from blake3 import blake3
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import GCM
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.chain import laid, rooted

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
    made, ends = laid(root, [(b"system", b"x" * 9000), (b"", b""), (b"user", b"hello")])

    assert [(one.digest.hex(), one.tokens) for one in made] == [
        ("1d352edede6b53e304a6619e6d7babb1", 512),
        ("b85e0c975855dc214e61868f3243dd51", 1024),
        ("5ac8fdeb94950ac478da7aa0163d9793", 2048),
        ("fd05cd43d85248cdd8554417d8de0bc7", 2250),
        ("328d0984d01554575cef4f2d2db6f298", 2250),
        ("26f2bb420e495d6a5b36da58dd3b279b", 2252),
    ]
    assert ends == [(b"system", 4), (b"", 5), (b"user", 6)]


@given(conversations, parts)
def test_a_conversation_that_goes_on_has_the_boundaries_that_it_had(
    said: list[tuple[bytes, bytes]], more: tuple[bytes, bytes]
) -> None:
    before, _ = laid(ROOT, said)
    after, _ = laid(ROOT, [*said, more])

    assert after[: len(before)] == before
    assert len(after) > len(before)


@pytest.mark.parametrize("size", [0, 5, 512, 513, 8191])
def test_between_a_text_or_its_tag_and_a_digest_is_blake3(size: int) -> None:
    text = b"x" * size
    (first, second), _ = laid(ROOT, [(b"user", text), (b"assistant", text)])
    told = b"\xfe" + text if size <= 512 else tag(ROOT[16:], text)

    assert first.digest == blake3(ROOT[:16] + b"user" + told).digest(16)
    assert second.digest == blake3(first.digest + b"assistant" + told).digest(16)


def test_two_tenants_share_neither_a_boundary_nor_a_key() -> None:
    one, other = rooted([b"one"]), rooted([b"other"])
    (mine, _), (theirs, _) = (laid(root, [(b"user", b"hello")] * 9) for root in (one, other))

    assert one[16:] != other[16:]
    assert not {boundary.digest for boundary in mine} & {boundary.digest for boundary in theirs}


def test_a_long_part_is_told_by_what_it_says_up_to_each_boundary() -> None:
    one, other = (laid(ROOT, [(b"user", b"x" * 6000 + end * 9000)])[0] for end in (b"a", b"b"))

    assert [boundary.tokens for boundary in one] == [512, 1024, 2048, 3750]
    assert [a == b for a, b in zip(one, other, strict=True)] == [True, True, False, False]
