"""Content codings are undone whole, in pieces, and never beyond the limit."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.coding import CodingError, decoded, decoder

Pack: TypeAlias = Callable[[bytes], bytes]


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


def two(pack: Pack, body: bytes) -> bytes:
    half = len(body) // 2
    return pack(body[:half]) + pack(body[half:])


class Brotli:
    """A brotli encoder as zlib's are used."""

    def __init__(self) -> None:
        self._encoder = brotli.Compressor()

    def compress(self, body: bytes) -> bytes:
        return bytes(self._encoder.process(body))

    def flush(self, _mode: int) -> bytes:
        return bytes(self._encoder.flush())


PACKED: dict[str, list[Pack]] = {
    "gzip": [gzip.compress, lambda body: two(gzip.compress, body)],
    "x-gzip": [gzip.compress],
    "deflate": [zlib.compress, raw_deflate],
    "br": [brotli.compress],
    "zstd": [zstandard.compress, lambda body: two(zstandard.compress, body)],
    "identity": [bytes],
    "": [bytes],
    "gzip, zstd": [lambda body: zstandard.compress(gzip.compress(body))],
    " GZIP ,identity": [gzip.compress],
}
CASES = [(coding, pack) for coding, packs in PACKED.items() for pack in packs]
BODIES = st.binary(max_size=300) | st.builds(bytes.__mul__, st.binary(max_size=9), st.just(500))


@pytest.mark.parametrize(("coding", "pack"), CASES)
@given(body=BODIES, cuts=st.lists(st.integers(0, 5000), max_size=5))
def test_any_chunking_gives_the_body(coding: str, pack: Pack, body: bytes, cuts: list[int]) -> None:
    packed = pack(body)
    places = [0, *sorted(cut % (len(packed) + 1) for cut in cuts), len(packed)]
    found = decoder(coding)

    assert found is not None

    pieces = [found.feed(packed[a:b]) for a, b in pairwise(places)]

    assert b"".join(pieces) + found.finish() == body
    assert decoded(coding, packed, len(body) + 100) == body


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_each_byte_that_can_be_decoded_is_given_at_once(coding: str) -> None:
    packers: dict[str, Any] = {
        "gzip": zlib.compressobj(wbits=31),
        "deflate": zlib.compressobj(),
        "br": Brotli(),
        "zstd": zstandard.ZstdCompressor().compressobj(),
    }
    packer = packers[coding]
    modes = {"zstd": zstandard.COMPRESSOBJ_FLUSH_BLOCK}
    found = decoder(coding)

    assert found is not None

    for event in [b"data: 1\n\n", b"data: 2\n\n"]:
        sent = packer.compress(event) + packer.flush(modes.get(coding, zlib.Z_SYNC_FLUSH))

        assert found.feed(sent) == event


@pytest.mark.parametrize(("coding", "pack"), [c for c in CASES if "identity" not in c[0] and c[0]])
def test_a_body_that_breaks_off_is_an_error(coding: str, pack: Pack) -> None:
    packed = pack(b"0123456789" * 50)
    half = decoder(coding)

    assert half is not None

    half.feed(packed[:-1])
    with pytest.raises(CodingError):
        half.finish()


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_other_bytes_are_an_error(coding: str) -> None:
    with pytest.raises(CodingError):
        decoded(coding, b'{"choices": []}', 1000)


@pytest.mark.parametrize("coding", ["deflate", "br"])
def test_bytes_after_the_end_are_an_error(coding: str) -> None:
    with pytest.raises(CodingError):
        decoded(coding, PACKED[coding][0](b"a") + b"b", 1000)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "identity"])
def test_an_empty_body_is_empty(coding: str) -> None:
    assert decoded(coding, b"", 0) == b""


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "gzip, zstd", "identity"])
def test_a_bomb_stops_at_the_limit(coding: str) -> None:
    """The limit is reached exactly, and one byte more is an error."""
    body = bytes(1_000_000)
    packed = PACKED[coding][0](body)

    assert decoded(coding, packed, len(body)) == body
    with pytest.raises(CodingError):
        decoded(coding, packed, len(body) - 1)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_is_noticed_while_it_arrives(coding: str) -> None:
    found = decoder(coding, 1000)

    assert found is not None
    with pytest.raises(CodingError):
        found.feed(PACKED[coding][0](bytes(100_000)))


@pytest.mark.parametrize("coding", ["dcb", "compress", "gzip, dcb", "gzip;q=1"])
def test_a_coding_nobody_knows_has_no_decoder(coding: str) -> None:
    assert decoder(coding) is None
    with pytest.raises(CodingError):
        decoded(coding, b"", 10)


def test_a_zstd_window_beyond_what_http_allows_is_an_error() -> None:
    wide = zstandard.ZstdCompressionParameters(window_log=24)
    packer = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    packed = packer.compress(bytes(20_000_000)) + packer.flush()

    with pytest.raises(CodingError):
        decoded("zstd", packed, 30_000_000)
