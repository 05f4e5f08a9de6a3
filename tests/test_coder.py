"""Values to bytes and back, in place or in a thread."""

from __future__ import annotations

import threading

import pytest

from proxy.coder import PLAIN, Coder, SealError
from tests.stored import entry, key


class Marks:
    """A seal that notes which thread it was used in."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def seal(self, payload: bytes, bound: bytes) -> bytes:
        self.threads.append(threading.get_ident())
        return b"sealed " + payload

    def unseal(self, data: memoryview, bound: bytes) -> bytes | None:
        self.threads.append(threading.get_ident())
        return bytes(data[7:])


async def test_something_small_is_done_in_place() -> None:
    marks = Marks()
    coder = Coder(marks.seal, marks.unseal)

    data = await coder.pack(entry("a"))

    assert await coder.unpack(data, key("a")) == entry("a")
    assert set(marks.threads) == {threading.get_ident()}


async def test_something_large_is_done_in_a_thread() -> None:
    marks = Marks()
    coder = Coder(marks.seal, marks.unseal)
    # Noise does not shrink, and so is large in both directions.
    large = entry("a", body=b"".join(key(n) for n in range(3000)))

    data = await coder.pack(large)

    assert await coder.unpack(data, key("a")) == large
    assert len(marks.threads) == 2
    assert threading.get_ident() not in marks.threads


async def test_what_is_sealed_is_a_miss_for_who_does_not_seal_and_the_reverse() -> None:
    marks = Marks()
    coder = Coder(marks.seal, marks.unseal)

    assert PLAIN.decode(coder.encode(entry("a")), key("a")) is None
    assert coder.decode(PLAIN.encode(entry("a")), key("a")) is None


async def test_without_a_key_nothing_is_made() -> None:
    def closed(payload: bytes, bound: bytes) -> bytes:
        raise SealError("no data key yet")

    with pytest.raises(ValueError, match="no data key"):
        await Coder(closed, None).pack(entry("a"))
