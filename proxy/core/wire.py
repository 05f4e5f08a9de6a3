"""A stored value as bytes that prove themselves: version first, digest last."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import zstandard
from blake3 import blake3

from proxy.core.entry import Alias, Entry, Key, Stored

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Seal: TypeAlias = Callable[[bytes, bytes], bytes]
    """A payload and what it is bound to; the bytes that stand for it."""
    Unseal: TypeAlias = Callable[[memoryview, bytes], bytes | None]
    """The way back; None: not with any key at hand, or bound to something else."""

VERSION: Final = 3
"""Of the bytes below. Whatever is stored under another one is a miss."""

# version, kind, coding, sealing, asked, expires, fence, tenant: all at fixed places, so that a
# store can order and expire values that it never decodes.
_HEAD: Final = struct.Struct(">BBBBddQ16s")
_TIMES: Final = struct.Struct(">dd")
_TIMES_AT: Final = 4
_PAYLOADS: Final = struct.Struct(">xBBB24x16s")
"""The same head, of which only what tells how to read the payload."""
HEAD: Final = _HEAD.size
"""Bytes from which `header` can be read."""
_DIGEST: Final = 16
_KEY: Final = 32
_TENANT: Final = 16
_ENTRY: Final = 1
_ALIAS: Final = 2
_COMPARED: Final = 3
"""An entry with a question: who looks for those need not read the others."""
_ENTRIES: Final = (_ENTRY, _COMPARED)
_PLAIN: Final = 0
_ZSTD: Final = 1
_OPEN: Final = 0
_SEALED: Final = 1

AHEAD: Final = 86400.0
"""Seconds by which no clock is wrong."""
COMPRESS_ABOVE: Final = 1024
"""Bytes from which compressing pays."""
_LEVEL: Final = -1
"""Of zstd, the best without Huffman codes: those would save another fifth or third of the bytes,
but half of the time of a look-up in LMDB that is not LMDB's goes to unpacking them."""
LARGEST: Final = 1 << 28
"""Bytes that a value may unfold to; no upstream answer that is kept comes near."""

_encoder: Final = msgspec.msgpack.Encoder()
_entries: Final = msgspec.msgpack.Decoder(Entry)
_aliases: Final = msgspec.msgpack.Decoder(Alias)
# How an array of exactly as many members begins: the decoders would pass over further ones, and
# put defaults in place of missing ones.
_ENTRY_HEAD: Final = b"\xdc" + len(msgspec.structs.fields(Entry)).to_bytes(2, "big")
_ALIAS_HEAD: Final = bytes([0x90 + len(msgspec.structs.fields(Alias))])

# A zstd context costs ten times what it does for 1 kB, and may not be used by two threads at
# once. Taking one off a list and putting it back is atomic in itself.
_compressors: Final[list[zstandard.ZstdCompressor]] = []
_decompressors: Final[list[zstandard.ZstdDecompressor]] = []


class Header(NamedTuple):
    """What stands before the payload, for stores that order values without reading them."""

    version: int
    kind: int
    coding: int
    sealing: int
    asked: float
    expires: float
    fence: int
    """Of the lease under which it was fetched; 0: there was none."""
    tenant: bytes

    def outranks(self, other: Header) -> bool:
        """Whether `other` comes too late to replace this: it was asked for earlier, or by an owner
        that had lost its lease to this one's. What comes from the future was written by nobody."""
        if self.asked > other.asked + AHEAD:
            return False
        fenced = self.fence and other.fence and self.fence > other.fence
        return self.asked > other.asked or bool(fenced)

    def answers(self, now: float) -> bool:
        """Whether it may be served at `now` (unix seconds), also to others who ask the same."""
        return self.kind == _COMPARED and self.expires > now


def encode(stored: Stored, seal: Seal | None = None) -> bytes:
    """The bytes to keep. Raises: ValueError for a value that has no encoding."""
    try:
        payload = _encoder.encode(stored)
    except (OverflowError, UnicodeEncodeError, msgspec.MsgspecError) as error:
        raise ValueError(f"cannot be encoded: {type(error).__name__}") from error
    if len(payload) > LARGEST:
        raise ValueError("too large")
    coding = _PLAIN
    if len(payload) > COMPRESS_ABOVE:
        packed = _compress(payload)
        if len(packed) < len(payload):
            coding, payload = _ZSTD, packed
    head = _head(stored, coding, _OPEN if seal is None else _SEALED)
    if seal is not None:
        payload = seal(payload, head + stored.key)
    whole = head + payload
    return whole + blake3(whole).digest(_DIGEST)


def decode(data: bytes, key: Key, unseal: Unseal | None = None) -> Stored | None:
    """What was stored under `key`, or None for any bytes that are not exactly that. With `unseal`,
    whatever is not sealed is none of ours."""
    if len(data) < HEAD + _DIGEST or data[0] != VERSION or len(key) != _KEY:
        return None
    whole = memoryview(data)[:-_DIGEST]
    if blake3(whole).digest(_DIGEST) != data[-_DIGEST:]:
        return None
    kind, coding, sealing, tenant = _PAYLOADS.unpack_from(data)
    if sealing != (_OPEN if unseal is None else _SEALED):
        return None
    packed: bytes | memoryview | None = whole[HEAD:]
    if unseal is not None:
        packed = unseal(whole[HEAD:], data[:HEAD] + key)
    payload = None if packed is None else _payload(packed, coding)
    stored = None if payload is None else _read(payload, kind)
    if stored is None or stored.key != key or stored.tenant != tenant:
        return None
    return stored


def header(data: bytes | memoryview) -> Header | None:
    """What stands before the payload, read without proof of any of it."""
    if len(data) < HEAD or data[0] != VERSION:
        return None
    head = Header._make(_HEAD.unpack_from(data))
    return None if math.isnan(head.asked) or math.isnan(head.expires) else head


def peek(data: bytes | memoryview) -> tuple[float, float] | None:
    """When it was asked and when it expires, read without proof of the rest."""
    if len(data) < HEAD or data[0] != VERSION:
        return None
    asked, expires = _TIMES.unpack_from(data, _TIMES_AT)
    return None if math.isnan(asked) or math.isnan(expires) else (asked, expires)


def compared(data: bytes | memoryview) -> bool:
    """Whether it may be an entry whose question others are compared with, without proof."""
    head = header(data)
    return head is not None and head.kind == _COMPARED


def alive(data: bytes | memoryview, now: float) -> float | None:
    """When an entry with a question was asked for, without proof of it; None: it is none, or may
    not be served at `now` (unix seconds) any more."""
    head = header(data)
    return head.asked if head is not None and head.answers(now) else None


def _head(stored: Stored, coding: int, sealing: int) -> bytes:
    kind, fence = _ALIAS, 0
    if isinstance(stored, Entry):
        kind, fence = _ENTRY if stored.question is None else _COMPARED, stored.fence
    asked, expires, tenant = stored.asked, stored.expires, stored.tenant
    if math.isnan(asked) or math.isnan(expires) or len(tenant) != _TENANT:
        raise ValueError("without a time or a tenant")
    try:
        return _HEAD.pack(VERSION, kind, coding, sealing, asked, expires, fence, tenant)
    except struct.error as error:
        raise ValueError("a fence that is no fence") from error


def _read(payload: bytes | memoryview, kind: int) -> Stored | None:
    try:
        if kind in _ENTRIES and payload[: len(_ENTRY_HEAD)] == _ENTRY_HEAD:
            return _entries.decode(payload)
        if kind == _ALIAS and payload[: len(_ALIAS_HEAD)] == _ALIAS_HEAD:
            return _aliases.decode(payload)
        return None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _payload(packed: bytes | memoryview, coding: int) -> bytes | memoryview | None:
    if coding != _ZSTD:
        return packed if coding == _PLAIN else None
    try:
        size = zstandard.frame_content_size(packed)
        return _decompress(packed) if 0 <= size <= LARGEST else None
    except zstandard.ZstdError:
        return None


def _compress(data: bytes) -> bytes:
    context = _compressors.pop() if _compressors else zstandard.ZstdCompressor(level=_LEVEL)
    packed = context.compress(data)
    _compressors.append(context)
    return packed


def _decompress(packed: bytes | memoryview) -> bytes:
    context = _decompressors.pop() if _decompressors else zstandard.ZstdDecompressor()
    data = context.decompress(packed)
    _decompressors.append(context)
    return data
