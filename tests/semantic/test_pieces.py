"""MessagePack in pieces: the same values as at once."""

from __future__ import annotations

import msgspec
import pytest

from semantic import pieces


@pytest.mark.parametrize("size", [0, 1, 15, 16, 999, 1000, 1001, 1015, 1016, 70_000])
def test_it_reads_as_what_is_encoded_at_once(size: int) -> None:
    items = [(str(number), number) for number in range(size)]
    whole = [pieces.fields(2), *pieces.binary([b"a" * size, b"b"])]
    whole += pieces.array(size, pieces.parts(items))

    assert msgspec.msgpack.decode(b"".join(whole)) == [b"a" * size + b"b", [[*i] for i in items]]
    assert max(map(len, whole)) < max(20_000, size + 10)
