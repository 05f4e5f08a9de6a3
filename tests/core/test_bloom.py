"""Laws of the filter of stored keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.bloom import PAGE, Bloom
from proxy.core.entry import Key
from tests.stored import key

keys = st.binary(min_size=32, max_size=32).map(Key)


@given(st.lists(keys, max_size=200))
def test_what_was_added_is_never_denied(added: list[Key]) -> None:
    bloom = Bloom(PAGE)
    for one in added:
        bloom.add(one)

    assert all(one in bloom for one in added)


def test_an_empty_one_denies_everything() -> None:
    bloom = Bloom(64 * PAGE)

    assert not any(key(number) in bloom for number in range(1000))


def test_one_key_in_fifty_is_a_mistake_at_most_until_it_is_full() -> None:
    """Ten bits a key."""
    bloom = Bloom(64 * PAGE)
    number = 0
    while not bloom.full:
        bloom.add(key(number))
        number += 1
    mistakes = sum(key(f"other {n}") in bloom for n in range(20_000))

    assert 0.9 < 8 * 64 * PAGE / number / 10 < 1.1
    assert mistakes < 20_000 / 50


def test_adding_again_changes_nothing() -> None:
    bloom = Bloom(PAGE)

    assert bloom.add(key("a"))
    assert not bloom.add(key("a"))


@given(st.lists(keys, max_size=30))
def test_positions_are_the_bits_as_redis_counts_them(added: list[Key]) -> None:
    """Bit 0 is the highest of the first byte."""
    bloom, data = Bloom(4 * PAGE), bytearray(4 * PAGE)
    for one in added:
        bloom.add(one)
        for bit in bloom.positions(one):
            data[bit // 8] |= 0x80 >> bit % 8

    assert b"".join(bloom.page(number) for number in range(4)) == bytes(data)
    assert bloom.fill == int.from_bytes(data).bit_count() / (8 * len(data))


@given(st.lists(keys, max_size=30), st.lists(keys, max_size=30))
def test_merging_is_adding_what_the_other_has(ours: list[Key], theirs: list[Key]) -> None:
    one, other, both = Bloom(4 * PAGE), Bloom(4 * PAGE), Bloom(4 * PAGE)
    for added in ours:
        one.add(added)
        both.add(added)
    for added in theirs:
        other.add(added)
        both.add(added)
    for number in range(4):
        one.merge(number, other.page(number))
        one.merge(number, other.page(number))

    assert [one.page(number) for number in range(4)] == [both.page(number) for number in range(4)]
    assert one.fill == both.fill


@pytest.mark.parametrize(
    ("number", "data"),
    [(-1, b"\xff"), (4, b"\xff"), (0, b"\xff" * (PAGE + 9)), (0, b"\xff"), (0, b"")],
)
def test_pages_of_any_kind_do_no_harm(number: int, data: bytes) -> None:
    bloom = Bloom(4 * PAGE)
    bloom.merge(number, data)
    pages = [bloom.page(number) for number in range(4)]

    assert [len(page) for page in pages] == [PAGE] * 4
    assert bloom.fill == int.from_bytes(b"".join(pages)).bit_count() / (32 * PAGE)
    if 0 <= number < 4:
        assert pages[0].startswith(data[:PAGE])
    else:
        assert bloom.fill == 0


@pytest.mark.parametrize(("size", "pages"), [(0, 1), (PAGE - 1, 1), (10 * PAGE + 1, 10)])
def test_it_has_whole_pages(size: int, pages: int) -> None:
    assert Bloom(size).pages == pages
