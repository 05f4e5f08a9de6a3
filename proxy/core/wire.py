"""A stored value as bytes that prove themselves: version first, digest last."""

from __future__ import annotations

import math
import struct
from typing import Final

import msgspec
import zstandard
from blake3 import blake3

from proxy.core.entry import Alias, Entry, Key, Stored

VERSION: Final = 1
"""Of the bytes below. Whatever is stored under another one is a miss."""

# version, kind, coding, asked, expires: the times stand at fixed places, so that a store can
# order and expire values that it never decodes.
_HEAD: Final = struct.Struct(">BBBdd")
_DIGEST: Final = 16
_KEY: Final = 32
_ENTRY: Final = 1
_ALIAS: Final = 2
_PLAIN: Final = 0
_ZSTD: Final = 1

COMPRESS_ABOVE: Final = 1024
"""Bytes from which compressing pays: 8 microseconds buy half of the space."""
LARGEST: Final = 1 << 28
"""Bytes that a value may unfold to; no upstream answer that is kept comes near."""

_encoder: Final = msgspec.msgpack.Encoder()
_entries: Final = msgspec.msgpack.Decoder(Entry)
_aliases: Final = msgspec.msgpack.Decoder(Alias)

# A zstd context costs ten times what it does for 1 kB, and may not be used by two threads at
# once. Taking one off a list and putting it back is atomic in itself.
_compressors: Final[list[zstandard.ZstdCompressor]] = []
_decompressors: Final[list[zstandard.ZstdDecompressor]] = []


def encode(stored: Stored) -> bytes:
    """The bytes to keep. Raises: ValueError for a value that has no encoding."""
    kind = _ENTRY if isinstance(stored, Entry) else _ALIAS
    try:
        payload = _encoder.encode(stored)
    except (OverflowError, UnicodeEncodeError, msgspec.MsgspecError) as error:
        raise ValueError(f"cannot be encoded: {type(error).__name__}") from error
    if len(payload) > LARGEST or math.isnan(stored.asked) or math.isnan(stored.expires):
        raise ValueError("too large, or without a time")
    coding = _PLAIN
    if len(payload) > COMPRESS_ABOVE:
        packed = _compress(payload)
        if len(packed) < len(payload):
            coding, payload = _ZSTD, packed
    sealed = _HEAD.pack(VERSION, kind, coding, stored.asked, stored.expires) + payload
    return sealed + blake3(sealed).digest(_DIGEST)


def decode(data: bytes, key: Key) -> Stored | None:
    """What was stored under `key`, or None for any bytes that are not exactly that."""
    if peek(data) is None or len(key) != _KEY:
        return None
    sealed = memoryview(data)[:-_DIGEST]
    if blake3(sealed).digest(_DIGEST) != data[-_DIGEST:]:
        return None
    _, kind, coding, _, _ = _HEAD.unpack_from(data)
    payload = _payload(sealed[_HEAD.size :], coding)
    stored = None if payload is None else _read(payload, kind)
    return stored if stored is not None and stored.key == key else None


def peek(data: bytes | memoryview) -> tuple[float, float] | None:
    """When it was asked and when it expires, read without proof of the rest."""
    if len(data) < _HEAD.size + _DIGEST or data[0] != VERSION:
        return None
    _, _, _, asked, expires = _HEAD.unpack_from(data)
    return None if math.isnan(asked) or math.isnan(expires) else (asked, expires)


def _read(payload: bytes | memoryview, kind: int) -> Stored | None:
    try:
        if kind == _ENTRY:
            return _entries.decode(payload)
        return _aliases.decode(payload) if kind == _ALIAS else None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _payload(packed: memoryview, coding: int) -> bytes | memoryview | None:
    if coding != _ZSTD:
        return packed if coding == _PLAIN else None
    try:
        size = zstandard.get_frame_parameters(packed).content_size
        return _decompress(packed) if size <= LARGEST else None
    except zstandard.ZstdError:
        return None


def _compress(data: bytes) -> bytes:
    context = _compressors.pop() if _compressors else zstandard.ZstdCompressor(level=1)
    packed = context.compress(data)
    _compressors.append(context)
    return packed


def _decompress(packed: memoryview) -> bytes:
    context = _decompressors.pop() if _decompressors else zstandard.ZstdDecompressor()
    data = context.decompress(packed)
    _decompressors.append(context)
    return data
